/*
 * t_measure.c: the protocol on the null device: every verdict and its words,
 * the resource filter, pairs, timing rules, and cheats that only show while
 * timing. The device between lies and counts; see t_measure_fixture.h.
 */
#include "measure/t_measure_once.h"

#include <signal.h>

#include <math.h>
#include <unistd.h>

#include "core/safetensors.h"

#define GOOD "kernel k\nmul 1 0 2\ntime 1000\n"

static void expect(const char *source, enum ws__verdict v, const char *words)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    once_begin(&o, source);
    once_ask(&o, &q);
    if (o.t[0].verdict != v)
        fail_msg("verdict %s: %s", ws__verdict_key(o.t[0].verdict),
                 o.t[0].reason ? o.t[0].reason : "");
    if (words)
        T_ASSERT_HAS(o.t[0].reason, words);
    else
        assert_null(o.t[0].reason);
    once_end(&o);
}

/* ---- verdicts ----------------------------------------------------------- */

static void right(void **state)
{
    struct ws__question q = t_question(9, 3, 1);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].did, q.want);
    assert_int_equal(o.t[0].question, 9);
    assert_int_equal(o.t[0].workload, 1);
    assert_int_equal(o.t[0].candidate.config.at[0], 3);
    assert_int_equal(o.t[0].cache, WS__CACHE_WARM);
    assert_true(o.t[0].nsample >= 5);
    for (size_t i = 0; i < o.t[0].nsample; i++)
        assert_true(o.t[0].sample_ns[i] == 1000);
    assert_int_equal(o.t[0].inner, 20); /* 20 us by a processor's clock */
    assert_int_equal(o.t[0].mismatch.total, 4096);
    assert_int_equal(o.t[0].mismatch.bad, 0);
    assert_true(o.t[0].input_seed && o.t[0].wall_ns && o.t[0].spent_ns);
    assert_int_equal(o.t[0].block, 0);
    assert_true(o.t[0].candidate_hash.lo && o.t[0].workload_hash.lo);
    once_end(&o);
}

static void seed_depends_on_candidate(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct ws__hash was;
    uint64_t first;
    struct once o;
    long runs;

    (void)state;
    once_begin(&o, GOOD);
    once_ask(&o, &q);
    first = o.t[0].input_seed;
    q.want = WS__WANT_VERDICT;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].input_seed, first);
    runs = t_reference_runs;
    once_ask(&o, &q);
    assert_int_equal(t_reference_runs, runs); /* the same problem: kept */
    q.a.config.at[0] = 1;
    once_ask(&o, &q);
    assert_true(o.t[0].input_seed != first);
    assert_int_equal(t_reference_runs, runs + 1);
    was = o.t[0].candidate_hash; /* a verdict depends on what is declared */
    o.c->kernel.order_dependent = true;
    once_ask(&o, &q);
    assert_false(ws__hash_eq(o.t[0].candidate_hash, was));
    once_end(&o);
}

static void seed_depends_on_run(void **state)
{
    struct ws__measure_opts opts = {.builders = 1, .cache = WS__CACHE_WARM};
    struct ws__question q = t_question(1, 0, 0);
    uint64_t seed[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct once o;

        once_begin(&o, GOOD);
        opts.seed = (uint64_t)i;
        assert_int_equal(t_measure_open(o.c, &opts, &o.m), 0);
        once_ask(&o, &q);
        seed[i] = o.t[0].input_seed;
        once_end(&o);
    }
    assert_true(seed[0] != seed[1]);
}

static uint32_t output_of(const struct ws__dev_batch *b)
{
    return b->prog[0].launch[0].arg[1].buffer;
}

/* Run 1 and 2 are the checked ones, the last is on changed inputs. */
static void look_at_buffers(struct t_script *s, struct ws__device *d,
                            const struct ws__dev_batch *b,
                            struct ws__dev_sample *x, size_t n)
{
    (void)d;
    (void)x;
    (void)n;
    if (s->runs == 2 && b->nset == 1)
        assert_true((output_of(b) != s->remembered) == !s->one_set);
    if (s->runs == 1)
        s->remembered = output_of(b);
    if (s->runs > 2 && b->rounds > 1)
        assert_int_equal(b->nset, s->one_set ? 1 : WS__SETS);
    s->last_fills = b->prog[0].nfill;
}

static void buffers(void **state)
{
    struct ws__measure_opts opts = {.builders = 1,
                                    .cache = WS__CACHE_WARM,
                                    .max_bytes = 60000};
    struct ws__question q = t_question(1, 0, 1);

    (void)state;
    for (int one = 0; one < 2; one++) {
        struct once o;

        reset(NULL);
        t_script.after_run = look_at_buffers;
        t_script.one_set = one;
        once_begin(&o, GOOD);
        assert_int_equal(t_measure_open(o.c, one ? &opts : NULL, &o.m), 0);
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_int_equal(t_script.shifts, one ? 0 : 256 | 512);
        assert_int_equal(t_script.last_fills, 0); /* old outputs are left */
        once_end(&o);
    }
}

/* The second launch differs in the last bit of one element. */
static void one_bit(struct t_script *s, struct ws__device *d,
                    const struct ws__dev_batch *b, struct ws__dev_sample *x,
                    size_t n)
{
    uint32_t v = 0;

    (void)x;
    (void)n;
    if (s->runs != 2)
        return;
    d->ops->read(d->self, output_of(b), 8, &v, sizeof(v));
    v ^= 1;
    d->ops->write(d->self, output_of(b), 8, &v, sizeof(v));
}

static void race(void **state)
{
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    for (int declared = 0; declared < 2; declared++) {
        struct once o;

        reset(NULL);
        t_script.after_run = one_bit;
        once_begin(&o, GOOD);
        o.c->kernel.order_dependent = declared;
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, declared ? WS__V_OK : WS__V_WRONG);
        if (!declared)
            T_ASSERT_HAS(o.t[0].reason, "differ in 1 of 64 elements of 'C'");
        once_end(&o);
    }
}

static void wrong(void **state)
{
    (void)state;
    expect("kernel k\nmul 1 0 3\n", WS__V_WRONG,
           "64 of 64 elements of 'C' wrong; worst at [");
    expect("kernel k\nmul 1 0 3\n", WS__V_WRONG, "allowed");
    expect("kernel k\ntime 5\n", WS__V_WRONG, "64 not written");
    expect("kernel k\nmul 1 0 2\nfill 1 nan\n", WS__V_WRONG, "64 NaN");
    /* The address of the output is another one in the second launch. */
    expect("kernel k\nmul 1 0 2\naddr 1\n", WS__V_WRONG, "of 'C' wrong");
}

static void out_of_bounds(void **state)
{
    (void)state;
    expect("kernel k\nmul 1 0 2\noob 1 268\n", WS__V_WRONG,
           "writes outside of 'C', 12 bytes after its end");
    expect("kernel k\nmul 1 0 2\noob 0 -3\n", WS__V_WRONG,
           "writes outside of 'A', 3 bytes before its start");
}

