#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/support.hpp"
#include "shared.hpp"

namespace tacet {
namespace {

using namespace test;

/// A file that llama.cpp computed from a model, and how far from it we may be. llama.cpp rounds
/// activations to half (f16 files) or to 8 bits (Q8_0), which we do not: the tolerance is on its
/// account.
struct Golden {
  std::string model;
  double logit_tolerance;  ///< absolute, of each of the best eight
  double norm_tolerance;   ///< relative, of the whole vector
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

void check(const Golden& golden, const std::string& model_file, const std::string& reference_file,
           cpu::Isa isa) {
  auto device = std::move(make_cpu_device({.threads = 2, .isa = isa}).value());
  const ModelPointer model = try_load(std::move(device), model_file).value();
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
  std::printf("largest difference of a logit, %s with %s: %.4f\n", golden.model.c_str(),
              std::string(cpu::name(isa)).c_str(), worst);
}

class GoldenAnswers : public testing::TestWithParam<cpu::Isa> {};

TEST_P(GoldenAnswers, F16) {
  check({"f16", 0.02, 0.001}, model_path("tiny-chat-f16.gguf"),
        std::string(TACET_TEST_DATA) + "/reference/tiny-chat-f16.jsonl", GetParam());
}

TEST_P(GoldenAnswers, Q8_0) {
  check({"Q8_0", 0.3, 0.03}, model_path("tiny-chat-Q8_0.gguf"),
        std::string(TACET_TEST_DATA) + "/reference/tiny-chat-Q8_0.jsonl", GetParam());
}

TEST_P(GoldenAnswers, BF16) {
  const auto model = shared_file("models/quantized/tiny-chat-BF16.gguf");
  const auto reference = shared_file("models/reference/tiny-chat-BF16.jsonl");
  if (!model || !reference)
    GTEST_SKIP() << "needs the shared models (TACET_SHARED): tiny-chat-BF16";
  check({"BF16", 0.3, 0.03}, *model, *reference, GetParam());
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, GoldenAnswers, testing::ValuesIn(cpu::available()),
                         [](const auto& instance) {
                           return std::string(cpu::name(instance.param));
                         });

TEST(GoldenAnswers, TheFakeDeviceAgreesWithTheCpu) {
  // Double-precision references on one side, kernels on the other.
  const FakeModel fake;
  const ModelPointer cpu = cpu_model();
  const auto prompt = question(cpu);
  auto a = new_session(fake.model, {.k_type = KvType::f32, .v_type = KvType::f32});
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
