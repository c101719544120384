/*
 * recordings.c: what was recorded, by the hash of what it is about.
 *
 * A result of a file is about a config of a kernel on a workload of this
 * specification, and is kept under the hash of these three. A stored trial
 * knows no indices that would hold here, but the content of its candidate and
 * its workload: it is kept under these two hashes, and a question is turned
 * into them only if there are such trials, since that needs the final source.
 * Neither keeps the config itself, so a row costs some 60 bytes and its
 * samples.
 *
 * Answers cost no time: spent_ns is 0, whatever the recording did cost. A
 * pair is answered by two recorded trials that share a block, which here says
 * only that they were asked for together.
 */
#include <math.h>

#include "recordings/recordings.h"

#include "base/fs.h"

#include "base/banned.h"

#define WANT_ALL (WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_TIME)

struct row {
    struct ws__hash key;
    struct ws__resources res;
    uint32_t mhz;
    size_t sample, nsample; /* place in `samples` */
    const char *reason;     /* in the arena, or NULL */
    enum ws__verdict verdict;
    enum ws__effort effort;
    uint32_t line;
};

struct ws__recordings {
    struct ws_ctx *ctx;
    const struct ws__kernel *kernel;
    const struct ws__workload *workload;
    size_t nkernel, nworkload;
    struct ws__instance **instance; /* of the workloads; made when needed */
    struct row *row;
    size_t n, cap;
    size_t *index, nindex; /* open hash: number of the row plus one */
    double *samples;
    size_t nsamples, samples_cap;
    const char *last_reason;
    bool has_trials;
    struct ws__arena arena;
    struct ws__identity id;
};

int ws__recordings_new(struct ws_ctx *ctx, const struct ws__kernel *kernel,
                       size_t nkernel, const struct ws__workload *workload,
                       size_t nworkload, struct ws__recordings **out)
{
    struct ws__recordings *r = ws__alloc(ctx, 1, sizeof(*r));

    *out = NULL;
    if (!r)
        return WS_ENOMEM;
    r->ctx = ctx;
    r->kernel = kernel;
    r->nkernel = nkernel;
    r->workload = workload;
    r->nworkload = nworkload;
    ws__arena_init(&r->arena, ctx);
    r->instance = ws__alloc(ctx, nworkload + 1, sizeof(*r->instance));
    if (!r->instance) {
        ws__free(ctx, r);
        return WS_ENOMEM;
    }
    snprintf(r->id.family, sizeof(r->id.family), "recordings");
    snprintf(r->id.tool, sizeof(r->id.tool), "wavesmith " WS_VERSION);
    *out = r;
    return 0;
}

void ws__recordings_free(struct ws__recordings *r)
{
    if (!r)
        return;
    for (size_t w = 0; w < r->nworkload; w++)
        ws__free(r->ctx, r->instance[w]);
    ws__free(r->ctx, r->instance);
    ws__free(r->ctx, r->row);
    ws__free(r->ctx, r->index);
    ws__free(r->ctx, r->samples);
    ws__arena_free(&r->arena);
    ws__free(r->ctx, r);
}

uint64_t ws__recordings_count(const struct ws__recordings *r)
{
    return r->n;
}

/* --- keys ------------------------------------------------------------------
 */

static struct ws__hash config_key(uint32_t kernel, uint32_t workload,
                                  const struct ws__config *c)
{
    struct ws__hash h = {6, kernel};

    return ws__hash_mix(ws__hash_u64(h, workload), c, sizeof(*c));
}

static struct ws__hash content_key(struct ws__hash candidate,
                                   struct ws__hash workload)
{
    struct ws__hash h =
        ws__hash_mix((struct ws__hash){7, 0}, &candidate, sizeof(candidate));

    return ws__hash_mix(h, &workload, sizeof(workload));
}

static int instance_of(struct ws__recordings *r, uint32_t w,
                       struct ws__instance **out)
{
    const struct ws__op *op = r->kernel[0].op;

    *out = r->instance[w];
    if (*out)
        return 0;
    *out = ws__alloc(r->ctx, 1, sizeof(**out));
    if (!*out)
        return WS_ENOMEM;
    r->instance[w] = *out;
    return ws__instance_make(r->ctx, op, &r->workload[w], *out);
}

