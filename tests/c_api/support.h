#ifndef TACET_TESTS_C_API_SUPPORT_H
#define TACET_TESTS_C_API_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tacet.h"

/* Counts a failed check and says where; the tests go on. */
void check(bool holds, const char* what, const char* file, int line);
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

/* Checks a status, and that there is a sentence exactly if it is not TACET_OK. */
void check_status(tacet_status status, tacet_status wanted, const char* what, const char* file,
                  int line);
#define CHECK_STATUS(call, wanted) check_status((call), (wanted), #call, __FILE__, __LINE__)

int failed_checks(void);

/* Text that grows; over-long text is cut, which no test comes near. */
typedef struct text {
  char bytes[16384];
  size_t size;
} text;

/* A tacet_text_callback that appends to the `text` in `user_data`. */
void append_text(void* user_data, const char* utf8, size_t size);

tacet_outcome empty_outcome(void);
uint32_t token_count(tacet_session* session);
tacet_session* new_session(tacet_model* model);
/* Asks as a chat turn and checks the answer. */
void check_answer(tacet_session* session, const char* question, const char* answer);

/* The tests. */
void test_before_anything(void);
void test_arguments(tacet_engine* engine, tacet_model* model, const char* path);
void test_loading(tacet_engine* engine, const char* path);
void test_conversations(tacet_model* model);
void test_stops(tacet_model* model, const char* path);
/* The last one: the library is shut down afterwards. */
void test_shutdown(tacet_engine* engine, tacet_model* model);

#endif
