/* What a session does when nothing stops it. */
#include <stdio.h>
#include <string.h>

#include "support.h"

static void test_turns(tacet_model* model) {
  tacet_session* session = new_session(model);
  check_answer(session, "What is 17 + 25?", "17 + 25 = 42.");
  check_answer(session, "What is 20 + 30?", "20 + 30 = 50.");
  const uint32_t before = token_count(session);
  check_answer(session, "What is 11 + 22?", "11 + 22 = 33.");
  CHECK_STATUS(tacet_session_truncate(session, before), TACET_OK);
  CHECK(token_count(session) == before);
  check_answer(session, "What is 44 + 44?", "44 + 44 = 88.");
  CHECK_STATUS(tacet_session_truncate(session, 0), TACET_OK);
  check_answer(session, "What is 17 + 25?", "17 + 25 = 42.");
  tacet_session_free(session);
}

static void test_fork(tacet_model* model) {
  tacet_session* session = new_session(model);
  CHECK_STATUS(tacet_session_prompt(session, "Tell me a story.", TACET_PROMPT_CHAT, NULL, NULL),
               TACET_OK);
  tacet_session* fork = NULL;
  CHECK_STATUS(tacet_session_fork(session, &fork), TACET_OK);
  CHECK(token_count(fork) == token_count(session));
  const tacet_generate_options options = {
      .struct_size = sizeof options, .temperature = 1, .has_seed = 1, .seed = 7, .max_tokens = 40};
  text one = {.size = 0};
  text two = {.size = 0};
  CHECK_STATUS(tacet_session_generate(session, &options, append_text, &one, NULL, NULL), TACET_OK);
  tacet_session_free(session);
  CHECK_STATUS(tacet_session_generate(fork, &options, append_text, &two, NULL, NULL), TACET_OK);
  CHECK(one.size > 20 && strcmp(one.bytes, two.bytes) == 0);
  tacet_session_free(fork);
}

static void test_options(tacet_model* model) {
  tacet_session* session = new_session(model);
  tacet_outcome outcome = empty_outcome();
  CHECK_STATUS(tacet_session_prompt(session, "What is 17 + 25?", TACET_PROMPT_CHAT, NULL, NULL),
               TACET_OK);
  const char* stops[] = {"no such text", " ="};
  tacet_generate_options options = {.struct_size = sizeof options, .stops = stops, .stop_count = 2};
  text said = {.size = 0};
  CHECK_STATUS(tacet_session_generate(session, &options, append_text, &said, NULL, &outcome),
               TACET_OK);
  CHECK(outcome.finish == TACET_FINISH_STOP_STRING && strcmp(said.bytes, "17 + 25") == 0);
  options.stop_count = 0;
  options.max_tokens = 1;
  CHECK_STATUS(tacet_session_generate(session, &options, NULL, NULL, NULL, &outcome), TACET_OK);
  CHECK(outcome.finish == TACET_FINISH_TOKEN_LIMIT && outcome.tokens == 1);
  tacet_session_free(session);

  const tacet_session_options small = {
      .struct_size = sizeof small, .context = 24, .k_type = TACET_KV_F32, .v_type = TACET_KV_Q8_0};
  CHECK_STATUS(tacet_session_create(model, &small, &session), TACET_OK);
  CHECK_STATUS(tacet_session_prompt(session, "Tell me a story.", TACET_PROMPT_CHAT, NULL, &outcome),
               TACET_OK);
  CHECK_STATUS(tacet_session_generate(session, NULL, NULL, NULL, NULL, &outcome),
               TACET_CONTEXT_FULL);
  CHECK(outcome.status == TACET_OUTCOME_FAILED && token_count(session) == 24);
  CHECK_STATUS(tacet_session_prompt(session, "More.", TACET_PROMPT_CHAT, NULL, &outcome),
               TACET_CONTEXT_FULL);
  CHECK(token_count(session) == 24);
  tacet_session_free(session);
}

static size_t count_token(tacet_session* session, int32_t token) {
  static int32_t tokens[4096];
  size_t count = 0;
  CHECK_STATUS(tacet_session_get_tokens(session, tokens, 4096, &count), TACET_OK);
  CHECK(count <= 4096);
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) found += tokens[i] == token;
  return found;
}

/* Control tokens that a person writes out stay text in a chat, and are tokens in a raw prompt. */
static void test_control_tokens(tacet_model* model) {
  tacet_session* session = new_session(model);
  int32_t end[2] = {-1, -1};
  size_t count = 0;
  CHECK_STATUS(tacet_session_prompt(session, "<|im_end|>", TACET_PROMPT_RAW, NULL, NULL), TACET_OK);
  CHECK_STATUS(tacet_session_get_tokens(session, end, 2, &count), TACET_OK);
  CHECK(count == 1);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK_STATUS(tacet_session_truncate(session, 0), TACET_OK);
    if (turn == 1)
      CHECK_STATUS(tacet_session_prompt(session, "Hello.", TACET_PROMPT_CHAT, NULL, NULL),
                   TACET_OK);
    const uint32_t before = token_count(session);
    CHECK_STATUS(tacet_session_prompt(session, "Hello.", TACET_PROMPT_CHAT, NULL, NULL), TACET_OK);
    const size_t plain = count_token(session, *end);
    CHECK(plain > 0);
    CHECK_STATUS(tacet_session_truncate(session, before), TACET_OK);
    CHECK_STATUS(tacet_session_prompt(session, "Hello<|im_end|>.", TACET_PROMPT_CHAT, NULL, NULL),
                 TACET_OK);
    CHECK(count_token(session, *end) == plain);
  }
  tacet_session_free(session);
}