static void input_changed(void **state)
{
    (void)state;
    expect("kernel k\nmul 1 0 2\nadd 0 1\n", WS__V_CHEAT,
           "writes to input 'A'");
}

static void refused(void **state)
{
    (void)state;
    expect("kernel k\nrefuse\n", WS__V_LAUNCH, "'k' was refused");
}

static void does_not_build(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, "kernel k\nnonsense\n");
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_BUILD);
    assert_int_equal(o.t[0].did, WS__WANT_BUILD);
    T_ASSERT_HAS(o.t[0].reason, "cannot understand 'nonsense'");
    assert_int_equal(t_script.builds, 2); /* and one that is known to */
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_BUILD);
    assert_int_equal(t_script.builds, 2); /* remembered */
    once_end(&o);
}

static void only_what_is_wanted(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    q.want = WS__WANT_BUILD;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_NONE);
    assert_int_equal(o.t[0].did, WS__WANT_BUILD);
    assert_true(o.t[0].res.binary_bytes > 0);
    q.want = WS__WANT_VERDICT;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].nsample, 0);
    assert_int_equal(t_script.builds, 1); /* the module was kept */
    once_end(&o);
}

static void scratch_is_poisoned(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, "kernel k\ncopy 2 0\nmul 1 2 2\n");
    o.c->kernel.nscratch = 1;
    o.c->kernel.scratch[0].name = "S";
    o.c->kernel.scratch[0].bytes = t_expr(o.c, "N * 4");
    o.c->kernel.launch[0].narg = 3;
    o.c->kernel.launch[0].arg[2].kind = WS__ARG_SCRATCH;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    /* C = 2 A + S with S as it is found: right only if S is zero. */
    o.c->kernel.source = "kernel k\nmul 1 0 2\nif V 0 copy 1 2\n";
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_WRONG);
    o.c->kernel.source = "kernel k\nmul 1 0 2\noob 2 256\n";
    once_ask(&o, &q);
    T_ASSERT_HAS(o.t[0].reason, "writes outside of 'S', 0 bytes after");
    once_end(&o);
}

static void zeroed_scratch(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    /* C = S + 1, which is 2 A only if S was zero. */
    once_begin(&o, "kernel k\nadd 2 1\ncopy 1 2\n");
    o.c->op.tensor[0].fill = (struct ws__fill){WS__FILL_CONSTANT, 0.5, 0};
    o.c->kernel.nscratch = 1;
    o.c->kernel.scratch[0].name = "S";
    o.c->kernel.scratch[0].bytes = t_expr(o.c, "N * 4");
    o.c->kernel.scratch[0].zero = true;
    o.c->kernel.launch[0].narg = 3;
    o.c->kernel.launch[0].arg[2].kind = WS__ARG_SCRATCH;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    once_end(&o);
}

static void inout_is_restored(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    /* A doubles itself: only restored inputs give 2 A every time. */
    once_begin(&o, "kernel k\nmul 0 0 2\ntime 100\n");
    o.c->op.ntensor = 2;
    o.c->op.tensor[1] = o.c->op.tensor[0];
    o.c->op.tensor[1].name = "B";
    o.c->op.tensor[1].role = WS__INOUT;
    o.c->kernel.launch[0].arg[0].index = 1;
    o.c->kernel.launch[0].narg = 1;
    /* The reference computes result[1] from input[0]: give B its rule. */
    o.c->op.tensor[0].fill = o.c->op.tensor[1].fill =
        (struct ws__fill){WS__FILL_CONSTANT, 3, 0};
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].inner, 1);
    once_end(&o);
}

/* An input from a file is the same for every seed and in both variants, and
 * other inputs vary beside it; with no other one there is nothing to vary. */
static void input_from_a_file(void **state)
{
    static const char head[] =
        "{\"A\":{\"dtype\":\"F32\",\"shape\":[64],\"data_offsets\":[0,256]}}";
    char path[] = "/tmp/ws_st_XXXXXX";
    struct ws__question q = t_question(1, 0, 0);
    struct ws__input x[3] = {
        {.kind = WS__INPUT_FILE, .file = path, .key = "A"}};
    unsigned char length[8] = {sizeof(head) - 1};
    struct ws__safetensors *file;
    float v[64];
    struct once o;
    FILE *f;

    (void)state;
    for (int i = 0; i < 64; i++)
        v[i] = (float)i / 4;
    assert_non_null(f = fdopen(mkstemp(path), "wb"));
    fwrite(length, 1, 8, f);
    fwrite(head, 1, sizeof(head) - 1, f);
    fwrite(v, 1, sizeof(v), f);
    fclose(f);
    for (int other = 0; other < 2; other++) {
        once_begin(&o, "kernel k\nmul 1 0 2\ntime 1000\n");
        assert_int_equal(ws__safetensors_open(o.ctx, path, &file), 0);
        assert_int_equal(ws__safetensors_hash(file, file->tensor,
                                              &x[0].content),
                         0);
        ws__safetensors_close(file);
        o.c->workload[0].input = x;
        if (other) {
            o.c->op.ntensor = 3;
            o.c->op.tensor[2] = o.c->op.tensor[0];
            o.c->op.tensor[2].name = "B";
        }
        q.want |= WS__WANT_TIME;
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_true(o.t[0].nsample >= 5);
        assert_memory_equal(o.m->problem->input[0], v, sizeof(v));
        once_end(&o);
    }
    unlink(path);
}

static void crash_and_hang(void **state)
{
    (void)state;
    t_script.fail_at = 0;
    t_script.code = WS_ETIMEOUT;
    for (long n = 1; n < 60; n++) {
        struct ws__question q = t_question(1, 0, 0);
        struct once o;

        reset(NULL);
        once_begin(&o, GOOD);
        assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
        t_script.fail_at = n;
        t_script.code = WS_ETIMEOUT;
        if (t_answer(o.m, &q, o.t) == 0 && t_script.runs == 1 &&
            t_script.calls == n) {
            assert_int_equal(o.t[0].verdict, WS__V_HANG);
            T_ASSERT_HAS(o.t[0].reason, "run: injected");
            once_end(&o);
            return;
        }
        t_clear(o.ctx, o.t);
        once_end(&o);
    }
    fail_msg("no run was hit");
}

/* ---- filter ------------------------------------------------------------- */

static void does_not_fit(struct once *o, const char *words)
{
    struct ws__question q = t_question(1, 0, 1);
    char reason[256];

    assert_int_equal(ws__measure_fits(o->m, &q.a, 1, reason), 0);
    T_ASSERT_HAS(reason, words);
    once_ask(o, &q);
    assert_int_equal(o->t[0].verdict, WS__V_FILTERED);
    assert_int_equal(o->t[0].did, 0);
    T_ASSERT_HAS(o->t[0].reason, words);
}

