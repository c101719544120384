/*
 * confine.c: Landlock for files, seccomp for the rest. See confine.h.
 *
 * Both are needed: a seccomp filter sees numbers only, not paths, and
 * Landlock knows files only. The filter is a list of what is denied, since
 * what drivers need is known to nobody; every denied call fails with EPERM,
 * so that a driver which merely tries something goes on. clone3 fails with
 * ENOSYS: its flags lie in memory where no filter sees them, and libc then
 * uses clone.
 *
 * Landlock holds for the thread that asks and for what it starts later, but
 * the driver has started threads already, and those run kernels. So every
 * thread is sent a signal whose handler asks for itself, until a walk over all
 * threads finds none that has not. (Kernels newer than most offer this as a
 * flag.) seccomp has such a flag everywhere.
 */
#include "base/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/spawn.h"

#include "base/banned.h"

#define MAX_THREADS 4096
#define ANSWER_NS 5000000000u /* a thread that blocks the signal: never */
#define NAP_NS 200000u

/* ---- files --------------------------------------------------------------- */

/* Of versions newer than the header: 3, 5. */
#define FS_TRUNCATE (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)
#define SCOPE_BOTH 3ull /* version 6: abstract sockets, signals */

#define FS_CHANGE                                                              \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |           \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |           \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |               \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |             \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

struct ruleset {
    uint64_t fs, net, scoped;
};

/* What this kernel knows of it, and how long the structure is there. */
static size_t known_rules(long version, struct ruleset *r)
{
    *r = (struct ruleset){.fs = FS_CHANGE};
    if (version >= 2)
        r->fs |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        r->fs |= FS_TRUNCATE;
    if (version >= 5)
        r->fs |= FS_IOCTL_DEV;
    if (version >= 6)
        r->scoped = SCOPE_BOTH;
    return version >= 6   ? sizeof(*r)
           : version >= 4 ? offsetof(struct ruleset, scoped)
                          : offsetof(struct ruleset, net);
}

static int allow(struct ws_ctx *ctx, int ruleset, const char *path,
                 uint64_t access)
{
    struct landlock_path_beneath_attr a = {.allowed_access = access};
    int e = 0;

    a.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (a.parent_fd < 0)
        return ws__sys_fail(ctx, errno, "open '%s'", path);
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &a,
                0))
        e = errno;
    close(a.parent_fd);
    return e ? ws__sys_fail(ctx, e, "allow writing below '%s'", path) : 0;
}

/* *fd: the rules; -1 if the kernel has no such thing. */
static int make_rules(struct ws_ctx *ctx, const char *const *writable, int *fd)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
                           LANDLOCK_CREATE_RULESET_VERSION);
    struct ruleset r;
    size_t size;
    int rc;

    *fd = -1;
    if (version <= 0)
        return 0;
    size = known_rules(version, &r);
    *fd = ws__fd_keep((int)syscall(SYS_landlock_create_ruleset, &r, size, 0));
    if (*fd < 0)
        return ws__sys_fail(ctx, errno, "make rules for files");
    rc = allow(ctx, *fd, "/dev/null",
               r.fs & (LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE));
    if (rc >= 0) /* where threads get their names */
        rc = allow(ctx, *fd, "/proc/self/task", LANDLOCK_ACCESS_FS_WRITE_FILE);
    for (; rc >= 0 && *writable; writable++) {
        rc = ws__fs_mkdirs(ctx, *writable);
        if (rc >= 0)
            rc = allow(ctx, *fd, *writable, r.fs);
    }
    return rc;
}

/* ---- all threads ----------------------------------------------------------
 */

struct crowd {
    int rules;
    atomic_int failed; /* errno */
    atomic_size_t n;
    _Atomic pid_t done[MAX_THREADS];
};

static void confine_thread(int sig, siginfo_t *info, void *context)
{
    struct crowd *c = info->si_value.sival_ptr;
    int kept = errno;
    size_t at;

    (void)sig;
    (void)context;
    if (info->si_code != SI_QUEUE || info->si_pid != getpid())
        return;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_landlock_restrict_self, c->rules, 0))
        atomic_store(&c->failed, errno);
    at = atomic_fetch_add(&c->n, 1);
    if (at < MAX_THREADS)
        atomic_store(&c->done[at], (pid_t)syscall(SYS_gettid));
    errno = kept;
}

static bool is_done(struct crowd *c, pid_t tid)
{
    size_t n = atomic_load(&c->n);

    for (size_t i = 0; i < n && i < MAX_THREADS; i++)
        if (atomic_load(&c->done[i]) == tid)
            return true;
    return false;
}

/* The thread has answered, or is no more. */
static bool ask_thread(struct crowd *c, pid_t tid)
{
    uint64_t end = ws__now_ns() + ANSWER_NS;
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_value.sival_ptr = c;
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGRTMAX, &info))
        return errno == ESRCH;
    while (!is_done(c, tid)) {
        if (syscall(SYS_tgkill, getpid(), tid, 0) && errno == ESRCH)
            return true;
        if (ws__now_ns() > end)
            return false;
        ws__sleep_ns(NAP_NS);
    }
    return true;
}

/* 1: somebody had to be asked, 0: all have been, -1: one does not answer. A
 * thread that is started meanwhile comes from one that may not have been. */
