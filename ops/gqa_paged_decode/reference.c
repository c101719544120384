/*
 * reference.c: attention of one token a sequence over a paged cache, in double
 * precision, and the page tables that its inputs need.
 *
 * The plain formula in three steps over one sequence and one head of keys:
 * all logits, their largest, the weighted sum of the values. Kernels do it in
 * one pass with running maxima and in slices; here nothing is rescaled. A
 * sequence and head of keys belongs to one thread, and tokens are added in
 * order, so the bits do not depend on how many threads there are.
 *
 * It goes by the shapes of its tensors, not by axes: an operator that lends
 * it may name and order them as it likes. Page tables are inputs and not
 * trusted: what points outside of the cache is an error.
 *
 * Mutants are the same steps with a mistake of the kind that kernels make.
 */
#include "reference/reference.h"

#include <math.h>

#include "base/hash.h"

#include "base/clones.h"
#include "base/banned.h"

#define MAX_DIM 1024u
#define MAX_GROUP 8192u /* elements of queries that share keys */

enum { Q, K, V, INDPTR, INDICES, SCALE, OUTPUT, LSE, NTENSOR };

struct decode {
    const struct ws__ref_tensor *t;
    uint64_t batch, heads, kv_heads, dim, pages, tokens;
    const int32_t *begin, *page; /* kv_indptr, kv_indices */
    double scale;
    double *weight; /* logits, then weights: [token][head of queries] */
    /* What mutants change. */
    int64_t skip_last;     /* tokens left out at the end of a sequence */
    int64_t tail;          /* tokens beyond a multiple of it left out; or 0 */
    double lse_unit;       /* what the natural logarithm is divided by */
    bool modulo_heads;     /* head h has keys h % kv_heads */
    bool no_table;         /* token i has page i */
    bool even;             /* sequences are taken to be of one length */
    bool next_query;       /* the query of the next sequence */
    bool unnormalised;     /* the weighted sum is not divided */
    bool lse_without_most; /* the largest logit is not added again */
    bool plain_merge;      /* two halves are merged as if equal */
};

WS__CLONES
static double dot(const double *a, const double *b, size_t n)
{
    double lane[8] = {0}, s = 0;
    size_t i;

    for (i = 0; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; j++)
            lane[j] += a[i + j] * b[i + j];
    for (size_t j = 0; j < 8; j++)
        s += lane[j];
    for (; i < n; i++)
        s += a[i] * b[i];
    return s;
}

WS__CLONES
static void add_scaled(double *to, const double *v, double by, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += by * v[i];
}

/* Row (i, j) of the first and last but one dimension, `dim` elements. */
static void load_row(const struct ws__ref_tensor *t, uint64_t i, uint64_t j,
                     double *to)
{
    size_t n = (size_t)t->dim[t->ndim - 1];
    uint64_t at =
        i * (uint64_t)t->stride[0] + j * (uint64_t)t->stride[t->ndim - 2];

    ws__dtype_load(t->dtype,
                   (const char *)t->data + at * ws__dtype_bytes(t->dtype), to,
                   n);
}

static uint64_t page_of(const struct decode *g, int64_t token)
{
    if (g->no_table)
        return (uint64_t)token % g->pages;
    return (uint64_t)g->page[token];
}

static void tokens_of(const struct decode *g, uint64_t b, int64_t *from,
                      int64_t *to)
{
    int64_t n;

    *from = g->begin[b];
    *to = g->begin[b + 1];
    if (g->even) {
        *from = (int64_t)(g->tokens * b / g->batch);
        *to = (int64_t)(g->tokens * (b + 1) / g->batch);
    }
    n = *to - *from - g->skip_last;
    if (g->tail)
        n -= n % g->tail;
    *to = *from + (n > 0 ? n : 0);
}

/* The heads of queries that read head `kv` of the keys. */
static uint64_t head_of(const struct decode *g, uint64_t kv, uint64_t i)
{
    uint64_t group = g->heads / g->kv_heads;

    return g->modulo_heads ? i * g->kv_heads + kv : kv * group + i;
}

