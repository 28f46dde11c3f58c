#include "backends/cpu/gemm/packing.hpp"

#include <algorithm>

#include "backends/cpu/ops/cut.hpp"

namespace tacet::cpu {

namespace {

/// What a slow core takes for an element, and for a byte of memory that becomes resident.
constexpr double element_seconds = 1e-9, byte_seconds = 0.5e-9;
constexpr double run_seconds = 10e-3;
/// Parts of rows begin where blocks of every type do.
constexpr std::uint32_t least_part = 256;

double column_seconds(const ValueType& matrix) {
  const PackedType& type = *packed_type(matrix.dtype);
  const double bytes = static_cast<double>(type.values_bytes(least_part)) / least_part;
  return element_seconds * group_rows + byte_seconds * bytes;
}

/// Elements of a group's rows that a chunk packs.
std::uint32_t part_of(const ValueType& matrix) {
  const double fit = target_seconds / column_seconds(matrix);
  return most(static_cast<std::uint32_t>(fit) / least_part, 1U) * least_part;
}

std::uint32_t count(const void* arguments, const RunArgs&) {
  const Packing& p = *static_cast<const Packing*>(arguments);
  return p.groups * ceil_div(width(p.matrix), part_of(p.matrix));
}

void chunk(const void* arguments, const ChunkContext&, std::uint32_t index) {
  const Packing& p = *static_cast<const Packing*>(arguments);
  const std::uint32_t k = width(p.matrix), part = part_of(p.matrix), parts = ceil_div(k, part);
  const std::uint32_t group = p.first + index / parts, begin = index % parts * part;
  pack_part(p.matrix, p.rows, group, begin, least(begin + part, k),
            p.packed + group * packed_type(p.matrix.dtype)->group_bytes(k));
}

}  // namespace

std::uint32_t groups_at_once(const ValueType& matrix) noexcept {
  const double seconds = column_seconds(matrix) * std::max(1U, width(matrix));
  return most(static_cast<std::uint32_t>(run_seconds / seconds), 1U);
}

void emit_packing(const Packing& packing, TapeBuilder& tape) {
  tape.step(packing, count, chunk);
}

}  // namespace tacet::cpu
