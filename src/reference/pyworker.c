/*
 * pyworker.c: the worker's side of a reference or a compiler in Python: it
 * becomes the interpreter.
 *
 * The process gives up what it must not have, then executes Python on a
 * script of ours that speaks the same messages as serve.c. Nothing of the
 * user's runs before the limits and the filter are in force, and both hold
 * for whatever that code starts. What cannot be set up is told over the
 * socket; then there is no reference.
 *
 * The environment is made anew, so -I (which would ignore our fixed seed of
 * hashes) is not needed: no proxies, no tokens, no PYTHON* of the user, no
 * visible GPU: a process holds a device or a reference, never both.
 */
#include "reference/refpriv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/confine.h"

#include "base/banned.h"

#define MAX_START ((size_t)1 << 16)
#define MAX_ENV 32
#define MIN_MEMORY ((uint64_t)4 << 30)
#define MAX_FILES 256
/* What is printed goes to a file; no more of it is ever shown. */
#define MAX_FILE_BYTES ((rlim_t)16 << 20)
#define MAX_COMPILED_BYTES ((rlim_t)1 << 30)
#define THREAD_MEMORY ((uint64_t)256 << 20) /* stacks and arenas: reserved */

/* Taken over: where Python and its libraries are. */
static const char *const kept[] = {"PATH", "LD_LIBRARY_PATH", "PYENV_ROOT",
                                   "PYENV_VERSION"};
/* OMP_NUM_THREADS and the like: the number of threads. */
static const char *const thread_names[] = {"OMP_NUM_THREADS",
                                           "OPENBLAS_NUM_THREADS",
                                           "MKL_NUM_THREADS",
                                           "BLIS_NUM_THREADS",
                                           "NUMEXPR_NUM_THREADS"};
static const char *const fixed[] = {
    "LANG=C.UTF-8",          "PYTHONHASHSEED=0",     "PYTHONNOUSERSITE=1",
    "CUDA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=",
};

/* Half of the machine, as a reference has it beside candidates' buffers. The
 * script sets this one: a sanitiser's own memory would not fit in here. */
static uint64_t memory_limit(unsigned threads)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t half =
        pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 0;

    return (half > MIN_MEMORY ? half : MIN_MEMORY) + threads * THREAD_MEMORY;
}

static int lower_limits(struct ws_ctx *ctx, bool compiles)
{
    const struct {
        int which;
        rlim_t limit;
        const char *name;
    } limits[] = {
        {RLIMIT_NOFILE, MAX_FILES, "of open files"},
        {RLIMIT_FSIZE, compiles ? MAX_COMPILED_BYTES : MAX_FILE_BYTES,
         "of the size of files"},
        {RLIMIT_CORE, 0, "of core files"},
    };

    for (size_t i = 0; i < WS_COUNT(limits); i++) {
        struct rlimit r;

        if (getrlimit(limits[i].which, &r) < 0)
            return ws__sys_fail(ctx, errno, "read the limit %s",
                                limits[i].name);
        if (r.rlim_max == RLIM_INFINITY || r.rlim_max > limits[i].limit)
            r.rlim_max = limits[i].limit;
        r.rlim_cur = r.rlim_max;
        if (setrlimit(limits[i].which, &r) < 0)
            return ws__sys_fail(ctx, errno, "set the limit %s", limits[i].name);
    }
    return 0;
}

/* A kernel without Landlock leaves files as they are; without the filter
 * there is no reference. That it holds is tried before it is believed. A
 * compiler has a folder and starts other programs. */
static int confine(struct ws_ctx *ctx, const char *folder)
{
    const char *const writable[] = {folder, NULL};
    int rc = ws__confine(ctx, writable, !folder), fd;

    if (rc < 0 && rc != WS_ENOTSUP)
        return rc;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 && errno == EPERM)
        return 0;
    if (fd >= 0)
        close(fd);
    if (rc >= 0)
        ws__fail(ctx, WS_EACCES, "the system does not keep to it");
    ws__error_prefix(ctx, "cannot deny sockets to code in Python");
    ctx->err.code = WS_EACCES;
    return ws__hint(ctx, "the system must allow seccomp filters; a container "
                         "may forbid them");
}

static int make_env(struct ws__arena *a, unsigned threads, const char *folder,
                    char **env)
{
    size_t n = 0;

    env[n++] = ws__arena_printf(a, "HOME=%s", folder ? folder : "/tmp");
    env[n++] = ws__arena_printf(a, "TMPDIR=%s", folder ? folder : "/tmp");
    for (size_t i = 0; i < WS_COUNT(fixed); i++)
        env[n++] = ws__arena_strdup(a, fixed[i]);
    for (size_t i = 0; i < WS_COUNT(thread_names); i++)
        env[n++] = ws__arena_printf(a, "%s=%u", thread_names[i], threads);
    for (size_t i = 0; i < WS_COUNT(kept); i++) {
        const char *v = getenv(kept[i]);

        if (v)
            env[n++] = ws__arena_printf(a, "%s=%s", kept[i], v);
    }
    env[n] = NULL;
    for (size_t i = 0; i < n; i++)
        if (!env[i])
            return WS_ENOMEM;
    return 0;
}

/* Comes back only if it failed. */
static int become(struct ws_ctx *ctx, struct ws__arena *a, const char *python,
                  const char *script, unsigned threads, const char *folder)
{
    const char *memory =
        ws__arena_printf(a, "%llu", (unsigned long long)memory_limit(threads));
    const char *const argv[] = {python,         "-B",   "-s",   "-X",
                                "faulthandler", script, memory, NULL};
    char *env[MAX_ENV];

    if (!memory)
        return WS_ENOMEM;
    WS_TRY(make_env(a, threads, folder, env));
    WS_TRY(lower_limits(ctx, folder != NULL));
    WS_TRY(confine(ctx, folder));
    execvpe(python, (char *const *)argv, env);
    ws__fail(ctx, WS_EREFERENCE, "cannot start Python '%s': %s", python,
             strerror(errno));
    return ws__hint(ctx, "install it (Debian: python3), or name one in "
                         "WAVESMITH_PYTHON");
}

int ws__python_serve(struct ws_ctx *ctx, int sock)
{
    struct ws__arena arena;
    struct ws__buf in;
    struct ws__reader r;
    const char *python, *script, *folder;
    unsigned threads;
    uint32_t type;
    int rc;

    ws__arena_init(&arena, ctx);
    ws__buf_init(&in, ctx, MAX_START);
    WS_TRY_DONE(ws__wire_recv(ctx, sock, &type, &in, NULL, 0));
    r = ws__reader_of(&in);
    python = ws__get_str(&r);
    script = ws__get_str(&r);
    threads = ws__reference_threads(ws__get_u32(&r));
    folder = ws__get_str(&r);
    if (type != WS__REF_PYTHON || r.bad || !python || !script)
        rc = ws__fail(ctx, WS_EPROTO, "bad start of code in Python");
    else
        rc = become(ctx, &arena, python, script, threads, folder);
    rc = ws__ref_answer(ctx, sock, rc);
    /* The tool may still be sending: it reads our words when it is done. */
    while (rc >= 0)
        rc = ws__wire_recv(ctx, sock, &type, &in, NULL, 0);
done:
    ws__buf_free(&in);
    ws__arena_free(&arena);
    return rc == WS_ECRASH ? 0 : rc;
}
