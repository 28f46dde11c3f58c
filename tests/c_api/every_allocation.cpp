#include <string>

#include "data_file.hpp"
#include "support/failing_allocations.hpp"
#include "tacet.h"

namespace tacet::test {
namespace {

const std::string model_file = data_file("models/tiny-chat-Q8_0.gguf");

void append(void* text, const char* utf8, std::size_t size) {
  static_cast<std::string*>(text)->append(utf8, size);
}

void ignore(void*, tacet_log_level, const char*, std::size_t) {}

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    const tacet_engine_options options = {.struct_size = sizeof options,
                                          .threads = 2,
                                          .log = ignore,
                                          .log_user_data = nullptr,
                                          .device = nullptr};
    ASSERT_EQ(tacet_engine_create(&options, &engine), TACET_OK);
    ASSERT_EQ(tacet_model_load(engine, model_file.c_str(), nullptr, &model), TACET_OK);
  }
  void TearDown() override {
    tacet_model_free(model);
    tacet_engine_free(engine);
  }

  tacet_engine* engine = nullptr;
  tacet_model* model = nullptr;
};

bool ended_well(tacet_status status) {
  EXPECT_TRUE(status == TACET_OK || status == TACET_OUT_OF_MEMORY) << tacet_last_error();
  return status == TACET_OK;
}

TEST_F(CApi, EveryAllocationOfACreationMayFail) {
  const auto create = [&] {
    tacet_session* session = nullptr;
    const bool made = ended_well(tacet_session_create(model, nullptr, &session));
    EXPECT_EQ(made, session != nullptr);
    tacet_session_free(session);
    return made;
  };
  EXPECT_GT(fail_each("session", create), 3);
}

TEST_F(CApi, EveryAllocationOfATurnMayFail) {
  const auto ask = [&] {
    const long left = allocations_left;
    allocations_left = -1;
    tacet_session* session = nullptr;
    EXPECT_EQ(tacet_session_create(model, nullptr, &session), TACET_OK);
    std::string text;
    text.reserve(256);
    allocations_left = left;
    bool done = ended_well(
        tacet_session_prompt(session, "What is 17 + 25?", TACET_PROMPT_CHAT, nullptr, nullptr));
    if (done)
      done = ended_well(tacet_session_generate(session, nullptr, append, &text, nullptr, nullptr));
    const bool reached = allocations_left == 0;
    allocations_left = -1;
    if (done) {
      EXPECT_EQ(text, "17 + 25 = 42.");
    }
    tacet_session_free(session);
    if (reached) allocations_left = 0;
    return done;
  };
  EXPECT_GT(fail_each("turn", ask), 5);
}

// The error itself needs memory: the message of a prompt that does not fit is long.
TEST_F(CApi, EveryAllocationOfARefusalMayFail) {
  const auto refuse = [&] {
    const long left = allocations_left;
    allocations_left = -1;
    tacet_session_options small{};
    small.struct_size = sizeof small;
    small.context = 4;
    tacet_session* session = nullptr;
    EXPECT_EQ(tacet_session_create(model, &small, &session), TACET_OK);
    allocations_left = left;
    const tacet_status status =
        tacet_session_prompt(session, "What is 17 + 25?", TACET_PROMPT_RAW, nullptr, nullptr);
    const bool reached = allocations_left == 0;
    allocations_left = -1;
    EXPECT_TRUE(status == TACET_CONTEXT_FULL || status == TACET_OUT_OF_MEMORY);
    tacet_session_free(session);
    if (reached) allocations_left = 0;
    return status == TACET_CONTEXT_FULL;
  };
  EXPECT_GT(fail_each("refusal", refuse), 3);
}

}  // namespace
}  // namespace tacet::test
