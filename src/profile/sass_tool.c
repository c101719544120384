/*
 * sass_tool.c: runs a disassembler on code in memory. See sass.h.
 *
 * The code lies in anonymous shared memory, which the tool opens through our
 * entry in /proc: no file that could stay behind. Its output comes through a
 * pipe and is read under a deadline, so that a tool that hangs or floods is
 * ended, with what it started.
 */
#include "profile/sass.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/spawn.h"
#include "base/banned.h"

#define END_GRACE_NS 2000000000u
#define POLL_MS 50

static const struct tool {
    const char *name, *flag;
} TOOL[] = {{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}};

/* --- finding it ---------------------------------------------------------- */

static int find_tool(struct ws_ctx *ctx, const char *folders,
                     const struct tool **tool, char **path)
{
    for (size_t i = 0; i < WS_COUNT(TOOL); i++) {
        *tool = &TOOL[i];
        WS_TRY(ws__find_program(ctx, folders, TOOL[i].name, path));
        if (*path)
            return 0;
    }
    ws__fail(ctx, WS_ENOTSUP,
             "no disassembler: neither 'nvdisasm' nor "
             "'cuobjdump' is installed");
    return ws__hint(ctx, "install 'nvdisasm' of the CUDA toolkit (the package "
                         "cuda-nvdisasm, or 'pip install "
                         "nvidia-cuda-nvdisasm') and put it on the PATH");
}

/* --- running it ---------------------------------------------------------- */

/* A pipe's ends; both -1 on failure. */
static int make_pipe(struct ws_ctx *ctx, int end[2])
{
    int e = 0;

    if (pipe2(end, O_CLOEXEC) < 0) {
        e = errno;
        end[0] = end[1] = -1;
        return ws__sys_fail(ctx, e, "make a pipe");
    }
    for (int i = 0; i < 2; i++) {
        end[i] = ws__fd_keep(end[i]);
        e = end[i] < 0 ? errno : e;
    }
    for (int i = 0; i < 2 && e; i++) {
        if (end[i] >= 0)
            close(end[i]);
        end[i] = -1;
    }
    return e ? ws__sys_fail(ctx, e, "make a pipe") : 0;
}

/* One piece: 1, 0 at the end of the output. */
static int read_piece(struct ws_ctx *ctx, int fd, struct ws__buf *out)
{
    static const char TOO_MUCH[] =
        "the disassembler prints more than %zu bytes";
    char piece[16384];
    ssize_t got = read(fd, piece, sizeof(piece));

    if (got < 0)
        return errno == EINTR
                   ? 1
                   : ws__sys_fail(ctx, errno, "read from the disassembler");
    if (got == 0)
        return 0;
    if (ws__buf_add(out, piece, (size_t)got) >= 0)
        return 1;
    if (out->failed != WS_ELIMIT)
        return out->failed;
    ws__fail(ctx, WS_ELIMIT, TOO_MUCH, out->max);
    return ws__hint(ctx, "leave out the kernels that are not asked about");
}

/* All of it, until the tool closes its end. */
static int read_output(struct ws_ctx *ctx, int fd, struct ws__buf *out,
                       uint64_t limit_ns)
{
    uint64_t end = ws__now_ns() + limit_ns;
    int rc = 1;

    while (rc > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        WS_TRY(ws__check_stop(ctx));
        if (ws__now_ns() >= end) {
            ws__fail(ctx, WS_ETIMEOUT,
                     "the disassembler has not ended after "
                     "%.3g s",
                     (double)limit_ns / 1e9);
            return ws__hint(ctx, "run it by hand: does it end?");
        }
        if (poll(&p, 1, POLL_MS) > 0)
            rc = read_piece(ctx, fd, out);
    }
    return rc;
}

/* What its end says: 0, or why the output is of no use. */
static int judge_end(struct ws_ctx *ctx, const char *path,
                     const struct ws__proc *p, const struct ws__buf *out)
{
    size_t n = out->len ? strcspn(out->data, "\n") : 0;
    char how[96];

    if (p->status == 0)
        return 0;
    ws__proc_describe(p, how, sizeof(how));
    ws__fail(ctx, ws__proc_signal(p) ? WS_ECRASH : WS_ENOTSUP,
             "'%s' fails with %s: %.*s", path, how, (int)(n < 200 ? n : 200),
             out->len ? out->data : "");
    return ws__hint(ctx, "is it as new as the compiler that made the code?");
}

static int run_tool(struct ws_ctx *ctx, const char *const *argv,
                    struct ws__buf *out, uint64_t limit_ns)
{
    struct ws__proc p = {.sock = -1};
    int end[2], rc;

    WS_TRY(make_pipe(ctx, end));
    rc = ws__proc_start(ctx, argv, NULL, end[1], &p);
    close(end[1]);
    if (rc == 0)
        rc = read_output(ctx, end[0], out, limit_ns);
    close(end[0]);
    if (rc < 0) {
        ws__proc_kill(&p);
        return rc;
    }
    ws__proc_stop(&p, END_GRACE_NS);
    return judge_end(ctx, argv[0], &p, out);
}

static int check_image(struct ws_ctx *ctx, const void *cubin, size_t n)
{
    if (n >= 4 && memcmp(cubin, "\177ELF", 4) == 0)
        return 0;
    ws__fail(ctx, WS_EINVAL, "the code is not a cubin: it is no ELF image");
    return ws__hint(ctx, "compile it for the device's architecture (sm_90), "
                         "not to PTX");
}

int ws__sass_read_within(struct ws_ctx *ctx, const char *folders,
                         const void *cubin, size_t n, uint64_t limit_ns,
                         size_t max, struct ws__sass **out)
{
    const struct tool *tool;
    struct ws__shm shm = {.fd = -1};
    struct ws__buf text;
    char *path = NULL, file[64];
    int rc;

    *out = NULL;
    WS_TRY(check_image(ctx, cubin, n));
    ws__buf_init(&text, ctx, max);
    WS_TRY_DONE(find_tool(ctx, folders, &tool, &path));
    WS_TRY_DONE(ws__shm_new(ctx, n, &shm));
    memcpy(shm.p, cubin, n);
    snprintf(file, sizeof(file), "/proc/%ld/fd/%d", (long)getpid(), shm.fd);
    const char *const argv[] = {path, tool->flag, file, NULL};
    WS_TRY_DONE(run_tool(ctx, argv, &text, limit_ns));
    rc = ws__sass_parse(ctx, text.len ? text.data : "", text.len, out);
done:
    ws__shm_free(&shm);
    ws__buf_free(&text);
    ws__free(ctx, path);
    return rc;
}

int ws__sass_read(struct ws_ctx *ctx, const char *folders, const void *cubin,
                  size_t n, struct ws__sass **out)
{
    return ws__sass_read_within(ctx, folders, cubin, n, WS__SASS_LIMIT_NS,
                                WS__SASS_BYTES, out);
}