/* As the engine computes them; a space without a source has an empty one. */
static int candidate_hash(struct ws__recordings *r,
                          const struct ws__candidate *c, uint32_t w,
                          struct ws__hash *out)
{
    const struct ws__kernel *k = &r->kernel[c->kernel];
    struct ws__instance *in;
    char *text;

    if (!k->source) {
        *out = ws__candidate_hash(k, &c->config, "");
        return 0;
    }
    WS_TRY(instance_of(r, w, &in));
    WS_TRY(ws__kernel_source(r->ctx, k, &c->config, in, &text));
    *out = ws__candidate_hash(k, &c->config, text);
    ws__free(r->ctx, text);
    return 0;
}

static struct ws__hash workload_hash(const struct ws__recordings *r, uint32_t w)
{
    static const struct ws__hash none;
    const struct ws__op *op = r->kernel[0].op;

    return op ? ws__workload_hash(op, &r->workload[w]) : none;
}

/* --- the table -------------------------------------------------------------
 */

static size_t place(const struct ws__recordings *r, struct ws__hash key)
{
    size_t i = (size_t)key.lo & (r->nindex - 1);

    while (r->index[i] && !ws__hash_eq(r->row[r->index[i] - 1].key, key))
        i = (i + 1) & (r->nindex - 1);
    return i;
}

static struct row *find(const struct ws__recordings *r, struct ws__hash key)
{
    size_t i = r->nindex ? place(r, key) : 0;

    return r->nindex && r->index[i] ? &r->row[r->index[i] - 1] : NULL;
}

static int reindex(struct ws__recordings *r)
{
    size_t n = r->nindex ? r->nindex * 2 : 256;
    size_t *index = ws__alloc(r->ctx, n, sizeof(*index));

    if (!index)
        return WS_ENOMEM;
    ws__free(r->ctx, r->index);
    r->index = index;
    r->nindex = n;
    for (size_t i = 0; i < r->n; i++)
        r->index[place(r, r->row[i].key)] = i + 1;
    return 0;
}

/* Neighbours mostly fail for the same reason: kept once. */
static int keep_reason(struct ws__recordings *r, const char *reason,
                       const char **out)
{
    *out = NULL;
    if (!reason)
        return 0;
    if (!r->last_reason || strcmp(r->last_reason, reason) != 0)
        r->last_reason = ws__arena_strdup(&r->arena, reason);
    *out = r->last_reason;
    return *out ? 0 : WS_ENOMEM;
}

static int keep_samples(struct ws__recordings *r, const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        WS_TRY(ws__grow(r->ctx, (void **)&r->samples, &r->samples_cap,
                        r->nsamples, sizeof(*r->samples)));
        r->samples[r->nsamples++] = v[i];
    }
    return 0;
}

/* Fills the row of a key, a new one if there is none. */
static int put(struct ws__recordings *r, struct row *row, const char *reason,
               const double *samples)
{
    struct row *at = find(r, row->key);

    WS_TRY(keep_reason(r, reason, &row->reason));
    row->sample = r->nsamples;
    WS_TRY(keep_samples(r, samples, row->nsample));
    if (at) {
        *at = *row;
        return 0;
    }
    if ((r->n + 1) * 2 > r->nindex)
        WS_TRY(reindex(r));
    WS_TRY(ws__grow(r->ctx, (void **)&r->row, &r->cap, r->n, sizeof(*r->row)));
    r->row[r->n++] = *row;
    r->index[place(r, row->key)] = r->n;
    return 0;
}

/* --- from files ------------------------------------------------------------
 */

struct reading {
    struct ws__recordings *r;
    const char *path;
};

/* "'BM=8' on 'M=1'" */
static int print_subject(struct ws__recordings *r, const struct ws__kernel *k,
                         const struct ws__config *c, uint32_t w,
                         struct ws__buf *b)
{
    ws__buf_puts(b, "'");
    ws__config_print(b, k, c);
    if (k->op) {
        ws__buf_puts(b, "' on '");
        ws__workload_print(b, k->op, &r->workload[w]);
    }
    return ws__buf_puts(b, "'");
}

static int twice(const struct reading *rd, const struct ws__result *res,
                 const struct row *first)
{
    struct ws__recordings *r = rd->r;
    struct ws__loc loc = {.file = rd->path, .line = res->line};
    struct ws__buf b;

    ws__buf_init(&b, r->ctx, 1 << 16);
    if (print_subject(r, r->kernel, &res->config, res->workload, &b) >= 0) {
        ws__fail_at(r->ctx, WS_ESPEC, &loc, "a second result of %.600s",
                    b.data);
        if (first->line)
            ws__hint(r->ctx,
                     "the first is in line %u; select one of each: "
                     "--where COLUMN=VALUE",
                     first->line);
        else
            ws__hint(r->ctx, "is a parameter of the file missing in the "
                             "space?");
    }
    ws__buf_free(&b);
    return r->ctx->err.code;
}

