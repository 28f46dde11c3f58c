#include <cstring>

#include "c_api/chat_turn.hpp"
#include "c_api/door.hpp"
#include "c_api/handles.hpp"
#include "c_api/outcome.hpp"
#include "runtime/chat_prompt.hpp"
#include "text/utf8.hpp"

using namespace tacet;
using namespace tacet::c_api;

namespace {

constexpr std::size_t session_options_size = sizeof(tacet_session_options);
constexpr std::size_t generate_options_size = sizeof(tacet_generate_options);

constexpr std::uint32_t known_prompt_flags = TACET_PROMPT_CHAT;

Result<KvType> kv_type(std::uint32_t type) noexcept {
  switch (type) {
    case TACET_KV_DEFAULT:
    case TACET_KV_F16:
      return KvType::f16;
    case TACET_KV_F32:
      return KvType::f32;
    case TACET_KV_Q8_0:
      return KvType::q8_0;
    case TACET_KV_BF16:
      return KvType::bf16;
    case TACET_KV_Q5_1:
      return KvType::q5_1;
    case TACET_KV_Q5_0:
      return KvType::q5_0;
    case TACET_KV_Q4_1:
      return KvType::q4_1;
    case TACET_KV_Q4_0:
      return KvType::q4_0;
    default:
      return invalid("There is no such type of keys and values; use one of tacet_kv_type.");
  }
}

Result<std::vector<std::string>> stop_strings(const tacet_generate_options& given) {
  if (given.stop_count != 0 && given.stops == nullptr)
    return invalid("The stop strings are NULL but counted; pass them, or a count of 0.");
  std::vector<std::string> strings;
  for (const char* string : std::span(given.stops, given.stop_count)) {
    if (string == nullptr || *string == 0)
      return invalid("A stop string is NULL or empty; leave it out.");
    strings.emplace_back(string);
  }
  return strings;
}

Result<GenerateOptions> generate_options(const tacet_generate_options* options) {
  const auto given = read_options(options, generate_options_size);
  if (!given) return tl::unexpected(given.error());
  auto strings = stop_strings(*given);
  if (!strings) return fail(std::move(strings));
  GenerateOptions wanted;
  wanted.max_tokens = given->max_tokens;
  wanted.sampler.temperature = given->temperature;
  wanted.sampler.top_k = given->top_k;
  wanted.sampler.min_p = given->min_p;
  if (given->top_p != 0) wanted.sampler.top_p = given->top_p;
  if (given->repeat_penalty != 0) wanted.sampler.repeat_penalty = given->repeat_penalty;
  if (given->repeat_last != 0) wanted.sampler.repeat_last = given->repeat_last;
  if (given->has_seed != 0) wanted.sampler.seed = given->seed;
  wanted.stop = std::move(*strings);
  wanted.special = given->special != 0;
  if (given->shift != 0) wanted.shift = ContextShift{.keep = given->shift_keep};
  return wanted;
}

/// A session handle of its own for `session`.
Result<void> hand_out(const Model& model, Result<Session> session, std::string system,
                      tacet_session** handle) {
  if (!session) return fail(std::move(session));
  *handle = new tacet_session(model, std::move(*session), std::move(system));
  return {};
}

/// The door of calls that make a session of `model` through `make`, which is given the options.
template <typename Make>
tacet_status make_session(tacet_model* model, const tacet_session_options* options,
                          tacet_session** session, const Make& make) {
  return door([&]() -> Result<void> {
    if (session == nullptr) return invalid("There is no place for the session; pass its address.");
    *session = nullptr;
    Call call;
    if (auto begun = call.begin(model); !begun) return begun;
    const auto given = read_options(options, session_options_size);
    if (!given) return tl::unexpected(given.error());
    std::string system = given->system != nullptr ? given->system : "";
    if (auto checked = check_utf8(system); !checked) return checked;
    return hand_out(model->model, make(*given, call), std::move(system), session);
  });
}

}  // namespace

tacet_status tacet_session_create(tacet_model* model, const tacet_session_options* options,
                                  tacet_session** session) {
  const auto make = [&](const tacet_session_options& given, const Call&) -> Result<Session> {
    const auto k_type = kv_type(given.k_type);
    const auto v_type = kv_type(given.v_type);
    if (!k_type || !v_type) return tl::unexpected(k_type ? v_type.error() : k_type.error());
    return model->model.new_session({.context = given.context,
                                     .k_type = *k_type,
                                     .v_type = *v_type,
                                     .window = given.window,
                                     .share_prefix = given.private_prefix == 0});
  };
  return make_session(model, options, session, make);
}

void tacet_session_free(tacet_session* session) {
  free_handle(session);
}

