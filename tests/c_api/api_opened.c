#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "api.h"

static void* library;

/* Stores the address of `name` where `function`, a pointer to a function, lies. */
static int find(const char* name, void* function) {
  void* address = dlsym(library, name);
  if (address == NULL) fprintf(stderr, "%s\n", dlerror());
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

int open_library(api* functions) {
  library = dlopen(TACET_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  return library != NULL && find("tacet_engine_create", &functions->engine_create) &&
         find("tacet_model_load", &functions->model_load) &&
         find("tacet_model_free", &functions->model_free) &&
         find("tacet_session_create", &functions->session_create) &&
         find("tacet_session_free", &functions->session_free) &&
         find("tacet_session_prompt", &functions->session_prompt) &&
         find("tacet_session_generate", &functions->session_generate) &&
         find("tacet_last_error", &functions->last_error) &&
         find("tacet_shutdown", &functions->shutdown);
}

int close_library(void) {
  return dlclose(library) == 0;
}
