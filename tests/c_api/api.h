#ifndef TACET_TESTS_C_API_API_H
#define TACET_TESTS_C_API_API_H

#include "tacet.h"

/* The functions that leave.c uses, from a library that is linked or opened. */
typedef struct api {
  tacet_status (*engine_create)(const tacet_engine_options*, tacet_engine**);
  tacet_status (*model_load)(tacet_engine*, const char*, const tacet_load_options*, tacet_model**);
  void (*model_free)(tacet_model*);
  tacet_status (*session_create)(tacet_model*, const tacet_session_options*, tacet_session**);
  void (*session_free)(tacet_session*);
  tacet_status (*session_prompt)(tacet_session*, const char*, uint32_t,
                                 const volatile unsigned char*, tacet_outcome*);
  tacet_status (*session_generate)(tacet_session*, const tacet_generate_options*,
                                   tacet_text_callback, void*, const volatile unsigned char*,
                                   tacet_outcome*);
  const char* (*last_error)(void);
  int (*shutdown)(uint32_t);
} api;

/* Fills `functions`; returns 0 and says why if it can not. */
int open_library(api* functions);
/* Gives the library back; returns 0 if that fails. */
int close_library(void);

#endif
