/*
 * reference.c: rows divided by their root mean square, times a weight, in
 * double precision.
 *
 * Squares of float32 are exact in double. A row is done by one thread, its
 * sum in eight lanes that are always the same elements, so the bits depend
 * neither on the number of threads nor on the width of vectors.
 *
 * It goes by the shapes of its tensors and by the constant EPS, not by axes:
 * an operator that lends it may name and order them as it likes.
 *
 * Mutants are the same loop with a mistake of the kind that kernels make.
 */
#include "reference/reference.h"

#include <math.h>

#include "base/clones.h"
#include "base/banned.h"

#define LANES 8u
#define RUN 1024u /* elements converted at a time; whole LANES */

struct norm {
    uint64_t rows, columns;
    uint64_t row; /* elements from one row to the next */
    const char *x;
    enum ws__dtype type;
    double *y, *weight;
    double eps;
    /* What mutants change. */
    uint64_t summed; /* columns whose squares are added */
    double count;    /* what the sum is divided by */
    bool outside;    /* EPS is added to the root */
    bool centred;    /* the variance instead of the mean of squares */
    bool unscaled;   /* by nothing */
};

WS__CLONES
static void add_squares(const double *v, size_t n, double *squares,
                        double *sums)
{
    for (size_t i = 0; i < n; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            squares[j] += v[i + j] * v[i + j];
            sums[j] += v[i + j];
        }
    }
}

static double total(const double *lane)
{
    double s = 0;

    for (size_t j = 0; j < LANES; j++)
        s += lane[j];
    return s;
}

/* Elements [at, at + RUN) of a row that ends at `end`; zeros behind that. */
static size_t load_run(const struct norm *g, uint64_t row, uint64_t at,
                       uint64_t end, double *v)
{
    size_t n = end - at < RUN ? (size_t)(end - at) : RUN;

    ws__dtype_load(g->type,
                   g->x + (row * g->row + at) * ws__dtype_bytes(g->type), v, n);
    for (size_t i = n; i % LANES; i++)
        v[i] = 0;
    return n;
}

/* What the elements of a row are multiplied by. */
static double scale_of(const struct norm *g, uint64_t row)
{
    double squares[LANES] = {0}, sums[LANES] = {0}, v[RUN], square, mean;

    if (g->unscaled)
        return 1;
    for (uint64_t at = 0; at < g->summed; at += RUN) {
        size_t n = load_run(g, row, at, g->summed, v);

        add_squares(v, n, squares, sums);
    }
    mean = total(sums) / g->count;
    square = total(squares) / g->count - (g->centred ? mean * mean : 0);
    return g->outside ? 1 / (sqrt(square) + g->eps) : 1 / sqrt(square + g->eps);
}

static int rows(void *user, uint64_t begin, uint64_t end)
{
    const struct norm *g = user;
    double v[RUN];

    for (uint64_t i = begin; i < end; i++) {
        double scale = scale_of(g, i);

        for (uint64_t at = 0; at < g->columns; at += RUN) {
            size_t n = load_run(g, i, at, g->columns, v);
            double *y = g->y + i * g->columns + at;

            for (size_t j = 0; j < n; j++)
                y[j] = v[j] * scale * g->weight[at + j];
        }
    }
    return 0;
}

enum { X, W, Y };

static int setup(const struct ws__ref_call *call, struct norm *g)
{
    const struct ws__ref_tensor *t = call->tensor;

    if (call->ntensor != 3 || t[X].ndim != 2 || t[W].ndim != 1 ||
        t[Y].ndim != 2 || t[W].dim[0] != t[X].dim[1] ||
        t[Y].dim[0] != t[X].dim[0] || t[Y].dim[1] != t[X].dim[1] ||
        t[X].stride[1] != 1 || t[W].stride[0] != 1)
        return ws__fail(call->ctx, WS_EREFERENCE,
                        "tensors are not hidden_states[B,H], weight[H] and "
                        "output[B,H]");
    *g = (struct norm){
        .rows = (uint64_t)t[X].dim[0],
        .columns = (uint64_t)t[X].dim[1],
        .row = (uint64_t)t[X].stride[0],
        .x = t[X].data,
        .type = t[X].dtype,
        .y = t[Y].result,
        .summed = (uint64_t)t[X].dim[1],
        .count = (double)t[X].dim[1],
    };
    WS_TRY(ws__ref_constant(call, "EPS", &g->eps));
    g->weight = ws__alloc(call->ctx, g->columns, sizeof(*g->weight));
    if (!g->weight)
        return WS_ENOMEM;
    ws__dtype_load(t[W].dtype, t[W].data, g->weight, (size_t)g->columns);
    return 0;
}

static int compute(const struct ws__ref_call *call, struct norm *g)
{
    return ws__parallel_for(call->ctx, call->threads, g->rows, rows, g);
}

static int run(const struct ws__ref_call *call)
{
    struct norm g = {.weight = NULL};
    int rc;

    rc = setup(call, &g);
    if (rc >= 0)
        rc = compute(call, &g);
    ws__free(call->ctx, g.weight);
    return rc;
}

