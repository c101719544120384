/*
 * measure_verdict.c: is the candidate right?
 *
 * Two launches, each on buffers of its own, with outputs and scratch filled
 * by a pattern that a right result cannot be, and by a drawn one the second
 * time, when local memory is full of NaN too.
 * Both results are compared with the reference, and with each other bit by
 * bit unless the kernel says that its order of summation may vary. Inputs
 * come from a seed that did not exist when the candidate was compiled. The
 * launches go through the same batched operation as the timed ones: nothing
 * in a launch tells checking from timing.
 */
#include "measure/measure_int.h"

#include <math.h>

#include "base/banned.h"

/* ---- inputs and reference ---------------------------------------------- */

uint64_t ws__measure_seed(const struct ws__measure *m,
                          const struct ws__hash *binary,
                          const struct ws__hash *candidate, size_t n,
                          struct ws__hash work)
{
    struct ws__hash h = ws__hash_u64((struct ws__hash){5, 0}, m->opts.seed);

    for (size_t i = 0; i < n; i++) {
        h = ws__hash_mix(h, &binary[i], sizeof(binary[i]));
        h = ws__hash_mix(h, &candidate[i], sizeof(candidate[i]));
    }
    h = ws__hash_mix(h, &work, sizeof(work));
    return h.lo >> 1; /* fits a signed column */
}

static uint64_t input_seed(const struct ws__measure *m,
                           const struct ws__subject *s, size_t n)
{
    struct ws__hash binary[2] = {{0, 0}}, candidate[2] = {{0, 0}};

    for (size_t i = 0; i < n; i++) {
        binary[i] = s[i].t->res.binary;
        candidate[i] = s[i].t->candidate_hash;
    }
    return ws__measure_seed(m, binary, candidate, n, s[0].t->workload_hash);
}

/* From what was prepared ahead: 1, or 0 if nothing was. */
static int ready_problem(struct ws__measure *m, const struct ws__subject *s,
                         uint64_t seed)
{
    bool computed;
    int rc = m->family ? 0 : ws__ahead_take(m, s->in, seed, &computed);

    if (rc <= 0)
        return rc;
    m->problem_family = WS__FAMILY_PLAIN;
    pthread_mutex_lock(&m->lock);
    m->clocks.sum.ahead++;
    pthread_mutex_unlock(&m->lock);
    m->problem_workload = s->t->workload;
    m->problem_done = false;
    WS_TRY(computed ? ws__measure_admit(m) : ws__measure_reference(m));
    m->problem_done = true;
    ws__log(m->ctx, WS_LOG_DEBUG,
            "inputs and reference were ready (%.1f ms, workload %u)",
            (double)m->ref_ns / 1e6, s->t->workload);
    return 1;
}

static int fresh_problem(struct ws__measure *m, const struct ws__subject *s,
                         uint64_t seed)
{
    uint64_t t0, t1;

    if (m->problem && m->problem_workload != s->t->workload) {
        ws__problem_free(m->problem);
        m->problem = NULL;
    }
    if (!m->problem)
        WS_TRY(ws__problem_new(m->ctx, s->in, &m->problem));
    m->problem_workload = s->t->workload;
    m->problem_done = false;
    m->problem_family = m->family;
    t0 = ws__device_clock(&m->dev);
    WS_TRY(m->family ? m->deps.problem_family(m->problem, m->ref, seed,
                                              m->opts.ref_threads, m->family)
                     : m->deps.problem_fill(m->problem, m->ref, seed,
                                            m->opts.ref_threads));
    t1 = ws__device_clock(&m->dev);
    WS_TRY(ws__measure_reference(m));
    m->ref_ns = ws__device_clock(&m->dev) - t1;
    m->problem->seed = seed;
    m->problem_done = true;
    ws__log(m->ctx, WS_LOG_DEBUG,
            "inputs %.1f ms, reference %.1f ms (workload %u)",
            (double)(t1 - t0) / 1e6, (double)m->ref_ns / 1e6, s->t->workload);
    return 0;
}

int ws__measure_problem(struct ws__measure *m, struct ws__subject *s, size_t n)
{
    uint64_t seed =
        m->opts.below ? m->opts.below->given->seed : input_seed(m, s, n);
    int rc;

    for (size_t i = 0; i < n; i++)
        s[i].t->input_seed = seed;
    if (m->opts.below) {
        m->problem = m->opts.below->given;
        m->problem_workload = s->t->workload;
        m->problem_done = true;
        return 0;
    }
    if (m->problem && m->problem_done &&
        m->problem_workload == s->t->workload && m->problem->seed == seed &&
        m->problem_family == m->family)
        return 0;
    ws__measure_step(m, WS__STEP_INPUTS);
    rc = ready_problem(m, s, seed);
    if (!rc)
        rc = fresh_problem(m, s, seed);
    ws__measure_step(m, WS__STEP_OTHER);
    return rc < 0 ? rc : 0;
}