static void test_system_message(tacet_model* model) {
  tacet_session* plain = new_session(model);
  tacet_session* session = NULL;
  const tacet_session_options options = {.struct_size = sizeof options,
                                         .system = "You are a pirate who likes long words."};
  CHECK_STATUS(tacet_session_create(model, &options, &session), TACET_OK);
  uint32_t grown[2];
  for (int turn = 0; turn < 2; ++turn) {
    const uint32_t with = token_count(session);
    const uint32_t without = token_count(plain);
    CHECK_STATUS(tacet_session_prompt(session, "Hello.", TACET_PROMPT_CHAT, NULL, NULL), TACET_OK);
    CHECK_STATUS(tacet_session_prompt(plain, "Hello.", TACET_PROMPT_CHAT, NULL, NULL), TACET_OK);
    grown[turn] = token_count(session) - with - (token_count(plain) - without);
  }
  CHECK(grown[0] > 5 && grown[1] == 0);
  tacet_session_free(session);
  tacet_session_free(plain);
}

/* What sessions forget, keep and share. */
static void test_state(tacet_model* model) {
  const char* path = "tacet-c-api.session";
  tacet_outcome outcome = empty_outcome();
  tacet_session* session = new_session(model);
  check_answer(session, "What is 17 + 25?", "17 + 25 = 42.");
  const uint32_t first = token_count(session);
  check_answer(session, "What is 20 + 30?", "20 + 30 = 50.");
  CHECK_STATUS(tacet_session_remove(session, 3, first, 2, NULL, NULL), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_remove(session, first, 3, 0, NULL, &outcome), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_save(session, NULL, NULL), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_save(session, "no/such/folder/a", NULL), TACET_NOT_FOUND);
  const unsigned char stop = 1;
  CHECK_STATUS(tacet_session_save(session, path, &stop), TACET_STOPPED);
  CHECK_STATUS(tacet_session_save(session, path, NULL), TACET_OK);
  const uint32_t all = token_count(session);
  CHECK_STATUS(tacet_session_remove(session, 0, first, TACET_REMOVE_CLOSE_GAP, &stop, &outcome),
               TACET_STOPPED);
  CHECK(outcome.tokens == 0 && token_count(session) == all);
  CHECK_STATUS(tacet_session_remove(session, 0, first, TACET_REMOVE_CLOSE_GAP, NULL, &outcome),
               TACET_OK);
  CHECK(outcome.tokens == first && token_count(session) == all - first);
  check_answer(session, "What is 11 + 22?", "11 + 22 = 33.");
  tacet_session_free(session);

  session = NULL;
  tacet_session_options options = {.struct_size = sizeof options, .context = 16};
  CHECK_STATUS(tacet_session_restore(model, NULL, NULL, NULL, &session), TACET_INVALID_ARGUMENT);
  CHECK_STATUS(tacet_session_restore(model, "none", NULL, NULL, &session), TACET_NOT_FOUND);
  CHECK_STATUS(tacet_session_restore(model, path, &options, NULL, &session), TACET_CONTEXT_FULL);
  CHECK_STATUS(tacet_session_restore(model, path, NULL, &stop, &session), TACET_STOPPED);
  CHECK_STATUS(tacet_session_restore(model, path, NULL, NULL, NULL), TACET_INVALID_ARGUMENT);
  CHECK(session == NULL);
  options.context = 200;
  CHECK_STATUS(tacet_session_restore(model, path, &options, NULL, &session), TACET_OK);
  CHECK(token_count(session) == all);
  check_answer(session, "What is 44 + 44?", "44 + 44 = 88.");
  tacet_session_free(session);
  CHECK(remove(path) == 0);

  /* The prompt of one is the prefix of the other, unless it is private. */
  const char* story =
      "Tell me a story about a fox, a hen, a dog, a cat, a cow, a pig, a goat and a very old "
      "horse.";
  uint32_t reused[3];
  for (int i = 0; i < 3; ++i) {
    options = (tacet_session_options){.struct_size = sizeof options, .private_prefix = i == 2};
    CHECK_STATUS(tacet_session_create(model, &options, &session), TACET_OK);
    CHECK_STATUS(tacet_session_prompt(session, story, TACET_PROMPT_CHAT, NULL, &outcome), TACET_OK);
    reused[i] = outcome.reused;
    tacet_session_free(session);
  }
  CHECK(reused[0] == 0 && reused[1] == 32 && reused[2] == 0);

  /* A context that is too small for the answer, and one with a window. */
  options = (tacet_session_options){.struct_size = sizeof options, .context = 48, .window = 40};
  CHECK_STATUS(tacet_session_create(model, &options, &session), TACET_OK);
  CHECK_STATUS(tacet_session_prompt(session, "Tell me a story.", TACET_PROMPT_CHAT, NULL, NULL),
               TACET_OK);
  const tacet_generate_options on = {.struct_size = sizeof on,
                                     .max_tokens = 200,
                                     .temperature = 1.5F,
                                     .has_seed = 1,
                                     .seed = 4,
                                     .shift = 1,
                                     .shift_keep = 4};
  CHECK_STATUS(tacet_session_generate(session, &on, NULL, NULL, NULL, &outcome), TACET_OK);
  CHECK(outcome.tokens > 40 && token_count(session) <= 48);
  tacet_session_free(session);
  options.window = 0xffffffffU;
  CHECK_STATUS(tacet_session_create(model, &options, &session), TACET_INVALID_ARGUMENT);
}

void test_conversations(tacet_model* model) {
  test_turns(model);
  test_fork(model);
  test_options(model);
  test_control_tokens(model);
  test_system_message(model);
  test_state(model);
}
