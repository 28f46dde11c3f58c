// Sessions that are saved and restored.

#include <fstream>

#include "base/checksum.hpp"
#include "formats/temporary_folder.hpp"
#include "runtime/support.hpp"

namespace tacet {
namespace {

using namespace test;

class SavedSession : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  static std::vector<char> bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, std::span<const char> bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  /// A session that has read a question and begun its answer.
  static std::unique_ptr<SessionImpl> begun(const ModelPointer& model,
                                            const SessionOptions& options = {}) {
    auto session = new_session(model, options);
    EXPECT_TRUE(session->evaluate(question(model, "Tell me a story about a fox."), {}, {}).done());
    EXPECT_TRUE(session->generate({.max_tokens = 9, .sampler = warm}, {}, {}).done());
    return session;
  }
  static std::string rest(SessionImpl& session) {
    std::string text;
    const TextFunction append = [&](std::string_view piece) { text += piece; };
    EXPECT_TRUE(session.generate({.max_tokens = 20, .sampler = warmer}, append, {}).done());
    return text;
  }
  static std::string error(const Result<std::unique_ptr<SessionImpl>>& result) {
    return result ? "no error" : std::string(result.error().message());
  }

  static constexpr SamplerOptions warm{.temperature = 1, .seed = 5};
  static constexpr SamplerOptions warmer{.temperature = 1.5F};
  const ModelPointer model_ = tiny_model();
  const TemporaryFolder folder_;
};

TEST_F(SavedSession, IsRestoredBitForBit) {
  for (const KvType type : {KvType::f16, KvType::f32, KvType::q8_0, KvType::q4_1}) {
    auto session = begun(model_, {.context = 300, .k_type = type, .v_type = KvType::bf16});
    ASSERT_TRUE(session->save(path("a"), {}, "of the program"));
    std::string note;
    auto restored = SessionImpl::restore(model_, path("a"), 0, {}, &note);
    ASSERT_TRUE(restored) << error(restored);
    EXPECT_EQ(note, "of the program");
    EXPECT_TRUE(Snapshot(**restored) == Snapshot(*session));
    EXPECT_EQ((*restored)->context(), 300U);
    EXPECT_EQ(rest(**restored), rest(*session)) << "the random generator goes on";
  }
}

TEST_F(SavedSession, MayBeEmptyOrLong) {
  auto session = new_session(model_);
  ASSERT_TRUE(session->save(path("empty"), {}));
  auto empty = SessionImpl::restore(model_, path("empty"), 0, {});
  ASSERT_TRUE(empty) << error(empty);
  EXPECT_TRUE(Snapshot(**empty) == Snapshot(*session));

  const auto prompt = long_prompt(700);
  session = new_session(model_, {.context = 1024});
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  ASSERT_TRUE(session->truncate(613));
  ASSERT_TRUE(session->save(path("long"), {}));
  auto restored = SessionImpl::restore(model_, path("long"), 0, {});
  ASSERT_TRUE(restored) << error(restored);
  EXPECT_TRUE((*restored)->logits().empty());
  EXPECT_TRUE(Snapshot(**restored) == Snapshot(*session));
}

TEST_F(SavedSession, UnfinishedCharactersComeBack) {
  TextStream stream;
  stream.feed("\xf0\x9f", {});
  auto restored = TextStream::restore("held", stream.character());
  EXPECT_EQ(restored.pending(), "held\xf0\x9f");
  EXPECT_EQ(restored.feed("\xa6\x8a", {}).text, "held\U0001F98A");
}

TEST_F(SavedSession, HasNothingOfOthers) {
  // Pages come back from a session that wrote all of them.
  const auto prompt = question(model_);
  auto clean = new_session(tiny_model());
  ASSERT_TRUE(clean->evaluate(prompt, {}, {}).done());
  ASSERT_TRUE(clean->save(path("clean"), {}));
  { ASSERT_TRUE(new_session(model_)->evaluate(long_prompt(200), {}, {}).done()); }
  auto session = new_session(model_);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  ASSERT_TRUE(session->save(path("used"), {}));
  EXPECT_TRUE(bytes(path("clean")) == bytes(path("used")));
}

TEST_F(SavedSession, IsRefusedWhereItDoesNotFit) {
  ASSERT_TRUE(begun(model_)->save(path("a"), {}));
  const auto other = SessionImpl::restore(tiny_model("tiny-chat-f16.gguf"), path("a"), 0, {});
  EXPECT_NE(error(other).find("is a session of another model"), std::string::npos) << error(other);
  const auto small = SessionImpl::restore(model_, path("a"), 8, {});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code(), Code::context_full);
  const auto missing = SessionImpl::restore(model_, path("b"), 0, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::not_found);
  const auto model = SessionImpl::restore(model_, model_path("tiny-chat-Q8_0.gguf"), 0, {});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), Code::invalid_argument) << error(model);
}

