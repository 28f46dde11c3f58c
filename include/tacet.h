/*
 * tacet's C interface: load a GGUF model, hold a conversation with it, stop it on cue.
 *
 *     tacet_engine* engine;
 *     tacet_model* model;
 *     tacet_session* session;
 *     tacet_engine_create(NULL, &engine);
 *     tacet_model_load(engine, "model.gguf", NULL, &model);
 *     tacet_session_create(model, NULL, &session);
 *     tacet_session_prompt(session, "What is 17 + 25?", TACET_PROMPT_CHAT, NULL, NULL);
 *     tacet_session_generate(session, NULL, print, NULL, NULL, NULL);
 *
 * Errors. A function that returns a tacet_status says TACET_OK, or why not; tacet_last_error has
 * the sentence. Wherever a pointer may be NULL, this file says so; any other NULL is
 * TACET_INVALID_ARGUMENT.
 *
 * Structs. Each begins with `struct_size`: set it to sizeof the struct, and every field that you do
 * not care about to zero, which always means the default. A program that was built with an older
 * header goes on working, and one that was built with a newer one is refused only if it uses a
 * field that this library does not know.
 *
 * Threads. Engines and models may be used by any number of threads. A session serves one call at a
 * time; a second one meanwhile, also one from inside a callback, is TACET_INVALID_ARGUMENT.
 * Callbacks run on the thread of the call unless said otherwise; they must return normally: no
 * longjmp, no C++ exception, no pthread_exit.
 *
 * Stopping. A call that takes a `stop_byte` stops once that byte is not 0. The byte is yours: any
 * thread or signal handler may write it, it must live until the call returns, and it may be NULL.
 * A stopped call returns TACET_STOPPED, which is not an error: its session is what it was before
 * the call (before the token in flight, for tacet_session_generate), bit for bit.
 *
 * Freeing. The free functions accept NULL and may be called while other threads are inside a call
 * on the handle: those are stopped and waited for. From inside a callback of such a call the handle
 * is freed when that call returns. Handles keep what they need: an engine may be freed before its
 * models, a model before its sessions. No new call may be made on a handle once its free function
 * was called.
 *
 * Leaving. exit(), a return from main and dlclose() are safe at any moment, with calls in flight.
 * tacet_shutdown() ends these in good order first.
 */
#ifndef TACET_H
#define TACET_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TACET_API __attribute__((visibility("default")))
#else
#define TACET_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; tacet_version() is the library's. */
#define TACET_VERSION_MAJOR 0
#define TACET_VERSION_MINOR 1
#define TACET_VERSION_PATCH 0

/* ---- Status ---- */

typedef enum tacet_status {
  TACET_OK = 0,
  TACET_INVALID_ARGUMENT = 1, /* asked for something that makes no sense */
  TACET_NOT_FOUND = 2,        /* a file, a tensor or a device that does not exist */
  TACET_IO = 3,               /* the operating system refused to read or write */
  TACET_CORRUPT = 4,          /* a file that contradicts itself or its format */
  TACET_UNSUPPORTED = 5,      /* valid, but not something this build can do */
  TACET_OUT_OF_MEMORY = 6,    /* an allocation failed */
  TACET_CONTEXT_FULL = 7,     /* the session has no room for the tokens */
  TACET_DEVICE_LOST = 8,      /* the device is closed for this process */
  TACET_STOPPED = 9,          /* stopped on cue; not an error */
  TACET_SHUT_DOWN = 10,       /* after tacet_shutdown */
  TACET_INTERNAL = 11         /* a defect in tacet */
} tacet_status;

/* The version of the library, "0.1.0". Static. */
TACET_API const char* tacet_version(void);

/* The name of a tacet_status, "out_of_memory"; "unknown" for any other number. Static. */
TACET_API const char* tacet_status_name(int status);

/*
 * One sentence, in UTF-8, about why this thread's last call did not return TACET_OK; "" if it did.
 * Valid until the thread's next call. Long sentences are cut. Needs no memory.
 */
TACET_API const char* tacet_last_error(void);

