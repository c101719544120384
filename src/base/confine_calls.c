/*
 * confine_calls.c: system calls that a confined process does not have.
 *
 * The filter is a list of what is denied, since what drivers need is known to
 * nobody; every denied call fails with EPERM, so that a driver which merely
 * tries something goes on. ioctl and fcntl are the exception: what they do is
 * without end, and drivers need a handful.
 *
 * ENOSYS is the answer where libc has another way: clone3 and openat2, whose
 * flags lie in memory where no filter sees them, and calls that did not exist
 * when this list was made.
 *
 * Only the low words of arguments are compared: those of all calls here are of
 * 32 bits, or have no meaning beyond.
 */
#include "base/confine.h"

#include <asm/termbits.h> /* TCGETS2 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"

/* ---- the lists ------------------------------------------------------------
 */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0u
#endif
#define X32_BIT 0x40000000u

/* Newer than these headers; from 424 on numbers are the same everywhere. */
#define CALL_FCHMODAT2 452
#define LAST_KNOWN 462u

static const int denied[] = {
    /* other processes, the network */
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_kcmp,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_tkill,
    SYS_setpgid,
    SYS_setsid,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_perf_event_open,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_mq_open,
    SYS_mq_unlink,
    /* locks that others wait for: of the store, of whose turn it is */
    SYS_flock,
    /* ways around a filter */
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_unshare,
    SYS_setns,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_personality,
    /* files: what is not content */
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_mknodat,
    SYS_chroot,
    SYS_pivot_root,
    SYS_mount,
    SYS_umount2,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_sync,
    SYS_syncfs,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_truncate, /* older versions of Landlock do not know it */
#ifdef SYS_chmod  /* not on newer architectures */
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_mknod,
    SYS_iopl,
    SYS_ioperm,
#endif
    CALL_FCHMODAT2,
    /* the system */
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_vhangup,
    SYS_lookup_dcookie,
    SYS_acct,
    SYS_syslog,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capset,
};

/* Only with 0 for a process, which is the caller itself. */
static const int own_only[] = {
    SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
    SYS_sched_setattr,     SYS_move_pages,         SYS_migrate_pages,
    SYS_prlimit64,
};

/* Devices and file systems have thousands more, some of which change a file
 * that is open for reading only. */
static const uint32_t ioctls[] = {
    TCGETS, (uint32_t)TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX,
};

/* No locks, no leases, no signals to whom it may concern, no seals. */
static const uint32_t fcntls[] = {
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL,
};

/* ---- the filter ---------------------------------------------------------- */

#define MAX_CODE (2 * WS_COUNT(denied) + 5 * WS_COUNT(own_only) + 128)

struct program {
    struct sock_filter code[MAX_CODE];
    unsigned short n;
};

static void op(struct program *p, uint16_t code, uint32_t k, uint8_t yes,
               uint8_t no)
{
    p->code[p->n++] = (struct sock_filter){code, yes, no, k};
}

