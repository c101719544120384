/*
 * wavesmith.h: the public interface of the library.
 *
 * Conventions. A call that can fail returns 0 or a negative WS_E* code and
 * leaves the details in the context (ws_ctx_error). Handles are opaque and are
 * freed by the matching _free, which accepts NULL. Structures that cross the
 * interface are plain data; one that may grow begins with `size`, to be set to
 * sizeof by the caller (0 fields mean "default"). The library never prints,
 * never exits and never reads the environment.
 *
 * Threads: a context and everything made from it belong to one thread at a
 * time; different contexts are independent. ws_ctx_cancel alone may be called
 * from any thread and from a signal handler.
 */
#ifndef WAVESMITH_H
#define WAVESMITH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WS_API __attribute__((visibility("default")))
#define WS_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define WS_API
#define WS_PRINTF(f, a)
#endif

#define WS_VERSION_MAJOR 0
#define WS_VERSION_MINOR 1
#define WS_VERSION_PATCH 0
#define WS_VERSION "0.1.0"

/* code, name, text. A released code keeps its number for ever. */
#define WS_STATUS_MAP(X)                                                      \
    X(0, OK, "ok")                                                            \
    X(-1, ENOMEM, "out of memory")                                            \
    X(-2, EINVAL, "bad argument")                                             \
    X(-3, EPARSE, "cannot be parsed")                                         \
    X(-4, ESPEC, "specification is not valid")                                \
    X(-5, EEXPR, "expression is not valid")                                   \
    X(-6, EOVERFLOW, "integer overflow")                                      \
    X(-7, EIO, "file operation failed")                                       \
    X(-8, ENOENT, "not found")                                                \
    X(-9, EFULL, "no space left")                                             \
    X(-10, EACCES, "permission denied")                                       \
    X(-11, EBUSY, "in use by another process")                                \
    X(-12, EVERSION, "version is not supported")                              \
    X(-13, ECORRUPT, "file is damaged")                                       \
    X(-14, ENODRIVER, "driver or library is missing")                         \
    X(-15, ENODEVICE, "no such device")                                       \
    X(-16, EDEVICE, "device reports an error")                                \
    X(-17, ECRASH, "worker process crashed")                                  \
    X(-18, ETIMEOUT, "timed out")                                             \
    X(-19, ECANCEL, "stopped on request")                                     \
    X(-20, EBUILD, "kernel does not compile")                                 \
    X(-21, ELAUNCH, "kernel cannot be launched")                              \
    X(-22, EDEVMEM, "device is out of memory")                                \
    X(-23, EPROTO, "worker protocol error")                                   \
    X(-24, ELIMIT, "over a limit")                                            \
    X(-25, EDONE, "nothing more to do")                                       \
    X(-26, ENOTSUP, "not supported here")                                     \
    X(-27, EMISS, "not among the recorded results")                           \
    X(-28, EREFERENCE, "reference failed")                                    \
    X(-29, EBUG, "internal error")

enum ws_status {
#define WS_X(code, name, text) WS_##name = (code),
    WS_STATUS_MAP(WS_X)
#undef WS_X
};

/* Name ("WS_EINVAL") and text of a code; never NULL. Any thread. */
WS_API const char *ws_status_name(int code);
WS_API const char *ws_status_text(int code);

/* The last failure of a context. Strings are never NULL, empty if unknown. */
struct ws_error {
    int code;
    uint32_t line, column; /* 1-based, 0 if unknown */
    char file[512];
    char message[1024]; /* failure first, subject quoted */
    char hint[512];     /* what to do */
};

/*
 * Memory. realloc(user, NULL, n) allocates, realloc(user, p, n) resizes; both
 * may return NULL. free(user, NULL) is a no-op. All functions must be safe to
 * call from any thread (helper contexts share the allocator).
 */
struct ws_alloc {
    void *(*realloc)(void *user, void *p, size_t bytes);
    void (*free)(void *user, void *p);
    void *user;
};

enum ws_log_level { WS_LOG_DEBUG, WS_LOG_INFO, WS_LOG_WARN };
typedef void ws_log_fn(void *user, enum ws_log_level level, const char *text);

struct ws_ctx_opts {
    size_t size;
    const struct ws_alloc *alloc; /* NULL: malloc */
    ws_log_fn *log;               /* NULL: silent; called from any thread */
    void *log_user;
    const char *worker_path; /* NULL: beside the executable, then libexec */
    const char *share_dir;   /* shipped operators; NULL: found as the worker */
    const char *cache_dir;   /* driver caches; NULL: .wavesmith/cache */
};

struct ws_ctx;

/* NULL opts: all defaults. Returns NULL only if memory is short. */
WS_API struct ws_ctx *ws_ctx_new(const struct ws_ctx_opts *opts);
WS_API void ws_ctx_free(struct ws_ctx *ctx);
/* The last failure; owned by ctx, valid until its next call. */
WS_API const struct ws_error *ws_ctx_error(const struct ws_ctx *ctx);
/* Asks the running call to stop soon with WS_ECANCEL. Signal safe. */
WS_API void ws_ctx_cancel(struct ws_ctx *ctx);
/* The running call stops with WS_ETIMEOUT after `ns` from now; 0: never. */
WS_API void ws_ctx_set_timeout(struct ws_ctx *ctx, uint64_t ns);

#ifdef __cplusplus
}
#endif
#endif