static void filter(void **state)
{
    struct ws__question q = t_question(1, 0, 1);
    struct ws__launch *l;
    struct ws__expr *keep;
    char reason[256];
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    l = &o.c->kernel.launch[0];
    assert_int_equal(ws__measure_fits(o.m, &q.a, 1, reason), 1);
    keep = l->block[0];
    l->block[0] = t_expr(o.c, "2048");
    does_not_fit(&o, "block size x of 'k' is 2048; the device allows 1024");
    l->block[0] = keep;
    l->block[1] = t_expr(o.c, "32");
    does_not_fit(&o, "threads a block of 'k' is 2048; the device allows 1024");
    l->block[1] = NULL;
    l->shared = t_expr(o.c, "device_shared_bytes + 1");
    does_not_fit(&o, "is 65537; the device allows 65536");
    l->shared = NULL;
    l->grid[0] = t_expr(o.c, "N - 4096");
    does_not_fit(&o, "no launch plan: grid");
    l->grid[0] = keep;
    o.c->kernel.range_lo[0] = 1;
    o.c->kernel.range_hi[0] = 1000;
    does_not_fit(&o, "axis 'N' is 4096; kernel 'k' is made for 1..1000");
    o.c->kernel.range_hi[0] = 0;
    o.c->kernel.range_lo[0] = 0;
    o.c->constraint.expr = t_expr(o.c, "N % 3 == 0");
    o.c->kernel.constraint = &o.c->constraint;
    o.c->kernel.nconstraint = 1;
    does_not_fit(&o, "constraint 'N % 3 == 0' does not hold");
    o.c->kernel.nconstraint = 0;
    o.m->info.max_grid[0] = 63;
    does_not_fit(&o, "grid size x of 'k' is 64; the device allows 63");
    o.m->info.max_grid[0] = 64;
    o.m->opts.max_bytes = 40000;
    does_not_fit(&o, "take 49152 bytes; 40000 may be used");
    o.m->opts.max_bytes = 0;
    o.m->info.max_alloc_bytes = 20000;
    does_not_fit(&o, "'A' takes 24576 bytes; the device allocates 20000");
    o.m->info.max_alloc_bytes = 0;
    o.c->kernel.nscratch = 1;
    o.c->kernel.scratch[0].name = "S";
    o.c->kernel.scratch[0].bytes = t_expr(o.c, "N * 4064"); /* and guards */
    assert_int_equal(ws__measure_fits(o.m, &q.a, 1, reason), 1);
    o.c->kernel.scratch[0].bytes = t_expr(o.c, "N * 4065");
    does_not_fit(&o, "takes 16781312 bytes, over 64 times the 49152 of all");
    o.c->kernel.nscratch = 0;
    assert_int_equal(t_script.builds, 0);
    once_end(&o);
}

static void variables(void **state)
{
    union wsrt_value vars[WS__MAX_SLOTS];
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    ws__measure_vars(o.m, &o.c->kernel, 1, vars);
    assert_int_equal(vars[0].i, 4096);
    assert_int_equal(vars[2 + WS__DV_THREADS].i, 1024);
    assert_int_equal(vars[2 + WS__DV_IS_CPU].i, 1);
    T_ASSERT_HAS(ws__measure_device(o.m)->id.protocol, "cache warm");
    once_end(&o);
}

/* ---- pairs -------------------------------------------------------------- */

static void pair(void **state)
{
    struct ws__question q = t_question(4, 1, 0);
    struct once o;

    (void)state;
    once_begin(&o, "kernel k\nmul 1 0 2\nif V 1 time 3000\nif V 2 time 2000\n");
    q.pair = true;
    q.b.config.at[0] = 2;
    once_ask(&o, &q);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(o.t[i].verdict, WS__V_OK);
        assert_int_equal(o.t[i].effort, WS__CONFIRM);
        assert_int_equal(o.t[i].nsample, o.t[0].nsample);
        assert_true(o.t[i].nsample >= 20);
        assert_true(o.t[i].sample_ns[7] == (i ? 2000 : 3000));
    }
    assert_true(o.t[0].block > 0 && o.t[0].block == o.t[1].block);
    assert_true(o.t[0].block <= INT64_MAX);
    assert_int_equal(o.t[0].input_seed, o.t[1].input_seed);
    assert_int_equal(t_reference_runs, 2); /* and after timing, for both */
    once_end(&o);
}

static void pair_with_a_bad_one(void **state)
{
    static const struct {
        const char *statement;
        enum ws__verdict verdict;
    } bad[] = {{"fill 1 7", WS__V_WRONG},
               {"oob 1 256", WS__V_WRONG},
               {"refuse", WS__V_LAUNCH}};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++)
        for (int at = 0; at < 2; at++) {
            struct ws__question q = t_question(4, at ? 1 : 2, 0);
            char source[100];
            struct once o;

            snprintf(source, sizeof(source),
                     "kernel k\nmul 1 0 2\ntime 9\nif V 2 %s\n",
                     bad[i].statement);
            once_begin(&o, source);
            q.pair = true;
            q.b.config.at[0] = at ? 2 : 1;
            once_ask(&o, &q);
            assert_int_equal(o.t[at].verdict, bad[i].verdict);
            assert_int_equal(o.t[1 - at].verdict, WS__V_OK);
            assert_int_equal(o.t[1 - at].did & WS__WANT_TIME, 0);
            assert_int_equal(o.t[0].nsample + o.t[1].nsample, 0);
            once_end(&o);
        }
}

/* ---- timing ------------------------------------------------------------- */

static void slow_ones_stop_early(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, "kernel k\nmul 1 0 2\nif V 0 time 1000\nif V 1 time 2900\n"
                   "if V 2 time 3100\n");
    once_ask(&o, &q);
    q.a.config.at[0] = 1;
    once_ask(&o, &q);
    assert_true(o.t[0].nsample >= 5);
    q.a.config.at[0] = 2;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].nsample, 3);
    q.effort = WS__NORMAL; /* only screening cuts short */
    once_ask(&o, &q);
    assert_true(o.t[0].nsample >= 10);
    once_end(&o);
}

/* The first launches take ten times as long as the others. */
static void slow_beginning(struct t_script *s, struct ws__device *d,
                           const struct ws__dev_batch *b,
                           struct ws__dev_sample *x, size_t n)
{
    (void)d;
    (void)b;
    for (size_t i = 0; s->launches <= 5 && i < n; i++)
        x[i].ns *= 10;
}

static void inner_grows(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    t_script.after_run = slow_beginning;
    once_begin(&o, GOOD);
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(o.t[0].inner, 20);
    once_end(&o);
}

/* Works over poison only, and not over its own result; or takes a little
 * longer there, as kernels do that find colder caches. */
static double first_ns;

static void works_once(struct t_script *s, struct ws__device *d,
                       const struct ws__dev_batch *b, struct ws__dev_sample *x,
                       size_t n)
{
    (void)s;
    (void)d;
    for (size_t i = 0; i < n; i++) {
        double first = b->prog[x[i].prog].nfill ? first_ns : 800;

        x[i].ns = (first + 800.0 * (b->inner - 1)) / b->inner;
    }
}

