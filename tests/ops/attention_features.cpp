#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

using ops::AttentionAttributes;

/// One sequence of a run.
struct Part {
  std::uint32_t rows;
  std::uint32_t past;
  bool has_cells = true;
};

/// What a case asks for beyond plain attention.
struct Wanted {
  std::string name;
  std::vector<Part> parts;
  std::uint32_t heads_per_kv = 2;
  KvShape shape = {};
  AttentionAttributes attributes = {
      .heads = 0, .scale = 0, .max_keys = 0};  ///< heads, scale and max_keys are filled in
  bool sinks = false;
  /// Positions are not the cells' numbers: some are left out, some are there twice.
  bool gaps = false;
  std::uint32_t unseen_pages = 0;
  /// Scores are so many times as large.
  float spread = 1;
  Tolerance tolerance = f32_sums;
};

std::vector<std::int32_t> with_gaps(Random& random, std::uint32_t cells) {
  std::vector<std::int32_t> positions;
  std::int32_t position = -3;
  for (std::uint32_t i = 0; i < cells; ++i) {
    const std::uint64_t dice = random.next() % 16;
    position += dice == 0 ? 9 : dice < 3 ? 0 : 1;
    positions.push_back(position);
  }
  return positions;
}

KvMemory sequence(Random& random, const Wanted& wanted, const Part& part) {
  KvShape shape = wanted.shape;
  shape.past = part.past;
  const std::uint32_t cells = part.past + part.rows;
  KvMemory kv(shape, cells);
  kv.fill(random, cells);
  kv.has_cells = part.has_cells;
  kv.unseen_pages = wanted.unseen_pages;
  if (wanted.gaps) kv.positions = with_gaps(random, cells);
  return std::move(kv).of(part.rows);
}

Case asked(const Wanted& wanted) {
  return {.name = "attention_" + wanted.name,
          .tolerance = wanted.tolerance,
          .make = [wanted](Random& random) {
            Problem problem;
            std::uint32_t cells = 0;
            for (const Part& part : wanted.parts) {
              problem.kv.push_back(sequence(random, wanted, part));
              problem.rows += part.rows;
              cells = std::max(cells, part.past + part.rows);
            }
            const KvShape& shape = wanted.shape;
            AttentionAttributes a = wanted.attributes;
            a.heads = static_cast<std::int32_t>(wanted.heads_per_kv * shape.heads);
            a.scale = wanted.spread / std::sqrt(static_cast<float>(shape.k_size));
            a.max_keys = static_cast<std::int32_t>(cells);
            const KvMemory& kv = problem.kv.front();
            const Input keys = kv.keys_input();
            Step step{&ops::attention,
                      Attributes(a),
                      {rows_of(random, problem.rows, a.heads * std::int64_t{shape.k_size}), keys,
                       a.values_in_keys != 0 ? keys : kv.values_input()}};
            if (wanted.sinks) step.inputs.push_back(vector(random, a.heads, 3));
            problem.steps = {step};
            problem.whole_sequences = !a.causal;
            return problem;
          }};
}

/// Each feature, and those that could get into each other's way, with few rows and with many, short
/// and behind several splits.
void add_features(std::vector<Case>& cases) {
  const std::pair<std::string, std::function<void(Wanted&)>> features[] = {
      {"softcap", [](Wanted& w) { w.attributes.softcap = 2; }},
      {"alibi", [](Wanted& w) { w.attributes.max_bias = 8; }},
      {"window", [](Wanted& w) { w.attributes.window = 40; }},
      {"window_of_one", [](Wanted& w) { w.attributes.window = 1; }},
      {"long_window", [](Wanted& w) { w.attributes.window = 300; }},
      {"sinks", [](Wanted& w) { w.sinks = true; }},
      {"not_causal", [](Wanted& w) { w.attributes.causal = false; }},
      {"values_in_keys", [](Wanted& w) { w.attributes.values_in_keys = 40; }},
      {"softcap_window",
       [](Wanted& w) {
         w.attributes.softcap = 5;
         w.attributes.window = 150;
         w.spread = 8;
       }},
      {"alibi_gaps",
       [](Wanted& w) {
         w.attributes.max_bias = 8;
         w.gaps = true;
       }},
      {"window_gaps_sinks",
       [](Wanted& w) {
         w.attributes.window = 70;
         w.gaps = w.sinks = true;
       }},
      {"window_not_causal",
       [](Wanted& w) {
         w.attributes.window = 20;
         w.attributes.causal = false;
       }},
      {"alibi_not_causal",
       [](Wanted& w) {
         w.attributes.max_bias = 4;
         w.attributes.causal = false;
       }},
      {"everything",
       [](Wanted& w) {
         w.attributes.softcap = 3;
         w.attributes.max_bias = 2;
         w.attributes.window = 200;
         w.gaps = w.sinks = true;
       }},
  };
  for (const auto& [name, apply] : features)
    for (const auto& [rows, past] : {std::pair{1U, 5U}, {3U, 700U}, {40U, 0U}, {21U, 500U}}) {
      Wanted wanted{.name = fmt::format("{}_{}_rows_past_{}", name, rows, past),
                    .parts = {{rows, past}},
                    .heads_per_kv = 3};
      apply(wanted);
      cases.push_back(asked(wanted));
      wanted.name = fmt::format("{}_{}_rows_of_three_past_{}", name, rows, past);
      wanted.parts = {{2, past + 40}, {rows, past}, {1, 0}};
      wanted.shape = {.heads = 1, .k_size = 80, .v_size = 80, .page_tokens = 48};
      cases.push_back(asked(wanted));
    }
}

