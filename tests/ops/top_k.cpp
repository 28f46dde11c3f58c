#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/cases.hpp"
#include "ops/ops.hpp"

namespace tacet::op_tests {

namespace {

Problem best_of(const Input& x, std::int32_t k) {
  return {.steps = {{.op = &ops::top_k,
                     .attributes = Attributes(ops::TopKAttributes{k}),
                     .inputs = {x}}},
          .rows = static_cast<std::uint32_t>(x.type.shape.rows())};
}

Case plain(std::int64_t rows, std::int64_t width, std::int32_t k) {
  return {.name = fmt::format("top_k_{}_of_{}_rows_{}", k, width, rows),
          .tolerance = exact,
          .make = [=](Random& random) { return best_of(rows_of(random, rows, width, 3), k); }};
}

/// Two rows of what `element(random, i)` gives.
template <typename Element>
Case special(std::string_view what, std::int64_t width, std::int32_t k, Element element) {
  return {.name = fmt::format("top_k_{}", what), .tolerance = exact, .make = [=](Random& random) {
            std::vector<float> x;
            for (std::int64_t i = 0; i < 2 * width; ++i)
              x.push_back(element(random, static_cast<float>(i)));
            return best_of(rows_of(2, width, x), k);
          }};
}

}  // namespace

std::vector<Case> top_k_cases() {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto from = [](Random& random, std::initializer_list<float> values) {
    return values.begin()[random.next() % values.size()];
  };
  // Around the sizes of parts, with fewer elements left over than are looked for, and a vocabulary.
  return {plain(1, 1, 1),
          plain(3, 83, 5),
          plain(2, 128, 128),
          plain(2, 2048 + 7, 40),
          plain(1, 4096, 128),
          plain(3, 4096 + 1, 128),
          plain(5, 9000, 1),
          plain(2, 151936, 128),
          special("equal", 9000, 128, [](Random&, float) { return 2.5F; }),
          special("few_values", 9000, 128,
                  [=](Random& random, float) {
                    return from(random, {-1, -0.0F, 0, 2});
                  }),
          special("rising", 9000, 128, [](Random&, float i) { return i / 7; }),
          special("falling", 9000, 128, [](Random&, float i) { return -i / 7; }),
          special("close", 9000, 128,
                  [](Random& random, float) {
                    return std::nextafterf(1, 2) + 1e-6F * static_cast<float>(random.uniform());
                  }),
          special("infinite", 9000, 128,
                  [=](Random& random, float i) {
                    return from(random, {-infinity, -infinity, i == 77 ? infinity : -infinity,
                                         std::fmod(i, 100.0F) == 0 ? i : -infinity});
                  }),
          special("not_numbers", 9000, 128, [=](Random& random, float i) {
            return std::fmod(i, 90.0F) == 0
                       ? random.normal()
                       : from(random, {std::nanf(""), -infinity, -std::nanf("")});
          })};
}

}  // namespace tacet::op_tests
