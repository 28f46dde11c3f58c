// Checks the CPU's kernel tables without a device, or times them: kernels [check | time] [isa]
// [part of a case's line]
#include <chrono>

#include "kernels_case.hpp"

using namespace tacet;
using namespace tacet::bench;
using std::int64_t;

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED %s\n", what.c_str());
}

ValueType matrix(DType type, int64_t rows, int64_t width) {
  return {type, {rows, width}};
}
ValueType rows_of(int64_t rows, int64_t width) {
  return {DType::f32, {rows, width}};
}
ValueType vector_of(int64_t n) {
  return {DType::f32, {n}};
}

Case make(const Op& op, std::vector<ValueType> inputs, std::vector<bool> weights, Attributes a,
          std::uint32_t rows) {
  Case c;
  c.op = &op;
  c.inputs = std::move(inputs);
  c.is_weight = std::move(weights);
  c.attributes = a;
  c.rows = rows;
  return c;
}

Case matmul(DType type, int64_t n, int64_t k, std::uint32_t rows, bool bias = false) {
  Case c = make(ops::matmul, {matrix(type, n, k), rows_of(rows, k)}, {true, false}, {}, rows);
  if (bias) {
    c.inputs.push_back(vector_of(n));
    c.is_weight.push_back(true);
  }
  return c;
}
Case matmul3(DType a, DType b, DType d, int64_t k, std::uint32_t rows, bool bias) {
  Case c =
      make(ops::matmul3, {matrix(a, 37, k), matrix(b, 9, k), matrix(d, 130, k), rows_of(rows, k)},
           {true, true, true, false}, {}, rows);
  if (bias)
    for (const int64_t n : {37, 9, 130}) {
      c.inputs.push_back(vector_of(n));
      c.is_weight.push_back(true);
    }
  return c;
}
Case up_gate(DType a, DType b, int64_t n, int64_t k, std::uint32_t rows) {
  return make(ops::up_gate, {matrix(a, n, k), matrix(b, n, k), rows_of(rows, k)},
              {true, true, false}, {}, rows);
}
Case attention(DType kt, DType vt, int heads, int kv_heads, int dk, int dv, std::uint32_t rows,
               std::uint32_t past, std::uint32_t page) {
  const ops::AttentionAttributes a{heads, 1 / std::sqrt(static_cast<float>(dk)),
                                   static_cast<std::int32_t>(past + rows)};
  Case c = make(ops::attention,
                {rows_of(rows, heads * dk), matrix(kt, kv_heads, dk), matrix(vt, kv_heads, dv)},
                {false, false, false}, Attributes(a), rows);
  c.past = past;
  c.page_tokens = page;
  return c;
}

std::string describe(const Case& c, const cpu::CpuKernel& kernel) {
  std::string text(kernel.name);
  for (const ValueType& type : c.inputs)
    text += " " + std::string(name(type.dtype)) + to_string(type.shape);
  return text + " rows " + std::to_string(c.rows) + " past " + std::to_string(c.past);
}

/// The same case without data.
Case unprepared(const Case& c) {
  Case copy = make(*c.op, c.inputs, c.is_weight, c.attributes, c.rows);
  copy.past = c.past;
  copy.page_tokens = c.page_tokens;
  copy.spread = c.spread;
  return copy;
}