static int take_result(void *user, const struct ws__result *res)
{
    struct reading *rd = user;
    struct row row = {.key = config_key(0, res->workload, &res->config),
                      .res = {.build_ns = res->build_ns,
                              .blocks_per_unit = res->blocks_per_unit,
                              .registers = res->registers,
                              .spill_bytes = res->spill_bytes},
                      .mhz = res->mhz,
                      .verdict = res->verdict,
                      .nsample = res->nsample,
                      .effort = WS__CONFIRM,
                      .line = res->line};
    const struct row *first = find(rd->r, row.key);

    return first ? twice(rd, res, first)
                 : put(rd->r, &row, res->reason, res->sample_ns);
}

/* "convolution__A100" of "data/convolution__A100.csv.gz" */
static void name_device(struct ws__recordings *r, const char *path,
                        const char *device)
{
    static const char *const ends[] = {".gz", ".csv", ".json"};
    const char *base = ws__path_base(path);
    size_t n = strlen(base);

    for (size_t i = 0; i < WS_COUNT(ends); i++) {
        size_t e = strlen(ends[i]);

        if (n > e && !strncmp(base + n - e, ends[i], e))
            n -= e;
    }
    if (*device)
        snprintf(r->id.device, sizeof(r->id.device), "%s", device);
    else
        snprintf(r->id.device, sizeof(r->id.device), "%.*s", (int)n, base);
}

int ws__recordings_add_file(struct ws__recordings *r, const char *path,
                            const char *where, const char *time,
                            struct ws__results_report *report)
{
    struct ws__results_spec about = {.kernel = r->kernel,
                                     .workload = r->workload,
                                     .nworkload = r->nworkload,
                                     .where = where,
                                     .time = time};
    struct reading rd = {r, path};

    memset(report, 0, sizeof(*report));
    if (r->nkernel != 1) {
        ws__fail(r->ctx, WS_EINVAL,
                 "'%s' holds results of one kernel, but there are %zu", path,
                 r->nkernel);
        return ws__hint(r->ctx, "give the file of that kernel as the "
                                "specification");
    }
    WS_TRY(ws__results_read(r->ctx, &about, path, take_result, &rd, report));
    name_device(r, path, report->device);
    return 0;
}

/* --- from a store ----------------------------------------------------------
 */

/* A store may have been edited: what cannot be a time answers nothing. */
static bool has_times(const struct ws__trial *t)
{
    for (size_t i = 0; i < t->nsample; i++)
        if (!isfinite(t->sample_ns[i]) || !(t->sample_ns[i] > 0))
            return false;
    return t->nsample > 0;
}

int ws__recordings_add_trial(struct ws__recordings *r,
                             const struct ws__trial *t)
{
    struct row row = {.key = content_key(t->candidate_hash, t->workload_hash),
                      .res = t->res,
                      .mhz = t->mhz,
                      .verdict = t->verdict,
                      .nsample = t->verdict == WS__V_OK ? t->nsample : 0,
                      .effort = t->effort};
    const struct row *was = find(r, row.key);

    if (t->block || t->verdict == WS__V_NONE ||
        (t->verdict == WS__V_OK && !has_times(t)) ||
        (was && was->effort > row.effort))
        return 0;
    r->has_trials = true;
    return put(r, &row, t->reason, t->sample_ns);
}

/* --- identity --------------------------------------------------------------
 */

void ws__recordings_seal(struct ws__recordings *r, const char *device)
{
    struct ws__hash h = {8, r->n};
    char hex[33];

    for (size_t i = 0; i < r->n; i++) {
        const struct row *row = &r->row[i];

        h = ws__hash_mix(h, &row->key, sizeof(row->key));
        h = ws__hash_u64(h, (uint64_t)row->verdict);
        h = ws__hash_str(h, row->reason);
        h = ws__hash_mix(h, r->samples + row->sample,
                         row->nsample * sizeof(*r->samples));
    }
    ws__hash_hex(h, hex);
    if (device)
        snprintf(r->id.device, sizeof(r->id.device), "%s", device);
    snprintf(r->id.protocol, sizeof(r->id.protocol), "recorded %s", hex);
    ws__identity_seal(&r->id);
}

