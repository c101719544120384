/*
 * measure_buffers.c: buffer sets, guards, and candidates bound to them.
 *
 * Every set holds all tensors; the sets are alike but for their addresses,
 * so that nothing which depends on an address can be remembered from one
 * launch to the next, and a rotation through them is what an application
 * does. The two candidates of a pair share sets (same addresses for both)
 * and have scratch of their own. Everything lies between guard zones.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

/* What allocators of devices align to at least; a set's shift is a multiple
 * of it, so that sets differ in address and not in alignment. */
#define SHIFT_BYTES 256u

static int alloc_one(struct ws__measure *m, uint64_t bytes, uint32_t align,
                     size_t set, uint32_t *buffer)
{
    uint32_t step = align > SHIFT_BYTES ? align : SHIFT_BYTES;

    if (m->opts.below)
        return m->dev.ops->alloc(m->dev.self, bytes, 0, 0, buffer);
    return m->dev.ops->alloc(m->dev.self, bytes, ws__measure_guard_bytes(bytes),
                             step * (uint32_t)set, buffer);
}

static uint64_t with_guards(uint64_t bytes)
{
    return bytes + 2 * (uint64_t)ws__measure_guard_bytes(bytes);
}

static uint64_t count_bytes(const struct ws__subject *s, size_t n,
                            uint64_t *pristine)
{
    const struct ws__instance *in = s[0].in;
    uint64_t sum = 0;

    *pristine = 0;
    for (size_t t = 0; t < in->op->ntensor; t++) {
        if (!ws__measure_in_buffer(in->op, t))
            continue;
        sum += with_guards(in->shape[t].bytes);
        if (in->op->tensor[t].role == WS__INOUT)
            *pristine += with_guards(in->shape[t].bytes);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s[i].kernel->nscratch; k++)
            if (s[i].plan->scratch_bytes[k])
                sum += with_guards(s[i].plan->scratch_bytes[k]);
    return sum;
}

static int alloc_set(struct ws__measure *m, struct ws__subject *s, size_t n,
                     struct ws__bufs *b, size_t set)
{
    const struct ws__op *op = b->in->op;

    for (size_t t = 0; t < op->ntensor; t++)
        if (ws__measure_in_buffer(op, t))
            WS_TRY(alloc_one(m, b->in->shape[t].bytes, op->tensor[t].align, set,
                             &b->tensor[set][t]));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s[i].kernel->nscratch; k++)
            if (s[i].plan->scratch_bytes[k])
                WS_TRY(alloc_one(m, s[i].plan->scratch_bytes[k], 1, set,
                                 &b->scratch[set][i][k]));
    return 0;
}

static void release(struct ws__measure *m, uint32_t *buffer)
{
    if (*buffer)
        m->dev.ops->release(m->dev.self, *buffer);
    *buffer = 0;
}

static void release_set(struct ws__measure *m, struct ws__bufs *b, size_t set)
{
    for (size_t t = 0; t < WS__MAX_TENSORS; t++)
        release(m, &b->tensor[set][t]);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < WS__MAX_SCRATCH; k++)
            release(m, &b->scratch[set][i][k]);
}

void ws__bufs_free(struct ws__measure *m, struct ws__bufs *b)
{
    if (!m->open || b->gen != m->gen)
        return;
    for (size_t set = 0; set < WS__SETS; set++)
        release_set(m, b, set);
    for (size_t t = 0; t < WS__MAX_TENSORS; t++)
        release(m, &b->pristine[t]);
}

/* As many sets as memory allows, at least one: more than that is a wish. */
int ws__bufs_make(struct ws__measure *m, struct ws__subject *s, size_t n,
                  size_t nset, struct ws__bufs *b)
{
    const struct ws__op *op = s[0].in->op;
    uint64_t pristine, used;
    int rc = 0;

    memset(b, 0, sizeof(*b));
    b->gen = m->gen;
    b->in = s[0].in;
    for (size_t i = 0; i < n; i++)
        s[i].owner = i;
    b->set_bytes = count_bytes(s, n, &pristine);
    used = pristine;
    for (size_t t = 0; t < op->ntensor; t++)
        if (op->tensor[t].role == WS__INOUT)
            WS_TRY(alloc_one(m, b->in->shape[t].bytes, op->tensor[t].align, 0,
                             &b->pristine[t]));
    while (b->nset < nset) {
        used += b->set_bytes;
        if (b->nset && used > ws__measure_max_bytes(m))
            return 0;
        rc = alloc_set(m, s, n, b, b->nset);
        if (rc == WS_EDEVMEM && b->nset) {
            release_set(m, b, b->nset);
            return 0;
        }
        WS_TRY(rc);
        b->nset++;
    }
    return 0;
}