/* --- mutants ------------------------------------------------------------- */

#define MUTANTS(X)                                                             \
    X(NO_EPS, "EPS left out")                                                  \
    X(OUTSIDE, "EPS added to the root")                                        \
    X(SUM, "sum instead of mean")                                              \
    X(PADDED, "mean over a multiple of 256 columns")                           \
    X(TAIL, "columns beyond a multiple of 32 not summed")                      \
    X(VARIANCE, "variance instead of the mean of squares")                     \
    X(UNSCALED, "not scaled")                                                  \
    X(ZEROS, "all zero")                                                       \
    X(NO_WEIGHT, "weight left out")                                            \
    X(NEXT_WEIGHT, "weight of the next column")                                \
    X(NEIGHBOUR, "columns exchanged in pairs")                                 \
    X(ROW, "last row not written")                                             \
    X(COLUMN, "last column not written")

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

#define PAD 256u
#define TAIL 32u
#define MANY 16u   /* fewer elements may be equal by chance */
#define LEAST 0.03 /* of a result: four times what bfloat16 hides */

static int no_mistake(const struct ws__ref_call *call, const char *why)
{
    return ws__fail(call->ctx, WS_ENOTSUP, "%s", why);
}

/* Does some row have plainly another scale? NaN is one. */
static bool shows(const struct norm *right, const struct norm *wrong)
{
    for (uint64_t i = 0; i < right->rows; i++) {
        double scale = scale_of(right, i);

        if (!(fabs(scale_of(wrong, i) - scale) <= LEAST * scale))
            return true;
    }
    return false;
}

static void next_weight(struct norm *g)
{
    double first = g->weight[0];

    memmove(g->weight, g->weight + 1,
            (size_t)(g->columns - 1) * sizeof(*g->weight));
    g->weight[g->columns - 1] = first;
}

/* Mistakes in the weights. */
static int prepare_weight(const struct ws__ref_call *call, enum mutant which,
                          struct norm *g)
{
    if (g->columns < MANY)
        return no_mistake(call, "too few columns to tell");
    if (which == MUTANT_NEXT_WEIGHT) {
        next_weight(g);
        return 0;
    }
    for (uint64_t i = 0; i < g->columns; i++)
        g->weight[i] = 1;
    return 0;
}

/* Mistakes in the scale. */
static int prepare_scale(const struct ws__ref_call *call, enum mutant which,
                         struct norm *g)
{
    struct norm right = *g;

    switch (which) {
    case MUTANT_NO_EPS:
        g->eps = 0;
        break;
    case MUTANT_OUTSIDE:
        g->outside = true;
        break;
    case MUTANT_SUM:
        g->count = 1;
        break;
    case MUTANT_PADDED:
        g->count = (double)((g->columns + PAD - 1) / PAD * PAD);
        break;
    case MUTANT_TAIL:
        g->summed -= g->columns % TAIL;
        break;
    case MUTANT_VARIANCE:
        g->centred = true;
        break;
    default:
        g->unscaled = true;
    }
    return shows(&right, g) ? 0 : no_mistake(call, "it makes no difference");
}

static int prepare(const struct ws__ref_call *call, enum mutant which,
                   struct norm *g)
{
    if (which <= MUTANT_UNSCALED)
        return prepare_scale(call, which, g);
    if (which == MUTANT_NO_WEIGHT || which == MUTANT_NEXT_WEIGHT)
        return prepare_weight(call, which, g);
    if (which == MUTANT_NEIGHBOUR &&
        (g->columns < 2 || g->columns * g->rows < MANY))
        return no_mistake(call, "too few columns to tell");
    return 0;
}

/* Mistakes in what is written. */
static void spoil(enum mutant which, struct norm *g)
{
    for (uint64_t i = 0; i < g->rows; i++) {
        double *y = g->y + i * g->columns;

        if (which == MUTANT_ZEROS || (which == MUTANT_ROW && i == g->rows - 1))
            memset(y, 0, (size_t)g->columns * sizeof(*y));
        if (which == MUTANT_COLUMN)
            y[g->columns - 1] = 0;
        for (uint64_t j = 0; which == MUTANT_NEIGHBOUR && j + 1 < g->columns;
             j += 2) {
            double first = y[j];

            y[j] = y[j + 1];
            y[j + 1] = first;
        }
    }
}

static int mutant(const struct ws__ref_call *call, size_t which)
{
    struct norm g = {.weight = NULL};
    int rc;

    rc = setup(call, &g);
    if (rc >= 0)
        rc = prepare(call, (enum mutant)which, &g);
    if (rc >= 0)
        rc = compute(call, &g);
    if (rc >= 0)
        spoil((enum mutant)which, &g);
    ws__free(call->ctx, g.weight);
    return rc;
}

extern const struct ws__native_reference ws__reference_rmsnorm;
const struct ws__native_reference ws__reference_rmsnorm = {
    .abi = 1,
    .name = "rmsnorm",
    .run = run,
    .nmutant = WS_COUNT(mutant_name),
    .mutant_name = mutant_name,
    .mutant = mutant,
};