/* Logits of tokens [from, to) for all heads that share `kv`. */
static void logits(const struct decode *g, uint64_t b, uint64_t kv,
                   int64_t from, int64_t to)
{
    uint64_t group = g->heads / g->kv_heads;
    double q[MAX_GROUP], k[MAX_DIM];

    for (uint64_t i = 0; i < group; i++)
        load_row(&g->t[Q], g->next_query ? (b + 1) % g->batch : b,
                 head_of(g, kv, i), q + i * g->dim);
    for (int64_t j = from; j < to; j++) {
        load_row(&g->t[K], page_of(g, j), kv, k);
        for (uint64_t i = 0; i < group; i++)
            g->weight[(uint64_t)j * g->heads + head_of(g, kv, i)] =
                dot(q + i * g->dim, k, (size_t)g->dim) * g->scale;
    }
}

/* Two halves as if each had half of the weight. */
static void merge_plainly(const struct decode *g, uint64_t h, int64_t from,
                          int64_t to)
{
    int64_t middle = from + (to - from) / 2;
    double part[2] = {0, 0};

    for (int64_t j = from; j < to; j++)
        part[j >= middle] += g->weight[(uint64_t)j * g->heads + h];
    for (int64_t j = from; j < to && middle > from; j++)
        g->weight[(uint64_t)j * g->heads + h] *=
            (part[0] + part[1]) / (2 * part[j >= middle]);
}

/* Logits of head h become weights; the logarithm of their sum is written. */
static void soften(const struct decode *g, uint64_t b, uint64_t h, int64_t from,
                   int64_t to)
{
    double most = -HUGE_VAL, sum = 0, lse;

    for (int64_t j = from; j < to; j++)
        most = fmax(most, g->weight[(uint64_t)j * g->heads + h]);
    for (int64_t j = from; j < to; j++) {
        double *w = &g->weight[(uint64_t)j * g->heads + h];

        *w = exp(*w - most);
        sum += *w;
    }
    lse = from == to ? -HUGE_VAL : log(sum) + (g->lse_without_most ? 0 : most);
    g->t[LSE].result[b * g->heads + h] = lse / g->lse_unit;
    if (g->plain_merge)
        merge_plainly(g, h, from, to);
    for (int64_t j = from; j < to && !g->unnormalised; j++)
        g->weight[(uint64_t)j * g->heads + h] /= sum;
}

/* The weighted sums of values for all heads that share `kv`. */
static void values(const struct decode *g, uint64_t b, uint64_t kv,
                   int64_t from, int64_t to)
{
    double *out = g->t[OUTPUT].result + b * g->heads * g->dim, v[MAX_DIM];
    uint64_t group = g->heads / g->kv_heads;

    for (uint64_t i = 0; i < group; i++)
        memset(out + head_of(g, kv, i) * g->dim, 0,
               (size_t)g->dim * sizeof(*out));
    for (int64_t j = from; j < to; j++) {
        load_row(&g->t[V], page_of(g, j), kv, v);
        for (uint64_t i = 0; i < group; i++) {
            uint64_t h = head_of(g, kv, i);

            add_scaled(out + h * g->dim, v,
                       g->weight[(uint64_t)j * g->heads + h], (size_t)g->dim);
        }
    }
}

static int pairs(void *user, uint64_t begin, uint64_t end)
{
    const struct decode *g = user;

    for (uint64_t i = begin; i < end; i++) {
        uint64_t b = i / g->kv_heads, kv = i % g->kv_heads;
        int64_t from, to;

        tokens_of(g, b, &from, &to);
        logits(g, b, kv, from, to);
        for (uint64_t j = 0; j < g->heads / g->kv_heads; j++)
            soften(g, b, head_of(g, kv, j), from, to);
        values(g, b, kv, from, to);
    }
    return 0;
}

/* --- what it is given ---------------------------------------------------- */