int ws__bufs_upload(struct ws__measure *m, struct ws__bufs *b,
                    const struct ws__problem *p)
{
    const struct ws__device_ops *ops = m->dev.ops;
    const struct ws__op *op = b->in->op;

    for (size_t t = 0; t < op->ntensor; t++) {
        uint64_t bytes = b->in->shape[t].bytes;

        if (!ws__measure_in_buffer(op, t) || op->tensor[t].role == WS__OUTPUT)
            continue;
        if (op->tensor[t].role == WS__INOUT) {
            WS_TRY(
                ops->write(m->dev.self, b->pristine[t], 0, p->input[t], bytes));
            continue;
        }
        WS_TRY(ops->write(m->dev.self, b->tensor[0][t], 0, p->input[t], bytes));
        for (size_t set = 1; set < b->nset; set++)
            WS_TRY(ops->copy(m->dev.self, b->tensor[set][t], b->tensor[0][t]));
        if (!m->opts.below)
            WS_TRY(ops->hash(m->dev.self, b->tensor[0][t], &b->input_hash[t]));
    }
    return 0;
}

/* ---- after a candidate ran --------------------------------------------- */

static const char *which(size_t n)
{
    return n > 1 ? " (timed in a pair: one of the two)" : "";
}

static int damaged(struct ws__measure *m, struct ws__subject *s,
                   const char *name, uint64_t bytes, int64_t offset, size_t n)
{
    bool before = offset < 0;

    s->t->verdict = WS__V_WRONG;
    s->judged = true;
    return ws__trial_set_reason(
        m->ctx, s->t, "writes outside of '%s', %llu bytes %s%s", name,
        (unsigned long long)(before ? -offset : offset - (int64_t)bytes),
        before ? "before its start" : "after its end", which(n));
}

static int check_guard(struct ws__measure *m, uint32_t buffer, const char *name,
                       uint64_t bytes, struct ws__subject *s, size_t n)
{
    int64_t offset = 0;
    int rc = buffer ? m->dev.ops->guard(m->dev.self, buffer, &offset) : 0;

    if (rc <= 0)
        return rc;
    for (size_t i = 0; i < n; i++)
        WS_TRY(damaged(m, &s[i], name, bytes, offset, n));
    return 1;
}

static int check_input(struct ws__measure *m, const struct ws__bufs *b,
                       size_t set, size_t t, struct ws__subject *s, size_t n)
{
    uint64_t h;

    if (b->in->op->tensor[t].role != WS__INPUT)
        return 0;
    WS_TRY(m->dev.ops->hash(m->dev.self, b->tensor[set][t], &h));
    if (h == b->input_hash[t])
        return 0;
    for (size_t i = 0; i < n; i++) {
        s[i].t->verdict = WS__V_CHEAT;
        s[i].judged = true;
        WS_TRY(ws__trial_set_reason(m->ctx, s[i].t, "writes to input '%s'%s",
                                    b->in->op->tensor[t].name, which(n)));
    }
    return 1;
}

static int check_set(struct ws__measure *m, struct ws__bufs *b, size_t set,
                     struct ws__subject *s, size_t n)
{
    const struct ws__op *op = b->in->op;
    int rc = 0;

    for (size_t i = 0; i < n && !rc; i++)
        for (size_t k = 0; k < s[i].kernel->nscratch && !rc; k++)
            rc = check_guard(m, b->scratch[set][s[i].owner][k],
                             s[i].kernel->scratch[k].name,
                             s[i].plan->scratch_bytes[k], &s[i], 1);
    for (size_t t = 0; t < op->ntensor && !rc; t++) {
        if (!ws__measure_in_buffer(op, t))
            continue;
        rc = check_guard(m, b->tensor[set][t], op->tensor[t].name,
                         b->in->shape[t].bytes, s, n);
        if (!rc)
            rc = check_input(m, b, set, t, s, n);
    }
    return rc;
}

int ws__bufs_check(struct ws__measure *m, struct ws__bufs *b, size_t set,
                   struct ws__subject *s, size_t n)
{
    int rc = m->opts.below ? 0 : check_set(m, b, set, s, n);

    if (rc < 0)
        return ws__measure_blame(m, rc, s, n, "after the launch");
    /* Who knows what else it wrote to: the device starts anew. */
    if (rc > 0)
        ws__measure_lose(m);
    return 0;
}

/* ---- programs ---------------------------------------------------------- */

