#pragma once

#include "backends/cpu/attention/kept_elements.hpp"
#include "backends/cpu/gemm/packed.hpp"
#include "backends/cpu/ops/cut.hpp"
#include "types/convert.hpp"

namespace tacet::cpu {

/// What it takes to read an element of a table in whatever layout.
inline constexpr double unpack_seconds = 4e-9;

/// embed and select_rows: rows of a matrix by their numbers, as floats.
template <typename S, bool Embed>
struct Gather {
  struct Arguments {
    Ref matrix, rows, out;
    std::uint32_t width, table_rows;
    std::size_t row_bytes;
    ValueType type;
    [[gnu::always_inline]] std::uint32_t count(const RunArgs& run) const {
      return live_rows(rows.space == Ref::Space::output_rows, run);
    }
    /// The rows that there are: the number of a row is never taken on trust.
    [[gnu::always_inline]] std::uint32_t limit(const RunArgs& run) const {
      return Embed ? table_rows : least(table_rows, run.rows);
    }
    [[gnu::always_inline]] ElementCut cut(const RunArgs& run) const {
      return ElementCut(limit(run) == 0 ? 0 : count(run), width,
                        S::element_seconds + unpack_seconds);
    }
  };

  static bool supports(const NodeView& view) {
    if (view.inputs.size() != 2 || input(view, 1).dtype != DType::i32) return false;
    const DType type = input(view, 0).dtype;
    if (!Embed) return type == DType::f32;
    return type != DType::i32 && width(input(view, 0)) % info(type).block_size == 0;
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    return static_cast<const Arguments*>(arguments)->cut(run).count();
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const Tile tile = a.cut(*context.run).tile(index);
    const auto last = static_cast<std::int32_t>(a.limit(*context.run) - 1);
    const std::byte* matrix = resolve_input<std::byte>(a.matrix, context);
    const std::int32_t* rows = resolve_input<std::int32_t>(a.rows, context);
    float* out = resolve<float>(a.out, context);
    for (std::size_t i = tile.row; i < tile.row_end; ++i) {
      const auto row = static_cast<std::size_t>(least(most(rows[i], 0), last));
      const std::size_t n = tile.column_end - tile.column;
      float* to = out + i * a.width + tile.column;
      if (a.type.layout == Layout::groups)
        unpack_row(a.type, matrix, row, tile.column, tile.column_end, to);
      else
        dequantize(a.type.dtype, matrix + row * a.row_bytes + row_bytes(a.type.dtype, tile.column),
                   {to, n});
    }
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    const ValueType& matrix = input(node.view, 0);
    Arguments a{};
    a.matrix = node.inputs.data()[0];
    a.rows = node.inputs.data()[1];
    a.out = node.outputs.data()[0];
    a.width = width(matrix);
    a.table_rows = static_cast<std::uint32_t>(matrix.shape[0]);
    a.row_bytes = row_bytes(matrix.dtype, a.width);
    a.type = matrix;
    tape.step(a, count, chunk);
  }
};

/// kv_write: stores keys, and values if there are any, in the pages. A chunk is some heads of
/// consecutive rows.
template <typename S>
struct KvWrite {
  struct Arguments {
    Ref k, v;
    std::uint32_t layer, heads, k_size, v_size;
    DType k_type, v_type;
    [[gnu::always_inline]] std::uint32_t per_chunk(const RunArgs& run) const {
      return items_per_chunk(run.rows * heads,
                             k_size * stored_element_seconds(k_type, S::element_seconds) +
                                 v_size * stored_element_seconds(v_type, S::element_seconds));
    }
  };

  static bool supports(const NodeView& view) {
    const std::size_t states = view.inputs.size() / 2;
    if (view.inputs.size() != 2 && view.inputs.size() != 4) return false;
    for (std::size_t i = 0; i < states; ++i) {
      const ValueType& state = input(view, states + i);
      if (input(view, i).dtype != DType::f32 || !is_kept(state.dtype) ||
          width(state) % info(state.dtype).block_size != 0)
        return false;
    }
    return true;
  }

  static std::uint32_t count(const void* arguments, const RunArgs& run) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    return ceil_div(run.rows * a.heads, a.per_chunk(run));
  }

  static void chunk(const void* arguments, const ChunkContext& context, std::uint32_t index) {
    const Arguments& a = *static_cast<const Arguments*>(arguments);
    const RunArgs& run = *context.run;
    const std::uint32_t step = a.per_chunk(run);
    const std::uint32_t end = least((index + 1) * step, run.rows * a.heads);
    const float* k = resolve_input<float>(a.k, context);
    const float* v = resolve_input<float>(a.v, context);
    for (std::uint32_t i = index * step; i < end; ++i) {
      const std::uint32_t row = i / a.heads, head = i % a.heads;
      const KvSequence& sequence = run.kv.sequence_of(row);
      if (sequence.pages.size() == 0) continue;
      const std::uint32_t cell = sequence.cell_of(row);
      store(a.k_type, k + std::size_t{i} * a.k_size, a.k_size,
            run.kv.k_row(sequence, a.layer, head, cell));
      if (a.v_size != 0)
        store(a.v_type, v + std::size_t{i} * a.v_size, a.v_size,
              run.kv.v_row(sequence, a.layer, head, cell));
    }
  }

  static void store(DType type, const float* x, std::size_t n, std::byte* to) {
    if (type == DType::f32) {
      __builtin_memcpy(to, x, n * sizeof(float));
      return;
    }
    std::size_t done = 0;
    if (type == DType::f16)
      for (; done + S::lanes <= n; done += S::lanes) S::store_f16(to + 2 * done, S::load(x + done));
    if (done < n) quantize(type, {x + done, n - done}, to + 2 * done);
  }

  static void emit(const PlacedNode& node, TapeBuilder& tape) {
    const std::size_t states = node.inputs.size() / 2;
    const auto state = [&](std::size_t i) __attribute__((always_inline))->const ValueType& {
      return input(node.view, states + i);
    };
    Arguments a{};
    a.k = node.inputs.data()[0];
    a.layer = node.inputs.data()[states].layer;
    a.heads = static_cast<std::uint32_t>(state(0).shape[0]);
    a.k_size = width(state(0));
    a.k_type = state(0).dtype;
    if (states == 2) {
      a.v = node.inputs.data()[1];
      a.v_size = width(state(1));
      a.v_type = state(1).dtype;
    }
    tape.step(a, count, chunk);
  }
};

}  // namespace tacet::cpu
