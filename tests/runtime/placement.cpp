// What of a model that is split is where, and that nobody sees the cut.

#include <fstream>
#include <iterator>
#include <set>

#include "formats/temporary_folder.hpp"
#include "runtime/split_model.hpp"

namespace tacet {
namespace {

using namespace test;
using namespace std::chrono_literals;

/// What a session is after a prompt over a page, tokens that were removed, and an answer.
Snapshot conversation(const ModelPointer& model, std::span<const Token> tokens) {
  auto session = new_session(model, {.context = 700});
  EXPECT_TRUE(session->evaluate(tokens, {}, {}).done());
  EXPECT_TRUE(session->remove(2, 5, true, {}).done());
  EXPECT_TRUE(session->generate({.max_tokens = 3, .sampler = {.temperature = 1, .seed = 7}}, {}, {})
                  .done());
  return Snapshot(*session);
}

TEST(Placement, EveryCutHasTheBitsOfOneDevice) {
  const auto tokens = long_prompt(40);
  const Snapshot expected = conversation(FakeModel(unfused).model, tokens);
  for (std::uint32_t layers = 0; layers <= all_layers; ++layers) {
    const SplitModel split(layers);
    EXPECT_TRUE(conversation(split.model, tokens) == expected) << layers;
    EXPECT_EQ(split.lower->steps_executed() != 0, layers < all_layers) << layers;
    EXPECT_EQ(split.upper->steps_executed() != 0, layers > 0) << layers;
  }
}

TEST(Placement, TwoProcessorsHaveTheBitsOfOne) {
  const ModelPointer whole = try_load(cpu_device(), model_path("tiny-chat-Q8_0.gguf")).value();
  const auto tokens = long_prompt(600);  // two runs
  for (const unsigned threads : {1U, 3U}) {
    const ModelPointer split =
        try_split(cpu_device(threads), cpu_device(threads), GpuLayers::count(1)).value();
    EXPECT_TRUE(conversation(split, tokens) == conversation(whole, tokens)) << threads;
    EXPECT_EQ(answer(split, question(split)), answer(whole, question(whole)));
  }
}

TEST(Placement, AForkWritesPagesOfItsOwnOnBothDevices) {
  const SplitModel split;
  auto session = new_session(split.model);
  ASSERT_TRUE(session->evaluate(long_prompt(40), {}, {}).done());
  const Snapshot before(*session);
  auto fork = session->fork().value();
  ASSERT_TRUE(fork->evaluate(prompt, {}, {}).done());
  EXPECT_TRUE(Snapshot(*session) == before);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  EXPECT_TRUE(Snapshot(*session) == Snapshot(*fork));
}

TEST(Placement, APrefixIsTakenOverFromOthers) {
  const SplitModel split;
  const auto tokens = long_prompt(70);
  auto first = SessionImpl::create(split.model, {}).value();
  ASSERT_TRUE(first->evaluate(tokens, {}, {}).done());
  auto second = SessionImpl::create(split.model, {}).value();
  EXPECT_EQ(second->evaluate(tokens, {}, {}).reused, 64U);
  EXPECT_TRUE(Snapshot(*second) == Snapshot(*first));
}

TEST(Placement, AWindowGivesUpPagesOfBothDevices) {
  const auto with_window = [](const ModelPointer& model) {
    auto session = new_session(model, {.window = 20});
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(session->evaluate(long_prompt(23, i), {}, {}).done());
    EXPECT_LE(session->pages().pool()->used(), 3U);
    return Snapshot(*session);
  };
  EXPECT_TRUE(with_window(SplitModel().model) == with_window(FakeModel(unfused).model));
}

TEST(Placement, ASavedSessionGoesOnWhereverItsLayersAre) {
  const SplitModel split;
  const FakeModel whole(unfused);
  const TemporaryFolder folder;
  const std::string path = folder / "session";
  const auto moves = [&](const ModelPointer& from, const ModelPointer& to) {
    auto session = new_session(from);
    EXPECT_TRUE(session->evaluate(long_prompt(45), {}, {}).done());
    EXPECT_TRUE(session->save(path, {}));
    auto restored = std::move(SessionImpl::restore(to, path, 0, {}).value());
    EXPECT_TRUE(Snapshot(*restored) == Snapshot(*session));
    EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
    EXPECT_TRUE(restored->evaluate(prompt, {}, {}).done());
    EXPECT_TRUE(Snapshot(*restored) == Snapshot(*session));
  };
  moves(split.model, split.model);
  moves(split.model, whole.model);
  moves(whole.model, SplitModel(1).model);
}

TEST(Placement, AFileHoldsNothingOfWhatLayBehindTheLastToken) {
  const SplitModel split;
  const TemporaryFolder folder;
  const auto tokens = long_prompt(60);
  const auto saved = [&](std::size_t evaluated, const char* name) {
    auto session = new_session(split.model);
    EXPECT_TRUE(session->evaluate(std::span(tokens).first(evaluated), {}, {}).done());
    EXPECT_TRUE(session->truncate(44));
    EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
    EXPECT_TRUE(session->save(folder / name, {}));
    std::ifstream file(folder / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_TRUE(saved(60, "long") == saved(44, "short"));
}

TEST(Placement, ADeviceWithoutMemoryForAPageFailsTheCallAlone) {
  const SplitModel large;
  const std::uint64_t weights = FakeOptions{}.memory - large.upper->memory_free();
  const std::size_t page = large.model->kv_pool(DType::f16, DType::f16)->page_bytes();
  const SplitModel split(2, weights + 2 * page);  // of pages by halves
  auto session = new_session(split.model);
  ASSERT_TRUE(session->evaluate(prompt, {}, {}).done());
  const Snapshot before(*session);
  const std::size_t pages = session->pages().pool()->used();
  const Outcome outcome = session->evaluate(long_prompt(400), {}, {});
  ASSERT_EQ(outcome.status, Status::failed);
  EXPECT_EQ(outcome.error->code(), Code::out_of_memory);
  EXPECT_TRUE(Snapshot(*session) == before);
  EXPECT_EQ(session->pages().pool()->used(), pages);
}

TEST(Placement, ACallNeedsABoundOfBothDevices) {
  for (const bool is_upper : {false, true}) {
    auto stated = std::move(make_fake_device().value());
    auto silent = std::move(make_fake_device({.name = "silent", .stop_bound = 0ns}).value());
    auto model = is_upper ? try_split(std::move(silent), std::move(stated), GpuLayers::count(2))
                          : try_split(std::move(stated), std::move(silent), GpuLayers::count(2));
    auto session = new_session(model.value());
    StopSource source;
    const Outcome outcome = session->evaluate(prompt, source.token(), {});
    ASSERT_EQ(outcome.status, Status::failed);
    EXPECT_EQ(outcome.error->code(), Code::unsupported);
    EXPECT_NE(outcome.error->message().find("silent"), std::string_view::npos);
    EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
  }
}

/// The layers that automatic placement puts on a GPU with so much memory.
std::uint32_t automatic(std::uint64_t memory, std::string* placement = nullptr,
                        int* warnings = nullptr) {
  const auto log = [&](LogLevel level, std::string_view) {
    if (warnings != nullptr && level == LogLevel::warning) ++*warnings;
  };
  auto gpu = std::move(make_fake_device({.name = "gpu", .memory = memory}).value());
  const auto model =
      try_split(std::move(gpu), std::move(make_fake_device({.name = "host"}).value()),
                GpuLayers::automatic(), log)
          .value();
  if (placement != nullptr) *placement = model->info().placement;
  EXPECT_TRUE(new_session(model)->evaluate(prompt, {}, {}).done());
  const auto plan = model->plan(1, {.context = 32}).value();
  const auto last = model->places(*plan, {.context = 64}).back();
  EXPECT_EQ(last.end_layer, all_layers);
  return last.device == "gpu" ? last.end_layer - last.first_layer : 0;
}

TEST(Placement, AutomaticIsAsManyAsFit) {
  std::string placement;
  int warnings = 0;
  EXPECT_EQ(automatic(std::uint64_t{1} << 32, &placement, &warnings), all_layers);
  EXPECT_TRUE(placement.starts_with("All 4 layers are on gpu: all need about ")) << placement;
  EXPECT_EQ(warnings, 0);
  EXPECT_EQ(automatic(1000, &placement, &warnings), 0U);
  EXPECT_TRUE(placement.starts_with("All 4 layers are on host: all need about ")) << placement;
  EXPECT_EQ(warnings, 1);
  std::uint32_t before = 0;
  std::set<std::uint32_t> seen;
  for (std::uint64_t memory = 1 << 20; before < all_layers; memory += 1 << 18) {
    const std::uint32_t layers = automatic(memory, &placement);
    EXPECT_GE(layers, before);
    before = layers;
    if (!seen.insert(layers).second || layers != 2) continue;
    EXPECT_TRUE(placement.starts_with("The last 2 of 4 layers are on gpu, the others on host: "))
        << placement;
  }
  EXPECT_GE(seen.size(), 4U);
}

TEST(Placement, ALoadThatDoesNotFitNamesWhatDoes) {
  auto gpu = std::move(make_fake_device({.name = "gpu", .memory = 500'000}).value());
  const auto model = try_split(std::move(gpu), cpu_device(), GpuLayers::all());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), Code::out_of_memory);
  const std::string_view message = model.error().message();
  EXPECT_NE(message.find("gpu has no "), std::string_view::npos) << message;
  EXPECT_NE(message.find("Of the model's 4 layers 4 should be on gpu"), std::string_view::npos)
      << message;
  EXPECT_NE(message.find("use --gpu-layers "), std::string_view::npos) << message;
}

TEST(Placement, AnEngineOnTheCpuRefusesGpuLayers) {
  const auto engine = Engine::create({.threads = 1, .device = "cpu"}).value();
  const auto load = [&](GpuLayers layers) {
    return engine.load(model_path("tiny-chat-Q8_0.gguf"), {.gpu_layers = layers});
  };
  for (const GpuLayers layers : {GpuLayers::count(1), GpuLayers::all()}) {
    const auto model = load(layers);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code(), Code::invalid_argument);
    EXPECT_NE(model.error().message().find("--gpu-layers 0"), std::string_view::npos);
  }
  EXPECT_TRUE(load(GpuLayers::count(0)));
  const auto model = load(GpuLayers::automatic());
  ASSERT_TRUE(model);
  EXPECT_EQ(model->info().placement, "All 4 layers are on cpu.");
}

TEST(Placement, APlanSaysWhatIsWhere) {
  const SplitModel split(1);
  const auto plan = split.model->plan(4, {.context = 64}).value();
  const auto places = split.model->places(*plan, {.context = 64});
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].device, "host");
  EXPECT_EQ(places[0].end_layer, 3U);
  EXPECT_EQ(places[1].device, "gpu");
  EXPECT_EQ(places[1].first_layer, 3U);
  EXPECT_EQ(places[0].kv_bytes, 3 * places[1].kv_bytes);
  EXPECT_GT(places[0].weight_bytes, places[1].weight_bytes);
  EXPECT_GT(places[0].arena_bytes, 0U);
  for (const Node& node : plan->lower->graph.nodes) EXPECT_FALSE(node.name.starts_with("blk.3."));
  for (const Node& node : plan->graph.nodes)
    EXPECT_TRUE(node.name.starts_with("blk.3.") || node.name.starts_with("output") ||
                node.name == "rope_table")
        << node.name;
}

}  // namespace
}  // namespace tacet
