/* Stops: by a byte, by freeing, by shutting down; and calls that come while another is in flight.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support.h"

/* A story that runs in a thread of its own. */
typedef struct story {
  tacet_session* session;
  const volatile unsigned char* stop_byte;
  atomic_int pieces; /* delivered so far */
  atomic_bool held;  /* the third piece keeps the story in its callback */
  text said;
  tacet_status status;
  tacet_outcome outcome;
  pthread_t thread;
} story;

static void hear(void* user_data, const char* utf8, size_t size) {
  story* s = user_data;
  append_text(&s->said, utf8, size);
  if (atomic_fetch_add(&s->pieces, 1) + 1 >= 3)
    while (atomic_load(&s->held)) sched_yield();
}

static void* tell(void* user_data) {
  story* s = user_data;
  s->outcome = empty_outcome();
  s->status = tacet_session_generate(s->session, NULL, hear, s, s->stop_byte, &s->outcome);
  return NULL;
}

/* Begins a story and returns when some of it was told. */
static void begin(story* s, tacet_session* session, const volatile unsigned char* stop_byte) {
  memset(&s->said, 0, sizeof s->said);
  atomic_init(&s->pieces, 0);
  s->session = session;
  s->stop_byte = stop_byte;
  CHECK(pthread_create(&s->thread, NULL, tell, s) == 0);
  while (atomic_load(&s->pieces) < 3) sched_yield();
}

static void end(story* s) {
  CHECK(pthread_join(s->thread, NULL) == 0);
}

static tacet_session* prompted(tacet_model* model) {
  tacet_session* session = new_session(model);
  CHECK_STATUS(tacet_session_prompt(session, "Tell me a story.", TACET_PROMPT_CHAT, NULL, NULL),
               TACET_OK);
  return session;
}

/* A story may end before the stop comes: then it is told again. */
enum { attempts = 50 };

static void test_stop_byte(tacet_model* model) {
  static story s;
  volatile unsigned char stop = 0;
  text whole = {.size = 0};
  tacet_session* session = prompted(model);
  const uint32_t before = token_count(session);
  CHECK_STATUS(tacet_session_generate(session, NULL, append_text, &whole, NULL, NULL), TACET_OK);

  bool stopped = false;
  for (int i = 0; i < attempts && !stopped; ++i) {
    CHECK_STATUS(tacet_session_truncate(session, before), TACET_OK);
    stop = 0;
    begin(&s, session, &stop);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    end(&s);
    stopped = s.status == TACET_STOPPED;
  }
  CHECK(stopped);
  CHECK(s.outcome.status == TACET_OUTCOME_STOPPED && s.outcome.reason == TACET_REASON_REQUESTED);
  CHECK(s.outcome.finish == TACET_FINISH_NONE && s.outcome.tokens >= 3);
  CHECK(s.outcome.to_return_ns >= s.outcome.to_idle_ns);
  CHECK(token_count(session) == before + s.outcome.tokens);
  CHECK(s.said.size < whole.size && memcmp(s.said.bytes, whole.bytes, s.said.size) == 0);

  /* With the byte still set nothing begins; then the story goes on where it was. */
  const uint32_t tokens = token_count(session);
  tacet_outcome outcome = empty_outcome();
  CHECK_STATUS(tacet_session_generate(session, NULL, NULL, NULL, &stop, &outcome), TACET_STOPPED);
  CHECK(outcome.tokens == 0);
  CHECK_STATUS(tacet_session_prompt(session, "And?", TACET_PROMPT_CHAT, &stop, &outcome),
               TACET_STOPPED);
  CHECK(outcome.status == TACET_OUTCOME_STOPPED && outcome.reason == TACET_REASON_REQUESTED);
  CHECK(token_count(session) == tokens);
  CHECK_STATUS(tacet_session_generate(session, NULL, append_text, &s.said, NULL, NULL), TACET_OK);
  CHECK(strcmp(s.said.bytes, whole.bytes) == 0);
  check_answer(session, "What is 17 + 25?", "17 + 25 = 42.");
  tacet_session_free(session);
}

static void call_again(void* user_data, const char* utf8, size_t size) {
  (void)utf8, (void)size;
  size_t count = 0;
  CHECK_STATUS(tacet_session_get_tokens(user_data, NULL, 0, &count), TACET_INVALID_ARGUMENT);
  CHECK(strstr(tacet_last_error(), "in flight") != NULL);
}