/* ---- words ------------------------------------------------------------- */

static void print_place(struct ws__buf *b, const struct ws__tensor_shape *s,
                        uint64_t flat)
{
    uint64_t at[WS__MAX_DIMS];

    for (size_t d = s->ndim; d-- > 0;) {
        at[d] = flat % (uint64_t)s->dim[d];
        flat /= (uint64_t)s->dim[d];
    }
    ws__buf_puts(b, "[");
    for (size_t d = 0; d < s->ndim; d++)
        ws__buf_printf(b, "%s%llu", d ? "," : "", (unsigned long long)at[d]);
    ws__buf_puts(b, "]");
}

/* Not "-nan": the sign of a NaN tells nothing. */
static void print_number(struct ws__buf *b, const char *what, double v)
{
    if (isnan(v))
        ws__buf_printf(b, "%s nan", what);
    else
        ws__buf_printf(b, "%s %.9g", what, v);
}

/* got: the tensor that the mismatch is of. */
static int explain(struct ws__measure *m, struct ws__subject *s,
                   const char *got, const char *when)
{
    const struct ws__mismatch *w = &s->t->mismatch;
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, m->ctx, 2000);
    ws__buf_printf(&b, "%s%llu of %llu elements of '%s' wrong; worst at ", when,
                   (unsigned long long)w->bad, (unsigned long long)w->total,
                   m->op->tensor[w->tensor].name);
    print_place(&b, &s->in->shape[w->tensor], w->worst);
    print_number(&b, ": got", w->worst_got);
    print_number(&b, ", want", w->worst_want);
    ws__buf_printf(&b, " (allowed %.3g)", w->allowed);
    if (w->unwritten)
        ws__buf_printf(&b, "; %llu not written",
                       (unsigned long long)w->unwritten);
    if (w->nan)
        ws__buf_printf(&b, "; %llu NaN", (unsigned long long)w->nan);
    ws__measure_kind(m, s, got, &b);
    rc = b.failed;
    if (!rc)
        rc = ws__trial_set_reason(m->ctx, s->t, "%s", b.data);
    ws__buf_free(&b);
    return rc;
}

static int wrong(struct ws__measure *m, struct ws__subject *s,
                 const struct ws__result *r, const char *when)
{
    s->t->verdict = WS__V_WRONG;
    s->judged = true;
    return explain(m, s, r->data + r->at[s->t->mismatch.tensor], when);
}

/* ---- one result -------------------------------------------------------- */

/* Walks all elements: writes those of `from` over `to`. */
static void put_elements(const struct ws__tensor_shape *s, const char *from,
                         char *to)
{
    size_t size = ws__dtype_bytes(s->dtype);
    int64_t at[WS__MAX_DIMS] = {0};

    for (uint64_t i = 0; i < s->elements; i++) {
        int64_t off = 0;

        for (size_t d = 0; d < s->ndim; d++)
            off += at[d] * s->stride[d];
        memcpy(to + (size_t)off * size, from + (size_t)off * size, size);
        for (size_t d = s->ndim; d-- > 0 && ++at[d] == s->dim[d];)
            at[d] = 0;
    }
}

static void fill_pattern(char *p, uint64_t bytes, uint32_t pattern)
{
    for (uint64_t i = 0; i < bytes; i += sizeof(pattern))
        memcpy(p + i, &pattern,
               bytes - i < sizeof(pattern) ? bytes - i : sizeof(pattern));
}

/* 1 if the places between the elements hold what they held before. */
static int gaps_intact(struct ws__measure *m, const struct ws__subject *s,
                       size_t t, const char *got, uint32_t poison)
{
    const struct ws__tensor_shape *sh = &s->in->shape[t];
    char *want;
    int same;

    if (sh->contiguous)
        return 1;
    want = ws__alloc(m->ctx, sh->bytes, 1);
    if (!want)
        return WS_ENOMEM;
    if (m->op->tensor[t].role == WS__INOUT)
        memcpy(want, m->problem->input[t], sh->bytes);
    else
        fill_pattern(want, sh->bytes, poison);
    put_elements(sh, got, want);
    same = !memcmp(want, got, sh->bytes);
    ws__free(m->ctx, want);
    return same;
}

/* The worse of two reports: more wrong elements, else larger error. */
static bool worse(const struct ws__mismatch *a, const struct ws__mismatch *b)
{
    return a->bad != b->bad ? a->bad > b->bad : a->max_rel > b->max_rel;
}

struct finding {
    bool wrong;
    bool sure; /* whatever the size of the results */
};

