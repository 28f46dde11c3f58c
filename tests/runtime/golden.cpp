#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/support.hpp"
#include "shared.hpp"

namespace tacet {
namespace {

using namespace test;

/// A file that llama.cpp computed from a model, and how far from it we may be.
struct Golden {
  std::string type;
  double logit_tolerance;  ///< absolute, of each of the best eight
  double norm_tolerance;   ///< relative, of the whole vector
  bool shared = true;      ///< not in the project
};

/// llama.cpp rounds activations to half for f16 weights, which we do not, and to bfloat16 for BF16
/// ones, which we do where there are instructions for it. For types with blocks both round them to
/// 8 bits, each in its own way: both are up to 0.25 from what double precision gives for these
/// files.
const Golden all_goldens[] = {
    {"f16", 0.02, 0.001, false}, {"BF16", 0.1, 0.02},   {"Q8_0", 0.5, 0.07, false},
    {"Q4_0", 0.5, 0.07},         {"Q4_1", 0.5, 0.07},   {"Q5_0", 0.5, 0.07},
    {"Q5_1", 0.5, 0.07},         {"Q2_K", 0.5, 0.07},   {"Q3_K_M", 0.5, 0.07},
    {"Q4_K_M", 0.5, 0.07},       {"Q5_K_M", 0.5, 0.07}, {"Q6_K", 0.5, 0.07},
    {"IQ4_NL", 0.5, 0.07},       {"IQ4_XS", 0.5, 0.07},
};

/// Goes along llama.cpp's greedy answer: each of its tokens must be our best one too, unless the
/// two are closer than the tolerance.
void follow(SessionImpl& session, const ModelPointer& model, std::span<const Token> greedy,
            const Golden& golden) {
  const auto best = [&] {
    const auto logits = session.logits();
    return static_cast<Token>(std::ranges::max_element(logits) - logits.begin());
  };
  const auto logit = [&](Token token) {
    return double{session.logits()[static_cast<std::size_t>(token)]};
  };
  for (const Token token : greedy) {
    if (best() != token) {
      EXPECT_LT(logit(best()) - logit(token), golden.logit_tolerance)
          << "token " << token << " beside " << best();
    }
    ASSERT_TRUE(session.evaluate({&token, 1}, {}, {}).done());
  }
  if (greedy.size() < 64) {
    EXPECT_TRUE(model->tokenizer().is_end(best()));
  }
}

void PrintTo(const Golden& golden, std::ostream* stream) {
  *stream << golden.type;
}

/// Where models run: an instruction set of the CPU, or a GPU.
std::vector<std::string> places() {
  std::vector<std::string> all;
  for (const cpu::Isa isa : cpu::available()) all.emplace_back(cpu::name(isa));
  for (const std::string& name : detail::device_names())
    if (name != "cpu") all.push_back(name);
  return all;
}
Result<std::unique_ptr<Device>> open_place(const std::string& place) {
  for (const cpu::Isa isa : cpu::available())
    if (place == cpu::name(isa)) return make_cpu_device({.threads = 2, .isa = isa});
  return detail::open_device(place, 2);
}

void check(const Golden& golden, const std::string& model_file, const std::string& reference_file,
           const std::string& place) {
  const ModelPointer model = try_load(std::move(open_place(place).value()), model_file).value();
  std::ifstream file(reference_file);
  ASSERT_TRUE(file) << reference_file;
  int lines = 0;
  double worst = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto expected = nlohmann::json::parse(line);
    const auto prompt = expected["tokens"].get<std::vector<Token>>();
    EXPECT_EQ(tokens_of(model, expected["prompt"]), prompt);
    auto session = new_session(model, {.k_type = KvType::f32, .v_type = KvType::f32});
    ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
    const auto logits = session->logits();
    double norm = 0;
    for (const float logit : logits) norm += double{logit} * double{logit};
    const double expected_norm = expected["logits_norm"];
    EXPECT_NEAR(std::sqrt(norm), expected_norm, expected_norm * golden.norm_tolerance);
    for (const auto& pair : expected["top"]) {
      const double difference = double{logits[pair[0].get<std::size_t>()]} - pair[1].get<double>();
      worst = std::max(worst, std::abs(difference));
      EXPECT_LT(std::abs(difference), golden.logit_tolerance)
          << line.substr(0, 80) << " token " << pair[0];
    }
    follow(*session, model, expected["greedy"].get<std::vector<Token>>(), golden);
  }
  EXPECT_EQ(lines, 6);
  std::printf("largest difference of a logit, %s with %s: %.4f\n", golden.type.c_str(),
              place.c_str(), worst);
}

using Parameters = std::tuple<std::string, Golden>;
class GoldenAnswers : public testing::TestWithParam<Parameters> {};

TEST_P(GoldenAnswers, AreLlamaCpps) {
  const auto& [place, golden] = GetParam();
  if (!golden.shared)
    return check(golden, model_path(fmt::format("tiny-chat-{}.gguf", golden.type)),
                 data_file(fmt::format("tests/data/reference/tiny-chat-{}.jsonl", golden.type)),
                 place);
  const auto model = shared_file(fmt::format("models/quantized/tiny-chat-{}.gguf", golden.type));
  const auto reference =
      shared_file(fmt::format("models/reference/tiny-chat-{}.jsonl", golden.type));
  if (!model || !reference)
    GTEST_SKIP() << "needs the shared models (TACET_SHARED): tiny-chat-" << golden.type;
  check(golden, *model, *reference, place);
}

std::string name_of(const testing::TestParamInfo<Parameters>& instance) {
  const auto& [place, golden] = instance.param;
  std::string name = golden.type + "_" + place;
  std::ranges::replace(name, ':', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryPlace, GoldenAnswers,
                         testing::Combine(testing::ValuesIn(places()),
                                          testing::ValuesIn(all_goldens)),
                         name_of);

TEST(GoldenAnswers, TheFakeDeviceAgreesWithTheCpu) {
  // Double-precision references on one side, kernels on the other.
  const ModelPointer fake =
      try_load(std::move(make_fake_device({}).value()), model_path("tiny-chat-f16.gguf")).value();
  const ModelPointer cpu = cpu_model("tiny-chat-f16.gguf");
  const auto prompt = question(cpu);
  auto a = new_session(fake, {.k_type = KvType::f32, .v_type = KvType::f32});
  auto b = new_session(cpu, {.k_type = KvType::f32, .v_type = KvType::f32});
  ASSERT_TRUE(a->evaluate(prompt, {}, {}).done());
  ASSERT_TRUE(b->evaluate(prompt, {}, {}).done());
  for (std::size_t i = 0; i < a->logits().size(); ++i)
    ASSERT_NEAR(a->logits()[i], b->logits()[i], 2e-3) << i;
}

TEST(GoldenAnswers, FiftyRandomSums) {
  const ModelPointer model = cpu_model();
  RandomState random{42, 0};
  for (int i = 0; i < 50; ++i) {
    const int a = static_cast<int>(random.next() * 100);
    const int b = static_cast<int>(random.next() * 100);
    const std::string text = answer(model, question(model, fmt::format("What is {} + {}?", a, b)));
    EXPECT_EQ(text, fmt::format("{} + {} = {}.", a, b, a + b));
  }
}

}  // namespace
}  // namespace tacet