static void first_launch_of_a_sample(void **state)
{
    static const struct ws__measure_opts few = {.builders = 1,
                                                .cache = WS__CACHE_WARM,
                                                .seed = 7,
                                                .few_gates = true};
    static const struct {
        double first;
        bool few;
        enum ws__verdict verdict;
    } c[] = {{5000, false, WS__V_CHEAT},
             {1500, false, WS__V_OK},
             {5000, true, WS__V_OK}};
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        struct once o;

        reset(NULL);
        first_ns = c[i].first;
        t_script.after_run = works_once;
        once_begin(&o, GOOD);
        if (c[i].few)
            assert_int_equal(t_measure_open(o.c, &few, &o.m), 0);
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, c[i].verdict);
        assert_true(o.t[0].inner > 1);
        if (c[i].verdict == WS__V_CHEAT)
            T_ASSERT_HAS(o.t[0].reason, "0.8 us over its own result");
        once_end(&o);
    }
}

/* Times that never settle, those of the first of a pair at least. */
static void jitter(struct t_script *s, struct ws__device *d,
                   const struct ws__dev_batch *b, struct ws__dev_sample *x,
                   size_t n)
{
    (void)s;
    (void)d;
    (void)b;
    for (size_t i = 0; i < n; i++)
        if (!x[i].prog)
            x[i].ns *= x[i].round / 2 % 2 ? 1.3 : 0.7;
}

static void noise_takes_more(void **state)
{
    (void)state;
    for (int pair = 0; pair < 2; pair++) {
        struct ws__question q = t_question(1, 0, 0);
        struct once o;

        reset(NULL);
        t_script.after_run = jitter;
        once_begin(&o, GOOD);
        q.pair = pair;
        q.b.config.at[0] = 1;
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_true(o.t[0].nsample > 100);
        once_end(&o);
    }
}

/* 1 ms each: the budget of 150 ms ends it. */
static void budget_ends_sampling(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    t_script.after_run = jitter;
    once_begin(&o, "kernel k\nmul 1 0 2\nslow 1000\ntime 1e6\n");
    once_ask(&o, &q);
    assert_true(o.t[0].nsample >= 5 && o.t[0].nsample < 1000);
    once_end(&o);
}

/* Launches that last: few are enough. */
static void long_ones_are_few(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, "kernel k\nmul 1 0 2\ntime 2e8\n");
    q.effort = WS__CONFIRM;
    once_ask(&o, &q);
    assert_true(o.t[0].nsample >= 3);
    assert_int_equal(o.t[0].inner, 1);
    /* two checked, one or two over old outputs, one on new inputs, none to
     * warm up */
    assert_in_range(t_script.launches, o.t[0].nsample + 4, o.t[0].nsample + 5);
    once_end(&o);
}

static void cold_is_one_launch(void **state)
{
    static const struct ws__measure_opts cold = {.builders = 1, .seed = 7};
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    assert_int_equal(t_measure_open(o.c, &cold, &o.m), 0);
    once_ask(&o, &q);
    assert_int_equal(o.t[0].cache, WS__CACHE_COLD);
    assert_int_equal(o.t[0].inner, 1);
    once_end(&o);
}

static void cold_by_flush_or_size(struct t_script *s, struct ws__device *d,
                                  const struct ws__dev_batch *b,
                                  struct ws__dev_sample *x, size_t n)
{
    (void)d;
    (void)x;
    (void)n;
    if (b->rounds < 3) /* checks, not samples */
        return;
    /* A set has 49152 bytes, guards included. */
    if (s->cache_bytes > 49152 / 3)
        assert_int_equal(b->flush_bytes, 2 * s->cache_bytes);
    else
        assert_int_equal(b->flush_bytes, 0);
    assert_int_equal(b->nset, WS__SETS);
}

static void flushing(void **state)
{
    static const uint64_t cache[] = {1000000, 17000, 16000, 4096};
    static const struct ws__measure_opts cold = {.builders = 1, .seed = 7};
    struct ws__question q = t_question(1, 0, 1);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cache); i++) {
        struct once o;

        reset(NULL);
        t_script.cache_bytes = cache[i];
        t_script.after_run = cold_by_flush_or_size;
        once_begin(&o, GOOD);
        assert_int_equal(t_measure_open(o.c, &cold, &o.m), 0);
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        once_end(&o);
    }
}

/* 512 KB in no time, on a device whose memory rate can be measured. */
static void too_fast(void **state)
{
    static const struct ws__measure_opts cold = {.builders = 1, .seed = 7};
    struct ws__question q = t_question(1, 0, 1);
    struct once o;

    (void)state;
    t_script.not_cpu = true;
    t_script.cache_bytes = 8192;
    once_begin(&o, "kernel k\nmul 1 0 2\nif V 0 time 0.001\n"
                   "if V 1 time 1e7\n");
    o.c->workload[1].axis[0] = 1 << 16;
    assert_int_equal(t_measure_open(o.c, &cold, &o.m), 0);
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_TOO_FAST);
    T_ASSERT_HAS(o.t[0].reason, "us at least");
    assert_true(o.t[0].nsample > 0);
    q.a.config.at[0] = 1;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    q = t_question(1, 0, 0); /* what fits into the cache has no floor */
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    once_end(&o);
}

/* The ceilings of the case below: a nanosecond for each 4 bytes. */
static int four_bytes_a_ns(struct ws_ctx *ctx, const struct ws__identity *id,
                           struct ws__roof *out)
{
    (void)ctx;
    (void)id;
    out->cache_bytes = 8192;
    out->ceiling[WS__ROOF_READ] =
        (struct ws__ceiling){.known = true, .value = 4e9};
    out->ceiling[WS__ROOF_L2] = out->ceiling[WS__ROOF_READ];
    return 0;
}

static int damaged(struct ws_ctx *ctx, const struct ws__identity *id,
                   struct ws__roof *out)
{
    (void)id;
    (void)out;
    return ws__fail(ctx, WS_ESPEC, "no ceilings");
}

/* 512 KB a launch: no less than 131 us, whatever a fill would say. */
static void held_against_ceilings(void **state)
{
    struct ws__measure_opts opts = {.builders = 1,
                                    .cache = WS__CACHE_WARM,
                                    .seed = 7,
                                    .roof = four_bytes_a_ns};
    struct ws__question q = t_question(1, 0, 1);
    struct once o;

    (void)state;
    t_script.not_cpu = true;
    t_script.cache_bytes = 8192;
    once_begin(&o, "kernel k\nmul 1 0 2\nif V 0 time 120e3\n"
                   "if V 1 time 131e3\n");
    o.c->workload[1].axis[0] = 1 << 16;
    assert_int_equal(t_measure_open(o.c, &opts, &o.m), 0);
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_TOO_FAST);
    assert_int_equal(ws__gate_end(&o.t[0], WS__GATE_FLOOR), WS__GATE_FAILED);
    q.a.config.at[0] = 1; /* 0.95 of it will do */
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(ws__gate_end(&o.t[0], WS__GATE_FLOOR), WS__GATE_PASSED);
    ws__measure_close(o.m);
    opts.roof = damaged;
    assert_int_equal(t_measure_open(o.c, &opts, &o.m), WS_ESPEC);
    once_end(&o);
}

