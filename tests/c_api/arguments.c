/* Wrong arguments, statuses and their sentences, loading. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

void test_before_anything(void) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", TACET_VERSION_MAJOR, TACET_VERSION_MINOR,
           TACET_VERSION_PATCH);
  CHECK(strcmp(tacet_version(), version) == 0);
  CHECK(tacet_last_error()[0] == 0);
  CHECK(strcmp(tacet_status_name(TACET_OK), "ok") == 0);
  CHECK(strcmp(tacet_status_name(TACET_OUT_OF_MEMORY), "out_of_memory") == 0);
  CHECK(strcmp(tacet_status_name(TACET_INTERNAL), "internal") == 0);
  CHECK(strcmp(tacet_status_name(99), "unknown") == 0);
  CHECK(strcmp(tacet_status_name(-1), "unknown") == 0);
  tacet_engine_free(NULL);
  tacet_model_free(NULL);
  tacet_session_free(NULL);
}

static void test_null(tacet_engine* engine, tacet_model* model, const char* path) {
  tacet_model* other = NULL;
  tacet_session* session = new_session(model);
  size_t count = 0;
  int32_t token = 0;
  tacet_model_info info = {.struct_size = sizeof info};
  CHECK_STATUS(tacet_engine_create(NULL, NULL), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_model_load(NULL, path, NULL, &other), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_model_load(engine, NULL, NULL, &other), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_model_load(engine, path, NULL, NULL), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_model_load_memory(engine, NULL, 100, NULL, &other), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_model_load_memory(engine, "GGUF", 4, NULL, NULL), TACET_INVALID_ARGUMENT);
  CHECK(other == NULL);
  CHECK_STATUS(tacet_model_get_info(NULL, &info), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_model_get_info(model, NULL), TACET_INVALID_ARGUMENT);
  tacet_session_free(session);
  CHECK_STATUS(tacet_session_create(NULL, NULL, &session), TACET_INVALID_ARGUMENT);
  CHECK(session == NULL);
  CHECK_STATUS(tacet_session_create(model, NULL, NULL), TACET_INVALID_ARGUMENT);
  session = new_session(model);
  CHECK_STATUS(tacet_session_prompt(NULL, "a", 0, NULL, NULL), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_prompt(session, NULL, 0, NULL, NULL), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_generate(NULL, NULL, NULL, NULL, NULL, NULL), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_get_tokens(NULL, &token, 1, &count), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_get_tokens(session, &token, 1, NULL), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_get_tokens(session, NULL, 1, &count), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_truncate(NULL, 0), TACET_INVALID_ARGUMENT);
  tacet_session* fork = session;
  CHECK_STATUS(tacet_session_fork(NULL, &fork), TACET_INVALID_ARGUMENT);
  CHECK(fork == NULL);
  CHECK_STATUS(tacet_session_fork(session, NULL), TACET_INVALID_ARGUMENT);
  tacet_session_free(session);
}

static void test_values(tacet_engine* engine, tacet_model* model, const char* path) {
  tacet_session* session = NULL;
  tacet_session_options kv = {.struct_size = sizeof kv, .k_type = 77};
  CHECK_STATUS(tacet_session_create(model, &kv, &session), TACET_INVALID_ARGUMENT);
  CHECK(strstr(tacet_last_error(), "tacet_kv_type") != NULL);
  tacet_session_options system = {.struct_size = sizeof system, .system = "\xff"};
  CHECK_STATUS(tacet_session_create(model, &system, &session), TACET_INVALID_ARGUMENT);
  tacet_load_options load = {.struct_size = sizeof load, .mode = 77};
  tacet_model* other = NULL;
  CHECK_STATUS(tacet_model_load(engine, path, &load, &other), TACET_INVALID_ARGUMENT);
  load.mode = TACET_LOAD_MAP;
  load.gpu_layers = -3;
  CHECK_STATUS(tacet_model_load(engine, path, &load, &other), TACET_INVALID_ARGUMENT);
  CHECK(strstr(tacet_last_error(), "TACET_GPU_LAYERS_ALL") != NULL);
  tacet_engine_options cpu = {.struct_size = sizeof cpu, .device = "cpu"};
  tacet_engine* on_cpu = NULL;
  CHECK_STATUS(tacet_engine_create(&cpu, &on_cpu), TACET_OK);
  for (load.gpu_layers = TACET_GPU_LAYERS_NONE; load.gpu_layers <= 1; ++load.gpu_layers) {
    const int refused = load.gpu_layers == TACET_GPU_LAYERS_ALL || load.gpu_layers == 1;
    CHECK_STATUS(tacet_model_load(on_cpu, path, &load, &other),
                 refused ? TACET_INVALID_ARGUMENT : TACET_OK);
    tacet_model_free(other);
  }
  tacet_engine_free(on_cpu);
  tacet_engine_options threads = {.struct_size = sizeof threads, .threads = 1000000};
  tacet_engine* second = engine;
  CHECK_STATUS(tacet_engine_create(&threads, &second), TACET_INVALID_ARGUMENT);
  CHECK(second == NULL);

  tacet_engine_options device = {.struct_size = sizeof device, .device = "gpu"};
  CHECK_STATUS(tacet_engine_create(&device, &second), TACET_INVALID_ARGUMENT);
  CHECK(strstr(tacet_last_error(), "use auto or one of cpu") != NULL);

  session = new_session(model);
  tacet_outcome outcome = empty_outcome();
  CHECK_STATUS(tacet_session_prompt(session, "a", 77, NULL, &outcome), TACET_INVALID_ARGUMENT);
  CHECK(outcome.status == TACET_OUTCOME_FAILED);
  CHECK_STATUS(tacet_session_prompt(session, "\xc3(", 0, NULL, &outcome), TACET_INVALID_ARGUMENT);
  CHECK(strstr(tacet_last_error(), "UTF-8") != NULL);
  CHECK_STATUS(tacet_session_prompt(session, "", 0, NULL, &outcome), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_generate(session, NULL, NULL, NULL, NULL, &outcome),
               TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_truncate(session, 1), TACET_INVALID_ARGUMENT);
  const char* stops[] = {"a", NULL};
  tacet_generate_options options = {.struct_size = sizeof options, .stops = stops, .stop_count = 2};
  CHECK_STATUS(tacet_session_generate(session, &options, NULL, NULL, NULL, NULL),
               TACET_INVALID_ARGUMENT);
  options.stops = NULL;
  CHECK_STATUS(tacet_session_generate(session, &options, NULL, NULL, NULL, NULL),
               TACET_INVALID_ARGUMENT);
  CHECK(token_count(session) == 0);
  check_answer(session, "What is 17 + 25?", "17 + 25 = 42.");
  tacet_session_free(session);
}

static void test_struct_sizes(tacet_model* model) {
  tacet_session* session = NULL;
  struct {
    tacet_session_options known;
    uint64_t later;
  } newer = {.known = {.struct_size = sizeof newer}};
  CHECK_STATUS(tacet_session_create(model, &newer.known, &session), TACET_OK);
  newer.later = 1;
  tacet_session* none = session;
  CHECK_STATUS(tacet_session_create(model, &newer.known, &none), TACET_INVALID_ARGUMENT);
  CHECK(none == NULL && strstr(tacet_last_error(), "update") != NULL);
  const size_t wrong[] = {0, 1, sizeof(tacet_session_options) - 1, 5000, SIZE_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    newer.known.struct_size = wrong[i];
    CHECK_STATUS(tacet_session_create(model, &newer.known, &none), TACET_INVALID_ARGUMENT);
    CHECK(strstr(tacet_last_error(), "struct_size") != NULL);
    tacet_outcome outcome = {.struct_size = wrong[i], .tokens = 12345};
    CHECK_STATUS(tacet_session_prompt(session, "a", 0, NULL, &outcome), TACET_INVALID_ARGUMENT);
    CHECK(outcome.tokens == 12345);
    tacet_generate_options options = {.struct_size = wrong[i]};
    CHECK_STATUS(tacet_session_generate(session, &options, NULL, NULL, NULL, NULL),
                 TACET_INVALID_ARGUMENT);
    tacet_model_info info = {.struct_size = wrong[i]};
    CHECK_STATUS(tacet_model_get_info(model, &info), TACET_INVALID_ARGUMENT);
  }
  CHECK(token_count(session) == 0);
  struct {
    tacet_outcome known;
    uint64_t later;
  } outcome = {.known = {.struct_size = sizeof outcome}, .later = 12345};
  CHECK_STATUS(tacet_session_prompt(session, "a", 0, NULL, &outcome.known), TACET_OK);
  CHECK(outcome.known.tokens == token_count(session) && outcome.later == 12345);
  CHECK(outcome.known.struct_size == sizeof outcome);
  tacet_session_free(session);
}

static void* read_last_error(void* user_data) {
  (void)user_data;
  CHECK(tacet_last_error()[0] == 0);
  return NULL;
}

static void test_sentences(tacet_engine* engine) {
  tacet_model* model = NULL;
  CHECK_STATUS(tacet_model_load(engine, "no/such/model.gguf", NULL, &model), TACET_NOT_FOUND);
  CHECK(strstr(tacet_last_error(), "no/such/model.gguf") != NULL);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, read_last_error, NULL) == 0);
  CHECK(pthread_join(other, NULL) == 0);
  CHECK(strstr(tacet_last_error(), "no/such/model.gguf") != NULL);

  /* Each offset makes the cut fall on another byte of a character. */
  for (size_t offset = 0; offset < 3; ++offset) {
    char path[3001] = "aaa";
    for (size_t i = offset; i + 3 < sizeof path; i += 3) memcpy(path + i, "\xe2\x82\xac", 3);
    CHECK(tacet_model_load(engine, path, NULL, &model) != TACET_OK);
    const size_t size = strlen(tacet_last_error());
    CHECK(size > 100 && size < 1000);
    CHECK(strcmp(tacet_last_error() + size - 3, "\xe2\x82\xac") == 0);
  }
}

