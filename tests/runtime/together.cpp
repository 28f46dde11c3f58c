// Several sessions in common runs.

#include <thread>

#include "runtime/support.hpp"
#include "tacet/engine.hpp"

namespace tacet {
namespace {

using namespace test;

/// Sessions that other tests look into, and what submits for them.
class Together : public testing::Test {
 protected:
  struct Member {
    std::unique_ptr<SessionImpl> session;
    StopSource source;
    std::vector<Token> tokens;
    EvaluateOptions options = {};
    std::unique_ptr<detail::RunImpl> run = {};

    const Outcome& settle() { return session->settle(run->call); }
  };

  /// Prompts of different lengths behind different pasts.
  static std::vector<Member> members(const ModelPointer& model, std::size_t count = 4) {
    std::vector<Member> made;
    for (std::size_t i = 0; i < count; ++i) {
      Member member{.session = new_session(
                        model, {.context = static_cast<std::uint32_t>(i % 2 == 0 ? 500 : 700)}),
                    .source = {},
                    .tokens = long_prompt(i == 0 ? 1 : i * 37, static_cast<Token>(i + 1))};
      if (i != 1) {
        EXPECT_TRUE(
            member.session->evaluate(long_prompt(20 + i * 9, static_cast<Token>(i + 50)), {}, {})
                .done());
      }
      made.push_back(std::move(member));
    }
    return made;
  }
  static Result<void> submit(std::span<Member> members) {
    std::vector<detail::RunImpl*> runs;
    std::vector<SessionCall> calls;
    for (Member& member : members) {
      member.run = std::make_unique<detail::RunImpl>(*member.session, member.source.token());
      runs.push_back(member.run.get());
      calls.push_back({nullptr, member.tokens, {}, member.options});
    }
    return SessionImpl::submit_together(runs, calls);
  }
  /// Submits a run that the device then holds, and has one of its sessions leave it.
  static void submit_and_leave(const FakeModel& fake, std::span<Member> members, Member& leaving) {
    fake.device->hold_at(20);
    ASSERT_TRUE(submit(members));
    fake.device->wait_until_held();
    leaving.source.request_stop();
    ASSERT_TRUE(leaving.settle().stopped());
  }
  static void let_go(const FakeModel& fake) {
    fake.device->hold_at(FakeDevice::never);
    fake.device->let_go();
  }
  static std::vector<Snapshot> snapshots(std::span<const Member> members) {
    std::vector<Snapshot> made;
    for (const Member& member : members) made.emplace_back(*member.session);
    return made;
  }
  /// What each would be alone.
  static std::vector<Snapshot> alone(const ModelPointer& model, std::size_t count = 4) {
    std::vector<Snapshot> snapshots;
    for (Member& member : members(model, count)) {
      EXPECT_TRUE(member.session->evaluate(member.tokens, {}, {}).done());
      snapshots.emplace_back(*member.session);
    }
    return snapshots;
  }
};

TEST_F(Together, EachHasTheBitsThatItHasAlone) {
  for (const std::string file : {"tiny-chat-Q8_0.gguf", "tiny-chat-f16.gguf"}) {
    const ModelPointer model = tiny_model(file);
    const auto expected = alone(model, 9);
    auto all = members(model, 9);
    ASSERT_TRUE(submit(all));
    for (std::size_t i = all.size(); i-- > 0;) {
      const Outcome& outcome = all[i].settle();
      ASSERT_TRUE(outcome.done());
      EXPECT_EQ(outcome.tokens, all[i].tokens.size());
      EXPECT_TRUE(Snapshot(*all[i].session) == expected[i]) << i;
    }
  }
}

TEST_F(Together, OneThatStopsLeavesTheOthersBitsAlone) {
  const ModelPointer model = tiny_model();
  const auto expected = alone(model);
  for (std::size_t stopped = 0; stopped < 4; ++stopped)
    for (int round = 0; round < 3; ++round) {
      auto all = members(model);
      const Snapshot before(*all[stopped].session);
      ASSERT_TRUE(submit(all));
      std::this_thread::sleep_for(std::chrono::microseconds(150 * round));
      all[stopped].source.request_stop();
      const Outcome outcome = all[stopped].settle();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i == stopped) continue;
        ASSERT_TRUE(all[i].settle().done());
        ASSERT_TRUE(Snapshot(*all[i].session) == expected[i]) << i;
      }
      if (outcome.stopped()) {
        ASSERT_TRUE(Snapshot(*all[stopped].session) == before);
        ASSERT_TRUE(all[stopped].session->evaluate(all[stopped].tokens, {}, {}).done());
      }
      ASSERT_TRUE(Snapshot(*all[stopped].session) == expected[stopped]);
    }
}

