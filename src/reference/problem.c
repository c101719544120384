/*
 * problem.c: the memory of one instance: its inputs and reference results.
 *
 * Two shared areas, so that a process can be given the one without the
 * other. Inputs lie as the device sees them (element type, strides), each at
 * a multiple of 64 bytes and of the alignment it asks for; results are dense
 * doubles. An input's whole extent is filled, the gaps between its rows too:
 * a kernel that ignores strides reads plausible numbers and gets a wrong
 * result, where zeros might let it pass.
 *
 * What comes from a file is the same for every seed. The file was checked when
 * its workload was loaded, and is checked again: what was measured must belong
 * to the content that names it.
 */
#include "reference/refpriv.h"

#include "core/safetensors.h"

#include "base/banned.h"

#define PART_ALIGN 64u

static uint64_t round_up(uint64_t n, uint64_t align)
{
    return (n + align - 1) / align * align;
}

static bool is_input(const struct ws__instance *in, size_t i)
{
    return in->op->tensor[i].role != WS__OUTPUT;
}

static bool is_output(const struct ws__instance *in, size_t i)
{
    return in->op->tensor[i].role != WS__INPUT;
}

static bool is_native(const struct ws__instance *in, size_t i)
{
    const struct ws__fill *f = ws__workload_fill(in->op, in->workload, i);

    return f && f->kind == WS__FILL_NATIVE;
}

/* Places every tensor; returns the bytes of both areas (at least one page,
 * an op may have no inputs). */
static void place(const struct ws__instance *in, uint64_t *input_at,
                  uint64_t *result_at, uint64_t *input_bytes,
                  uint64_t *result_bytes)
{
    uint64_t a = 0, b = 0;

    for (size_t i = 0; i < in->op->ntensor; i++) {
        uint32_t align = in->op->tensor[i].align;

        input_at[i] = result_at[i] = WS__REF_NOWHERE;
        if (is_input(in, i)) {
            input_at[i] = a =
                round_up(a, align > PART_ALIGN ? align : PART_ALIGN);
            a += in->shape[i].bytes;
        }
        if (is_output(in, i)) {
            result_at[i] = b = round_up(b, PART_ALIGN);
            b += in->shape[i].elements * sizeof(double);
        }
    }
    *input_bytes = a ? a : 1;
    *result_bytes = b ? b : 1;
}

int ws__problem_new(struct ws_ctx *ctx, const struct ws__instance *in,
                    struct ws__problem **out)
{
    uint64_t input_at[WS__MAX_TENSORS], result_at[WS__MAX_TENSORS];
    uint64_t input_bytes, result_bytes;
    struct ws__problem *p = ws__alloc(ctx, 1, sizeof(*p));
    int rc;

    *out = NULL;
    if (!p)
        return WS_ENOMEM;
    p->ctx = ctx;
    p->in = in;
    p->inputs.fd = p->results.fd = -1;
    place(in, input_at, result_at, &input_bytes, &result_bytes);
    WS_TRY_DONE(ws__shm_new(ctx, input_bytes, &p->inputs));
    WS_TRY_DONE(ws__shm_new(ctx, result_bytes, &p->results));
    for (size_t i = 0; i < in->op->ntensor; i++) {
        if (is_input(in, i))
            p->input[i] = (char *)p->inputs.p + input_at[i];
        if (is_output(in, i))
            p->result[i] =
                (double *)(void *)((char *)p->results.p + result_at[i]);
    }
    *out = p;
    p = NULL;
done:
    ws__problem_free(p);
    return rc;
}

void ws__problem_free(struct ws__problem *p)
{
    if (!p)
        return;
    ws__shm_free(&p->inputs);
    ws__shm_free(&p->results);
    ws__free(p->ctx, p);
}

void ws__ref_request_fill(const struct ws__problem *p,
                          struct ws__ref_request *q)
{
    const struct ws__instance *in = p->in;
    uint64_t input_bytes, result_bytes;

    q->name = in->op->reference;
    q->seed = p->seed;
    q->naxis = in->op->naxis;
    q->ntensor = in->op->ntensor;
    for (size_t i = 0; i < q->naxis; i++)
        q->axis[i] = in->workload->axis[i];
    q->nconstant = in->op->nconstant;
    for (size_t i = 0; i < q->nconstant; i++) {
        const struct ws__constant *c = &in->op->constant[i];

        q->constant[i].name = c->name;
        q->constant[i].value =
            c->value.type == WS__FLOAT ? c->value.u.f : (double)c->value.u.i;
    }
    place(in, q->input_at, q->result_at, &input_bytes, &result_bytes);
    for (size_t i = 0; i < q->ntensor; i++) {
        const struct ws__tensor_shape *s = &in->shape[i];
        struct ws__ref_tensor *t = &q->tensor[i];

        t->dtype = s->dtype;
        t->ndim = s->ndim;
        memcpy(t->dim, s->dim, sizeof(t->dim));
        memcpy(t->stride, s->stride, sizeof(t->stride));
        t->elements = s->elements;
        q->generate[i] = is_input(in, i) && is_native(in, i);
    }
}

