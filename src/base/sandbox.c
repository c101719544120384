/*
 * sandbox.c: limits and a filter of system calls. See sandbox.h.
 *
 * The filter is a program for the kernel's packet machine, made here from a
 * table: first the ABI (a 64-bit process can make 32-bit calls, with other
 * numbers), then the x32 bit, then one comparison for each number. Refused
 * calls fail with EPERM instead of killing: a script then tells its user what
 * it tried.
 */
#include "base/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/spawn.h"
#include "base/banned.h"

#define MAX_FILES 256
/* What is printed goes to a file; no more of it is ever shown. */
#define MAX_FILE_BYTES ((rlim_t)16 << 20)
#define X32_BIT 0x40000000u

#if defined(__x86_64__)
#define OUR_ABI AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ABI AUDIT_ARCH_AARCH64
#else
#define OUR_ABI 0u
#endif

static const uint32_t refused[] = {
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    /* io_uring makes sockets without the calls above. */
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
};
#define NREFUSED WS_COUNT(refused)

int ws__sandbox_limits(struct ws_ctx *ctx, uint64_t memory_bytes)
{
    const struct {
        int which;
        rlim_t limit;
        const char *name;
    } limits[] = {
        {RLIMIT_AS, memory_bytes, "of memory"},
        {RLIMIT_NOFILE, MAX_FILES, "of open files"},
        {RLIMIT_FSIZE, MAX_FILE_BYTES, "of the size of files"},
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

static struct sock_filter load_word(uint32_t offset)
{
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}

/* Jumps count instructions from the next one. */
static struct sock_filter jump(uint16_t test, uint32_t value, size_t yes,
                               size_t no)
{
    return (struct sock_filter){(uint16_t)(BPF_JMP | BPF_K | test),
                                (uint8_t)yes, (uint8_t)no, value};
}

static struct sock_filter answer(uint32_t what)
{
    return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what);
}

static int install(void)
{
    struct sock_filter f[NREFUSED + 6];
    struct sock_fprog prog = {.len = WS_COUNT(f), .filter = f};
    size_t n = 0, left = NREFUSED;

    f[n++] = load_word(offsetof(struct seccomp_data, arch));
    f[n++] = jump(BPF_JEQ, OUR_ABI, 0, NREFUSED + 3);
    f[n++] = load_word(offsetof(struct seccomp_data, nr));
    f[n++] = jump(BPF_JGE, X32_BIT, NREFUSED + 1, 0);
    for (size_t i = 0; i < NREFUSED; i++)
        f[n++] = jump(BPF_JEQ, refused[i], left--, 0);
    f[n++] = answer(SECCOMP_RET_ALLOW);
    f[n++] = answer(SECCOMP_RET_ERRNO | EPERM);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

int ws__sandbox_no_sockets(struct ws_ctx *ctx)
{
    int fd;

    if (!OUR_ABI || install() < 0) {
        ws__fail(ctx, WS_EACCES, "cannot deny sockets to a reference: %s",
                 OUR_ABI ? strerror(errno) : "not for this processor");
        return ws__hint(ctx, "the kernel must allow seccomp filters; a "
                             "container may forbid them");
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 && errno == EPERM)
        return 0;
    if (fd >= 0)
        close(fd);
    ws__fail(ctx, WS_EACCES,
             "the system does not deny sockets to a "
             "reference although it should");
    return ws__hint(ctx, "run on a kernel that enforces seccomp filters");
}
