/*
 * parallel.c: a loop over slices of a range in several threads.
 *
 * Slices are cut evenly and only by the count of threads; who uses this must
 * compute each element from its index alone, so that results do not depend
 * on how many threads there were. A thread that cannot be started is no
 * failure: its slice runs in the caller's thread.
 */
#include "reference/reference.h"

#include <pthread.h>
#include <unistd.h>

#include "reference/refpriv.h"
#include "base/cpus.h"
#include "base/banned.h"

struct slice {
    int (*fn)(void *user, uint64_t begin, uint64_t end);
    void *user;
    uint64_t begin, end;
    pthread_t thread;
    bool started;
    int rc;
};

unsigned ws__reference_threads(unsigned wanted)
{
    unsigned n = wanted ? wanted : ws__processors();

    return n < WS__REF_MAX_THREADS ? n : WS__REF_MAX_THREADS;
}

static void *run_slice(void *p)
{
    struct slice *s = p;

    s->rc = s->fn(s->user, s->begin, s->end);
    return NULL;
}

int ws__parallel_for(struct ws_ctx *ctx, unsigned threads, uint64_t n,
                     int (*fn)(void *user, uint64_t begin, uint64_t end),
                     void *user)
{
    struct slice *s;
    int rc = 0;

    threads = ws__reference_threads(threads);
    if (threads > n)
        threads = (unsigned)n;
    if (threads < 2)
        return n ? fn(user, 0, n) : 0;
    s = ws__alloc(ctx, threads, sizeof(*s));
    if (!s)
        return WS_ENOMEM;
    for (unsigned i = 0; i < threads; i++) {
        s[i].fn = fn;
        s[i].user = user;
        s[i].begin = n / threads * i + (i < n % threads ? i : n % threads);
        s[i].end = s[i].begin + n / threads + (i < n % threads);
    }
    for (unsigned i = 1; i < threads; i++)
        s[i].started = !pthread_create(&s[i].thread, NULL, run_slice, &s[i]);
    for (unsigned i = 0; i < threads; i++)
        if (!s[i].started)
            run_slice(&s[i]);
    for (unsigned i = 0; i < threads; i++) {
        if (s[i].started)
            pthread_join(s[i].thread, NULL);
        if (s[i].rc < 0 && rc == 0)
            rc = s[i].rc;
    }
    ws__free(ctx, s);
    return rc;
}
