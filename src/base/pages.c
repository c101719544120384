/*
 * pages.c: memory of whole pages that can be watched. See pages.h.
 *
 * A signal has no context, so what it must know lies in a static object; the
 * flag `taken` gives it to one watch at a time. The handler uses atomics and
 * mprotect, which is one system call, and nothing else. A fault elsewhere is
 * handed to whoever had the signal before, by putting that back and letting
 * the access fault again.
 */
#include "base/pages.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/banned.h"

static struct {
    atomic_flag taken;
    const struct ws__watched *list;
    size_t n;
    struct sigaction before;
    atomic_size_t hit; /* 1 + index; 0: none yet */
    atomic_uintptr_t at;
    atomic_bool write;
} watch = {.taken = ATOMIC_FLAG_INIT};

size_t ws__page_bytes(void)
{
    long n = sysconf(_SC_PAGESIZE);

    return n > 0 ? (size_t)n : 4096;
}

int ws__pages_map(struct ws_ctx *ctx, size_t bytes, char **out)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    *out = NULL;
    if (p == MAP_FAILED)
        return ws__fail(ctx, WS_ENOMEM, "no %zu bytes of memory: %s", bytes,
                        strerror(errno));
    *out = p;
    return 0;
}

void ws__pages_unmap(char *at, size_t bytes)
{
    if (at)
        munmap(at, bytes);
}

/* Bit 1 of a page fault's code is "it was a write". */
static bool is_write(const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *u = context;

    return (u->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)context;
    return false;
#endif
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    int kept = errno;

    for (size_t i = 0; info->si_code > 0 && i < watch.n; i++) {
        const struct ws__watched *w = &watch.list[i];
        size_t none = 0;

        if (at < (uintptr_t)w->at || at - (uintptr_t)w->at >= w->bytes ||
            mprotect(w->at, w->bytes, PROT_READ | PROT_WRITE) != 0)
            continue;
        if (atomic_compare_exchange_strong(&watch.hit, &none, i + 1)) {
            atomic_store(&watch.at, at);
            atomic_store(&watch.write, w->readable || is_write(context));
        }
        errno = kept;
        return;
    }
    sigaction(sig, &watch.before, NULL);
    if (info->si_code <= 0) /* sent, not caused: it would not come again */
        raise(sig);
    errno = kept;
}

static int open_all(void)
{
    int bad = 0;

    for (size_t i = 0; i < watch.n; i++)
        if (mprotect(watch.list[i].at, watch.list[i].bytes,
                     PROT_READ | PROT_WRITE) != 0)
            bad = errno;
    return bad;
}

/* 0, or errno. */
static int close_all(void)
{
    for (size_t i = 0; i < watch.n; i++)
        if (mprotect(watch.list[i].at, watch.list[i].bytes,
                     watch.list[i].readable ? PROT_READ : PROT_NONE) != 0)
            return errno;
    return 0;
}

int ws__watch_begin(struct ws_ctx *ctx, const struct ws__watched *list,
                    size_t n)
{
    struct sigaction mine;
    int bad;

    if (atomic_flag_test_and_set(&watch.taken))
        return ws__fail(ctx, WS_EINVAL, "memory is being watched already");
    watch.list = list;
    watch.n = n;
    atomic_store(&watch.hit, 0);
    memset(&mine, 0, sizeof(mine));
    mine.sa_sigaction = on_fault;
    mine.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&mine.sa_mask);
    bad = sigaction(SIGSEGV, &mine, &watch.before) != 0 ? errno : 0;
    if (!bad) {
        bad = close_all();
        if (!bad)
            return 0;
        open_all();
        sigaction(SIGSEGV, &watch.before, NULL);
    }
    atomic_flag_clear(&watch.taken);
    return ws__fail(ctx, WS_ENOTSUP, "cannot watch memory: %s", strerror(bad));
}

int ws__watch_end(struct ws_ctx *ctx, struct ws__intrusion *out)
{
    int bad = open_all();
    size_t hit = atomic_load(&watch.hit);

    sigaction(SIGSEGV, &watch.before, NULL);
    memset(out, 0, sizeof(*out));
    if (hit) {
        out->seen = true;
        out->index = hit - 1;
        out->at = watch.list[hit - 1].at +
                  (atomic_load(&watch.at) - (uintptr_t)watch.list[hit - 1].at);
        out->write = atomic_load(&watch.write);
    }
    watch.list = NULL;
    watch.n = 0;
    atomic_flag_clear(&watch.taken);
    return bad ? ws__fail(ctx, WS_EDEVICE, "cannot open watched memory: %s",
                          strerror(bad))
               : 0;
}