/* ---- Opaque handles ---- */

typedef struct tacet_engine tacet_engine;   /* the devices and their threads */
typedef struct tacet_model tacet_model;     /* weights and tokenizer; never changes */
typedef struct tacet_session tacet_session; /* one conversation */

/* ---- Engine ---- */

typedef enum tacet_log_level {
  TACET_LOG_DEBUG = 0,
  TACET_LOG_INFO = 1,
  TACET_LOG_WARNING = 2,
  TACET_LOG_ERROR = 3
} tacet_log_level;

/*
 * Receives a log line, without a newline. Any thread may call it, one at a time. It must not call
 * into the library. What it uses has to live until the engine and all that came from it are freed.
 */
typedef void (*tacet_log_callback)(void* user_data, tacet_log_level level, const char* line,
                                   size_t size);

typedef struct tacet_engine_options {
  size_t struct_size;
  uint32_t threads;       /* that compute; 0: one for each core that this process may use */
  tacet_log_callback log; /* NULL: warnings and errors go to standard error */
  void* log_user_data;
  const char* device; /* where models run: "cpu", "cuda:0", "auto" (the first GPU, or the CPU where
                         there is none); NULL: auto */
} tacet_engine_options;

/* Opens the devices and starts their threads. `options` may be NULL. */
TACET_API tacet_status tacet_engine_create(const tacet_engine_options* options,
                                           tacet_engine** engine);
TACET_API void tacet_engine_free(tacet_engine* engine);

/* ---- Model ---- */

typedef enum tacet_load_mode {
  TACET_LOAD_MAP = 0, /* mapped: shares memory between processes; the file must not be cut short */
  TACET_LOAD_READ = 1 /* copied: safe from later changes of the file */
} tacet_load_mode;

/* Told how many bytes are resident, a few hundred times at most. */
typedef void (*tacet_progress_callback)(void* user_data, uint64_t done, uint64_t total);

typedef struct tacet_load_options {
  size_t struct_size;
  uint32_t mode;                    /* a tacet_load_mode */
  tacet_progress_callback progress; /* may be NULL */
  void* progress_user_data;
  const volatile unsigned char* stop_byte; /* may be NULL */
  int32_t gpu_layers; /* of an engine's GPU: so many of the model's last layers run there, and the
                         others on the CPU; 0: all that fit; or one of those below */
} tacet_load_options;

#define TACET_GPU_LAYERS_ALL (-1)
#define TACET_GPU_LAYERS_NONE (-2) /* the model runs on the CPU */

/* Loads a GGUF file. `options` may be NULL. A stopped load returns TACET_STOPPED and no model. */
TACET_API tacet_status tacet_model_load(tacet_engine* engine, const char* path,
                                        const tacet_load_options* options, tacet_model** model);
/*
 * The same for a file's bytes in memory, such as a model that is linked into the program. They are
 * not copied, whatever the mode, and must outlive the model and its sessions.
 */
TACET_API tacet_status tacet_model_load_memory(tacet_engine* engine, const void* bytes, size_t size,
                                               const tacet_load_options* options,
                                               tacet_model** model);
TACET_API void tacet_model_free(tacet_model* model);

typedef struct tacet_model_info {
  size_t struct_size;
  const char* architecture; /* "qwen3"; this text and the next two live as long as the handle */
  const char* name;         /* as the file says */
  const char* types;        /* of the weights by size, "q8_0, f32" */
  uint64_t parameters;
  uint64_t weight_bytes;
  uint32_t context_length; /* tokens that the model was trained for */
  uint32_t vocabulary;
  uint32_t layers;
  uint32_t width;
} tacet_model_info;

/* Fills `*info`, whose struct_size is set by the caller. */
TACET_API tacet_status tacet_model_get_info(tacet_model* model, tacet_model_info* info);

/* ---- What came of a call ---- */

typedef enum tacet_outcome_status {
  TACET_OUTCOME_DONE = 0,
  TACET_OUTCOME_STOPPED = 1, /* the call returned TACET_STOPPED */
  TACET_OUTCOME_FAILED = 2   /* the call returned an error */
} tacet_outcome_status;