static bool dims_are(const struct ws__ref_tensor *t, size_t ndim, uint64_t a,
                     uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t want[] = {a, b, c, d};

    if (t->ndim != ndim)
        return false;
    for (size_t i = 0; i < ndim; i++)
        if ((uint64_t)t->dim[i] != want[i])
            return false;
    return !ndim || t->stride[ndim - 1] == 1;
}

static bool shapes_fit(const struct ws__ref_call *call)
{
    const struct ws__ref_tensor *t = call->tensor;
    uint64_t b, h, d, p, kv;

    if (call->ntensor != NTENSOR || t[Q].ndim != 3 || t[K].ndim != 4 ||
        t[INDICES].ndim != 1)
        return false;
    b = (uint64_t)t[Q].dim[0];
    h = (uint64_t)t[Q].dim[1];
    d = (uint64_t)t[Q].dim[2];
    p = (uint64_t)t[K].dim[0];
    kv = (uint64_t)t[K].dim[2];
    return d <= MAX_DIM && h % kv == 0 && h / kv * d <= MAX_GROUP &&
           t[Q].stride[2] == 1 && dims_are(&t[K], 4, p, 1, kv, d) &&
           dims_are(&t[V], 4, p, 1, kv, d) &&
           dims_are(&t[INDPTR], 1, b + 1, 0, 0, 0) &&
           t[INDPTR].dtype == WS__DT_I32 && t[INDICES].dtype == WS__DT_I32 &&
           dims_are(&t[SCALE], 0, 0, 0, 0, 0) &&
           dims_are(&t[OUTPUT], 3, b, h, d, 0) &&
           dims_are(&t[LSE], 2, b, h, 0, 0);
}

static int check_table(const struct ws__ref_call *call, const struct decode *g)
{
    if (g->begin[0] != 0 || g->begin[g->batch] < 0 ||
        (uint64_t)g->begin[g->batch] != g->tokens)
        return ws__fail(call->ctx, WS_EREFERENCE,
                        "sequences hold tokens %d to %d, not 0 to %llu",
                        g->begin[0], g->begin[g->batch],
                        (unsigned long long)g->tokens);
    for (uint64_t b = 0; b < g->batch; b++)
        if (g->begin[b] > g->begin[b + 1])
            return ws__fail(call->ctx, WS_EREFERENCE,
                            "sequence %llu begins behind its end",
                            (unsigned long long)b);
    for (uint64_t i = 0; i < g->tokens; i++)
        if (g->page[i] < 0 || (uint64_t)g->page[i] >= g->pages)
            return ws__fail(call->ctx, WS_EREFERENCE,
                            "token %llu has page %d of %llu",
                            (unsigned long long)i, g->page[i],
                            (unsigned long long)g->pages);
    return 0;
}

static int setup(const struct ws__ref_call *call, struct decode *g)
{
    const struct ws__ref_tensor *t = call->tensor;

    if (!shapes_fit(call))
        return ws__fail(call->ctx, WS_EREFERENCE,
                        "tensors are not q[B,H,D], k_cache[P,1,KV,D], "
                        "v_cache, kv_indptr[B+1], kv_indices[N], sm_scale, "
                        "output[B,H,D] and lse[B,H]");
    *g = (struct decode){
        .t = t,
        .batch = (uint64_t)t[Q].dim[0],
        .heads = (uint64_t)t[Q].dim[1],
        .kv_heads = (uint64_t)t[K].dim[2],
        .dim = (uint64_t)t[Q].dim[2],
        .pages = (uint64_t)t[K].dim[0],
        .tokens = (uint64_t)t[INDICES].dim[0],
        .begin = t[INDPTR].data,
        .page = t[INDICES].data,
        .scale = ws__dtype_get(t[SCALE].dtype, t[SCALE].data, 0),
        .lse_unit = log(2),
    };
    WS_TRY(check_table(call, g));
    g->weight = ws__alloc(call->ctx, g->tokens * g->heads, sizeof(*g->weight));
    return g->weight ? 0 : WS_ENOMEM;
}

static int compute(const struct ws__ref_call *call, struct decode *g)
{
    return ws__parallel_for(call->ctx, call->threads, g->batch * g->kv_heads,
                            pairs, g);
}

