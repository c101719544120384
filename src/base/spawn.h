/*
 * spawn.h: child processes and framed messages to them.
 *
 * A worker is started with posix_spawn and has one end of a socket pair as
 * file descriptor 3. It ends at end-of-file of that socket, so none outlives
 * its parent. Messages are {u32 length, u32 type} and a payload; file
 * descriptors (shared memory) can ride along. Waits for an answer have a
 * deadline, and all waits notice cancellation of the context and the deadline
 * of its call.
 *
 * A worker dies with the thread that started it (PR_SET_PDEATHSIG): the
 * thread that opens one keeps it until it is closed.
 */
#ifndef WS_SPAWN_H
#define WS_SPAWN_H

#include <sys/types.h>

#include "base/mem.h"

#define WS__WIRE_VERSION 1u
#define WS__WIRE_MAX ((size_t)64 << 20)
#define WS__WORKER_FD 3
#define WS__PREFIX_MAX 16 /* words of ws_ctx.worker_prefix */
/* The first message to a worker: {u32 WS__WIRE_VERSION, u32 role}. No answer;
 * a worker that does not know the version or the role exits. */
#define WS__WIRE_HELLO 1u
enum ws__worker_role {
    WS__ROLE_DEVICE = 1,
    WS__ROLE_REFERENCE = 2,
    WS__ROLE_PYTHON = 3, /* a reference in Python: becomes an interpreter */
    WS__ROLE_COMPILE = 4 /* a compiler in Python: the same */
};

struct ws__proc {
    pid_t pid;  /* 0: none */
    int sock;   /* -1: none */
    int status; /* of wait(), once it has ended */
};

/* Sets the error "cannot <what>: <why>" for a system call that failed with the
 * errno `e`, with a hint on what to do about it, and returns the code. */
int ws__sys_fail(struct ws_ctx *ctx, int e, const char *what, ...)
    WS_PRINTF(3, 4);

/* argv[0] is the path. env_extra: NULL-terminated "K=V" list added to the
 * inherited environment, may be NULL. stdout and stderr of the child go to
 * `stderr_fd` (3 or more; -1: /dev/null). Errors: as of ws__sys_fail; then
 * no process and no descriptor is left. */
int ws__proc_start(struct ws_ctx *ctx, const char *const *argv,
                   const char *const *env_extra, int stderr_fd,
                   struct ws__proc *out);
/* As ws__proc_start for a program that is no worker: no socket, and io[0..2]
 * (3 or more, still the caller's; -1: /dev/null) become its standard streams.
 * It does not notice that we end: kill it. */
int ws__proc_start_io(struct ws_ctx *ctx, const char *const *argv,
                      const int io[3], struct ws__proc *out);
/* Whether it has ended; does not wait. What it started has then ended, too. */
bool ws__proc_ended(struct ws__proc *p);
/* Closes the socket, waits up to grace_ns, then SIGKILL. Idempotent. */
void ws__proc_stop(struct ws__proc *p, uint64_t grace_ns);
void ws__proc_kill(struct ws__proc *p);
/* "exit status 3", "signal 11 (Segmentation fault)": how it ended. */
void ws__proc_describe(const struct ws__proc *p, char *out, size_t n);
/* The signal that ended it; 0: none did. */
int ws__proc_signal(const struct ws__proc *p);

/* Starts the worker executable (ws__worker_path) and says hello. Freed by
 * ws__proc_stop or ws__proc_kill. */
int ws__worker_start(struct ws_ctx *ctx, enum ws__worker_role role,
                     const char *const *env_extra, int stderr_fd,
                     struct ws__proc *out);
/* Worker side: waits for the hello. WS_EVERSION, WS_EPROTO. */
int ws__worker_hello(struct ws_ctx *ctx, int sock, enum ws__worker_role *role);

/* fd -1: none. Errors: WS_ECRASH when the peer is gone, WS_EPROTO. */
int ws__wire_send(struct ws_ctx *ctx, int sock, uint32_t type, const void *data,
                  size_t n, int fd);
/* To one that may not be listening. WS_ETIMEOUT: a part of it may be sent. */
int ws__wire_send_within(struct ws_ctx *ctx, int sock, uint32_t type,
                         const void *data, size_t n, uint64_t timeout_ns);
/* Payload appended to `in` (emptied first). timeout_ns 0: for ever. Errors:
 * WS_ETIMEOUT, WS_ECRASH (end of file), WS_ECANCEL, WS_EPROTO. *fd (may be
 * NULL) gets the descriptor that came along or -1. */
int ws__wire_recv(struct ws_ctx *ctx, int sock, uint32_t *type,
                  struct ws__buf *in, int *fd, uint64_t timeout_ns);

/* Packing of payloads: little-endian put/get over ws__buf; a get past the
 * end sets `bad` and yields zeros. */
struct ws__reader {
    const unsigned char *p, *end;
    bool bad;
};
/* Over the payload of a message; bad if there is none. */
struct ws__reader ws__reader_of(const struct ws__buf *in);
void ws__put_u32(struct ws__buf *b, uint32_t v);
void ws__put_u64(struct ws__buf *b, uint64_t v);
void ws__put_f64(struct ws__buf *b, double v);
void ws__put_str(struct ws__buf *b, const char *s); /* NULL is kept NULL */
void ws__put_blob(struct ws__buf *b, const void *p, size_t n);
uint32_t ws__get_u32(struct ws__reader *r);
uint64_t ws__get_u64(struct ws__reader *r);
double ws__get_f64(struct ws__reader *r);
const char *ws__get_str(struct ws__reader *r); /* points into the buffer */
const void *ws__get_blob(struct ws__reader *r, size_t *n);

/* Anonymous shared memory (memfd), mapped read-write. On failure *out is
 * empty and may be freed. */
struct ws__shm {
    int fd; /* -1: none */
    void *p;
    size_t bytes;
};
int ws__shm_new(struct ws_ctx *ctx, size_t bytes, struct ws__shm *out);
/* Takes fd, also on failure. WS_EPROTO: it has fewer bytes. */
int ws__shm_map(struct ws_ctx *ctx, int fd, size_t bytes, bool writable,
                struct ws__shm *out);
void ws__shm_free(struct ws__shm *s);

/* Where the worker executable is: the context's path, else beside the running
 * executable or library, else ../libexec/wavesmith. WS_ENOENT says where it
 * looked. Freed by ws__free. ws__share_dir likewise: the folder that has `ops`
 * in it: ../share/wavesmith, or the root of the source tree. */
int ws__worker_path(struct ws_ctx *ctx, char **out);
int ws__share_dir(struct ws_ctx *ctx, char **out);

#endif
