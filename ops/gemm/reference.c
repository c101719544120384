/*
 * reference.c: C[M,N] = A[M,K] W[N,K]^T in double precision.
 *
 * Products of float32 are exact in double and the sums carry 29 more bits
 * than a float32 sum, so this is the truth that kernels are measured against.
 *
 * Written for speed, for every verdict waits for it: both operands are
 * converted into small panels that stay in the second-level cache (W: DEPTH x
 * PANEL columns, A: DEPTH x ROWS rows), and the innermost loop adds an outer
 * product of ROWS x LANES to sums in registers. Threads share out the
 * columns, so each result is computed by one thread in one order: the bits do
 * not depend on how many threads there are.
 *
 * Mutants are the same loop with a mistake of the kind that kernels make.
 */
#include "reference/reference.h"

#include "base/clones.h"
#include "base/banned.h"

#define LANES 8u   /* columns in one vector */
#define ROWS 4u    /* rows of sums in registers */
#define DEPTH 256u /* terms of K in a panel */
#define PANEL 96u  /* columns of a panel: 192 KiB of doubles */

typedef double lanes __attribute__((vector_size(64), aligned(8), may_alias));

struct gemm {
    uint64_t m, n, k; /* k: terms that are added */
    uint64_t row;     /* terms in a row of A and W */
    const char *a, *w;
    double *c;
    enum ws__dtype type;
    uint64_t depth;        /* terms between two roundings, at most DEPTH */
    enum ws__dtype round;  /* sums are rounded to this; NONE: not */
    enum ws__dtype inputs; /* operands are rounded to this; NONE: not */
    bool tf32;             /* operands are rounded to 11 significant bits */
};

/* x in 11 significant bits, to nearest even: what matrix units make of
 * float32 (x is one, so it is no subnormal double). */
static double to_tf32(double x)
{
    uint64_t u = ws__bits_of(x);

    return ws__double_of((u + (((uint64_t)1 << 41) - 1) + (u >> 42 & 1)) >>
                         42 << 42);
}

static void load_terms(const struct gemm *g, const char *from, uint64_t row,
                       uint64_t k, double *to, size_t n)
{
    uint16_t code[DEPTH];

    ws__dtype_load(g->type,
                   from + (row * g->row + k) * ws__dtype_bytes(g->type), to, n);
    for (size_t i = 0; g->tf32 && i < n; i++)
        to[i] = to_tf32(to[i]);
    if (!g->inputs)
        return;
    ws__dtype_store(g->inputs, to, code, n);
    ws__dtype_load(g->inputs, code, to, n);
}

/* `width` rows from `first` on, terms [k, k + depth), turned so that a term
 * of all rows is together; rows past the last are zero. */
static void pack(const struct gemm *g, const char *from, uint64_t first,
                 uint64_t rows, uint64_t k, size_t depth, size_t width,
                 double *to)
{
    double line[DEPTH];

    for (size_t r = 0; r < width; r++) {
        if (first + r < rows)
            load_terms(g, from, first + r, k, line, depth);
        else
            memset(line, 0, sizeof(line));
        for (size_t i = 0; i < depth; i++)
            to[i * width + r] = line[i];
    }
}

/* sums[ROWS][LANES] = the outer products of `depth` terms, added up. */
WS__CLONES
static void multiply(const double *a, const double *w, size_t depth,
                     double *sums)
{
    lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};

    for (size_t i = 0; i < depth; i++) {
        lanes v = *(const lanes *)(const void *)(w + i * LANES);

        s0 += a[i * ROWS] * v;
        s1 += a[i * ROWS + 1] * v;
        s2 += a[i * ROWS + 2] * v;
        s3 += a[i * ROWS + 3] * v;
    }
    memcpy(sums, &s0, sizeof(s0));
    memcpy(sums + LANES, &s1, sizeof(s1));
    memcpy(sums + 2 * LANES, &s2, sizeof(s2));
    memcpy(sums + 3 * LANES, &s3, sizeof(s3));
}

