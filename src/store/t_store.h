/*
 * t_store.h: what the tests of the store share: a folder that goes away, and
 * runs, questions and trials made from a number, every field of them set.
 */
#ifndef WS_T_STORE_H
#define WS_T_STORE_H

#include "base/t_base.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store_db.h"

static char t_dir[32];
static char t_path[64];

static inline int t_setup(void **state)
{
    (void)state;
    snprintf(t_dir, sizeof(t_dir), "/tmp/t_store.XXXXXX");
    if (!mkdtemp(t_dir))
        return -1;
    snprintf(t_path, sizeof(t_path), "%s/store.db", t_dir);
    return 0;
}

static inline int t_teardown(void **state)
{
    pid_t pid = fork();
    (void)state;

    if (!pid) {
        execlp("rm", "rm", "-rf", t_dir, (char *)NULL);
        _exit(1);
    }
    return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static inline struct ws__store *t_open(struct ws_ctx *ctx)
{
    struct ws__store *s = NULL;
    int rc = ws__store_open(ctx, t_path, false, &s);

    if (rc)
        print_error("%s\n", ws_ctx_error(ctx)->message);
    assert_int_equal(rc, 0);
    return s;
}

static inline struct ws__run t_run(uint64_t spec, const char *strategy,
                                   uint64_t seed)
{
    struct ws__run r = {.spec = {spec, 7}, .device = {8, 9}, .seed = seed};

    snprintf(r.name, sizeof(r.name), "spec-%d.yaml", (int)spec);
    snprintf(r.strategy, sizeof(r.strategy), "%s", strategy);
    return r;
}

static inline struct ws__config t_config(uint64_t i)
{
    struct ws__config c = {.n = (uint16_t)(i % 5)};

    for (size_t k = 0; k < c.n; k++)
        c.at[k] = (uint16_t)((i * 977 + k * 31) % 2000);
    return c;
}

/* Structs are zeroed and filled field by field: padding is compared too. */
static inline struct ws__question t_question(uint64_t id, bool pair)
{
    struct ws__question q;

    memset(&q, 0, sizeof(q));
    q.id = id;
    q.a.kernel = (uint32_t)id % 5; /* with as many parameters */
    q.a.config = t_config(id);
    q.pair = pair;
    q.workload = (uint32_t)id % 4;
    q.want = WS__WANT_BUILD | WS__WANT_TIME;
    q.effort = (enum ws__effort)(id % 3);
    if (pair) {
        q.b.kernel = (uint32_t)(id + 1) % 5;
        q.b.config = t_config(id + 1);
    }
    return q;
}

static inline void t_mismatch(uint64_t i, struct ws__mismatch *m)
{
    static const double odd[] = {1.5,         -0.0,   0.0,
                                 (double)NAN, -1e308, (double)INFINITY,
                                 5e-324,      3.0};
    double *f[] = {&m->max_abs,   &m->max_rel,    &m->rms_err,
                   &m->rms_ref,   &m->worst_got,  &m->worst_want,
                   &m->first_got, &m->first_want, &m->allowed};
    uint64_t *u[] = {&m->total,     &m->bad,   &m->nan,
                     &m->unwritten, &m->worst, &m->first};

    m->tensor = (uint32_t)i + 1;
    for (size_t k = 0; k < WS_COUNT(f); k++)
        *f[k] = odd[(i + k) % WS_COUNT(odd)];
    for (size_t k = 0; k < WS_COUNT(u); k++)
        *u[k] = UINT64_MAX - i - k;
}

/* Every field differs from zero and from its neighbours; floats run through
 * the odd ones, in samples those of a failing trial. Owned by the caller. */
static inline void t_trial(struct ws_ctx *ctx, uint64_t i, size_t nsample,
                           struct ws__trial *t)
{
    memset(t, 0, sizeof(*t));
    t->question = i;
    t->candidate.kernel = (uint32_t)i % 5;
    t->candidate.config = t_config(i);
    t->workload = (uint32_t)i % 4;
    t->effort = (enum ws__effort)(i % 3);
    t->did = WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_TIME;
    t->verdict = i % 3 == 1 ? WS__V_WRONG : WS__V_OK;
    t_mismatch(i, &t->mismatch);
    t->res.binary_bytes = UINT64_MAX - i;
    t->res.build_ns = i << 40;
    t->res.registers = UINT32_MAX;
    t->res.spill_bytes = 2;
    t->res.shared_bytes = 3;
    t->res.private_bytes = 4;
    t->res.max_threads = 5;
    t->res.blocks_per_unit = 6;
    t->res.binary = (struct ws__hash){i, ~i};
    t->input_seed = ~i;
    t->block = i * 3;
    t->cache = WS__CACHE_WARM;
    t->inner = 17;
    t->mhz = UINT32_MAX - 1;
    t->slowed = (uint32_t)i + 1;
    t->kept_slowed = 5;
    t->gates = (uint32_t)(i * 0x55a4b & 0xfffff);
    for (size_t g = 0; g < WS__NGATE; g++)
        t->gate_ns[g] = i * 100 + g + 1;
    t->spent_ns = i * 1000;
    t->wall_ns = UINT64_C(1700000000000000000) + i;
    t->candidate_hash = (struct ws__hash){i, 100};
    t->workload_hash = (struct ws__hash){i % 4, 200};
    if (i % 3)
        assert_int_equal(ws__trial_set_reason(ctx, t, "because %d\n\xff",
                                              (int)i),
                         0);
    if (i % 4)
        t->counters = ws__strdup(ctx, i % 2 ? "dram_read=1;warps=2.5"
                                            : "issue_pct=1e-300");
    t->nsample = nsample;
    if (!nsample)
        return;
    t->sample_ns = ws__alloc(ctx, nsample, sizeof(double));
    for (size_t k = 0; k < nsample; k++)
        t->sample_ns[k] = (double)(i + k) * 1.1;
    if (t->verdict != WS__V_OK)
        t->sample_ns[0] = (double)NAN;
}

/* The trial of a question's part: 0, or 1 for the second of a pair. */
static inline void t_half(struct ws_ctx *ctx, const struct ws__question *q,
                          size_t part, size_t nsample, struct ws__trial *t)
{
    t_trial(ctx, q->id, nsample, t);
    if (part)
        t->candidate = q->b;
}

/* Bit by bit; ids are compared by the caller. */
static inline bool t_same(const struct ws__trial *a, const struct ws__trial *b)
{
    struct ws__trial x = *a, y = *b;

    if (!a->reason != !b->reason || a->nsample != b->nsample ||
        (a->reason && strcmp(a->reason, b->reason)) ||
        !a->counters != !b->counters ||
        (a->counters && strcmp(a->counters, b->counters)) ||
        (a->nsample &&
         memcmp(a->sample_ns, b->sample_ns, a->nsample * sizeof(double))))
        return false;
    x.reason = y.reason = x.counters = y.counters = NULL;
    x.sample_ns = y.sample_ns = NULL;
    x.id = y.id = 0;
    return !memcmp(&x, &y, sizeof(x));
}

/* Appends the trial made from `id` as the answer to question `id`. */
static inline int t_append(struct ws_ctx *ctx, struct ws__store *s,
                           const struct ws__run *run, uint64_t id)
{
    struct ws__journal j = ws__store_journal(s);
    struct ws__question q = t_question(id, false);
    struct ws__trial t;
    int rc;

    t_trial(ctx, id, 20, &t);
    rc = j.ops->append(j.self, run, &q, &t, 1);
    ws__trial_clear(ctx, &t);
    return rc;
}

static inline void t_copy(const char *from, const char *to)
{
    char piece[4096];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
        assert_int_equal(fwrite(piece, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* A raw statement on the file, past the store. */
static inline void t_raw(const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(t_path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

#endif