/* The host's clock beside the device's: what it has beyond it, by case. */
static double beyond_ns[2]; /* in most samples, in the last of a batch */

static void two_clocks(struct t_script *s, struct ws__device *d,
                       const struct ws__dev_batch *b, struct ws__dev_sample *x,
                       size_t n)
{
    (void)s;
    (void)d;
    for (size_t i = 0; i < n; i++)
        x[i].host_ns = x[i].ns + beyond_ns[i == n - 1] / b->inner;
}

static enum ws__verdict with_clocks(double most, double last, bool cpu)
{
    struct ws__question q = t_question(1, 0, 1);
    enum ws__verdict v;
    struct once o;

    reset(NULL);
    beyond_ns[0] = most;
    beyond_ns[1] = last;
    t_script.not_cpu = !cpu;
    t_script.after_run = two_clocks;
    once_begin(&o, "kernel k\nmul 1 0 2\ntime 120e3\n");
    once_ask(&o, &q);
    v = o.t[0].verdict;
    if (v != WS__V_OK)
        T_ASSERT_HAS(o.t[0].reason, "outside of what is timed");
    once_end(&o);
    return v;
}

static void work_behind_the_events(void **state)
{
    (void)state;
    assert_int_equal(with_clocks(2e6, 2e6, false), WS__V_TOO_FAST);
    assert_int_equal(with_clocks(20e6, 20e6, true), WS__V_TOO_FAST);
    /* The way there and back; another program of the processor. */
    assert_int_equal(with_clocks(2e5, 2e5, false), WS__V_OK);
    assert_int_equal(with_clocks(2e6, 2e6, true), WS__V_OK);
    /* Not each time. */
    assert_int_equal(with_clocks(2e6, 1e4, false), WS__V_OK);
}

/* ---- cheats while timing ------------------------------------------------ */

static bool timing(const struct t_script *s)
{
    return s->runs > 3; /* two checked launches, one round of warm-up */
}

static void lie_about_outputs(struct t_script *s, struct ws__device *d,
                              const struct ws__dev_batch *b,
                              struct ws__dev_sample *x, size_t n)
{
    (void)d;
    (void)b;
    if (timing(s))
        x[n - 1].hash ^= 1;
}

/* The outputs of timed launches would tell: their hashes are made up. */
static void change_input(struct t_script *s, struct ws__device *d,
                         const struct ws__dev_batch *b,
                         struct ws__dev_sample *x, size_t n)
{
    float v = 77;

    if (s->runs == 1)
        s->remembered = x[0].hash;
    for (size_t i = 0; i < n; i++)
        x[i].hash = s->remembered;
    if (timing(s))
        d->ops->write(d->self, b->prog[b->nset - 1].launch[0].arg[0].buffer, 8,
                      &v, sizeof(v));
}

/* For order-dependent kernels hashes say nothing: outputs are looked at. */
static void change_output(struct t_script *s, struct ws__device *d,
                          const struct ws__dev_batch *b,
                          struct ws__dev_sample *x, size_t n)
{
    float v = 77;

    if (timing(s))
        d->ops->write(d->self, b->prog[x[n - 1].set].launch[0].arg[1].buffer, 8,
                      &v, sizeof(v));
}

static void cheat(void (*how)(struct t_script *, struct ws__device *,
                              const struct ws__dev_batch *,
                              struct ws__dev_sample *, size_t),
                  bool order_dependent, const char *words)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    reset(NULL);
    t_script.after_run = how;
    once_begin(&o, GOOD);
    o.c->kernel.order_dependent = order_dependent;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_CHEAT);
    T_ASSERT_HAS(o.t[0].reason, words);
    once_end(&o);
}

static void cheats_while_timed(void **state)
{
    (void)state;
    cheat(lie_about_outputs, false, "right when checked, wrong when timed");
    cheat(change_input, false, "writes to input 'A'");
    cheat(change_output, true, "right when checked, wrong");
}

/* Keeps the first result of a kernel and gives it out for ever. */
static void keep_result(struct t_script *s, struct ws__device *d,
                        const struct ws__dev_batch *b, struct ws__dev_sample *x,
                        size_t n)
{
    static float kept[64];

    for (size_t i = 0; i < n; i++) {
        uint32_t c = b->prog[x[i].set].launch[0].arg[1].buffer;

        if (s->runs == 1)
            d->ops->read(d->self, c, 0, kept, sizeof(kept));
        d->ops->write(d->self, c, 0, kept, sizeof(kept));
        if (!s->remembered)
            s->remembered = x[i].hash;
        x[i].hash = s->remembered;
    }
}

static void remembers(void **state)
{
    (void)state;
    cheat(keep_result, false, "keeps something between launches");
    /* What varies in rounding is looked at when it is more than screened. */
    for (int effort = WS__NORMAL; effort <= WS__CONFIRM; effort++) {
        struct ws__question q = t_question(1, 0, 0);
        struct once o;

        reset(NULL);
        t_script.after_run = keep_result;
        once_begin(&o, GOOD);
        o.c->kernel.order_dependent = true;
        q.effort = (enum ws__effort)effort;
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_CHEAT);
        T_ASSERT_HAS(o.t[0].reason, "on changed inputs");
        once_end(&o);
    }
}

/* ---- a memory keyed by what a launch can see ----------------------------- */

static float kept_result[64], kept_input;
static bool kept_any;

static float read_one(struct ws__device *d, uint32_t buffer, uint64_t at)
{
    float v = 0;

    d->ops->read(d->self, buffer, at, &v, sizeof(v));
    return v;
}

/* The result of before, where the outputs held the word that timing once used
 * and the first input is the same. */
static void by_poison(struct t_script *s, struct ws__device *d,
                      const struct ws__dev_batch *b, struct ws__dev_sample *x,
                      size_t n)
{
    (void)s;
    for (size_t i = 0; i < n; i++) {
        const struct ws__dev_seq *q = &b->prog[x[i].set];
        uint32_t a = q->launch[0].arg[0].buffer;
        uint32_t c = q->launch[0].arg[1].buffer;
        uint64_t h;

        if (kept_any && q->nfill && q->fill[0].pattern == 0x5a5a5a5au &&
            !(read_one(d, a, 0) < kept_input) &&
            !(read_one(d, a, 0) > kept_input)) {
            d->ops->write(d->self, c, 0, kept_result, sizeof(kept_result));
        } else {
            float in[64];

            d->ops->read(d->self, a, 0, in, sizeof(in));
            for (int k = 0; k < 64; k++)
                kept_result[k] = 2 * in[k];
            kept_input = in[0];
            kept_any = true;
            d->ops->write(d->self, c, 0, kept_result, sizeof(kept_result));
        }
        d->ops->hash(d->self, c, &h);
        x[i].hash = ws__hash_u64((struct ws__hash){q->nhash, 0}, h).lo;
    }
}

