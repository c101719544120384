/*
 * t_base.h: what every unit test includes: cmocka, a context whose allocator
 * counts and can fail, and a skip that says why.
 */
#ifndef WS_T_BASE_H
#define WS_T_BASE_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/ctx.h"
#include "base/mem.h"

/* The runner prints the reason of each skip from this line. */
#define SKIP(...)                                                              \
    do {                                                                       \
        printf("# SKIP " __VA_ARGS__);                                         \
        printf("\n");                                                          \
        fflush(stdout);                                                        \
        skip();                                                                \
    } while (0)

/* An allocator that counts live blocks and fails the n-th call (1-based; 0:
 * never), once or from then on. */
struct t_alloc {
    atomic_long live, calls; /* threads may share it */
    long fail_at;
    bool for_ever;
};

static inline void *t_realloc(void *user, void *p, size_t n)
{
    struct t_alloc *a = user;

    long call = ++a->calls;

    if (a->fail_at &&
        (call == a->fail_at || (a->for_ever && call > a->fail_at)))
        return NULL;
    void *q = realloc(p, n);
    if (q && !p)
        a->live++;
    return q;
}

static inline void t_free(void *user, void *p)
{
    struct t_alloc *a = user;

    if (p)
        a->live--;
    free(p);
}

static inline struct ws_ctx *t_ctx(struct t_alloc *a)
{
    struct ws_alloc alloc = {t_realloc, t_free, a};
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .alloc = a ? &alloc : NULL,
                            .turn_dir = getenv("WAVESMITH_TURNS")};

    return ws_ctx_new(&o);
}

/* Until body succeeds untouched; the number of allocations. */
static inline long t_torture_mode(int (*body)(struct ws_ctx *, void *),
                                  void *user, bool for_ever)
{
    for (long n = 1;; n++) {
        struct t_alloc a = {.fail_at = n, .for_ever = for_ever};
        struct ws_ctx *ctx = t_ctx(&a);
        int rc;

        if (!ctx)
            continue;
        rc = body(ctx, user);
        ws_ctx_free(ctx);
        assert_int_equal(a.live, 0);
        if (a.calls < n) {
            assert_int_equal(rc, 0);
            return n - 1;
        }
        if (rc != 0)
            assert_int_equal(rc, WS_ENOMEM);
    }
}

/*
 * Torture: runs body(ctx, user) with the 1st, 2nd, ... allocation failing
 * until it succeeds untouched. body returns a status; it must be WS_ENOMEM
 * when an allocation failed (or 0 if it could do without), and all memory
 * must be gone afterwards. Returns the number of allocations. With WS_SOAK in
 * the environment once more with all allocations from the n-th on failing.
 */
static inline long t_torture(int (*body)(struct ws_ctx *, void *), void *user)
{
    if (getenv("WS_SOAK"))
        t_torture_mode(body, user, true);
    return t_torture_mode(body, user, false);
}

#endif