static int compare_tensor(struct ws__measure *m, struct ws__subject *s,
                          size_t t, const char *got, uint32_t poison,
                          bool *first, struct finding *f)
{
    int (*compare)(struct ws_ctx *, const struct ws__instance *, size_t,
                   const void *, const double *, double, uint32_t,
                   struct ws__mismatch *);
    struct ws__mismatch mm;
    int rc;

    memset(&mm, 0, sizeof(mm));
    compare = ws__family_finite(m->op, m->problem_family) ? ws__compare_finite
              : m->problem_family == WS__FAMILY_SPIKES    ? ws__compare_uneven
                                                          : ws__compare;
    rc = compare(m->ctx, s->in, t, got, m->problem->result[t],
                 m->problem->size[t], poison, &mm);
    if (rc < 0)
        return rc;
    mm.tensor = (uint32_t)t;
    if (*first || worse(&mm, &s->t->mismatch))
        s->t->mismatch = mm;
    *first = false;
    f->wrong |= !rc;
    f->sure |= !rc && (!ws__problem_asks(m->problem, t) || mm.nan > 0 ||
                       mm.unwritten > 0);
    return 0;
}

static int read_back(struct ws__measure *m, const struct ws__bufs *b,
                     size_t set, struct ws__result *r)
{
    const struct ws__op *op = m->op;
    size_t sum = 0;

    for (size_t t = 0; t < op->ntensor; t++)
        if (op->tensor[t].role != WS__INPUT) {
            r->at[t] = sum;
            sum += (size_t)((b->in->shape[t].bytes + 63) & ~UINT64_C(63));
        }
    if (r->room < sum || !r->data) {
        ws__free(m->ctx, r->data);
        r->room = 0;
        r->data = ws__resize(m->ctx, NULL, sum ? sum : 1, 1);
        if (!r->data)
            return WS_ENOMEM;
        r->room = sum;
    }
    for (size_t t = 0; t < op->ntensor; t++)
        if (op->tensor[t].role != WS__INPUT)
            WS_TRY(m->dev.ops->read(m->dev.self, b->tensor[set][t], 0,
                                    r->data + r->at[t], b->in->shape[t].bytes));
    return 0;
}

static int compare_tensors(struct ws__measure *m, const struct ws__result *r,
                           uint32_t poison, struct ws__subject *s,
                           struct finding *f)
{
    bool first = true;

    memset(f, 0, sizeof(*f));
    for (size_t t = 0; t < m->op->ntensor; t++)
        if (m->op->tensor[t].role != WS__INPUT)
            WS_TRY(
                compare_tensor(m, s, t, r->data + r->at[t], poison, &first, f));
    return 0;
}

/* 1 right, 0 wrong (the trial says how), negative on error. */
static int compare_result(struct ws__measure *m, const struct ws__result *r,
                          uint32_t poison, struct ws__subject *s,
                          const char *when)
{
    struct finding f;

    WS_TRY(compare_tensors(m, r, poison, s, &f));
    /* Only now: nearly always the results are right, or wrong in any case. */
    if (f.wrong && !f.sure && !m->problem->sized && !m->opts.below) {
        WS_TRY(ws__measure_sizes(m));
        WS_TRY(compare_tensors(m, r, poison, s, &f));
    }
    if (f.wrong) {
        WS_TRY(wrong(m, s, r, when));
        return 0;
    }
    for (size_t t = 0; t < m->op->ntensor; t++) {
        int rc;

        if (m->op->tensor[t].role == WS__INPUT)
            continue;
        rc = gaps_intact(m, s, t, r->data + r->at[t], poison);
        if (rc < 0)
            return rc;
        if (!rc) {
            s->t->verdict = WS__V_WRONG;
            s->judged = true;
            WS_TRY(ws__trial_set_reason(m->ctx, s->t,
                                        "%swrites between the elements of "
                                        "'%s'",
                                        when, m->op->tensor[t].name));
            return 0;
        }
    }
    return 1;
}

int ws__measure_compare_set(struct ws__measure *m, struct ws__bufs *b,
                            size_t set, uint32_t poison, struct ws__subject *s,
                            const char *when)
{
    WS_TRY(read_back(m, b, set, &m->back[0]));
    return compare_result(m, &m->back[0], poison, s, when);
}

/* ---- two results ------------------------------------------------------- */

static uint64_t count_differences(const struct ws__tensor_shape *s,
                                  const char *a, const char *b)
{
    size_t size = ws__dtype_bytes(s->dtype);
    int64_t at[WS__MAX_DIMS] = {0};
    uint64_t n = 0;

    for (uint64_t i = 0; i < s->elements; i++) {
        int64_t off = 0;

        for (size_t d = 0; d < s->ndim; d++)
            off += at[d] * s->stride[d];
        n += memcmp(a + (size_t)off * size, b + (size_t)off * size, size) != 0;
        for (size_t d = s->ndim; d-- > 0 && ++at[d] == s->dim[d];)
            at[d] = 0;
    }
    return n;
}