static void memory_by_poison(void **state)
{
    (void)state;
    for (int effort = WS__SCREEN; effort <= WS__CONFIRM; effort++)
        for (int v = 0; v < 8; v++) {
            struct ws__question q = t_question(1, v, 0);
            struct once o;

            reset(NULL);
            kept_any = false;
            t_script.after_run = by_poison;
            once_begin(&o, GOOD);
            q.effort = (enum ws__effort)effort;
            once_ask(&o, &q);
            assert_int_equal(o.t[0].verdict, WS__V_CHEAT);
            once_end(&o);
        }
}

/* Looks at all of its inputs, and is three times slower if it has not seen
 * them lately. */
static void by_inputs(struct t_script *s, struct ws__device *d,
                      const struct ws__dev_batch *b, struct ws__dev_sample *x,
                      size_t n)
{
    static float seen[4][64];
    static size_t next;

    (void)s;
    for (size_t i = 0; i < n; i++) {
        float in[64];
        bool found = false;

        d->ops->read(d->self, b->prog[x[i].set].launch[0].arg[0].buffer, 0, in,
                     sizeof(in));
        for (size_t k = 0; k < 4; k++)
            found = found || !memcmp(in, seen[k], sizeof(in));
        if (found)
            continue;
        x[i].ns *= 3;
        memcpy(seen[next++ % 4], in, sizeof(in));
    }
}

/* The same with a memory of its own for each buffer. */
static void by_inputs_and_place(struct t_script *s, struct ws__device *d,
                                const struct ws__dev_batch *b,
                                struct ws__dev_sample *x, size_t n)
{
    static float seen[WS__SETS][4][64];
    static size_t next[WS__SETS];

    (void)s;
    for (size_t i = 0; i < n; i++) {
        size_t set = b->nset > 1 ? x[i].set : 0;
        float in[64];
        bool found = false;

        d->ops->read(d->self, b->prog[x[i].set].launch[0].arg[0].buffer, 0, in,
                     sizeof(in));
        for (size_t k = 0; k < 4; k++)
            found = found || !memcmp(in, seen[set][k], sizeof(in));
        if (found)
            continue;
        x[i].ns *= 3;
        memcpy(seen[set][next[set]++ % 4], in, sizeof(in));
    }
}

static void memory_by_inputs(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct ws__question q = t_question(1, 0, 0);
        struct once o;

        reset(NULL);
        t_script.after_run = kind ? by_inputs_and_place : by_inputs;
        once_begin(&o, GOOD);
        q.effort = WS__NORMAL;
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, WS__V_CHEAT);
        T_ASSERT_HAS(o.t[0].reason, "times longer on inputs");
        once_end(&o);
    }
}

/* Poison differs from batch to batch, and what another set held is gone. */
static void look_at_poison(struct t_script *s, struct ws__device *d,
                           const struct ws__dev_batch *b,
                           struct ws__dev_sample *x, size_t n)
{
    (void)d;
    (void)x;
    (void)n;
    if (s->runs == 1)
        assert_int_equal(b->prog[0].fill[0].pattern, 0xffffffffu);
    if (b->nset < WS__SETS)
        return;
    s->last_fills = b->prog[0].nfill;
    if (b->prog[0].fill[0].pattern != s->remembered)
        s->hints++;
    s->remembered = b->prog[0].fill[0].pattern;
}

static void poison_changes(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    t_script.after_run = look_at_poison;
    q.effort = WS__CONFIRM;
    q.pair = true;
    q.b.config.at[0] = 1;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(t_script.last_fills, 2); /* its own and the last one's */
    assert_true(t_script.hints > 2);
    once_end(&o);
}

/* ---- the device fails ---------------------------------------------------- */

/* A crash on a device that ran other candidates is tried again. */
static void crash_is_repeated(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    once_ask(&o, &q);
    q.a.config.at[0] = 1;
    t_script.code = WS_ECRASH;
    t_script.fail_at = t_script.calls + 12;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    assert_int_equal(t_script.opens, 2);
    once_end(&o);
}

/* On a device that ran nothing else, too. */
static void crash_is_seen_twice(void **state)
{
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (long at = 1; at < 20; at++) {
            struct once o;

            reset(NULL);
            once_begin(&o, GOOD);
            assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
            t_script.code = WS_ECRASH;
            t_script.fail_at = at;
            t_script.for_ever = for_ever;
            if (for_ever) {
                int rc = t_answer(o.m, &q, o.t);

                assert_true(rc == WS_EDEVICE ||
                            (rc == 0 && o.t[0].verdict == WS__V_CRASH));
            } else {
                once_ask(&o, &q);
                assert_int_equal(o.t[0].verdict, WS__V_OK);
            }
            assert_true(t_script.opens >= 2);
            once_end(&o);
        }
}

static void kills_are_no_crash(void **state)
{
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    for (long at = 1; at < 40; at++)
        for (long times = 2; times < 6; times++) {
            struct once o;
            int rc;

            reset(NULL);
            once_begin(&o, GOOD);
            assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
            t_script.signal = SIGKILL;
            t_script.code = WS_ECRASH;
            t_script.fail_at = at;
            t_script.times = times;
            rc = t_answer(o.m, &q, o.t);
            if (times <= WS__KILLS && rc < 0)
                fail_msg("%s", o.ctx->err.message);
            if (rc < 0)
                T_ASSERT_HAS(o.ctx->err.message, "was killed 4 times");
            else
                assert_int_equal(o.t[0].verdict, WS__V_OK);
            once_end(&o);
        }
}

static void kills_in_a_builder(void **state)
{
    struct ws__question q[2];
    struct ws__evaluator ev;
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    ev = ws__measure_evaluator(o.m);
    for (int i = 0; i < 2; i++)
        q[i] = t_question(1, i, 0);
    t_script.signal = SIGKILL;
    t_script.code = WS_ECRASH;
    t_script.fail_at = 1;
    t_script.times = 2;
    assert_int_equal(ev.ops->prefetch(ev.self, q, 2), 0);
    for (int i = 0; i < 2; i++) {
        once_ask(&o, &q[i]);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
    }
    once_end(&o);
}