tacet_status tacet_session_prompt(tacet_session* session, const char* text, uint32_t flags,
                                  const volatile unsigned char* stop_byte, tacet_outcome* outcome) {
  return door([&]() -> Result<void> {
    if (auto begun = begin_outcome(outcome); !begun) return begun;
    Call call;
    if (auto begun = call.begin(session); !begun) return begun;
    if (text == nullptr) return invalid("The text is NULL; pass a prompt.");
    if ((flags & ~known_prompt_flags) != 0)
      return invalid("There is no such prompt flag; use TACET_PROMPT_RAW or TACET_PROMPT_CHAT.");
    if (auto checked = check_utf8(text); !checked) return checked;
    const Session& held = session->session;
    if (auto fits = check_length(session->model, std::strlen(text), held.context()); !fits)
      return fits;
    const bool at_start = held.tokens().empty();
    const auto tokens = (flags & TACET_PROMPT_CHAT) != 0
                            ? chat_turn(session->model, session->system, text, at_start)
                            : raw_prompt(session->model, text, at_start);
    if (!tokens) return tl::unexpected(tokens.error());
    return end_outcome(session->session.evaluate(*tokens, call.stop(stop_byte)), outcome);
  });
}

tacet_status tacet_session_generate(tacet_session* session, const tacet_generate_options* options,
                                    tacet_text_callback on_text, void* user_data,
                                    const volatile unsigned char* stop_byte,
                                    tacet_outcome* outcome) {
  return door([&]() -> Result<void> {
    if (auto begun = begin_outcome(outcome); !begun) return begun;
    Call call;
    if (auto begun = call.begin(session); !begun) return begun;
    const auto wanted = generate_options(options);
    if (!wanted) return tl::unexpected(wanted.error());
    TextFunction deliver;
    if (on_text != nullptr)
      deliver = [on_text, user_data](std::string_view piece) {
        on_text(user_data, piece.data(), piece.size());
      };
    return end_outcome(session->session.generate(*wanted, deliver, call.stop(stop_byte)), outcome);
  });
}

tacet_status tacet_session_get_tokens(tacet_session* session, int32_t* tokens, size_t capacity,
                                      size_t* count) {
  return door([&]() -> Result<void> {
    Call call;
    if (auto begun = call.begin(session); !begun) return begun;
    if (count == nullptr) return invalid("There is no place for the count; pass its address.");
    if (tokens == nullptr && capacity != 0)
      return invalid("There is no place for the tokens; pass one, or a capacity of 0.");
    const std::span<const Token> own = session->session.tokens();
    std::ranges::copy(own.first(std::min(own.size(), capacity)), tokens);
    *count = own.size();
    return {};
  });
}

tacet_status tacet_session_truncate(tacet_session* session, uint32_t count) {
  return door([&]() -> Result<void> {
    Call call;
    if (auto begun = call.begin(session); !begun) return begun;
    return session->session.truncate(count);
  });
}

tacet_status tacet_session_remove(tacet_session* session, uint32_t begin, uint32_t end,
                                  uint32_t flags, const volatile unsigned char* stop_byte,
                                  tacet_outcome* outcome) {
  return door([&]() -> Result<void> {
    if (auto begun = begin_outcome(outcome); !begun) return begun;
    Call call;
    if (auto begun = call.begin(session); !begun) return begun;
    if ((flags & ~TACET_REMOVE_CLOSE_GAP) != 0)
      return invalid(
          "There is no such flag; use TACET_REMOVE_LEAVE_GAP or TACET_REMOVE_CLOSE_GAP.");
    const bool close_gap = (flags & TACET_REMOVE_CLOSE_GAP) != 0;
    return end_outcome(session->session.remove(begin, end, close_gap, call.stop(stop_byte)),
                       outcome);
  });
}

tacet_status tacet_session_save(tacet_session* session, const char* path,
                                const volatile unsigned char* stop_byte) {
  return door([&]() -> Result<void> {
    Call call;
    if (auto begun = call.begin(session); !begun) return begun;
    if (path == nullptr) return invalid("The path is NULL; pass one to write to.");
    return session->session.save(path, call.stop(stop_byte));
  });
}

tacet_status tacet_session_restore(tacet_model* model, const char* path,
                                   const tacet_session_options* options,
                                   const volatile unsigned char* stop_byte,
                                   tacet_session** session) {
  const auto make = [&](const tacet_session_options& given, const Call& call) -> Result<Session> {
    if (path == nullptr) return invalid("The path is NULL; pass that of a saved session.");
    return model->model.restore_session(path, given.context, call.stop(stop_byte));
  };
  return make_session(model, options, session, make);
}

tacet_status tacet_session_fork(tacet_session* session, tacet_session** fork) {
  return door([&]() -> Result<void> {
    if (fork == nullptr) return invalid("There is no place for the session; pass its address.");
    *fork = nullptr;
    Call call;
    if (auto begun = call.begin(session); !begun) return begun;
    return hand_out(session->model, session->session.fork(), session->system, fork);
  });
}