/// Against the reference, and that the order of the chunks makes no difference.
void check(const Case& made, std::span<const cpu::CpuKernel> table, double tolerance) {
  Case c = unprepared(made);
  c.prepare(7);
  Bound bound(c, table);
  if (bound.kernel() == nullptr) return expect(false, "no kernel for " + std::string(c.op->name));
  const std::string what = describe(c, *bound.kernel());
  std::vector<HostTensor> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    inputs.push_back({c.inputs[i],
                      c.inputs[i].dtype == DType::i32 ? static_cast<const void*>(c.index.data())
                                                      : c.data[i].data(),
                      0});
  if (c.op == &ops::kv_write) {
    bound.run();
    for (std::uint32_t row = 0; row < c.rows; ++row)
      for (std::uint32_t head = 0; head < c.layer.heads; ++head)
        for (int v = 0; v < 2; ++v) {
          const std::uint32_t n = v ? c.layer.v_head_size : c.layer.k_head_size;
          const DType type = v ? c.layer.v_type : c.layer.k_type;
          std::vector<std::byte> bytes(row_bytes(type, n));
          const float* x =
              reinterpret_cast<const float*>(c.data[static_cast<std::size_t>(v)].data()) +
              (std::size_t{row} * c.layer.heads + head) * n;
          quantize(type, {x, n}, bytes.data());
          const std::byte* got = v ? c.kv().v_row(c.sequence, 0, head, c.past + row)
                                   : c.kv().k_row(c.sequence, 0, head, c.past + row);
          expect(std::memcmp(got, bytes.data(), bytes.size()) == 0, what);
        }
    return;
  }
  std::vector<std::vector<float>> wanted;
  std::vector<std::span<float>> spans;
  for (const ValueType& type : c.outputs)
    wanted.emplace_back(static_cast<std::size_t>(type.shape.elements()));
  for (auto& w : wanted) spans.emplace_back(w);
  const KvView kv = c.kv();
  c.op->reference({c.attributes, inputs, spans, c.rows, &kv});

  std::mt19937 random(3);
  Bound shuffled(c, table);
  bound.run();
  shuffled.run(&random);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto width = static_cast<std::size_t>(c.outputs[i].shape.width());
    const std::size_t n = width * c.rows;
    double largest = 0, worst = 0;
    for (std::size_t j = 0; j < n; ++j)
      largest = std::max(largest, std::fabs(double{wanted[i][j]}));
    for (std::size_t j = 0; j < n; ++j) {
      const double error = std::fabs(double{wanted[i][j]} - double{bound.output(i)[j]});
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
    expect(worst <= tolerance * largest, what + " output " + std::to_string(i) + ": error " +
                                             std::to_string(worst / largest * 1e6) + "e-6");
    const auto elements = static_cast<std::size_t>(c.outputs[i].shape.elements());
    for (std::size_t j = n; j < elements; ++j)
      if (!std::isnan(bound.output(i)[j])) return expect(false, what + " wrote a dead row");
    expect(std::memcmp(bound.output(i), shuffled.output(i), n * sizeof(float)) == 0,
           what + ": the order of chunks shows");
  }
}

/// That each row has the bits that it has alone, in a plan for one row.
void check_alone(const Case& many, std::span<const cpu::CpuKernel> table,
                 std::uint32_t stride = 1) {
  Case c = unprepared(many);
  c.prepare(11);
  Bound bound(c, table);
  bound.run();
  for (std::uint32_t row = 0; row < many.rows; row += stride) {
    Case one;
    one.op = many.op;
    one.inputs = many.inputs;
    one.is_weight = many.is_weight;
    one.attributes = many.attributes;
    one.page_tokens = many.page_tokens;
    one.spread = many.spread;
    one.rows = 1;
    one.first_row = row;
    one.past = many.past + row;
    const bool state = many.has_state();
    for (std::size_t i = 0; i < one.inputs.size(); ++i)
      if (!one.is_weight[i] && !(state && i + 2 >= one.inputs.size()))
        one.inputs[i] = rows_of(1, many.inputs[i].shape.width());
    one.prepare(11);
    Bound alone(one, table);
    alone.run();
    for (std::size_t i = 0; i < c.outputs.size(); ++i) {
      const auto width = static_cast<std::size_t>(c.outputs[i].shape.width());
      const bool same = std::memcmp(bound.output(i) + row * width, alone.output(i), width * 4) == 0;
      expect(same,
             describe(c, *bound.kernel()) + ": row " + std::to_string(row) + " differs alone");
    }
  }
}

void check_matmuls(std::span<const cpu::CpuKernel> table) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::q8_0}) {
    const bool blocks = type == DType::q8_0;
    // Activations may be rounded to 8 bits or to BF16.
    const double tolerance = blocks ? 2e-2 : type == DType::bf16 ? 5e-3 : 3e-6;
    for (const int64_t k : {blocks ? 32 : 5, blocks ? 64 : 73, 256, 544, 4864})
      for (const std::uint32_t rows : {1u, 2u, 3u, 4u, 5u, 7u, 29u})
        for (const int64_t n : {1, 7, 133})
          check(matmul(type, n, k, rows, n == 7), table, tolerance);
    for (const int64_t k : {blocks ? 96 : 83, 896})
      for (const std::uint32_t rows : {3u, 4u, 65u}) {
        check_alone(matmul(type, 61, k, rows, true), table);
        check(matmul3(type, type, type, k, rows, rows == 3), table, tolerance);
        check(matmul3(type, DType::f16, DType::f32, k, rows, rows == 4), table, tolerance);
        check_alone(matmul3(type, DType::f16, DType::f32, k, rows, true), table);
        Case c = up_gate(type, type, 99, k, rows);
        c.spread = 0.3f;
        check(c, table, tolerance);
        check(up_gate(type, DType::f16, 43, k, rows), table, 3 * tolerance);
        check_alone(c, table);
      }
  }
  Case c = matmul(DType::q8_0, 5000, 64, 40);
  check(c, table, 2e-2);
  c = matmul(DType::f16, 300, 128, 16);
  c.rows = 9;  // a plan for more rows
  check(c, table, 3e-6);
}