typedef enum tacet_reason {
  TACET_REASON_NONE = 0,
  TACET_REASON_REQUESTED = 1, /* the byte, or the handle was freed */
  TACET_REASON_DEADLINE = 2,
  TACET_REASON_PARENT = 3,
  TACET_REASON_SHUTDOWN = 4 /* tacet_shutdown */
} tacet_reason;

typedef enum tacet_finish {
  TACET_FINISH_NONE = 0,        /* it was not done, or was no tacet_session_generate */
  TACET_FINISH_END_TOKEN = 1,   /* the model ended its answer */
  TACET_FINISH_STOP_STRING = 2, /* one of the stop strings came up */
  TACET_FINISH_TOKEN_LIMIT = 3  /* max_tokens were delivered */
} tacet_finish;

typedef struct tacet_outcome {
  size_t struct_size;
  tacet_outcome_status status;
  tacet_reason reason; /* of a stopped call */
  tacet_finish finish; /* of a tacet_session_generate that is done */
  uint32_t tokens;     /* committed by the call: evaluated, or delivered */
  uint32_t steps_done; /* how far the stopped run got */
  uint32_t steps;      /* of how many */
  /* From the moment that the library saw the request to the call's return, and to an idle device.
   */
  uint64_t to_return_ns;
  uint64_t to_idle_ns;
  uint32_t reused; /* of the tokens, taken over from other sessions */
} tacet_outcome;

/* ---- Session ---- */

typedef enum tacet_kv_type {                       /* in what keys and values are kept */
                             TACET_KV_DEFAULT = 0, /* f16 */
                             TACET_KV_F32 = 1,
                             TACET_KV_F16 = 2,
                             TACET_KV_Q8_0 = 3, /* blocks: heads of a multiple of 32 */
                             TACET_KV_BF16 = 4,
                             TACET_KV_Q5_1 = 5,
                             TACET_KV_Q5_0 = 6,
                             TACET_KV_Q4_1 = 7,
                             TACET_KV_Q4_0 = 8
} tacet_kv_type;

typedef struct tacet_session_options {
  size_t struct_size;
  uint32_t context; /* tokens it can hold; 0: what the model was trained for, at most 4096 */
  uint32_t k_type;  /* a tacet_kv_type */
  uint32_t v_type;
  const char* system; /* the system message of a chat, in UTF-8; may be NULL; is copied */
  uint32_t window;    /* a token sees so many up to itself, and older ones give up their memory; 0:
                         it sees all */
  uint32_t private_prefix; /* 0: a prompt takes over what sessions of the model have computed for
                              the same first tokens, with the same bits; how long it takes can tell
                              whether another session had them. 1: neither take nor give */
} tacet_session_options;

/* Begins a conversation. `options` may be NULL. */
TACET_API tacet_status tacet_session_create(tacet_model* model,
                                            const tacet_session_options* options,
                                            tacet_session** session);
TACET_API void tacet_session_free(tacet_session* session);

/* Flags of tacet_session_prompt. */
#define TACET_PROMPT_RAW 0U  /* the text as it is; control tokens written out are recognized */
#define TACET_PROMPT_CHAT 1U /* the user's next turn: the model's chat template goes around it */

/*
 * Appends `text`, UTF-8 that ends in a zero byte, and computes it. Atomic: all of it is in the
 * session afterwards, or, when it did not return TACET_OK, nothing. `outcome` may be NULL.
 */
TACET_API tacet_status tacet_session_prompt(tacet_session* session, const char* text,
                                            uint32_t flags, const volatile unsigned char* stop_byte,
                                            tacet_outcome* outcome);