TEST_F(Together, AMemberReturnsWhileTheDeviceGoesOn) {
  const FakeModel fake;
  auto all = members(fake.model, 3);
  const auto before = snapshots(all);
  ASSERT_NO_FATAL_FAILURE(submit_and_leave(fake, all, all[2]));
  ASSERT_TRUE(Snapshot(*all[2].session) == before[2]);
  EXPECT_FALSE(all[0].run->call.chunks[0]->run.finished());
  // It may go on at once, behind the run that it left.
  detail::CallImpl again;
  ASSERT_TRUE(all[2].session->submit(again, all[2].tokens, {}, {}));
  let_go(fake);
  ASSERT_TRUE(all[0].settle().done());
  ASSERT_TRUE(all[1].settle().done());
  ASSERT_TRUE(all[2].session->settle(again).done());
  const auto expected = alone(fake.model, 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(Snapshot(*all[i].session) == expected[i]) << i;
}

TEST_F(Together, AMemberThatLeftMayFork) {
  const FakeModel fake;
  auto all = members(fake.model, 3);
  ASSERT_NO_FATAL_FAILURE(submit_and_leave(fake, all, all[2]));
  // The copy of its pages waits for the device.
  std::thread lets_go([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    let_go(fake);
  });
  auto fork = all[2].session->fork().value();
  EXPECT_TRUE(all[0].run->call.chunks[0]->run.finished());
  lets_go.join();
  ASSERT_TRUE(fork->evaluate(all[2].tokens, {}, {}).done());
  EXPECT_TRUE(Snapshot(*fork) == alone(fake.model, 3)[2]);
}

TEST_F(Together, WhatWaitsForARunThatWasLeftLooksAtItsStop) {
  const FakeModel fake;
  auto all = members(fake.model, 3);
  ASSERT_NO_FATAL_FAILURE(submit_and_leave(fake, all, all[2]));
  SessionImpl& left = *all[2].session;
  const Snapshot before(left);
  const StopToken soon = StopToken::after(std::chrono::milliseconds(2));
  EXPECT_TRUE(left.remove(3, 9, true, soon).stopped());
  const auto saved = left.save("never-written", soon);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), Code::stopped);
  EXPECT_TRUE(left.generate({.max_tokens = 1}, {}, soon).stopped());
  std::vector<float> scores(2);
  EXPECT_TRUE(left.score(std::vector<Token>{5, 6}, scores, soon).stopped());
  EXPECT_TRUE(Snapshot(left) == before);
  EXPECT_FALSE(all[0].run->call.chunks[0]->run.finished());
  let_go(fake);
  EXPECT_TRUE(left.generate({.max_tokens = 1}, {}, {}).done());
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(all[i].settle().done());
}

TEST_F(Together, LongPromptsTakeSeveralRuns) {
  const ModelPointer model = tiny_model();
  std::vector<Member> all;
  std::vector<Snapshot> expected;
  for (const std::size_t length : {600U, 1U, 1100U, 90U}) {
    const auto tokens = long_prompt(length, static_cast<Token>(length));
    auto single = new_session(model, {.context = 2048});
    ASSERT_TRUE(single->evaluate(tokens, {}, {}).done());
    expected.emplace_back(*single);
    all.push_back({new_session(model, {.context = 2048}), {}, tokens});
  }
  ASSERT_TRUE(submit(all));
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i].settle().done());
    EXPECT_TRUE(Snapshot(*all[i].session) == expected[i]) << i;
  }
  // One of them keeps what it has.
  for (Member& member : all) ASSERT_TRUE(member.session->truncate(0));
  all[2].options.keep_progress = true;
  ASSERT_TRUE(submit(all));
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  all[2].source.request_stop();
  const Outcome outcome = all[2].settle();
  if (outcome.stopped()) {
    EXPECT_EQ(outcome.tokens % detail::chunk_rows, 0U);
  }
  for (Member& member : all) member.settle();
  all[2].options.keep_progress = false;
  const auto rest = std::span(all[2].tokens).subspan(outcome.tokens);
  if (!rest.empty()) {
    ASSERT_TRUE(all[2].session->evaluate(rest, {}, {}).done());
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(Snapshot(*all[i].session) == expected[i]) << i;
}