/* Adds one block of sums to C, as far as C reaches. */
static void add_block(const struct gemm *g, const double *sums, uint64_t m,
                      uint64_t n)
{
    uint16_t code[LANES];

    for (uint64_t r = 0; r < ROWS && m + r < g->m; r++) {
        double *c = g->c + (m + r) * g->n + n;
        size_t width = g->n - n < LANES ? (size_t)(g->n - n) : LANES;

        for (size_t j = 0; j < width; j++)
            c[j] += sums[r * LANES + j];
        if (!g->round)
            continue;
        ws__dtype_store(g->round, c, code, width);
        ws__dtype_load(g->round, code, c, width);
    }
}

static void panel(const struct gemm *g, uint64_t n, uint64_t columns,
                  uint64_t k, double *w, double *a)
{
    size_t depth = g->k - k < g->depth ? (size_t)(g->k - k) : g->depth;
    double sums[ROWS * LANES];

    for (uint64_t j = 0; j < columns; j += LANES)
        pack(g, g->w, n + j, g->n, k, depth, LANES, w + j * DEPTH);
    for (uint64_t m = 0; m < g->m; m += ROWS) {
        pack(g, g->a, m, g->m, k, depth, ROWS, a);
        for (uint64_t j = 0; j < columns; j += LANES) {
            multiply(a, w + j * DEPTH, depth, sums);
            add_block(g, sums, m, n + j);
        }
    }
}

/* Columns [begin, end) * LANES of C. */
static int columns(void *user, uint64_t begin, uint64_t end)
{
    const struct gemm *g = user;
    double w[DEPTH * PANEL], a[DEPTH * ROWS];
    uint64_t last = end * LANES < g->n ? end * LANES : g->n;

    for (uint64_t m = 0; m < g->m; m++)
        memset(g->c + m * g->n + begin * LANES, 0,
               (last - begin * LANES) * sizeof(double));
    for (uint64_t n = begin * LANES; n < last; n += PANEL) {
        uint64_t width = last - n < PANEL ? last - n : PANEL;

        for (uint64_t k = 0; k < g->k; k += g->depth)
            panel(g, n, width, k, w, a);
    }
    return 0;
}

enum { A, W, C };

static int setup(const struct ws__ref_call *call, struct gemm *g)
{
    const struct ws__ref_tensor *t = call->tensor;

    if (call->ntensor != 3 || t[A].ndim != 2 || t[W].ndim != 2 ||
        t[C].ndim != 2 || t[A].dim[1] != t[W].dim[1] ||
        t[C].dim[0] != t[A].dim[0] || t[C].dim[1] != t[W].dim[0] ||
        t[A].stride[0] != t[A].dim[1] || t[W].stride[0] != t[W].dim[1])
        return ws__fail(call->ctx, WS_EREFERENCE,
                        "tensors are not A[M,K], W[N,K] and C[M,N]");
    *g = (struct gemm){
        .m = (uint64_t)t[A].dim[0],
        .n = (uint64_t)t[W].dim[0],
        .k = (uint64_t)t[A].dim[1],
        .row = (uint64_t)t[A].dim[1],
        .a = t[A].data,
        .w = t[W].data,
        .c = t[C].result,
        .type = t[A].dtype,
        .depth = DEPTH,
    };
    return 0;
}

static int compute(const struct ws__ref_call *call, struct gemm *g)
{
    return ws__parallel_for(call->ctx, call->threads,
                            (g->n + LANES - 1) / LANES, columns, g);
}

static int run(const struct ws__ref_call *call)
{
    struct gemm g;

    WS_TRY(setup(call, &g));
    return compute(call, &g);
}

/* --- mutants ------------------------------------------------------------- */

#define MUTANTS(X)                                                             \
    X(ZEROS, "all zero")                                                       \
    X(LAST_TERM, "last term of K left out")                                    \
    X(ROW, "last row not written")                                             \
    X(TILE, "last tile of 16 x 16 not written")                                \
    X(TAIL_N, "columns beyond a multiple of 32 not written")                   \
    X(TAIL_K, "terms beyond a multiple of 32 left out")                        \
    X(NEIGHBOUR, "columns exchanged in pairs")                                 \
    X(INPUTS, "operands cut to bfloat16")                                      \
    X(TF32, "operands cut to tf32")                                            \
    X(ACCUMULATE, "sums kept in float16")                                      \
    X(ACCUMULATE_BF16, "sums kept in bfloat16")