static void load(struct program *p, size_t offset)
{
    op(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *p, uint32_t what)
{
    op(p, BPF_RET | BPF_K, what, 0, 0);
}

#define DENY (SECCOMP_RET_ERRNO | EPERM)
#define LOW_WORD(i)                                                            \
    (offsetof(struct seccomp_data, args) + (size_t)(i) * sizeof(uint64_t))

/* Call `nr` only with argument `at` one of the list. */
static void by_list(struct program *p, int nr, size_t at, const uint32_t *list,
                    size_t n)
{
    op(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, (uint8_t)(n + 3));
    load(p, LOW_WORD(at));
    for (size_t i = 0; i < n; i++)
        op(p, BPF_JMP | BPF_JEQ | BPF_K, list[i], (uint8_t)(n - i), 0);
    answer(p, DENY);
    answer(p, SECCOMP_RET_ALLOW);
}

static void only(struct program *p, int nr, uint32_t first)
{
    by_list(p, nr, 0, &first, 1);
}

/* A file is cut only by who opens it to write, so that Landlock sees it: its
 * older versions look at nothing else. */
static void no_cut(struct program *p, int nr, size_t at)
{
    op(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 7);
    load(p, LOW_WORD(at));
    op(p, BPF_JMP | BPF_JSET | BPF_K, O_TRUNC, 0, 4);
    op(p, BPF_ALU | BPF_AND | BPF_K, O_ACCMODE, 0, 0);
    op(p, BPF_JMP | BPF_JEQ | BPF_K, O_WRONLY, 2, 0);
    op(p, BPF_JMP | BPF_JEQ | BPF_K, O_RDWR, 1, 0);
    answer(p, DENY);
    answer(p, SECCOMP_RET_ALLOW);
}

static void no_such_call(struct program *p, int nr)
{
    op(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
    answer(p, SECCOMP_RET_ERRNO | ENOSYS);
}

/* Threads; processes unless alone, as children of the worker and not of the
 * tool; nothing in namespaces of its own. */
static void by_kind(struct program *p, bool alone)
{
    uint32_t refused = CLONE_PARENT | CLONE_NEWCGROUP | CLONE_NEWIPC |
                       CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID |
                       CLONE_NEWUSER | CLONE_NEWUTS;

    op(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, alone ? 5 : 4);
    load(p, LOW_WORD(0));
    op(p, BPF_JMP | BPF_JSET | BPF_K, refused, alone ? 1 : 0, alone ? 0 : 1);
    if (alone)
        op(p, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    answer(p, DENY);
    answer(p, SECCOMP_RET_ALLOW);
    no_such_call(p, SYS_clone3);
#ifdef SYS_fork /* not on newer architectures */
    for (int i = 0; alone && i < 2; i++) {
        op(p, BPF_JMP | BPF_JEQ | BPF_K, i ? SYS_vfork : SYS_fork, 0, 1);
        answer(p, DENY);
    }
#endif
}

/* Refused: to outlive the tool, to share a processor as others choose. To die
 * with the parent is what children of a worker must be able to ask for. */
static void by_option(struct program *p)
{
    op(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 7);
    load(p, LOW_WORD(0));
    op(p, BPF_JMP | BPF_JEQ | BPF_K, PR_SCHED_CORE, 4, 0);
    op(p, BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 0, 2);
    load(p, LOW_WORD(1));
    op(p, BPF_JMP | BPF_JEQ | BPF_K, SIGKILL, 0, 1);
    answer(p, SECCOMP_RET_ALLOW);
    answer(p, DENY);
}

static void make_filter(struct program *p, bool alone)
{
    p->n = 0;
    load(p, offsetof(struct seccomp_data, arch));
    op(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
    op(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    answer(p, DENY);
    op(p, BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN, 0, 1);
    answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    for (size_t i = 0; i < WS_COUNT(denied); i++) {
        op(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)denied[i], 0, 1);
        answer(p, DENY);
    }
    for (size_t i = 0; i < WS_COUNT(own_only); i++)
        only(p, own_only[i], 0);
    by_kind(p, alone);
    no_such_call(p, SYS_openat2);
#ifdef SYS_open
    no_cut(p, SYS_open, 1);
#endif
    no_cut(p, SYS_openat, 2);
    only(p, SYS_kill, (uint32_t)getpid());
    only(p, SYS_tgkill, (uint32_t)getpid());
    by_option(p);
    by_list(p, SYS_ioctl, 1, ioctls, WS_COUNT(ioctls));
    by_list(p, SYS_fcntl, 1, fcntls, WS_COUNT(fcntls));
    answer(p, SECCOMP_RET_ALLOW);
}

int ws__confine_calls(struct ws_ctx *ctx, bool alone)
{
    struct program p;
    struct sock_fprog prog = {.filter = p.code};
    long rc;

    if (!ARCH)
        return ws__fail(ctx, WS_ENOTSUP, "no filter for this architecture");
    make_filter(&p, alone);
    prog.len = p.n;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return ws__fail(ctx, WS_ENOTSUP, "privileges cannot be given up");
    rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                 SECCOMP_FILTER_FLAG_TSYNC, &prog);
    if (rc > 0)
        return ws__fail(ctx, WS_EDEVICE,
                        "a thread of the driver has a filter of its own");
    return rc < 0 ? ws__fail(ctx, WS_ENOTSUP, "calls cannot be filtered: %s",
                             strerror(errno))
                  : 0;
}