/* --- answers ---------------------------------------------------------------
 */

static int look_up(struct ws__recordings *r, const struct ws__candidate *c,
                   uint32_t w, struct row **out)
{
    struct ws__hash h;

    *out = find(r, config_key(c->kernel, w, &c->config));
    if (*out || !r->has_trials)
        return 0;
    WS_TRY(candidate_hash(r, c, w, &h));
    *out = find(r, content_key(h, workload_hash(r, w)));
    return 0;
}

static int miss(struct ws__recordings *r, const struct ws__candidate *c,
                uint32_t w)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, r->ctx, 1 << 16);
    rc = print_subject(r, &r->kernel[c->kernel], &c->config, w, &b);
    if (rc >= 0) {
        rc = ws__fail(r->ctx, WS_EMISS, "no result of %.800s is recorded",
                      b.data);
        ws__hint(r->ctx, "recordings answer what they hold; measure the rest "
                         "on a device");
    }
    ws__buf_free(&b);
    return rc;
}

/* What was done to get a verdict, at least. */
static unsigned done_for(enum ws__verdict v)
{
    switch (v) {
    case WS__V_OK:
        return WANT_ALL;
    case WS__V_FILTERED:
        return 0;
    case WS__V_BUILD:
        return WS__WANT_BUILD;
    default:
        return WS__WANT_BUILD | WS__WANT_VERDICT;
    }
}

static int answer_one(struct ws__recordings *r, const struct ws__question *q,
                      const struct ws__candidate *c, struct ws__trial *out)
{
    struct row *row;

    WS_TRY(look_up(r, c, q->workload, &row));
    if (!row)
        return miss(r, c, q->workload);
    out->question = q->id;
    out->candidate = *c;
    out->workload = q->workload;
    out->effort = q->effort;
    out->did = done_for(row->verdict);
    out->verdict = row->verdict;
    out->res = row->res;
    out->mhz = row->mhz;
    out->inner = 1;
    out->workload_hash = workload_hash(r, q->workload);
    if (!r->kernel[c->kernel].source)
        WS_TRY(candidate_hash(r, c, q->workload, &out->candidate_hash));
    if (row->reason)
        WS_TRY(ws__trial_set_reason(r->ctx, out, "%s", row->reason));
    if (!row->nsample)
        return 0;
    out->sample_ns = ws__alloc(r->ctx, row->nsample, sizeof(double));
    if (!out->sample_ns)
        return WS_ENOMEM;
    memcpy(out->sample_ns, r->samples + row->sample,
           row->nsample * sizeof(double));
    out->nsample = row->nsample;
    return 0;
}

/* The same for the same pair, in every run. */
static uint64_t block_of(const struct ws__question *q)
{
    struct ws__hash h = config_key(q->a.kernel, q->workload, &q->a.config);

    h = ws__hash_u64(h, q->b.kernel);
    return ws__hash_mix(h, &q->b.config, sizeof(q->b.config)).lo >> 1 | 1;
}

static int answer(void *self, const struct ws__question *q,
                  struct ws__trial *out)
{
    struct ws__recordings *r = self;

    WS_TRY(answer_one(r, q, &q->a, &out[0]));
    if (!q->pair)
        return 0;
    WS_TRY(answer_one(r, q, &q->b, &out[1]));
    out[0].block = out[1].block = block_of(q);
    return 0;
}

static const struct ws__identity *identity(void *self)
{
    return &((struct ws__recordings *)self)->id;
}

static const struct ws__evaluator_ops recordings_ops = {
    .abi = 1,
    .name = "recordings",
    .answer = answer,
    .identity = identity,
};

struct ws__evaluator ws__recordings_evaluator(struct ws__recordings *r)
{
    return (struct ws__evaluator){&recordings_ops, r};
}

int ws__recordings_look(struct ws__recordings *r, const struct ws__candidate *c,
                        uint32_t workload, double *ns)
{
    struct ws__summary s;
    struct row *row;

    *ns = 0;
    WS_TRY(look_up(r, c, workload, &row));
    if (!row)
        return 0;
    if (row->nsample) {
        WS_TRY(
            ws__summarize(r->ctx, r->samples + row->sample, row->nsample, &s));
        *ns = s.median;
    }
    return 1;
}