static int run(const struct ws__ref_call *call)
{
    struct decode g = {.weight = NULL};
    int rc;

    rc = setup(call, &g);
    if (rc >= 0)
        rc = compute(call, &g);
    ws__free(call->ctx, g.weight);
    return rc;
}

/* --- inputs -------------------------------------------------------------- */

#define FLOOR                                                                  \
    0.25 /* the shortest share of a sequence: a fifth of the longest */

/* Ends of sequences: one token each if there are enough, the rest dealt out
 * in shares drawn by lot. */
static void deal_tokens(const struct ws__ref_call *call, int32_t *begin,
                        uint64_t batch, uint64_t tokens)
{
    uint64_t each = tokens >= batch ? 1 : 0, rest = tokens - each * batch;
    struct ws__rng rng;
    double whole = 0, part = 0;

    ws__rng_seed(&rng, call->seed);
    for (uint64_t b = 0; b < batch; b++)
        whole += FLOOR + ws__rng_unit(&rng);
    ws__rng_seed(&rng, call->seed);
    for (uint64_t b = 0; b < batch; b++) {
        begin[b] = (int32_t)(each * b + (uint64_t)((double)rest * part));
        part += (FLOOR + ws__rng_unit(&rng)) / whole;
    }
    begin[batch] = (int32_t)tokens;
}

/* The first `tokens` of a random order of the pages; with fewer pages than
 * tokens, any. */
static int draw_pages(const struct ws__ref_call *call, int32_t *page,
                      uint64_t tokens, uint64_t pages)
{
    struct ws__rng rng;
    int32_t *left;

    ws__rng_seed(&rng, ws__rng_at(call->seed, 1));
    if (pages < tokens) {
        for (uint64_t i = 0; i < tokens; i++)
            page[i] = (int32_t)ws__rng_below(&rng, pages);
        return 0;
    }
    left = ws__alloc(call->ctx, pages, sizeof(*left));
    if (!left)
        return WS_ENOMEM;
    for (uint64_t i = 0; i < pages; i++)
        left[i] = (int32_t)i;
    for (uint64_t i = 0; i < tokens; i++) {
        uint64_t j = i + ws__rng_below(&rng, pages - i);

        page[i] = left[j];
        left[j] = left[i];
    }
    ws__free(call->ctx, left);
    return 0;
}

static int generate(const struct ws__ref_call *call)
{
    const struct ws__ref_tensor *t = call->tensor;

    if (!shapes_fit(call))
        return ws__fail(call->ctx, WS_EREFERENCE,
                        "shapes are not those of a paged decode");
    if (t[INDPTR].fill_data)
        deal_tokens(call, t[INDPTR].fill_data, (uint64_t)t[Q].dim[0],
                    (uint64_t)t[INDICES].dim[0]);
    if (t[INDICES].fill_data)
        return draw_pages(call, t[INDICES].fill_data,
                          (uint64_t)t[INDICES].dim[0], (uint64_t)t[K].dim[0]);
    return 0;
}

/* --- mutants ------------------------------------------------------------- */

#define MUTANTS(X)                                                             \
    X(ZEROS, "all zero")                                                       \
    X(NO_SCALE, "sm_scale left out")                                           \
    X(LAST_TOKEN, "last token of each sequence left out")                      \
    X(TAIL, "tokens beyond a multiple of 16 left out")                         \
    X(WRONG_HEAD, "heads of keys taken in turn")                               \
    X(NO_TABLE, "page table ignored")                                          \
    X(EVEN, "sequences taken to be of one length")                             \
    X(NEXT_QUERY, "query of the next sequence")                                \
    X(UNNORMALISED, "output not divided by the sum")                           \
    X(PLAIN_MERGE, "two slices merged without their weights")                  \
    X(NATURAL, "natural logarithm in lse")                                     \
    X(NO_MOST, "largest logit left out of lse")                                \
    X(HEAD, "last head not written")                                           \
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

#define TAIL_TOKENS 16

