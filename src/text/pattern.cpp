#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.hpp"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

namespace tacet {
namespace {

// The patterns in use need a step or two a byte, so these stop only what would run away.
constexpr std::uint32_t kStepsAtLeast = 1'000'000;
constexpr std::uint32_t kStepsAByte = 32;
constexpr std::uint32_t kDepth = 10'000;
constexpr std::uint32_t kHeapKiB = 64 * 1024;

template <typename T, void (*release)(T*)>
struct Releaser {
  void operator()(T* object) const noexcept { release(object); }
};
using MatchData =
    std::unique_ptr<pcre2_match_data, Releaser<pcre2_match_data, pcre2_match_data_free>>;
using MatchContext =
    std::unique_ptr<pcre2_match_context, Releaser<pcre2_match_context, pcre2_match_context_free>>;

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 160> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

std::uint32_t granted_steps(std::size_t bytes) {
  const std::uint64_t steps = std::uint64_t{bytes} * kStepsAByte + kStepsAtLeast;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, UINT32_MAX));
}

}  // namespace

Result<Pattern> Pattern::compile(std::string_view source, bool jit) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (code == nullptr) {
    return fail(
        Code::internal,
        "PCRE2 refuses the pattern of the pre-tokenizer at {} ({}); use PCRE2 10.40 or newer.",
        offset, message_of(error));
  }
  std::shared_ptr<const void> owner(
      code, [](const void* p) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(p))); });
  if (jit) pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Pattern(std::move(owner));
}

Result<void> Pattern::cut(std::string_view text, StopPoll& poll,
                          std::vector<std::string_view>& pieces) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const MatchData data(pcre2_match_data_create_from_pattern(code, nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  if (data == nullptr || context == nullptr) throw std::bad_alloc();
  pcre2_set_match_limit(context.get(), granted_steps(text.size()));
  pcre2_set_depth_limit(context.get(), kDepth);
  pcre2_set_heap_limit(context.get(), kHeapKiB);

  std::size_t position = 0;  // behind the last piece
  std::size_t search = 0;    // where the next match may start
  while (search < text.size() && !poll.fired(8)) {
    const auto match = [&](std::uint32_t options) {
      return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), search,
                         options | PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, data.get(), context.get());
    };
    int found = match(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    if (found < 0) {
      return fail(Code::unsupported,
                  "The text could not be cut into words at byte {} ({}); make it shorter.", search,
                  message_of(found));
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data.get());
    if (bounds[0] > position) pieces.push_back(text.substr(position, bounds[0] - position));
    pieces.push_back(text.substr(bounds[0], bounds[1] - bounds[0]));
    position = search = bounds[1];
  }
  if (position < text.size()) pieces.push_back(text.substr(position));
  return {};
}

}  // namespace tacet