void check_attention(std::span<const cpu::CpuKernel> table) {
  const DType types[] = {DType::f32, DType::f16, DType::q8_0, DType::bf16};
  for (const DType k : types)
    for (const DType v : types)
      for (const std::uint32_t rows : {1u, 3u, 8u, 9u, 40u})
        for (const std::uint32_t past : {0u, 31u, 300u}) {
          check(attention(k, v, 6, 2, 64, 64, rows, past, 16), table, 1e-5);
          if (rows == 3 || rows == 40)
            check(attention(k, v, 14, 2, 128, 96, rows, past, 48), table, 1e-5);
        }
  check(attention(DType::f32, DType::f16, 3, 1, 20, 13, 11, 70, 7), table, 1e-5);
  check(attention(DType::f16, DType::f32, 4, 4, 12, 28, 5, 1000, 32), table, 1e-5);
  check(attention(DType::f16, DType::f16, 30, 1, 64, 64, 2, 100, 32), table, 1e-5);
  check(attention(DType::f16, DType::f16, 2, 2, 1024, 1024, 20, 100, 32), table, 1e-5);
  check(attention(DType::f16, DType::f16, 2, 1, 64, 64, 12, 3000, 64), table, 1e-5);
  check_alone(attention(DType::f16, DType::q8_0, 6, 2, 64, 64, 70, 230, 16), table);
  check_alone(attention(DType::f16, DType::f16, 14, 2, 64, 64, 8, 1500, 64), table);
  check_alone(attention(DType::f32, DType::bf16, 3, 1, 256, 40, 30, 120, 16), table);
  // Around the place where splits double: 128 splits of 256 keys.
  check(attention(DType::f16, DType::f16, 1, 1, 8, 8, 20, 32760, 64), table, 1e-5);
  check_alone(attention(DType::f16, DType::f16, 1, 1, 8, 8, 20, 32760, 64), table, 3);
  check_alone(attention(DType::f16, DType::f16, 1, 1, 8, 8, 6, 32765, 64), table);
}