static int no_mistake(const struct ws__ref_call *call, const char *why)
{
    return ws__fail(call->ctx, WS_ENOTSUP, "%s", why);
}

/* The pages that a sequence reads, in any order, as a number. */
static uint64_t pages_of(const struct decode *g, uint64_t b)
{
    uint64_t sum = 0;
    int64_t from, to;

    tokens_of(g, b, &from, &to);
    for (int64_t j = from; j < to; j++)
        sum += ws__rng_at(1, page_of(g, j));
    return sum;
}

/* Does any sequence read other pages than it should? */
static bool moves(const struct decode *right, const struct decode *wrong)
{
    for (uint64_t b = 0; b < right->batch; b++)
        if (pages_of(right, b) != pages_of(wrong, b))
            return true;
    return false;
}

static int64_t longest(const struct decode *g)
{
    int64_t most = 0;

    for (uint64_t b = 0; b < g->batch; b++)
        if (g->begin[b + 1] - g->begin[b] > most)
            most = g->begin[b + 1] - g->begin[b];
    return most;
}

/* The mistake made before the computation: changes g, or says that it would
 * be none. */
static int prepare(const struct ws__ref_call *call, enum mutant which,
                   struct decode *g)
{
    struct decode right = *g;

    switch (which) {
    case MUTANT_NO_SCALE:
        g->scale = 1;
        break;
    case MUTANT_LAST_TOKEN:
        g->skip_last = 1;
        break;
    case MUTANT_TAIL:
        g->tail = TAIL_TOKENS;
        return moves(&right, g) ? 0 : no_mistake(call, "there are no tails");
    case MUTANT_WRONG_HEAD:
        g->modulo_heads = true;
        if (g->kv_heads == 1 || g->kv_heads == g->heads)
            return no_mistake(call, "there is one way to pair heads");
        break;
    case MUTANT_NO_TABLE:
        g->no_table = true;
        return moves(&right, g) ? 0
                                : no_mistake(call, "the pages are the same");
    case MUTANT_EVEN:
        g->even = true;
        return moves(&right, g) ? 0 : no_mistake(call, "they are");
    case MUTANT_NEXT_QUERY:
        g->next_query = true;
        if (g->batch == 1)
            return no_mistake(call, "there is one sequence");
        break;
    case MUTANT_UNNORMALISED:
    case MUTANT_PLAIN_MERGE:
        g->unnormalised = which == MUTANT_UNNORMALISED;
        g->plain_merge = !g->unnormalised;
        if (longest(g) < 2)
            return no_mistake(call, "sequences have one token");
        if (g->plain_merge && g->pages == 1)
            return no_mistake(call, "all tokens have the same value");
        break;
    case MUTANT_NATURAL:
        g->lse_unit = 1;
        break;
    case MUTANT_NO_MOST:
        g->lse_without_most = true;
        break;
    case MUTANT_ZEROS:
    case MUTANT_HEAD:
    case MUTANT_COLUMN:
        break;
    }
    return 0;
}

/* Mistakes in what is written. */
static void spoil(enum mutant which, struct decode *g)
{
    for (uint64_t i = 0; i < g->batch * g->heads; i++) {
        double *out = g->t[OUTPUT].result + i * g->dim;

        if (which == MUTANT_ZEROS ||
            (which == MUTANT_HEAD && i % g->heads == g->heads - 1)) {
            memset(out, 0, (size_t)g->dim * sizeof(*out));
            g->t[LSE].result[i] = 0;
        }
        if (which == MUTANT_COLUMN)
            out[g->dim - 1] = 0;
    }
}

static int mutant(const struct ws__ref_call *call, size_t which)
{
    struct decode g = {.weight = NULL};
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

extern const struct ws__native_reference ws__reference_gqa_paged_decode;
const struct ws__native_reference ws__reference_gqa_paged_decode = {
    .abi = 1,
    .name = "gqa_paged_decode",
    .run = run,
    .generate = generate,
    .nmutant = WS_COUNT(mutant_name),
    .mutant_name = mutant_name,
    .mutant = mutant,
};