typedef struct tacet_generate_options {
  size_t struct_size;
  uint32_t max_tokens;  /* 0: until the model ends; a context that fills up first is an error */
  float temperature;    /* 0: always the most likely token */
  uint32_t top_k;       /* keep the k most likely; 0: all */
  float top_p;          /* keep the smallest set whose probability reaches p; 0 or 1: all */
  float min_p;          /* keep what is at least this part of the best probability; 0: all */
  float repeat_penalty; /* of recent tokens; 0 or 1: none */
  uint32_t repeat_last; /* how many tokens are recent; 0: 64 */
  uint32_t has_seed;    /* 1: `seed` restarts the session's random generator; 0: it goes on */
  uint64_t seed;
  const char* const* stops; /* strings that end the answer and are not delivered */
  size_t stop_count;
  uint32_t special; /* 1: deliver control tokens as text too */
  uint32_t shift;   /* 1: when the context is full, forget the older half of the tokens behind the
                       first `shift_keep`, and go on, as often as needed; 0: that is an error */
  uint32_t shift_keep;
} tacet_generate_options;

/*
 * Receives text as it is generated: whole UTF-8 characters, in order. `utf8` holds `size` bytes,
 * with no zero byte behind them, and is valid during the call.
 */
typedef void (*tacet_text_callback)(void* user_data, const char* utf8, size_t size);

/*
 * Generates an answer, token by token. Each delivered token is committed, so a stop loses only the
 * one in flight; to go on, call again without a seed, for as many tokens as are left. `options`,
 * `on_text` and `outcome` may be NULL.
 */
TACET_API tacet_status tacet_session_generate(tacet_session* session,
                                              const tacet_generate_options* options,
                                              tacet_text_callback on_text, void* user_data,
                                              const volatile unsigned char* stop_byte,
                                              tacet_outcome* outcome);

/*
 * Copies the session's tokens, prompts and answers, as far as `capacity` allows, and sets `*count`
 * to how many there are. `tokens` may be NULL if `capacity` is 0.
 */
TACET_API tacet_status tacet_session_get_tokens(tacet_session* session, int32_t* tokens,
                                                size_t capacity, size_t* count);

/* Forgets all but the first `count` tokens. */
TACET_API tacet_status tacet_session_truncate(tacet_session* session, uint32_t count);

/* Flags of tacet_session_remove. */
#define TACET_REMOVE_LEAVE_GAP 0U /* the model sees a gap where they were */
#define TACET_REMOVE_CLOSE_GAP 1U /* the tokens before `begin` are computed anew, further up */

/*
 * Forgets the tokens from `begin` to `end`. What comes behind keeps what was computed for it, with
 * the forgotten ones in sight, and its positions. Atomic. `outcome` may be NULL; its tokens are
 * those forgotten.
 */
TACET_API tacet_status tacet_session_remove(tacet_session* session, uint32_t begin, uint32_t end,
                                            uint32_t flags, const volatile unsigned char* stop_byte,
                                            tacet_outcome* outcome);

/*
 * Writes all of the session to a file, whole or not at all, for tacet_session_restore with the same
 * model file, on this or another machine. It holds what was said, unencrypted.
 */
TACET_API tacet_status tacet_session_save(tacet_session* session, const char* path,
                                          const volatile unsigned char* stop_byte);

/*
 * A session as tacet_session_save left it, bit for bit. Of `options`, which may be NULL, `context`
 * (0: as it was) and `system` count; the rest is as it was, and its prefix is private. A file that
 * is damaged, or another model's, is refused.
 */
TACET_API tacet_status tacet_session_restore(tacet_model* model, const char* path,
                                             const tacet_session_options* options,
                                             const volatile unsigned char* stop_byte,
                                             tacet_session** session);

/* A second session with the same past; what they have in common is not stored twice. */
TACET_API tacet_status tacet_session_fork(tacet_session* session, tacet_session** fork);

/* ---- Shutting down ---- */

/*
 * Stops all calls in flight in all threads (reason TACET_REASON_SHUTDOWN) and waits for them, at
 * most `timeout_ms`. Returns 1 if all ended, else 0. From inside a callback, the calls of this
 * thread are stopped but not waited for. Every later call returns TACET_SHUT_DOWN; the free
 * functions still free.
 */
TACET_API int tacet_shutdown(uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* TACET_H */