/* A full disk is no property of a kernel. */
static void machine_cannot_build(void **state)
{
    static const int code[] = {WS_EBUILD, WS_ELAUNCH};
    struct ws__question q[2];

    (void)state;
    for (size_t i = 0; i < 2 * WS_COUNT(code); i++) {
        struct ws__evaluator ev;
        struct once o;

        reset(NULL);
        once_begin(&o, GOOD);
        assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
        ev = ws__measure_evaluator(o.m);
        q[0] = t_question(1, 0, 0);
        q[1] = t_question(2, 1, 0);
        t_script.code = code[i / 2];
        t_script.fail_at = 1;
        t_script.for_ever = true;
        if (i % 2)
            assert_int_equal(ev.ops->prefetch(ev.self, q, 2), 0);
        assert_int_equal(t_answer(o.m, &q[0], o.t), WS_EDEVICE);
        T_ASSERT_HAS(o.ctx->err.message, "even a trivial kernel: injected");
        T_ASSERT_HAS(o.ctx->err.hint, "cache folder");
        t_script.fail_at = 0; /* there is room again */
        once_ask(&o, &q[0]);
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        once_end(&o);
    }
}

static void cache_folder(void **state)
{
    static const struct {
        const char *dir;
        int rc;
    } c[] = {{"/proc/self", WS_EACCES}, {"/nonexistent/cache", 0}};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        struct ws_ctx_opts opts = {.size = sizeof(opts), .cache_dir = c[i].dir};
        struct ws_ctx *ctx = ws_ctx_new(&opts);

        assert_non_null(ctx);
        assert_int_equal(ws__measure_check_cache(ctx), c[i].rc);
        if (c[i].rc)
            T_ASSERT_HAS(ctx->err.hint, "WAVESMITH_CACHE");
        ws_ctx_free(ctx);
    }
}

/* Wherever a crash falls that does not come again, it is not blamed. */
static void one_crash_anywhere(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    long calls = 0;

    (void)state;
    for (long at = 1; at == 1 || at <= calls; at++) {
        struct once o;

        reset(NULL);
        once_begin(&o, GOOD);
        q.a.config.at[0] = 0;
        once_ask(&o, &q);
        calls = t_script.calls;
        q.a.config.at[0] = 1;
        t_script.code = WS_ECRASH;
        t_script.fail_at = calls + at;
        once_ask(&o, &q);
        calls = t_script.calls - calls;
        assert_int_equal(o.t[0].verdict, WS__V_OK);
        assert_int_equal(o.t[0].did, q.want);
        if (t_script.opens == 1)
            calls = 0; /* it fell behind the end */
        once_end(&o);
    }
}

static void another_device_comes_back(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    t_script.changes = true;
    once_begin(&o, GOOD);
    once_ask(&o, &q);
    q.a.config.at[0] = 1;
    t_script.code = WS_ECRASH;
    t_script.fail_at = t_script.calls + 12;
    t_clear(o.ctx, o.t);
    assert_int_equal(t_answer(o.m, &q, o.t), WS_ENODEVICE);
    T_ASSERT_HAS(o.ctx->err.message, "is not the one measured so far");
    once_end(&o);
}

static void device_does_not_come_back(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    once_ask(&o, &q);
    q.a.config.at[0] = 1;
    t_script.code = WS_ECRASH;
    t_script.fail_at = t_script.calls + 12;
    t_script.fail_opens = 3;
    t_clear(o.ctx, o.t);
    assert_int_equal(t_answer(o.m, &q, o.t), WS_ENODEVICE);
    t_clear(o.ctx, o.t);
    assert_int_equal(t_script.opens, 4);
    t_script.fail_opens = 2; /* fewer are borne */
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    once_end(&o);
}

/* A worker that a candidate has hurt may send anything. */
static void all_of_one(struct t_script *s, struct ws__device *d,
                       const struct ws__dev_batch *b, struct ws__dev_sample *x,
                       size_t n)
{
    (void)s;
    (void)d;
    for (size_t i = 0; b->nprog > 1 && i < n; i++)
        x[i].prog = 0;
}

static void one_missing(struct t_script *s, struct ws__device *d,
                        const struct ws__dev_batch *b, struct ws__dev_sample *x,
                        size_t n)
{
    (void)s;
    (void)d;
    if (b->nprog > 1)
        x[n - 1].prog = 2;
}

static void no_number(struct t_script *s, struct ws__device *d,
                      const struct ws__dev_batch *b, struct ws__dev_sample *x,
                      size_t n)
{
    (void)d;
    if (b->nprog > 1)
        x[n - 1].ns = s->runs % 2 ? NAN : INFINITY;
}

static void damaged_samples(void **state)
{
    void (*const how[])(struct t_script *, struct ws__device *,
                        const struct ws__dev_batch *, struct ws__dev_sample *,
                        size_t) = {all_of_one, one_missing, no_number};
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    q.pair = true;
    q.b.config.at[0] = 1;
    for (size_t i = 0; i < WS_COUNT(how); i++) {
        struct once o;

        reset(NULL);
        t_script.after_run = how[i];
        once_begin(&o, GOOD);
        assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
        assert_int_equal(t_answer(o.m, &q, o.t), WS_EDEVICE);
        T_ASSERT_HAS(o.ctx->err.message, "a sample of");
        once_end(&o);
    }
}

static double cancelled; /* the result of the first run */

/* One sum of many terms: mostly about 1. */
static int nearly_cancels(struct ws__reference *r, struct ws__problem *p)
{
    static const double others[] = {0.7, -1.2, 0.01, 0.5, -0.9};

    (void)r;
    p->result[1][0] =
        t_reference_runs ? others[t_reference_runs % 5] : cancelled;
    t_reference_runs++;
    return 0;
}

#define ZERO "kernel k\nmul 1 0 0\n"

/* A single result that is far smaller than what was summed: an honest kernel
 * errs as if it were not. */
static void single_result_cancels(void **state)
{
    static const struct {
        const char *source;
        double want;
        enum ws__verdict verdict;
        long runs;
    } row[] = {
        {ZERO "add 1 0.0000101\n", 1e-5, WS__V_OK, 10},
        {ZERO "add 1 0.00003\n", 1e-5, WS__V_WRONG, 10},
        {ZERO "add 1 1.0000001\n", 1, WS__V_OK, 1},
        {"kernel k\nadd 1 0\n", 1e-5, WS__V_WRONG, 1}, /* not written */
    };
    struct ws__question q = t_question(1, 0, 0);

    (void)state;
    q.want = WS__WANT_BUILD | WS__WANT_VERDICT;
    for (size_t i = 0; i < WS_COUNT(row); i++) {
        struct ws__measure_deps deps = t_deps;
        struct ws__measure_opts opts = {.builders = 1, .seed = 7};
        struct once o;

        reset(NULL);
        deps.reference_run = nearly_cancels;
        cancelled = row[i].want;
        once_begin(&o, row[i].source);
        o.c->workload[0].axis[0] = 1;
        o.c->op.tolerance =
            (struct ws__tolerance){.kind = WS__TOL_AUTO,
                                   .reduction = t_expr(o.c, "64"),
                                   .accumulate = WS__DT_F32};
        o.c->op.reference = "native"; /* no admission */
        assert_int_equal(ws__measure_open_with(o.ctx, &deps, &o.c->op,
                                               &o.c->kernel, 1, o.c->workload,
                                               1, &opts, &o.m),
                         0);
        once_ask(&o, &q);
        assert_int_equal(o.t[0].verdict, row[i].verdict);
        assert_int_equal(t_reference_runs, row[i].runs);
        once_end(&o);
    }
}

