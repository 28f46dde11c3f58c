/* The C interface, used by a program in C11. usage: test_c_api MODEL */
#include <stdio.h>

#include "support.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* path = argv[1];
  setvbuf(stdout, NULL, _IOLBF, 0);

  test_before_anything();
  tacet_engine* engine = NULL;
  tacet_model* model = NULL;
  tacet_engine_options options = {.struct_size = sizeof options, .threads = 2};
  CHECK_STATUS(tacet_engine_create(&options, &engine), TACET_OK);
  CHECK_STATUS(tacet_model_load(engine, path, NULL, &model), TACET_OK);
  if (model == NULL) return 1;
  test_arguments(engine, model, path);
  test_loading(engine, path);
  test_conversations(model);
  test_stops(model, path);
  test_shutdown(engine, model);
  tacet_model_free(model);
  tacet_engine_free(engine);
  printf("%d checks failed\n", failed_checks());
  return failed_checks() == 0 ? 0 : 1;
}