TEST_F(SavedSession, NoDamageGoesUnseen) {
  ASSERT_TRUE(begun(model_)->save(path("a"), {}));
  const auto whole = bytes(path("a"));
  for (std::size_t at = 0; at < whole.size(); at += at < 600 ? 1 : 997) {
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    write("b", damaged);
    EXPECT_FALSE(SessionImpl::restore(model_, path("b"), 0, {})) << "byte " << at;
    write("b", std::span(whole).first(at));
    EXPECT_FALSE(SessionImpl::restore(model_, path("b"), 0, {})) << "cut at " << at;
  }
  auto longer = whole;
  longer.push_back(0);
  write("b", longer);
  EXPECT_FALSE(SessionImpl::restore(model_, path("b"), 0, {}));
}

TEST_F(SavedSession, WrongNumbersUnderARightChecksumAreSeen) {
  ASSERT_TRUE(begun(model_)->save(path("a"), {}));
  const auto whole = bytes(path("a"));
  for (std::size_t at = 8; at < 120; at += 4)
    for (const std::uint32_t value : {0U, 1U, 0x7fffffffU, 0xffffffffU}) {
      auto forged = whole;
      std::memcpy(forged.data() + at, &value, sizeof value);
      Checksum sum;
      sum.add(std::as_bytes(std::span(forged).first(forged.size() - 8)));
      const std::uint64_t expected = sum.value();
      std::memcpy(forged.data() + forged.size() - 8, &expected, sizeof expected);
      write("b", forged);
      // A restored one can be used; no error is worse than an error.
      if (auto restored = SessionImpl::restore(model_, path("b"), 0, {}))
        (*restored)->generate({.max_tokens = 2}, {}, {});
    }
}

TEST_F(SavedSession, NothingOfAFileIsSharedWithOthers) {
  const auto prompt = long_prompt(70);
  auto session = new_session(model_);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  ASSERT_TRUE(session->save(path("a"), {}));
  const ModelPointer fresh = tiny_model();
  auto restored = SessionImpl::restore(fresh, path("a"), 0, {});
  ASSERT_TRUE(restored) << error(restored);
  ASSERT_TRUE((*restored)->evaluate(long_prompt(9, 3), {}, {}).done());
  auto other = std::move(SessionImpl::create(fresh, {}).value());
  EXPECT_EQ(other->evaluate(prompt, {}, {}).reused, 0U);
}

TEST_F(SavedSession, AStopLeavesNoFile) {
  auto session = begun(model_);
  const Snapshot before(*session);
  StopSource source;
  source.request_stop();
  const auto saved = session->save(path("a"), source.token());
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), Code::stopped);
  EXPECT_TRUE(folder_.entries() == 0);
  EXPECT_TRUE(Snapshot(*session) == before);
  ASSERT_TRUE(session->save(path("a"), {}));
  const auto restored = SessionImpl::restore(model_, path("a"), 0, source.token());
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code(), Code::stopped);
}

TEST_F(SavedSession, EveryPollStops) {
  auto session = begun(model_);
  const Snapshot before(*session);
  int stops = 0;
  for (std::int64_t n = 1;; ++n, ++stops) {
    const auto saved = session->save(path("a"), after_polls(n));
    if (saved) break;
    ASSERT_EQ(saved.error().code(), Code::stopped);
    ASSERT_TRUE(folder_.entries() == 0) << n;
  }
  EXPECT_TRUE(Snapshot(*session) == before);
  EXPECT_GT(stops, 5);
  const std::size_t pages = session->pages().pool()->used();
  for (std::int64_t n = 1;; ++n, ++stops) {
    const auto restored = SessionImpl::restore(model_, path("a"), 0, after_polls(n));
    if (restored) break;
    ASSERT_EQ(restored.error().code(), Code::stopped);
    ASSERT_EQ(session->pages().pool()->used(), pages) << n;
  }
  EXPECT_GT(stops, 10);
}

TEST_F(SavedSession, AnOldFileStaysUntilTheNewOneIsWhole) {
  auto session = begun(model_);
  ASSERT_TRUE(session->save(path("a"), {}));
  const auto old = bytes(path("a"));
  rest(*session);
  StopSource source;
  source.request_stop();
  ASSERT_FALSE(session->save(path("a"), source.token()));
  EXPECT_TRUE(bytes(path("a")) == old);
  ASSERT_TRUE(session->save(path("a"), {}));
  EXPECT_FALSE(bytes(path("a")) == old);
}

}  // namespace
}  // namespace tacet