/// Many sequences, of which some have no cells.
void add_batches(std::vector<Case>& cases) {
  for (const bool sinks : {false, true}) {
    const std::string name = sinks ? "_sinks" : "";
    cases.push_back(asked(
        {.name = "batch_of_8" + name,
         .parts = {{1, 0}, {1, 700}, {1, 31}, {1, 5, false}, {1, 1000}, {1, 127}, {1, 128}, {1, 1}},
         .sinks = sinks}));
    cases.push_back(
        asked({.name = "batch_of_prompts" + name,
               .parts = {{9, 0}, {1, 700}, {17, 31}, {3, 5, false}, {1, 1000}, {30, 127}},
               .heads_per_kv = 7,
               .sinks = sinks}));
    cases.push_back(asked({.name = "no_cells" + name, .parts = {{2, 5, false}}, .sinks = sinks}));
    cases.push_back(
        asked({.name = "no_cells_many_rows" + name, .parts = {{20, 5, false}}, .sinks = sinks}));
  }
}

/// Pages that lie before all windows are not there; the window begins on either side of a page's
/// beginning, and of a tile's.
void add_freed_pages(std::vector<Case>& cases) {
  for (const std::uint32_t rows : {1U, 4U, 33U})
    for (const std::uint32_t page_tokens : {32U, 48U, 3U})
      for (const std::uint32_t past : {95U, 96U, 97U, 700U}) {
        const std::int32_t window = 30;
        const std::uint32_t first = past + 1 - window;
        cases.push_back(asked(
            {.name = fmt::format("freed_pages_of_{}_{}_rows_past_{}", page_tokens, rows, past),
             .parts = {{rows, past}},
             .shape = {.page_tokens = page_tokens},
             .attributes = {.heads = 0, .scale = 0, .max_keys = 0, .window = window},
             .unseen_pages = first / page_tokens}));
      }
}

/// Sizes of models: MLA, odd ones, head counts that are no power of two with ALiBi.
void add_sizes(std::vector<Case>& cases) {
  for (const std::uint32_t rows : {1U, 12U})
    for (const DType type : {DType::f32, DType::bf16, DType::q8_0, DType::q4_0})
      cases.push_back(
          asked({.name = fmt::format("mla_{}_{}_rows", name(type), rows),
                 .parts = {{rows, 90}},
                 .heads_per_kv = 16,
                 .shape = {.heads = 1, .k_size = 576, .v_size = 0, .k_type = type},
                 .attributes = {.heads = 0, .scale = 0, .max_keys = 0, .values_in_keys = 512}}));
  for (const std::uint32_t heads : {1U, 5U, 12U, 40U})
    cases.push_back(asked({.name = fmt::format("alibi_{}_heads", heads),
                           .parts = {{3, 200}},
                           .heads_per_kv = heads,
                           .shape = {.heads = 1, .k_size = 40, .v_size = 37},
                           .attributes = {.heads = 0, .scale = 0, .max_keys = 0, .max_bias = 8}}));
}

/// All pairs of types.
void add_types(std::vector<Case>& cases) {
  constexpr DType types[] = {DType::f32,  DType::f16,  DType::bf16, DType::q8_0,
                             DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1};
  for (const DType k : types)
    for (const DType v : types)
      for (const std::uint32_t rows : {2U, 11U})
        cases.push_back(asked({.name = fmt::format("kept_{}_{}_{}_rows", name(k), name(v), rows),
                               .parts = {{rows, 150}},
                               .shape = {.k_size = 96, .v_size = 64, .k_type = k, .v_type = v}}));
}

/// Scores of which all are -infinity: zeros, and not what 0 / 0 is.
Case masked(std::uint32_t rows, bool sinks) {
  return {.name = fmt::format("attention_all_masked_{}_rows{}", rows, sinks ? "_sinks" : ""),
          .tolerance = exact,
          .make = [=](Random& random) {
            KvMemory kv({.heads = 1, .k_size = 8, .v_size = 16, .k_type = DType::f32, .past = 300},
                        300 + rows);
            kv.fill(random, 300 + rows, 100);
            const std::vector<float> minus(rows * 8, -std::numeric_limits<float>::infinity());
            const AttentionAttributes a{
                .heads = 1, .scale = 1, .max_keys = static_cast<std::int32_t>(300 + rows)};
            Step step{&ops::attention,
                      Attributes(a),
                      {rows_of(rows, 8, minus), kv.keys_input(), kv.values_input()}};
            if (sinks) step.inputs.push_back(vector(random, 1));
            return Problem{.steps = {step}, .rows = rows, .kv = {kv}};
          }};
}

/// So many keys that few rows need several rounds of splits.
void add_long(std::vector<Case>& cases) {
  const KvShape shape{.heads = 1, .k_size = 8, .v_size = 8};
  cases.push_back(asked({.name = "three_rounds", .parts = {{2, 20000}}, .shape = shape}));
  cases.push_back(asked({.name = "rounds_end_apart",
                         .parts = {{1, 8191}, {1, 8192}, {1, 17000}, {1, 3}},
                         .shape = shape,
                         .sinks = true}));
  cases.push_back(asked({.name = "many_rounds", .parts = {{12, 20000}}, .shape = shape}));
  cases.push_back(asked({.name = "large_values_in_rounds",
                         .parts = {{8, 1500}},
                         .heads_per_kv = 8,
                         .shape = {.k_size = 16, .v_size = 1000}}));
}

}  // namespace

std::vector<Case> attention_feature_cases() {
  std::vector<Case> cases;
  add_features(cases);
  add_batches(cases);
  add_freed_pages(cases);
  add_sizes(cases);
  add_types(cases);
  add_long(cases);
  for (const std::uint32_t rows : {1U, 10U})
    for (const bool sinks : {false, true}) cases.push_back(masked(rows, sinks));
  return cases;
}

}  // namespace tacet::op_tests
