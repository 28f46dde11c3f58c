#include "support.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;

void check(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  ++failures;
  printf("%s:%d: does not hold: %s\n", file, line, what);
}

void check_status(tacet_status status, tacet_status wanted, const char* what, const char* file,
                  int line) {
  const char* sentence = tacet_last_error();
  if (status == wanted && (status == TACET_OK) == (sentence[0] == 0)) return;
  ++failures;
  printf("%s:%d: %s returned %s (\"%s\"), not %s\n", file, line, what,
         tacet_status_name((int)status), sentence, tacet_status_name((int)wanted));
}

int failed_checks(void) {
  return failures;
}

void append_text(void* user_data, const char* utf8, size_t size) {
  text* to = user_data;
  if (size > sizeof to->bytes - 1 - to->size) size = sizeof to->bytes - 1 - to->size;
  memcpy(to->bytes + to->size, utf8, size);
  to->size += size;
  to->bytes[to->size] = 0;
}

tacet_outcome empty_outcome(void) {
  tacet_outcome outcome = {.struct_size = sizeof outcome};
  return outcome;
}

uint32_t token_count(tacet_session* session) {
  size_t count = 0;
  CHECK_STATUS(tacet_session_get_tokens(session, NULL, 0, &count), TACET_OK);
  return (uint32_t)count;
}

tacet_session* new_session(tacet_model* model) {
  tacet_session* session = NULL;
  CHECK_STATUS(tacet_session_create(model, NULL, &session), TACET_OK);
  return session;
}

void check_answer(tacet_session* session, const char* question, const char* answer) {
  text said = {.size = 0};
  tacet_outcome outcome = empty_outcome();
  CHECK_STATUS(tacet_session_prompt(session, question, TACET_PROMPT_CHAT, NULL, &outcome),
               TACET_OK);
  CHECK(outcome.status == TACET_OUTCOME_DONE && outcome.tokens > 0);
  CHECK_STATUS(tacet_session_generate(session, NULL, append_text, &said, NULL, &outcome), TACET_OK);
  CHECK(outcome.status == TACET_OUTCOME_DONE && outcome.finish == TACET_FINISH_END_TOKEN);
  if (strcmp(said.bytes, answer) == 0) return;
  printf("\"%s\" was answered \"%s\", not \"%s\"\n", question, said.bytes, answer);
  CHECK(strcmp(said.bytes, answer) == 0);
}