void check_others(std::span<const cpu::CpuKernel> table) {
  for (const std::uint32_t rows : {1u, 3u, 33u})
    for (const int64_t w : {64, 100, 896, 20000}) {
      check(make(ops::add, {rows_of(rows, w), rows_of(rows, w)}, {false, false}, {}, rows), table,
            1e-7);
      check(make(ops::add, {rows_of(rows, w), vector_of(w)}, {false, true}, {}, rows), table, 1e-7);
      check(make(ops::mul, {rows_of(rows, w), rows_of(rows, w)}, {false, false}, {}, rows), table,
            1e-7);
      Case s = make(ops::silu, {rows_of(rows, w)}, {false}, {}, rows);
      for (const float spread : {0.5f, 5.0f, 60.0f}) {
        s.spread = spread;
        check(s, table, 1e-6);
      }
      const Attributes norm(ops::NormAttributes{1e-6f, 1}), heads(ops::NormAttributes{1e-6f, 4});
      check(make(ops::rms_norm, {rows_of(rows, w), vector_of(w)}, {false, true}, norm, rows), table,
            1e-6);
      check(make(ops::rms_norm, {rows_of(rows, w), vector_of(w / 4)}, {false, true}, heads, rows),
            table, 1e-6);
      const Case sum = make(ops::add_rms_norm, {rows_of(rows, w), rows_of(rows, w), vector_of(w)},
                            {false, false, true}, norm, rows);
      check(sum, table, 1e-6);
      check_alone(sum, table);
      for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::q8_0})
        if (type != DType::q8_0 || w % 32 == 0)
          check(make(ops::embed, {matrix(type, 50, w), {DType::i32, {rows}}}, {true, false}, {},
                     rows),
                table, 0);
      check(
          make(ops::top_k, {rows_of(rows, w)}, {false}, Attributes(ops::TopKAttributes{60}), rows),
          table, 0);
      check(make(ops::select_rows, {rows_of(7, w), {DType::i32, {rows}}}, {true, false}, {}, rows),
            table, 0);
    }
  for (const std::uint32_t rows : {1u, 5u, 70u})
    for (const bool interleaved : {false, true})
      for (const int64_t size : {64, 48, 20}) {
        const ops::RopeAttributes rope{6, interleaved};
        check(make(ops::rope, {rows_of(rows, 6 * 64), rows_of(rows, size)}, {false, false},
                   Attributes(rope), rows),
              table, 1e-6);
        check(make(ops::norm_rope, {rows_of(rows, 6 * 64), vector_of(64), rows_of(rows, size)},
                   {false, true, false}, Attributes(ops::NormRopeAttributes{1e-6f, rope}), rows),
              table, 1e-6);
        const ops::RopeTableAttributes t{1e6f, static_cast<std::int32_t>(size), 1};
        check(make(ops::rope_table, {{DType::i32, {rows}}}, {false}, Attributes(t), rows), table,
              1e-7);
        check(make(ops::rope_table, {{DType::i32, {rows}}, vector_of(size / 2)}, {false, true},
                   Attributes(t), rows),
              table, 1e-7);
      }
  for (const DType k : {DType::f32, DType::f16, DType::q8_0, DType::bf16})
    for (const DType v : {DType::f32, DType::f16, DType::q8_0})
      for (const std::uint32_t rows : {1u, 45u}) {
        Case c =
            make(ops::kv_write,
                 {rows_of(rows, 3 * 64), rows_of(rows, 3 * 96), matrix(k, 3, 64), matrix(v, 3, 96)},
                 {false, false, false, false}, {}, rows);
        c.past = 21;
        check(c, table, 0);
      }
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename Body>
double best_of(Body&& body, double seconds = 0.4) {
  double best = 1e9;
  for (const double end = now() + seconds; now() < end;) {
    const double start = now();
    body();
    best = std::min(best, now() - start);
  }
  return best;
}

/// Reads memory and does nothing else.
double read_seconds(const Memory& memory) {
  [[maybe_unused]] static volatile float sink;
  return best_of([&] {
    using Wide [[gnu::vector_size(64)]] = float;
    Wide a{}, b{}, c{}, d{};
    const Wide* p = reinterpret_cast<const Wide*>(memory.data());
    for (std::size_t i = 0; i + 4 <= memory.size() / 64; i += 4) {
      a += p[i];
      b += p[i + 1];
      c += p[i + 2];
      d += p[i + 3];
    }
    a += b + c + d;
    sink = a[0] + a[9];
  });
}

std::string wanted;

void time_one(const Case& made, std::span<const cpu::CpuKernel> table) {
  const bool named = std::any_of(table.begin(), table.end(), [&](const cpu::CpuKernel& kernel) {
    return kernel.op == made.op && describe(made, kernel).find(wanted) != std::string::npos;
  });
  if (!named) return;
  Case c = unprepared(made);
  c.spread = std::min(made.spread, 0.5f);
  c.prepare(5);
  Bound bound(c, table);
  // The best time of each chunk, since a shared machine pauses now and then.
  std::vector<double> chunks;
  int passes = 0;
  for (const double end = now() + 0.3; now() < end || passes < 3; ++passes) {
    std::size_t at = 0;
    for (const cpu::TapeStep& step : bound)
      for (std::uint32_t i = 0, n = step.count(step.arguments, bound.args()); i < n; ++i, ++at) {
        const double start = now();
        step.chunk(step.arguments, bound.context(), i);
        const double took = now() - start;
        if (passes == 0)
          chunks.push_back(took);
        else
          chunks[at] = std::min(chunks[at], took);
      }
  }
  const double t = std::accumulate(chunks.begin(), chunks.end(), 0.0);
  std::sort(chunks.begin(), chunks.end());
  const Work work =
      c.op->work({c.op, c.inputs, c.outputs, &c.attributes}, {c.rows, c.past + c.rows});
  std::printf("%-60s %9.1f us %6zu chunks, median %5.1f, longest %6.1f us",
              describe(c, *bound.kernel()).c_str(), t * 1e6, chunks.size(),
              chunks[chunks.size() / 2] * 1e6, chunks.back() * 1e6);
  std::printf(" %7.1f GFLOP/s %6.1f GB/s", work.operations / t / 1e9, work.bytes / t / 1e9);
  if (c.op == &ops::matmul && c.rows == 1)
    std::printf(" (plain read %.1f)",
                static_cast<double>(c.data[0].size()) / read_seconds(c.data[0]) / 1e9);
  std::printf("\n");
}

