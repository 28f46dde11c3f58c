#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/cpu_device.hpp"
#include "backends/fake/fake_device.hpp"
#include "base/stop_state.hpp"
#include "data_file.hpp"
#include "runtime/devices.hpp"
#include "runtime/session_impl.hpp"

namespace tacet::test {

using detail::ModelImpl;
using detail::SessionImpl;
using ModelPointer = std::shared_ptr<const ModelImpl>;

inline std::string model_path(const std::string& name) {
  return data_file("models/" + name);
}

inline Result<ModelPointer> try_load(std::unique_ptr<Device> device, const std::string& path,
                                     LogFunction log = {},
                                     GpuLayers layers = GpuLayers::automatic()) {
  auto file = FileBytes::load(path);
  if (!file) return tl::unexpected(file.error());
  auto engine = std::make_shared<detail::EngineImpl>(std::move(device), std::move(log));
  return ModelImpl::create(engine, std::move(*file), path, {}, layers);
}

/// tiny-chat on the CPU: for what depends on threads, or counts looks at the stop.
inline ModelPointer cpu_model(const std::string& name = "tiny-chat-Q8_0.gguf",
                              cpu::Isa isa = cpu::available().back(), unsigned threads = 2) {
  auto device = make_cpu_device({.threads = threads, .isa = isa});
  return try_load(std::move(device.value()), model_path(name)).value();
}

/// tiny-chat on the device that TACET_TEST_DEVICE names ("cuda:0"), without one on the CPU.
inline ModelPointer tiny_model(const std::string& name = "tiny-chat-Q8_0.gguf",
                               unsigned threads = 2) {
  const char* device = std::getenv("TACET_TEST_DEVICE");
  if (device == nullptr) return cpu_model(name, cpu::available().back(), threads);
  return try_load(detail::open_device(device, threads).value(), model_path(name)).value();
}

/// tiny-chat on a fake device, whose faults `device` then sets.
struct FakeModel {
  explicit FakeModel(const FakeOptions& options = {}, LogFunction log = {}) {
    auto made = std::move(make_fake_device(options).value());
    device = made.get();
    model = try_load(std::move(made), model_path("tiny-chat-Q8_0.gguf"), std::move(log),
                     GpuLayers::all())
                .value();
  }
  FakeDevice* device;
  ModelPointer model;
};

/// A session that computes all that it is asked for, whatever others have computed.
inline std::unique_ptr<SessionImpl> new_session(const ModelPointer& model,
                                                SessionOptions options = {}) {
  options.share_prefix = false;
  return std::move(SessionImpl::create(model, options).value());
}

inline std::vector<Token> tokens_of(const ModelPointer& model, const std::string& text) {
  return model->tokenizer().encode(text, true).value();
}
inline std::vector<Token> question(const ModelPointer& model,
                                   const std::string& text = "What is 17 + 25?") {
  return tokens_of(model, "<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n");
}

/// All of a session that can be read, bit for bit.
struct Snapshot {
  explicit Snapshot(const SessionImpl& session)
      : tokens(session.tokens().begin(), session.tokens().end()),
        computed(session.computed()),
        logits(bits(session.logits())),
        random(session.random()),
        text(session.text().pending()) {
    for (std::uint32_t cell = 0; cell < tokens.size(); ++cell)
      positions.push_back(session.positions()[cell]);
    KvSequence sequence = session.pages().sequence(computed, 0);
    const KvPool& pool = *session.pages().pool();
    // The host may not be able to read the pages where they are.
    std::vector<std::vector<std::byte>> copies;
    std::vector<std::byte*> pages;
    for (const std::byte* page : sequence.pages) {
      pages.push_back(copies.emplace_back(pool.page_bytes()).data());
      if (page != nullptr) {
        EXPECT_TRUE(pool.read_page(pages.back(), page, {}));
      }
    }
    sequence.pages = pages;
    const KvView kv = pool.view({&sequence, 1});
    for (std::uint32_t layer = 0; layer < kv.layers.size(); ++layer)
      for (std::uint32_t head = 0; head < kv.layers[layer].heads; ++head)
        for (std::uint32_t cell = session.pages().first_cell(); cell < computed; ++cell) {
          const KvLayer& l = kv.layers[layer];
          const std::byte* k = kv.k_row(sequence, layer, head, cell);
          const std::byte* v = kv.v_row(sequence, layer, head, cell);
          cells.insert(cells.end(), k, k + row_bytes(l.k_type, l.k_head_size));
          cells.insert(cells.end(), v, v + row_bytes(l.v_type, l.v_head_size));
        }
  }
  static std::vector<std::uint32_t> bits(std::span<const float> values) {
    std::vector<std::uint32_t> out(values.size());
    if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
    return out;
  }
  friend bool operator==(const Snapshot&, const Snapshot&) = default;

  std::vector<Token> tokens;
  std::uint32_t computed;
  std::vector<std::uint32_t> logits;
  std::vector<std::byte> cells;
  RandomState random;
  std::string text;
  std::vector<std::int32_t> positions;
};

/// A token that fires at the n-th look at it.
inline StopToken after_polls(std::int64_t n) {
  return detail::countdown_token(std::make_shared<detail::PollCountdown>(n));
}

/// `count` tokens of which each run of 32 differs from the others.
inline std::vector<Token> long_prompt(std::size_t count, Token seed = 1) {
  std::vector<Token> tokens(count);
  std::uint32_t state = static_cast<std::uint32_t>(seed) * 2654435761U;
  for (Token& token : tokens) {
    state = state * 1664525U + 1013904223U;
    token = static_cast<Token>((state >> 16) % 900);
  }
  return tokens;
}

/// The greedy answer to `prompt` in a new session.
inline std::string answer(const ModelPointer& model, std::span<const Token> prompt,
                          std::uint32_t max_tokens = 64) {
  auto session = new_session(model);
  std::string text;
  EXPECT_TRUE(session->evaluate(prompt, {}, {}).done());
  const Outcome outcome = session->generate({.max_tokens = max_tokens},
                                            [&](std::string_view piece) { text += piece; }, {});
  EXPECT_TRUE(outcome.done());
  return text;
}

}  // namespace tacet::test