static int same_bits(struct ws__measure *m, struct ws__subject *s,
                     const struct ws__result *a, const struct ws__result *b)
{
    for (size_t t = 0; t < m->op->ntensor; t++) {
        const struct ws__tensor_shape *sh = &s->in->shape[t];
        uint64_t n;

        if (m->op->tensor[t].role == WS__INPUT ||
            !memcmp(a->data + a->at[t], b->data + b->at[t], sh->bytes))
            continue;
        n = count_differences(sh, a->data + a->at[t], b->data + b->at[t]);
        if (!n)
            continue;
        s->t->verdict = WS__V_WRONG;
        s->judged = true;
        WS_TRY(ws__trial_set_reason(
            m->ctx, s->t,
            "two launches differ in %llu of %llu elements of '%s', both near "
            "enough to the reference: a race, or declare the kernel "
            "order_dependent",
            (unsigned long long)n, (unsigned long long)sh->elements,
            m->op->tensor[t].name));
        return 0;
    }
    return 1;
}

/* Every byte, what lies between elements too. */
static bool equal(const struct ws__measure *m, const struct ws__bufs *b,
                  const struct ws__result *x, const struct ws__result *y)
{
    for (size_t t = 0; t < m->op->ntensor; t++)
        if (m->op->tensor[t].role != WS__INPUT &&
            memcmp(x->data + x->at[t], y->data + y->at[t],
                   (size_t)b->in->shape[t].bytes))
            return false;
    return true;
}

/* One checked launch; known: a result that is right, or NULL. 1: right so far,
 * 0: judged, negative: an error. */
static int checked_launch(struct ws__measure *m, struct ws__bufs *b, size_t set,
                          uint32_t poison, struct ws__prog *prog,
                          struct ws__subject *s, struct ws__result *r,
                          const struct ws__result *known, const char *when)
{
    struct ws__dev_sample sample;
    unsigned gen = m->gen;
    int rc;

    ws__prog_poison(prog, poison, 0);
    m->age++;
    rc = ws__measure_once(m, &prog->seq, &sample);
    if (rc < 0)
        return ws__measure_blame(m, rc, s, 1, "run");
    s->hash[0] = sample.hash;
    s->known[0] = true;
    s->first_ns = sample.ns;
    WS_TRY(ws__bufs_check(m, b, set, s, 1));
    if (s->judged || m->gen != gen)
        return 0;
    rc = read_back(m, b, set, r);
    if (rc < 0)
        return rc == WS_ENOMEM
                   ? rc
                   : ws__measure_blame(m, rc, s, 1, "reading the result");
    if (known && equal(m, b, known, r))
        return 1;
    return compare_result(m, r, poison, s, when);
}

/* Not the first one again: a kernel may look for it. */
static uint32_t second_poison(struct ws__bufs *b)
{
    uint32_t word = ws__poison_draw(b);

    return word == WS__POISON_FIRST ? ~word : word;
}

static int verify(struct ws__measure *m, struct ws__bufs *b,
                  struct ws__subject *s, struct ws__prog *prog)
{
    struct ws__result *r = m->back;
    size_t second = b->nset > 1 ? 1 : 0;
    int rc;

    ws__prog_make(m, b, s, 0, m->problem, prog);
    rc = checked_launch(m, b, 0, WS__POISON_FIRST, prog, s, &r[0], NULL, "");
    if (rc <= 0)
        return rc;
    if (m->opts.few_gates || m->opts.below) {
        s->t->verdict = WS__V_OK;
        s->judged = true;
        return 0;
    }
    WS_TRY(ws__check_stop(m->ctx));
    rc = ws__measure_dirty(m, s->t->candidate_hash);
    if (rc == WS_ECRASH) /* the first launch may have left the device broken */
        return ws__measure_blame(m, rc, s, 1, "after the first launch");
    WS_TRY(rc); /* asked again without */
    ws__prog_make(m, b, s, second, m->problem, prog);
    rc = checked_launch(m, b, second, second_poison(b), prog, s, &r[1], &r[0],
                        "right at the first launch, wrong at the second: ");
    if (rc <= 0)
        return rc;
    if (!s->kernel->order_dependent)
        rc = same_bits(m, s, &r[0], &r[1]);
    if (rc <= 0)
        return rc;
    s->t->verdict = WS__V_OK;
    s->judged = true;
    return 0;
}

int ws__measure_verify(struct ws__measure *m, struct ws__bufs *b,
                       struct ws__subject *s)
{
    struct ws__prog *prog = ws__alloc(m->ctx, 1, sizeof(*prog));
    int rc = prog ? verify(m, b, s, prog) : WS_ENOMEM;

    ws__free(m->ctx, prog);
    return rc;
}