TEST_F(Together, QueuedBehindOneAnother) {
  const ModelPointer model = tiny_model();
  auto all = members(model);
  ASSERT_TRUE(submit(all));
  std::vector<std::unique_ptr<detail::RunImpl>> first;
  for (Member& member : all) first.push_back(std::move(member.run));
  for (Member& member : all) member.tokens = {5, 6, 7};
  ASSERT_TRUE(submit(all));
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(all[i].settle().done());
  auto plain = members(model);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(plain[i].session->evaluate(plain[i].tokens, {}, {}).done());
    ASSERT_TRUE(plain[i].session->evaluate(all[i].tokens, {}, {}).done());
    EXPECT_TRUE(Snapshot(*all[i].session) == Snapshot(*plain[i].session)) << i;
  }
}

TEST_F(Together, WhatDoesNotGoTogetherIsRefusedAndChangesNothing) {
  const ModelPointer model = tiny_model();
  auto all = members(model);
  const std::size_t pages = all[0].session->pages().pool()->used();
  all[3].tokens = {-1};
  EXPECT_FALSE(submit(all));
  EXPECT_EQ(all[0].session->pages().pool()->used(), pages);
  all[3].tokens = long_prompt(700);
  const auto full = submit(all);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), Code::context_full);
  all[3] = {new_session(model, {.k_type = KvType::f32}), {}, {1}};
  const auto types = submit(all);
  ASSERT_FALSE(types);
  EXPECT_EQ(types.error().code(), Code::invalid_argument);
  all[3] = {new_session(tiny_model()), {}, {1}};
  EXPECT_FALSE(submit(all));
  const auto expected = alone(model);
  ASSERT_TRUE(submit(std::span(all).first(3)));
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(all[i].settle().done());
    EXPECT_TRUE(Snapshot(*all[i].session) == expected[i]) << i;
  }
}

TEST_F(Together, AFailedRunIsEveryMembers) {
  const FakeModel fake;
  auto all = members(fake.model, 2);
  const auto before = snapshots(all);
  fake.device->fail_at(30);
  ASSERT_TRUE(submit(all));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].settle().status, Status::failed);
    EXPECT_TRUE(Snapshot(*all[i].session) == before[i]);
  }
  ASSERT_TRUE(submit(all));
  for (Member& member : all) EXPECT_TRUE(member.settle().done());
}

TEST(TogetherApi, ServesPrograms) {
  const auto engine = Engine::create().value();
  const Model model = engine.load(model_path("tiny-chat-Q8_0.gguf")).value();
  std::vector<Session> sessions;
  std::vector<std::vector<Token>> prompts;
  for (const char* text : {"What is 17 + 25?", "What is the opposite of hot?"}) {
    const ChatMessage message{.role = "user", .content = text};
    sessions.push_back(model.new_session().value());
    prompts.push_back(model.tokenize(model.render_chat({&message, 1}).value(), true).value());
  }
  auto runs = submit_together(
                  std::vector<SessionCall>{{&sessions[0], prompts[0]}, {&sessions[1], prompts[1]}})
                  .value();
  std::string answers;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(runs[i].wait().done());
    EXPECT_TRUE(sessions[i].generate({}, [&](std::string_view text) { answers += text; }).done());
  }
  EXPECT_NE(answers.find("17 + 25 = 42."), std::string::npos) << answers;
  EXPECT_NE(answers.find("cold"), std::string::npos) << answers;
  EXPECT_FALSE(submit_together(
      std::vector<SessionCall>{{&sessions[0], prompts[0]}, {&sessions[0], prompts[0]}}));
  EXPECT_FALSE(submit_together(std::vector<SessionCall>{{nullptr, prompts[0]}}));
  EXPECT_TRUE(submit_together({}).value().empty());
}

}  // namespace
}  // namespace tacet