void test_arguments(tacet_engine* engine, tacet_model* model, const char* path) {
  test_null(engine, model, path);
  test_values(engine, model, path);
  test_struct_sizes(model);
  test_sentences(engine);
}

typedef struct progress {
  uint64_t done, total, calls;
} progress;

static void note_progress(void* user_data, uint64_t done, uint64_t total) {
  progress* p = user_data;
  CHECK(done >= p->done && done <= total);
  p->done = done;
  p->total = total;
  ++p->calls;
}

static void check_model(tacet_model* model) {
  tacet_model_info info = {.struct_size = sizeof info};
  CHECK_STATUS(tacet_model_get_info(model, &info), TACET_OK);
  CHECK(strcmp(info.architecture, "qwen3") == 0 && strstr(info.types, "q8_0") != NULL);
  CHECK(info.name != NULL && info.vocabulary == 1024 && info.layers > 0 && info.width > 0);
  CHECK(info.parameters > 3000000 && info.weight_bytes > 3000000 && info.context_length > 0);
  tacet_session* session = new_session(model);
  tacet_model_free(model); /* the session keeps what it needs */
  check_answer(session, "What is 17 + 25?", "17 + 25 = 42.");
  tacet_session_free(session);
}

void test_loading(tacet_engine* engine, const char* path) {
  tacet_model* model = NULL;
  progress seen = {0, 0, 0};
  unsigned char stop = 0;
  tacet_load_options options = {.struct_size = sizeof options,
                                .mode = TACET_LOAD_READ,
                                .progress = note_progress,
                                .progress_user_data = &seen,
                                .stop_byte = &stop};
  CHECK_STATUS(tacet_model_load(engine, path, &options, &model), TACET_OK);
  CHECK(seen.calls > 0 && seen.done == seen.total && seen.total > 3000000);
  check_model(model);

  stop = 1;
  for (uint32_t mode = TACET_LOAD_MAP; mode <= TACET_LOAD_READ; ++mode) {
    options.mode = mode;
    CHECK_STATUS(tacet_model_load(engine, path, &options, &model), TACET_STOPPED);
    CHECK(model == NULL);
  }

  FILE* file = fopen(path, "rb");
  unsigned char* bytes = malloc(seen.total);
  CHECK(file != NULL && bytes != NULL);
  if (file == NULL || bytes == NULL) return;
  CHECK(fread(bytes, 1, seen.total, file) == seen.total);
  fclose(file);
  tacet_engine* own = NULL;
  CHECK_STATUS(tacet_engine_create(NULL, &own), TACET_OK);
  CHECK_STATUS(tacet_model_load_memory(own, bytes, seen.total, NULL, &model), TACET_OK);
  tacet_engine_free(own); /* the model keeps what it needs */
  check_model(model);
  CHECK_STATUS(tacet_model_load_memory(engine, bytes, 1000, NULL, &model), TACET_CORRUPT);
  CHECK_STATUS(tacet_model_load_memory(engine, bytes, 0, NULL, &model), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_model_load_memory(engine, "no model", 8, NULL, &model),
               TACET_INVALID_ARGUMENT);
  CHECK(model == NULL);
  free(bytes);
}