static void bind_arg(const struct ws__bufs *b, const struct ws__plan_arg *a,
                     size_t owner, size_t set, const struct ws__problem *p,
                     struct ws__dev_arg *out)
{
    out->kind = a->kind;
    out->bytes = (uint32_t)a->bytes;
    switch (a->kind) {
    case WS__ARG_TENSOR:
        if (ws__measure_in_buffer(b->in->op, a->index)) {
            out->buffer = b->tensor[set][a->index];
            break;
        }
        out->kind = WS__ARG_VALUE;
        out->bytes = (uint32_t)ws__dtype_bytes(b->in->shape[a->index].dtype);
        memcpy(out->value, p->input[a->index], out->bytes);
        break;
    case WS__ARG_SCRATCH:
        out->buffer = b->scratch[set][owner][a->index];
        break;
    case WS__ARG_VALUE:
        memcpy(out->value, a->value, sizeof(out->value));
        break;
    case WS__ARG_SHARED:
        break;
    }
}

static void bind_launches(const struct ws__bufs *b, const struct ws__subject *s,
                          size_t set, const struct ws__problem *p,
                          struct ws__prog *out)
{
    for (size_t i = 0; i < s->plan->nlaunch; i++) {
        const struct ws__plan_launch *l = &s->plan->launch[i];
        struct ws__dev_launch *o = &out->launch[i];

        o->module = s->module[i];
        o->entry = ws__plan_entry(l);
        memcpy(o->grid, l->grid, sizeof(o->grid));
        memcpy(o->block, l->block, sizeof(o->block));
        o->arg = out->arg[i];
        o->narg = l->narg;
        for (size_t a = 0; a < l->narg; a++)
            bind_arg(b, &l->arg[a], s->owner, set, p, &out->arg[i][a]);
    }
    out->seq.launch = out->launch;
    out->seq.nlaunch = s->plan->nlaunch;
}

/* What is needed though a tool watches memory: zeros that a kernel was
 * promised, and something between the elements of outputs, which are read. */
static void leave_bare(const struct ws__bufs *b, struct ws__prog *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->seq.nfill; i++)
        if (p->fill[i].timed || (i < p->nout && b->gaps))
            p->fill[n++] = p->fill[i];
    p->seq.nfill = p->nout = p->nown = n;
    p->seq.nhash = 0;
}

void ws__prog_make(const struct ws__measure *m, const struct ws__bufs *b,
                   const struct ws__subject *s, size_t set,
                   const struct ws__problem *p, struct ws__prog *out)
{
    const struct ws__op *op = m->op;
    struct ws__dev_seq *q = &out->seq;

    memset(out, 0, sizeof(*out));
    bind_launches(b, s, set, p, out);
    for (size_t t = 0; t < op->ntensor; t++) {
        if (op->tensor[t].role == WS__INPUT)
            continue;
        out->hash[q->nhash++] = b->tensor[set][t];
        if (op->tensor[t].role == WS__INOUT) {
            out->restore[q->nrestore].to = b->tensor[set][t];
            out->restore[q->nrestore++].from = b->pristine[t];
        } else {
            out->fill[q->nfill++].buffer = b->tensor[set][t];
        }
    }
    out->nout = q->nfill;
    for (size_t k = 0; k < s->kernel->nscratch; k++)
        if (b->scratch[set][s->owner][k]) {
            out->fill[q->nfill].buffer = b->scratch[set][s->owner][k];
            out->fill[q->nfill++].timed = s->kernel->scratch[k].zero;
        }
    out->nown = q->nfill;
    q->restore = out->restore;
    q->fill = out->fill;
    q->hash = out->hash;
    if (m->opts.below)
        leave_bare(b, out);
}

void ws__prog_wipe(const struct ws__measure *m, const struct ws__bufs *b,
                   size_t set, struct ws__prog *p)
{
    struct ws__dev_seq *q = &p->seq;

    for (size_t t = 0; t < m->op->ntensor; t++) {
        if (m->op->tensor[t].role == WS__INOUT) {
            p->restore[q->nrestore].to = b->tensor[set][t];
            p->restore[q->nrestore++].from = b->pristine[t];
        } else if (m->op->tensor[t].role == WS__OUTPUT) {
            p->fill[q->nfill++].buffer = b->tensor[set][t];
        }
    }
}

void ws__prog_poison(struct ws__prog *p, uint32_t pattern, uint32_t others)
{
    for (size_t i = 0; i < p->seq.nfill; i++)
        p->fill[i].pattern = p->fill[i].timed ? 0
                             : i < p->nown    ? pattern
                                              : others;
}
