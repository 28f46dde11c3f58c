#include "c_api/door.hpp"
#include "c_api/handles.hpp"

using namespace tacet;
using namespace tacet::c_api;

static_assert(static_cast<int>(LogLevel::debug) == TACET_LOG_DEBUG);
static_assert(static_cast<int>(LogLevel::error) == TACET_LOG_ERROR);

namespace {

constexpr std::size_t engine_options_size = sizeof(tacet_engine_options);

}  // namespace

tacet_status tacet_engine_create(const tacet_engine_options* options, tacet_engine** engine) {
  return door([&]() -> Result<void> {
    if (engine == nullptr) return invalid("There is no place for the engine; pass its address.");
    *engine = nullptr;
    Call call;
    if (auto begun = call.begin(); !begun) return begun;
    const auto given = read_options(options, engine_options_size);
    if (!given) return tl::unexpected(given.error());
    EngineOptions wanted{.threads = given->threads, .log = {}};
    if (given->device != nullptr) wanted.device = given->device;
    if (given->log != nullptr)
      wanted.log = [log = given->log, data = given->log_user_data](LogLevel level,
                                                                   std::string_view line) {
        log(data, static_cast<tacet_log_level>(level), line.data(), line.size());
      };
    auto created = Engine::create(std::move(wanted));
    if (!created) return fail(std::move(created));
    *engine = new tacet_engine(std::move(*created));
    return {};
  });
}

void tacet_engine_free(tacet_engine* engine) {
  free_handle(engine);
}
