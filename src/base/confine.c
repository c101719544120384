/*
 * confine.c: Landlock for files, capabilities, memory. See confine.h; system
 * calls: confine_calls.c.
 *
 * A seccomp filter sees numbers only, not paths, and Landlock knows files
 * only, so both are needed. Root's capabilities go because they are a way
 * around every rule that a list of calls forgets, and because they open the
 * memory and the environment of the tool (/proc/PID/mem, environ). The two
 * that stay let root use folders of others, as it does without us.
 *
 * Landlock and capabilities hold for the thread that asks and for what it
 * starts later, but the driver has started threads already, and those run
 * kernels. So every thread is sent a signal whose handler asks for itself,
 * until a walk over all threads finds none that has not. (Kernels newer than
 * most offer this as a flag.) seccomp has such a flag everywhere.
 */
#include "base/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stddef.h>
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

/* ---- capabilities --------------------------------------------------------
 */

#define KEPT (1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH)

/* Of the calling thread, from all sets; in a signal handler, so no libcap.
 * Who may not change the bounding set has nothing that an exec could add to
 * once no_new_privs is set. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &head, set))
        return -1;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned long c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
        if (c >= 32 || !(KEPT >> c & 1))
            prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
    for (size_t i = 0; i < WS_COUNT(set); i++) {
        set[i].effective &= i ? 0 : KEPT;
        set[i].permitted &= i ? 0 : KEPT;
        set[i].inheritable = 0;
    }
    return syscall(SYS_capset, &head, set) ? -1 : 0;
}

/* ---- all threads ----------------------------------------------------------
 */

struct crowd {
    int rules;         /* for files; -1: none */
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
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || drop_capabilities() ||
        (c->rules >= 0 && syscall(SYS_landlock_restrict_self, c->rules, 0)))
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

static int confine_threads(struct ws_ctx *ctx, int rules)
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

int ws__confine(struct ws_ctx *ctx, const char *const *writable, bool alone)
{
    int rules = -1, rc = 0;

    if (writable)
        rc = make_rules(ctx, writable, &rules);
    if (rc >= 0)
        rc = confine_threads(ctx, rules);
    if (rules >= 0)
        close(rules);
    WS_TRY(rc);
    limit_memory();
    WS_TRY(ws__confine_calls(ctx, alone));
    return writable && rules < 0
               ? ws__fail(ctx, WS_ENOTSUP, "the kernel has no Landlock")
               : 0;
}
