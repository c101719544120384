/*
 * perf_core.c: what the parts of a tune cost that run in the tool's process:
 * evaluating a constraint, counting and sampling a space, the double-precision
 * reference, making inputs.
 *
 * Each figure stands beside its peer, the plain way to do the same, run in the
 * same process: compiled C for the constraint, the whole product with every
 * constraint for the count, three nested loops for the reference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "reference/reference.h"
#include "space/space.h"
#include "spec/spec.h"

#define ROUNDS 7 /* the least of these is reported */
#define EVALS 2000000

static volatile int64_t sink;

static double least(double a, double b)
{
    return a == 0 || b < a ? b : a;
}

static void figure(const char *name, double ours, double peer, double divide,
                   const char *unit)
{
    printf("bench %s %.4g %s\n", name, ours / divide, unit);
    printf("bench %s.peer %.4g %s\n", name, peer / divide, unit);
}

/* ---- a constraint ------------------------------------------------------ */

static int constraint(struct ws_ctx *ctx)
{
    const char *text = "32 <= bx * by <= 1024 and bx % 8 == 0";
    struct ws__arena arena;
    struct ws__strtab strings = {.arena = &arena};
    struct ws__scope scope = {.strings = &strings};
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
    struct ws__expr *e;
    double ours = 0, peer = 0;
    int rc;

    ws__arena_init(&arena, ctx);
    WS_TRY_DONE(ws__scope_add(ctx, &scope, "bx", WS__INT, NULL));
    WS_TRY_DONE(ws__scope_add(ctx, &scope, "by", WS__INT, NULL));
    WS_TRY_DONE(
        ws__expr_compile(ctx, &arena, text, NULL, &scope, WS__BOOL, &e));
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t t = ws__now_ns();

        for (int i = 0; i < EVALS; i++) {
            vars[0].i = i & 127;
            vars[1].i = i >> 7 & 63;
            sink += ws__expr_test(e, vars);
        }
        ours = least(ours, (double)(ws__now_ns() - t));
        t = ws__now_ns();
        for (int i = 0; i < EVALS; i++) {
            volatile int64_t bx = i & 127, by = i >> 7 & 63;

            sink += 32 <= bx * by && bx * by <= 1024 && bx % 8 == 0;
        }
        peer = least(peer, (double)(ws__now_ns() - t));
    }
    figure("constraint_ns", ours, peer, EVALS, "ns");
done:
    ws__arena_free(&arena);
    return rc;
}

/* ---- a space ----------------------------------------------------------- */

/* Counts by asking every config of the product. */
static int brute_count(struct ws__space *s, const struct ws__kernel *k,
                       uint64_t *out)
{
    struct ws__config c;
    size_t p;

    ws__config_default(k, &c);
    memset(c.at, 0, sizeof(c.at));
    *out = 0;
    do {
        int ok = ws__space_valid(s, &c, NULL);

        if (ok < 0)
            return ok;
        *out += (uint64_t)ok;
        for (p = 0; p < k->nparam && ++c.at[p] == k->param[p].nvalue; p++)
            c.at[p] = 0;
    } while (p < k->nparam);
    return 0;
}

static int space(struct ws_ctx *ctx)
{
    const char *root = getenv("WS_ROOT");
    struct ws__spec_opts o = {.share_dir = root ? root : "."};
    struct ws__spec *spec = NULL;
    struct ws__space *s = NULL;
    struct ws__rng rng;
    struct ws__config config[256];
    uint64_t valid, again, t;
    size_t got;
    double ours, peer, sample;
    int rc;

    WS_TRY_DONE(ws__spec_load(ctx, "ops/gemm", &o, &spec));
    t = ws__now_ns();
    WS_TRY_DONE(ws__space_new(ctx, &spec->kernel[0], NULL, false, false, &s));
    WS_TRY_DONE(ws__space_count(s, &valid));
    ours = (double)(ws__now_ns() - t);
    t = ws__now_ns();
    WS_TRY_DONE(brute_count(s, &spec->kernel[0], &again));
    peer = (double)(ws__now_ns() - t);
    if (valid != again) {
        rc = ws__fail(ctx, WS_EBUG, "the counts differ");
        goto done;
    }
    figure("space_count_us", ours, peer, 1e3, "us");
    ws__rng_seed(&rng, 1);
    t = ws__now_ns();
    WS_TRY_DONE(ws__space_sample(s, &rng, 256, config, &got));
    sample = (double)(ws__now_ns() - t);
    printf("bench space_sample_us %.4g us\n", sample / 1e3 / 256);
done:
    ws__space_free(s);
    ws__spec_free(spec);
    return rc;
}

/* ---- the reference ----------------------------------------------------- */

#define GM 32
#define GN 512
#define GK 1024

static void naive(const float *a, const float *w, double *c)
{
    for (int m = 0; m < GM; m++)
        for (int n = 0; n < GN; n++) {
            double sum = 0;

            for (int k = 0; k < GK; k++)
                sum += (double)a[m * GK + k] * (double)w[n * GK + k];
            c[m * GN + n] = sum;
        }
}

static struct ws__ref_tensor matrix(int64_t rows, int64_t cols, float *data,
                                    double *result)
{
    return (struct ws__ref_tensor){
        .dtype = WS__DT_F32,
        .ndim = 2,
        .dim = {rows, cols},
        .stride = {cols, 1},
        .elements = (uint64_t)(rows * cols),
        .data = data,
        .result = result,
    };
}

static int reference(struct ws_ctx *ctx)
{
    float *a = ws__alloc(ctx, GM * GK, sizeof(*a));
    float *w = ws__alloc(ctx, GN * GK, sizeof(*w));
    double *c = ws__alloc(ctx, GM * GN, sizeof(*c));
    const struct ws__native_reference *r = ws__native_find("gemm");
    int64_t axis[] = {GM, GN, GK, WS__DT_F32};
    struct ws__ref_tensor tensor[3];
    struct ws__ref_call call = {.axis = axis,
                                .naxis = 4,
                                .tensor = tensor,
                                .ntensor = 3,
                                .threads = 1,
                                .ctx = ctx};
    double ours = 0, peer = 0, flops = 2.0 * GM * GN * GK;
    int rc = a && w && c && r ? 0 : WS_ENOMEM;

    WS_TRY_DONE(rc);
    for (int i = 0; i < GM * GK; i++)
        a[i] = (float)(i % 17 - 8);
    for (int i = 0; i < GN * GK; i++)
        w[i] = (float)(i % 13 - 6);
    tensor[0] = matrix(GM, GK, a, NULL);
    tensor[1] = matrix(GN, GK, w, NULL);
    tensor[2] = matrix(GM, GN, NULL, c);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t t = ws__now_ns();

        WS_TRY_DONE(r->run(&call));
        ours = least(ours, (double)(ws__now_ns() - t));
        t = ws__now_ns();
        naive(a, w, c);
        peer = least(peer, (double)(ws__now_ns() - t));
    }
    printf("bench reference_gflops %.4g GFLOP/s\n", flops / ours);
    printf("bench reference_gflops.peer %.4g GFLOP/s\n", flops / peer);
done:
    ws__free(ctx, a);
    ws__free(ctx, w);
    ws__free(ctx, c);
    return rc;
}

int main(void)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    int rc = ctx ? constraint(ctx) : WS_ENOMEM;

    if (!rc)
        rc = space(ctx);
    if (!rc)
        rc = reference(ctx);
    if (rc)
        fprintf(stderr, "perf_core: %s\n",
                ctx ? ws_ctx_error(ctx)->message : "out of memory");
    ws_ctx_free(ctx);
    return rc ? 1 : 0;
}
