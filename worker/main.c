/*
 * main.c: the worker executable.
 *
 * It holds one device, one reference or one compiler, never two, and is started
 * by the library with one end of a socket pair as descriptor 3. The first
 * message says which role it plays. It ends when the socket ends, and when the
 * thread that started it dies.
 *
 * Whatever a kernel or a driver does wrong ends this process and nothing
 * else. It leaves no core file behind (a search meets thousands of crashing
 * kernels), cannot fill the disk, and ignores the terminal's interrupt: the
 * tool decides when to stop. It ends with _exit, because exit handlers of
 * drivers hang now and then, after a crash inside them more often than not.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/spawn.h"
#include "device/device.h"
#include "reference/reference.h"

/* Largest file it may write: driver caches are smaller, a kernel that prints
 * for ever is not. */
#define FILE_LIMIT_BYTES ((rlim_t)1 << 30)

enum { EXIT_USAGE = 2, EXIT_HELLO = 3, EXIT_SERVE = 4 };

static void lower_limits(void)
{
    const struct rlimit no_core = {0, 0};
    struct rlimit file;

    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_DUMPABLE, 0);
    if (getrlimit(RLIMIT_FSIZE, &file) == 0 &&
        (file.rlim_cur == RLIM_INFINITY || file.rlim_cur > FILE_LIMIT_BYTES)) {
        file.rlim_cur = file.rlim_max = FILE_LIMIT_BYTES;
        setrlimit(RLIMIT_FSIZE, &file);
    }
}

static void set_signals(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static bool is_socket(int fd)
{
    int type = 0;
    socklen_t n = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0;
}

static int serve(struct ws_ctx *ctx)
{
    enum ws__worker_role role;

    if (ws__worker_hello(ctx, WS__WORKER_FD, &role) < 0)
        return EXIT_HELLO;
    if (role == WS__ROLE_PYTHON || role == WS__ROLE_COMPILE)
        return ws__python_serve(ctx, WS__WORKER_FD) < 0 ? EXIT_SERVE : 0;
    if (role == WS__ROLE_REFERENCE)
        return ws__reference_serve(ctx, WS__WORKER_FD) < 0 ? EXIT_SERVE : 0;
    return ws__device_serve(ctx, WS__WORKER_FD) < 0 ? EXIT_SERVE : 0;
}

int main(int argc, char **argv)
{
    struct ws_ctx *ctx;
    int rc;

    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("wavesmith-worker %s, protocol %u\n", WS_VERSION,
               WS__WIRE_VERSION);
        return 0;
    }
    if (argc > 1 || !is_socket(WS__WORKER_FD)) {
        fprintf(stderr, "usage: wavesmith-worker --version\n"
                        "It is started by wavesmith, not by hand.\n");
        return EXIT_USAGE;
    }
    set_signals();
    lower_limits();
    ctx = ws_ctx_new(NULL);
    if (!ctx)
        return EXIT_SERVE;
    rc = serve(ctx);
    if (rc)
        fprintf(stderr, "worker: %s\n", ws_ctx_error(ctx)->message);
    fflush(NULL);
    _exit(rc);
}
