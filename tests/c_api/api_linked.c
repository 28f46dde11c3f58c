#include "api.h"

int open_library(api* functions) {
  *functions = (api){.engine_create = tacet_engine_create,
                     .model_load = tacet_model_load,
                     .model_free = tacet_model_free,
                     .session_create = tacet_session_create,
                     .session_free = tacet_session_free,
                     .session_prompt = tacet_session_prompt,
                     .session_generate = tacet_session_generate,
                     .last_error = tacet_last_error,
                     .shutdown = tacet_shutdown};
  return 1;
}

int close_library(void) {
  return 1;
}