static int ask_some(struct crowd *c)
{
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    int found = 0;

    if (!d)
        return -1;
    while (found >= 0 && (e = readdir(d)) != NULL) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

        if (tid <= 0 || is_done(c, tid))
            continue;
        found = ask_thread(c, tid) ? 1 : -1;
    }
    closedir(d);
    return found;
}

static int ask_all(struct ws_ctx *ctx, struct crowd *c)
{
    struct sigaction new = {.sa_sigaction = confine_thread,
                            .sa_flags = SA_RESTART | SA_SIGINFO},
                     old;
    int more, e;

    sigemptyset(&new.sa_mask);
    if (sigaction(SIGRTMAX, &new, &old))
        return ws__sys_fail(ctx, errno, "handle a signal");
    do
        more = ask_some(c);
    while (more > 0 && atomic_load(&c->n) < MAX_THREADS);
    sigaction(SIGRTMAX, &old, NULL);
    e = atomic_load(&c->failed);
    if (e)
        return ws__sys_fail(ctx, e, "confine a thread");
    return more ? ws__fail(ctx, WS_EDEVICE,
                           "a thread of the driver cannot be confined")
                : 0;
}

static int confine_files(struct ws_ctx *ctx, int rules)
{
    struct crowd *c = ws__alloc(ctx, 1, sizeof(*c));
    int rc;

    if (!c)
        return WS_ENOMEM;
    c->rules = rules;
    rc = ask_all(ctx, c);
    ws__free(ctx, c);
    return rc;
}

/* ---- system calls ---------------------------------------------------------
 */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0u
#endif
#define X32_BIT 0x40000000u

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
    SYS_shmget,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
    /* ways around a filter */
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_unshare,
    SYS_setns,
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
    SYS_quotactl,
    SYS_sync,
    SYS_fanotify_init,
#ifdef SYS_chmod /* not on newer architectures */
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
#ifdef SYS_fchmodat2
    SYS_fchmodat2,
#endif
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

#define MAX_CODE (2 * WS_COUNT(denied) + 64)

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

/* Call `nr` only with argument `at` equal to value, or (same false) not. */
static void by_argument(struct program *p, int nr, size_t at, uint32_t value,
                        bool same)
{
    op(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 4);
    load(p, LOW_WORD(at));
    op(p, BPF_JMP | BPF_JEQ | BPF_K, value, same ? 1 : 0, same ? 0 : 1);
    answer(p, DENY);
    answer(p, SECCOMP_RET_ALLOW);
}

static void by_flags(struct program *p, int nr, size_t at, uint32_t flags)
{
    op(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 4);
    load(p, LOW_WORD(at));
    op(p, BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1);
    answer(p, DENY);
    answer(p, SECCOMP_RET_ALLOW);
}

static void make_filter(struct program *p)
{
    uint32_t namespaces = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET |
                          CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER |
                          CLONE_NEWUTS;

    p->n = 0;
    load(p, offsetof(struct seccomp_data, arch));
    op(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
    op(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    answer(p, DENY);
    for (size_t i = 0; i < WS_COUNT(denied); i++) {
        op(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)denied[i], 0, 1);
        answer(p, DENY);
    }
    op(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    by_flags(p, SYS_clone, 0, namespaces);
    by_argument(p, SYS_kill, 0, (uint32_t)getpid(), true);
    by_argument(p, SYS_tgkill, 0, (uint32_t)getpid(), true);
    by_argument(p, SYS_prlimit64, 0, 0, true);
    by_argument(p, SYS_prctl, 0, PR_SET_PDEATHSIG, false);
    by_argument(p, SYS_ioctl, 1, TIOCSTI, false);
    answer(p, SECCOMP_RET_ALLOW);
}

static int confine_calls(struct ws_ctx *ctx)
{
    struct program p;
    struct sock_fprog prog = {.filter = p.code};
    long rc;

    if (!ARCH)
        return ws__fail(ctx, WS_ENOTSUP, "no filter for this architecture");
    make_filter(&p);
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

/* ---- memory ----------------------------------------------------------------
 */

/* More than three quarters of the machine's memory is no kernel's: without a
 * limit its compiler, or the kernel itself, would have the system end other
 * processes. Sanitisers take more addresses than there are; they go without. */
static void limit_memory(void)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * page, now = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    struct rlimit limit;

    if (f && fscanf(f, "%" SCNu64, &now) != 1)
        now = 0;
    if (f)
        fclose(f);
    now *= page;
    if (!now || now > all || getrlimit(RLIMIT_AS, &limit))
        return;
    if (limit.rlim_cur > now + all / 4 * 3)
        limit.rlim_cur = now + all / 4 * 3;
    limit.rlim_max = limit.rlim_cur;
    setrlimit(RLIMIT_AS, &limit);
}

int ws__confine(struct ws_ctx *ctx, const char *const *writable)
{
    int rules = -1, rc = 0;

    if (writable)
        rc = make_rules(ctx, writable, &rules);
    if (rc >= 0 && rules >= 0)
        rc = confine_files(ctx, rules);
    if (rules >= 0)
        close(rules);
    WS_TRY(rc);
    limit_memory();
    WS_TRY(confine_calls(ctx));
    return writable && rules < 0
               ? ws__fail(ctx, WS_ENOTSUP, "the kernel has no Landlock")
               : 0;
}