static void test_busy(tacet_model* model) {
  static story s;
  volatile unsigned char stop = 0;
  tacet_session* session = prompted(model);
  const uint32_t before = token_count(session);
  const tacet_generate_options few = {.struct_size = sizeof few, .max_tokens = 5};
  CHECK_STATUS(tacet_session_generate(session, &few, call_again, session, NULL, NULL), TACET_OK);

  bool met = false;
  for (int i = 0; i < attempts && !met; ++i) {
    CHECK_STATUS(tacet_session_truncate(session, before), TACET_OK);
    stop = 0;
    begin(&s, session, &stop);
    const tacet_status status = tacet_session_truncate(session, 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    end(&s);
    met = s.status == TACET_STOPPED;
    if (met) CHECK(status == TACET_INVALID_ARGUMENT);
  }
  CHECK(met && token_count(session) == before + s.outcome.tokens);
  tacet_session_free(session);
}

static void test_free_in_flight(tacet_model* model) {
  static story s;
  bool stopped = false;
  for (int i = 0; i < attempts && !stopped; ++i) {
    begin(&s, prompted(model), NULL);
    tacet_session_free(s.session);
    end(&s);
    stopped = s.status == TACET_STOPPED && s.outcome.reason == TACET_REASON_REQUESTED;
    CHECK(stopped || s.status == TACET_OK);
  }
  CHECK(stopped);
}

static atomic_bool freed;

static void* free_and_say(void* session) {
  tacet_session_free(session);
  atomic_store(&freed, true);
  return NULL;
}

/* A session is not gone before the call in flight has ended. */
static void test_free_waits(tacet_model* model) {
  static story s;
  pthread_t other;
  atomic_store(&s.held, true);
  begin(&s, prompted(model), NULL);
  CHECK(pthread_create(&other, NULL, free_and_say, s.session) == 0);
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  CHECK(!atomic_load(&freed));
  atomic_store(&s.held, false);
  CHECK(pthread_join(other, NULL) == 0);
  end(&s);
  CHECK(s.status == TACET_STOPPED || s.status == TACET_OK);
}

static void free_session(void* user_data, const char* utf8, size_t size) {
  (void)utf8, (void)size;
  tacet_session** session = user_data;
  tacet_session_free(*session);
  *session = NULL;
}

static void test_free_inside(tacet_model* model) {
  tacet_session* session = prompted(model);
  tacet_outcome outcome = empty_outcome();
  CHECK_STATUS(tacet_session_generate(session, NULL, free_session, &session, NULL, &outcome),
               TACET_STOPPED);
  CHECK(session == NULL && outcome.reason == TACET_REASON_REQUESTED && outcome.tokens == 1);
}

static void free_engine(void* user_data, uint64_t done, uint64_t total) {
  (void)done, (void)total;
  tacet_engine** engine = user_data;
  tacet_engine_free(*engine);
  *engine = NULL;
}

/* Freeing an engine stops what is loaded with it. */
static void test_free_engine_inside(const char* path) {
  tacet_engine* engine = NULL;
  tacet_model* model = NULL;
  CHECK_STATUS(tacet_engine_create(NULL, &engine), TACET_OK);
  const tacet_load_options options = {
      .struct_size = sizeof options, .progress = free_engine, .progress_user_data = &engine};
  CHECK_STATUS(tacet_model_load(engine, path, &options, &model), TACET_STOPPED);
  CHECK(engine == NULL && model == NULL);
}

void test_stops(tacet_model* model, const char* path) {
  test_stop_byte(model);
  test_busy(model);
  test_free_in_flight(model);
  test_free_waits(model);
  test_free_inside(model);
  test_free_engine_inside(path);
}

/* Shuts down while a story can not end, then lets it end. */
static void shut_down(void* user_data, const char* utf8, size_t size) {
  (void)utf8, (void)size;
  story* s = user_data;
  CHECK(tacet_shutdown(20) == 0);
  atomic_store(&s->held, false);
  CHECK(tacet_shutdown(60000) == 1);
}

void test_shutdown(tacet_engine* engine, tacet_model* model) {
  static story s;
  tacet_session* one = prompted(model);
  tacet_session* two = prompted(model);
  tacet_session* none = two;
  tacet_model* other = NULL;
  tacet_outcome outcome = empty_outcome();
  atomic_store(&s.held, true);
  begin(&s, one, NULL);
  CHECK_STATUS(tacet_session_generate(two, NULL, shut_down, &s, NULL, &outcome), TACET_STOPPED);
  CHECK(outcome.reason == TACET_REASON_SHUTDOWN && outcome.tokens == 1);
  end(&s);
  CHECK(s.status == TACET_STOPPED && s.outcome.reason == TACET_REASON_SHUTDOWN);
  CHECK(s.outcome.tokens == 3);
  CHECK(tacet_shutdown(0) == 1);

  size_t count = 0;
  tacet_model_info info = {.struct_size = sizeof info};
  tacet_engine* second = NULL;
  CHECK_STATUS(tacet_engine_create(NULL, &second), TACET_SHUT_DOWN);
  CHECK_STATUS(tacet_model_load(engine, "model.gguf", NULL, &other), TACET_SHUT_DOWN);
  CHECK_STATUS(tacet_model_load_memory(engine, "GGUF", 4, NULL, &other), TACET_SHUT_DOWN);
  CHECK_STATUS(tacet_model_get_info(model, &info), TACET_SHUT_DOWN);
  CHECK_STATUS(tacet_session_create(model, NULL, &none), TACET_SHUT_DOWN);
  CHECK_STATUS(tacet_session_prompt(one, "a", 0, NULL, &outcome), TACET_SHUT_DOWN);
  CHECK(outcome.status == TACET_OUTCOME_FAILED);
  CHECK_STATUS(tacet_session_generate(one, NULL, NULL, NULL, NULL, &outcome), TACET_SHUT_DOWN);
  CHECK_STATUS(tacet_session_get_tokens(one, NULL, 0, &count), TACET_SHUT_DOWN);
  CHECK_STATUS(tacet_session_truncate(one, 0), TACET_SHUT_DOWN);
  CHECK_STATUS(tacet_session_fork(one, &none), TACET_SHUT_DOWN);
  CHECK(none == NULL && other == NULL && second == NULL);
  tacet_session_free(one);
  tacet_session_free(two);
}