enum mutant {
#define WS_X(name, text) MUTANT_##name,
    MUTANTS(WS_X)
#undef WS_X
};

static const char *const mutant_name[] = {
#define WS_X(name, text) text,
    MUTANTS(WS_X)
#undef WS_X
};

#define TAIL 32u
#define TILE 16u
/* Rounding of sums shows only after some sums, and against the rounding of
 * a 16-bit output only in results that happen to be small. */
#define MANY_TERMS 256u
#define MANY_RESULTS 256u
/* Beyond it a float32 sum may err, in units that cut off, as tf32 does. */
#define LONG_SUM 16384u

static int no_mistake(const struct ws__ref_call *call, const char *why)
{
    return ws__fail(call->ctx, WS_ENOTSUP, "%s", why);
}

static void clear(struct gemm *g, uint64_t m, uint64_t n)
{
    for (uint64_t i = m; i < g->m; i++)
        for (uint64_t j = n; j < g->n; j++)
            g->c[i * g->n + j] = 0;
}

static void exchange(struct gemm *g)
{
    for (uint64_t i = 0; i < g->m; i++) {
        for (uint64_t j = 0; j + 1 < g->n; j += 2) {
            double *c = g->c + i * g->n + j, first = c[0];

            c[0] = c[1];
            c[1] = first;
        }
    }
}

/* The mistake made before the computation: changes g, or says that it would
 * be none. */
static int prepare(const struct ws__ref_call *call, enum mutant which,
                   struct gemm *g)
{
    switch (which) {
    case MUTANT_LAST_TERM:
        g->k--;
        break;
    case MUTANT_TAIL_N:
        if (g->n % TAIL == 0)
            return no_mistake(call, "N has no tail");
        break;
    case MUTANT_TAIL_K:
        if (g->k % TAIL == 0)
            return no_mistake(call, "K has no tail");
        g->k -= g->k % TAIL;
        break;
    case MUTANT_NEIGHBOUR:
        if (g->n < 2)
            return no_mistake(call, "there is one column");
        break;
    case MUTANT_INPUTS:
        if (g->type == WS__DT_BF16)
            return no_mistake(call, "operands are bfloat16");
        g->inputs = WS__DT_BF16;
        break;
    case MUTANT_TF32:
        if (g->type != WS__DT_F32)
            return no_mistake(call, "tf32 holds operands of 16 bits");
        if (g->k > LONG_SUM || g->m * g->n < MANY_RESULTS)
            return no_mistake(call, "too few results, or too long sums");
        g->tf32 = true;
        break;
    case MUTANT_ACCUMULATE:
    case MUTANT_ACCUMULATE_BF16:
        if (g->k < MANY_TERMS || g->m * g->n < MANY_RESULTS)
            return no_mistake(call, "too few sums to tell");
        g->round = which == MUTANT_ACCUMULATE ? WS__DT_F16 : WS__DT_BF16;
        g->depth = 4;
        break;
    case MUTANT_ZEROS:
    case MUTANT_ROW:
    case MUTANT_TILE:
        break;
    }
    return 0;
}

static int mutant(const struct ws__ref_call *call, size_t which)
{
    struct gemm g;

    WS_TRY(setup(call, &g));
    WS_TRY(prepare(call, (enum mutant)which, &g));
    WS_TRY(compute(call, &g));
    if (which == MUTANT_ZEROS)
        clear(&g, 0, 0);
    else if (which == MUTANT_ROW)
        clear(&g, g.m - 1, 0);
    else if (which == MUTANT_TILE)
        clear(&g, (g.m - 1) / TILE * TILE, (g.n - 1) / TILE * TILE);
    else if (which == MUTANT_TAIL_N)
        clear(&g, 0, g.n - g.n % TAIL);
    else if (which == MUTANT_NEIGHBOUR)
        exchange(&g);
    return 0;
}

extern const struct ws__native_reference ws__reference_gemm;
const struct ws__native_reference ws__reference_gemm = {
    .abi = 1,
    .name = "gemm",
    .run = run,
    .nmutant = WS_COUNT(mutant_name),
    .mutant_name = mutant_name,
    .mutant = mutant,
};