struct fill_job {
    const struct ws__fill *rule;
    const struct ws__twist *twist;
    enum ws__dtype dtype;
    uint64_t seed, elements;
    void *data;
};

static int fill_blocks(void *user, uint64_t begin, uint64_t end)
{
    const struct fill_job *j = user;
    uint64_t last = end * WS__FILL_BLOCK;

    ws__fill_run(j->rule, j->dtype, j->seed, j->twist, j->data,
                 begin * WS__FILL_BLOCK,
                 last < j->elements ? last : j->elements);
    return 0;
}

static int fill_rule(struct ws__problem *p, size_t i,
                     const struct ws__fill *rule, enum ws__family family,
                     unsigned threads)
{
    const struct ws__tensor_shape *s = &p->in->shape[i];
    uint64_t elements = s->bytes / ws__dtype_bytes(s->dtype);
    struct ws__twist twist = {.family = family, .elements = elements};
    struct fill_job j = {.rule = rule,
                         .dtype = s->dtype,
                         .seed = ws__rng_at(p->seed, i + 1),
                         .elements = elements,
                         .data = p->input[i]};
    uint64_t blocks = (j.elements + WS__FILL_BLOCK - 1) / WS__FILL_BLOCK;

    if (family != WS__FAMILY_PLAIN && ws__family_changes(p->in, i)) {
        twist.size = ws__family_size(p->in, family, i);
        twist.below = ws__family_below(p->in, i);
        j.twist = &twist;
    }
    /* Below a few blocks a thread costs more than it saves. */
    return ws__parallel_for(p->ctx, blocks < 32 ? 1 : threads, blocks,
                            fill_blocks, &j);
}

/* Elements of a dense file to where the strides put them. */
static int read_rows(const struct ws__safetensors *f,
                     const struct ws__st_tensor *t,
                     const struct ws__tensor_shape *s, char *to)
{
    size_t bytes = ws__dtype_bytes(s->dtype), last = s->ndim - 1;
    int64_t at[WS__MAX_DIMS] = {0};

    for (uint64_t from = 0; from < t->bytes; from += bytes) {
        uint64_t off = 0;

        for (size_t d = 0; d < s->ndim; d++)
            off += (uint64_t)at[d] * (uint64_t)s->stride[d];
        WS_TRY(ws__safetensors_read(f, t, from, to + off * bytes, bytes));
        for (size_t d = last; ++at[d] == s->dim[d] && d > 0; d--)
            at[d] = 0;
    }
    return 0;
}

static int fill_file(struct ws__problem *p, size_t i, const struct ws__input *x,
                     unsigned threads)
{
    const struct ws__tensor_shape *s = &p->in->shape[i];
    static const struct ws__fill gaps = {WS__FILL_NORMAL, 0, 1};
    const struct ws__st_tensor *t;
    struct ws__safetensors *f;
    struct ws__hash now;
    int rc;

    WS_TRY(ws__safetensors_open(p->ctx, x->file, &f));
    WS_TRY_DONE(ws__safetensors_want(f, x->key, s, &t));
    WS_TRY_DONE(ws__safetensors_hash(f, t, &now));
    if (!ws__hash_eq(now, x->content)) {
        ws__fail(p->ctx, WS_ESPEC,
                 "tensor '%s' of '%s' is not what it was when the workload "
                 "was loaded",
                 x->key, x->file);
        rc = ws__hint(p->ctx, "run the command again");
        goto done;
    }
    if (!s->contiguous)
        WS_TRY_DONE(fill_rule(p, i, &gaps, WS__FAMILY_PLAIN, threads));
    rc = s->contiguous
             ? ws__safetensors_read(f, t, 0, p->input[i], (size_t)t->bytes)
             : read_rows(f, t, s, p->input[i]);
done:
    ws__safetensors_close(f);
    return rc;
}

int ws__problem_fill_family(struct ws__problem *p, struct ws__reference *r,
                            uint64_t seed, unsigned threads, enum ws__family f)
{
    const struct ws__workload *w = p->in->workload;
    bool native = false;

    p->seed = seed;
    p->family = f;
    memset(p->size, 0, sizeof(p->size));
    p->sized = false;
    for (size_t i = 0; i < p->in->op->ntensor; i++) {
        const struct ws__fill *rule;

        if (!p->input[i])
            continue;
        rule = ws__workload_fill(p->in->op, w, i);
        native |= rule && rule->kind == WS__FILL_NATIVE;
        WS_TRY(ws__check_stop(p->ctx));
        WS_TRY(rule ? fill_rule(p, i, rule, f, threads)
                    : fill_file(p, i, &w->input[i], threads));
    }
    return native ? ws__reference_generate(r, p) : 0;
}

int ws__problem_fill(struct ws__problem *p, struct ws__reference *r,
                     uint64_t seed, unsigned threads)
{
    return ws__problem_fill_family(p, r, seed, threads, WS__FAMILY_PLAIN);
}