static void reference_fails(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    t_reference_rc = WS_EREFERENCE;
    assert_int_equal(t_answer(o.m, &q, o.t), WS_EREFERENCE);
    t_reference_rc = 0;
    once_ask(&o, &q);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    once_end(&o);
}

static void stopped(void **state)
{
    struct ws__question q = t_question(1, 0, 0);
    struct once o;

    (void)state;
    once_begin(&o, GOOD);
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    ws_ctx_cancel(o.ctx);
    assert_int_equal(t_answer(o.m, &q, o.t), WS_ECANCEL);
    once_end(&o);
}

/* ---- builders ----------------------------------------------------------- */

static void prefetched(void **state)
{
    struct ws__question q[4];
    struct ws__evaluator ev;
    struct once o;

    (void)state;
    once_begin(&o, "kernel k\nmul 1 0 2\ntime 10\n");
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    ev = ws__measure_evaluator(o.m);
    for (int i = 0; i < 4; i++)
        q[i] = t_question(1, i, 0);
    assert_int_equal(ev.ops->prefetch(ev.self, q, 4), 0);
    assert_int_equal(t_script.builds, 4); /* complete: it is a processor */
    assert_int_equal(t_script.hints, 4);
    assert_int_equal(ev.ops->prefetch(ev.self, q, 4), 0);
    assert_int_equal(t_script.builds, 4);
    once_ask(&o, &q[2]);
    assert_int_equal(o.t[0].verdict, WS__V_OK);
    once_end(&o);
}

static void prefetched_failure(void **state)
{
    struct ws__question q[2];
    struct ws__evaluator ev;
    struct once o;

    (void)state;
    once_begin(&o, "kernel k\nnonsense\n");
    assert_int_equal(t_measure_open(o.c, NULL, &o.m), 0);
    ev = ws__measure_evaluator(o.m);
    for (int i = 0; i < 2; i++)
        q[i] = t_question(1, i, 0);
    assert_int_equal(ev.ops->prefetch(ev.self, q, 2), 0);
    assert_int_equal(t_script.builds, 3); /* and one that is known to */
    once_ask(&o, &q[1]);
    assert_int_equal(o.t[0].verdict, WS__V_BUILD);
    T_ASSERT_HAS(o.t[0].reason, "nonsense");
    assert_int_equal(t_script.builds, 3);
    once_end(&o);
}

/* Where nothing is shared prefetch returns at once, an answer waits, and no
 * build launches anything. Two threads allocate: the counting allocator would
 * not do. */
static void prefetched_beside(void **state)
{
    struct ws__measure_opts opts = {.builders = 1, .cache = WS__CACHE_WARM};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct t_case *c = t_case_new(ctx, GOOD);
    struct ws__question q[3];
    struct ws__evaluator ev;
    struct ws__trial t[2];
    struct ws__measure *m;

    (void)state;
    t_script.not_cpu = true;
    assert_int_equal(t_measure_open(c, &opts, &m), 0);
    ev = ws__measure_evaluator(m);
    for (int i = 0; i < 3; i++)
        q[i] = t_question(1, i, 0);
    assert_int_equal(ev.ops->prefetch(ev.self, q, 3), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(t_answer(m, &q[i], t), 0);
        assert_int_equal(t[0].verdict, WS__V_OK);
        t_clear(ctx, t);
    }
    assert_true(t_script.builds >= 3);
    assert_int_equal(t_script.hints, 0);
    ws__measure_close(m);
    t_case_free(c);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(right, reset),
        cmocka_unit_test_setup(seed_depends_on_candidate, reset),
        cmocka_unit_test_setup(seed_depends_on_run, reset),
        cmocka_unit_test_setup(buffers, reset),
        cmocka_unit_test_setup(race, reset),
        cmocka_unit_test_setup(wrong, reset),
        cmocka_unit_test_setup(out_of_bounds, reset),
        cmocka_unit_test_setup(input_changed, reset),
        cmocka_unit_test_setup(refused, reset),
        cmocka_unit_test_setup(does_not_build, reset),
        cmocka_unit_test_setup(only_what_is_wanted, reset),
        cmocka_unit_test_setup(scratch_is_poisoned, reset),
        cmocka_unit_test_setup(zeroed_scratch, reset),
        cmocka_unit_test_setup(inout_is_restored, reset),
        cmocka_unit_test_setup(input_from_a_file, reset),
        cmocka_unit_test_setup(crash_and_hang, reset),
        cmocka_unit_test_setup(filter, reset),
        cmocka_unit_test_setup(variables, reset),
        cmocka_unit_test_setup(pair, reset),
        cmocka_unit_test_setup(pair_with_a_bad_one, reset),
        cmocka_unit_test_setup(slow_ones_stop_early, reset),
        cmocka_unit_test_setup(inner_grows, reset),
        cmocka_unit_test_setup(first_launch_of_a_sample, reset),
        cmocka_unit_test_setup(noise_takes_more, reset),
        cmocka_unit_test_setup(budget_ends_sampling, reset),
        cmocka_unit_test_setup(long_ones_are_few, reset),
        cmocka_unit_test_setup(cold_is_one_launch, reset),
        cmocka_unit_test_setup(flushing, reset),
        cmocka_unit_test_setup(too_fast, reset),
        cmocka_unit_test_setup(held_against_ceilings, reset),
        cmocka_unit_test_setup(work_behind_the_events, reset),
        cmocka_unit_test_setup(cheats_while_timed, reset),
        cmocka_unit_test_setup(remembers, reset),
        cmocka_unit_test_setup(memory_by_poison, reset),
        cmocka_unit_test_setup(memory_by_inputs, reset),
        cmocka_unit_test_setup(poison_changes, reset),
        cmocka_unit_test_setup(crash_is_repeated, reset),
        cmocka_unit_test_setup(crash_is_seen_twice, reset),
        cmocka_unit_test_setup(kills_are_no_crash, reset),
        cmocka_unit_test_setup(kills_in_a_builder, reset),
        cmocka_unit_test_setup(machine_cannot_build, reset),
        cmocka_unit_test_setup(cache_folder, reset),
        cmocka_unit_test_setup(one_crash_anywhere, reset),
        cmocka_unit_test_setup(another_device_comes_back, reset),
        cmocka_unit_test_setup(device_does_not_come_back, reset),
        cmocka_unit_test_setup(damaged_samples, reset),
        cmocka_unit_test_setup(reference_fails, reset),
        cmocka_unit_test_setup(single_result_cancels, reset),
        cmocka_unit_test_setup(stopped, reset),
        cmocka_unit_test_setup(prefetched, reset),
        cmocka_unit_test_setup(prefetched_failure, reset),
        cmocka_unit_test_setup(prefetched_beside, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