void time_all(std::span<const cpu::CpuKernel> table) {
  for (const DType type : {DType::q8_0, DType::f16, DType::bf16, DType::f32}) {
    for (const std::uint32_t rows : {1u, 4u, 8u, 512u}) {
      time_one(matmul(type, 4864, 896, rows), table);
      time_one(matmul(type, 896, 4864, rows), table);
    }
    time_one(matmul(type, 151936, 896, 1), table);
    time_one(up_gate(type, type, 4864, 896, 1), table);
    time_one(up_gate(type, type, 4864, 896, 512), table);
  }
  for (const DType type : {DType::f16, DType::q8_0, DType::f32}) {
    for (const std::uint32_t past : {127u, 2047u, 8191u, 32767u}) {
      time_one(attention(type, type, 14, 2, 64, 64, 1, past, 64), table);
      time_one(attention(type, type, 32, 8, 128, 128, 1, past, 64), table);
    }
    time_one(attention(type, type, 14, 2, 64, 64, 512, 0, 64), table);
    time_one(attention(type, type, 32, 8, 128, 128, 512, 0, 64), table);
    time_one(attention(type, type, 16, 8, 128, 128, 512, 1500, 64), table);
  }
  for (const DType type : {DType::bf16, DType::q5_1, DType::q5_0, DType::q4_1, DType::q4_0})
    for (const std::uint32_t past : {127u, 2047u, 8191u})
      time_one(attention(type, type, 32, 8, 128, 128, 1, past, 64), table);
  for (const DType type : {DType::q8_0, DType::q5_1, DType::q4_0})
    time_one(
        make(ops::kv_write,
             {rows_of(512, 1024), rows_of(512, 1024), matrix(type, 8, 128), matrix(type, 8, 128)},
             {false, false, false, false}, {}, 512),
        table);
  const Attributes best(ops::TopKAttributes{ops::most_k});
  // Plain ones, and equal ones, of which none is passed over.
  for (const float spread : {0.5f, 0.0f}) {
    Case c = make(ops::top_k, {rows_of(1, 151936)}, {false}, best, 1);
    c.spread = spread;
    time_one(c, table);
  }
  const Attributes norm(ops::NormAttributes{1e-6f, 1});
  const Attributes rope(ops::NormRopeAttributes{1e-6f, {16, false}});
  for (const std::uint32_t rows : {1u, 512u}) {
    time_one(make(ops::add_rms_norm, {rows_of(rows, 896), rows_of(rows, 896), vector_of(896)},
                  {false, false, true}, norm, rows),
             table);
    time_one(make(ops::norm_rope, {rows_of(rows, 2048), vector_of(128), rows_of(rows, 128)},
                  {false, true, false}, rope, rows),
             table);
    time_one(make(ops::silu, {rows_of(rows, 4864)}, {false}, {}, rows), table);
    time_one(make(ops::rope_table, {{DType::i32, {rows}}}, {false},
                  Attributes(ops::RopeTableAttributes{1e6f, 128, 1}), rows),
             table);
    time_one(make(ops::kv_write,
                  {rows_of(rows, 1024), rows_of(rows, 1024), matrix(DType::f16, 8, 128),
                   matrix(DType::q8_0, 8, 128)},
                  {false, false, false, false}, {}, rows),
             table);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = argc > 1 ? argv[1] : "check";
  if (argc > 3) wanted = argv[3];
  for (const cpu::Isa isa : cpu::available()) {
    if (argc > 2 && cpu::name(isa) != argv[2]) continue;
    const auto table = cpu::kernel_table(isa);
    if (what == "time") {
      time_all(table);
      continue;
    }
    const int before = failures;
    check_others(table);
    check_attention(table);
    check_matmuls(table);
    std::printf("%s: %d failures\n", std::string(cpu::name(isa)).c_str(), failures - before);
  }
  return failures == 0 ? 0 : 1;
}
