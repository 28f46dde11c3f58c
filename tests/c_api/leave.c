/*
 * Leaves while threads load models and tell stories. usage: leave WAY MICROSECONDS MODEL
 *
 * After so many microseconds, the way `exit` calls exit from a thread that is not the main one,
 * `return` returns from main, `dlclose` gives the library back and returns, and `shutdown` shuts
 * the library down, waits for the threads and returns. The exit code is 0, or says what went wrong.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api.h"

enum { tellers = 2, wrong_use = 2, call_failed = 3, not_ended = 4, not_closed = 5 };

static api tacet;
static const char* model_path;
static atomic_int told; /* pieces of text */

static void fail_now(int code, const char* what) {
  fprintf(stderr, "%s: %s\n", what, tacet.last_error());
  _exit(code);
}

/* Whether to go on; ends the process if a call failed for another reason than the shutdown. */
static int went_on(tacet_status status, const char* what) {
  if (status == TACET_OK) return 1;
  if (status != TACET_STOPPED && status != TACET_SHUT_DOWN) fail_now(call_failed, what);
  return 0;
}

static void hear(void* user_data, const char* utf8, size_t size) {
  (void)user_data, (void)utf8, (void)size;
  atomic_fetch_add(&told, 1);
}

static void tell(tacet_model* model) {
  tacet_session* session = NULL;
  while (went_on(tacet.session_create(model, NULL, &session), "create")) {
    const int going =
        went_on(tacet.session_prompt(session, "Tell me a story.", TACET_PROMPT_CHAT, NULL, NULL),
                "prompt") &&
        went_on(tacet.session_generate(session, NULL, hear, NULL, NULL, NULL), "generate");
    tacet.session_free(session);
    if (!going) return;
  }
}

static void* work(void* unused) {
  (void)unused;
  tacet_engine* engine = NULL;
  tacet_model* model = NULL;
  const tacet_engine_options options = {.struct_size = sizeof options, .threads = 2};
  if (!went_on(tacet.engine_create(&options, &engine), "engine")) return NULL;
  if (!went_on(tacet.model_load(engine, model_path, NULL, &model), "load")) return NULL;
  tell(model);
  tacet.model_free(model);
  return NULL;
}

static void* leave_by_exit(void* delay) {
  nanosleep(delay, NULL);
  exit(0);
}

int main(int argc, char** argv) {
  if (argc != 4 || !open_library(&tacet)) return wrong_use;
  const char* way = argv[1];
  const long microseconds = strtol(argv[2], NULL, 10);
  model_path = argv[3];
  struct timespec delay = {.tv_sec = microseconds / 1000000,
                           .tv_nsec = microseconds % 1000000 * 1000};
  pthread_t threads[tellers];
  for (int i = 0; i < tellers; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) return wrong_use;

  if (strcmp(way, "exit") == 0) {
    pthread_t leaver;
    if (pthread_create(&leaver, NULL, leave_by_exit, &delay) != 0) return wrong_use;
    work(NULL);
    return call_failed; /* nothing but the exit ends the work */
  }
  nanosleep(&delay, NULL);
  if (strcmp(way, "shutdown") == 0) {
    if (tacet.shutdown(60000) != 1) fail_now(not_ended, "shutdown");
    for (int i = 0; i < tellers; ++i) pthread_join(threads[i], NULL);
  } else if (strcmp(way, "dlclose") == 0) {
    if (!close_library()) return not_closed;
    /* The threads are still inside: if the library were gone, they would fault now. */
    const struct timespec moment = {.tv_sec = 0, .tv_nsec = 5000000};
    nanosleep(&moment, NULL);
  } else if (strcmp(way, "return") != 0) {
    return wrong_use;
  }
  return 0;
}
