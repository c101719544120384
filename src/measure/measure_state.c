/*
 * measure_state.c: does a candidate keep something between launches?
 *
 * Timed launches see the same inputs again and again, so a kernel could
 * remember its result (in module-scope variables), or look at the outputs
 * and leave them if they are no poison, and still pass every comparison of
 * the timed outputs. So after timing a few elements of the inputs change to
 * other values of the same input, and the kernel runs once more over outputs
 * that still hold the old result. Looking at some of the inputs does not
 * tell a kernel whether they changed; only reading all of them does.
 *
 * The new result is compared with the reference, which is run again for it.
 * In screening only if the result did not change at all: that is what a kept
 * one looks like, and an honest kernel costs one launch more. Loading the
 * module again instead, to compare used with unused, needs no reference but
 * is no test: drivers exist that keep its variables.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

#define SPOTS 4

static bool may_change(const struct ws__measure *m, size_t t)
{
    const struct ws__tensor *x = &m->op->tensor[t];

    return ws__measure_in_buffer(m->op, t) && x->role != WS__OUTPUT &&
           (x->fill.kind == WS__FILL_NORMAL ||
            x->fill.kind == WS__FILL_UNIFORM ||
            x->fill.kind == WS__FILL_INTEGERS);
}

static uint64_t offset_of(const struct ws__tensor_shape *s, uint64_t flat)
{
    uint64_t off = 0;

    for (size_t d = s->ndim; d-- > 0;) {
        off += flat % (uint64_t)s->dim[d] * (uint64_t)s->stride[d];
        flat /= (uint64_t)s->dim[d];
    }
    return off * ws__dtype_bytes(s->dtype);
}

/* Some elements, on the host and in set 0; *changed counts them. */
static int change_some(struct ws__measure *m, struct ws__bufs *b,
                       struct ws__rng *rng, size_t *changed)
{
    for (size_t t = 0; t < m->op->ntensor; t++) {
        const struct ws__tensor_shape *s = &m->problem->in->shape[t];
        char *data = m->problem->input[t];
        size_t size = ws__dtype_bytes(s->dtype);
        uint32_t buffer = m->op->tensor[t].role == WS__INOUT ? b->pristine[t]
                                                             : b->tensor[0][t];

        for (int i = 0; may_change(m, t) && i < SPOTS; i++) {
            uint64_t to = offset_of(s, ws__rng_below(rng, s->elements));
            uint64_t from = offset_of(s, ws__rng_below(rng, s->elements));

            if (!memcmp(data + to, data + from, size))
                continue;
            memcpy(data + to, data + from, size);
            WS_TRY(m->dev.ops->write(m->dev.self, buffer, to, data + to, size));
            ++*changed;
        }
    }
    return 0;
}

/* Inputs that only the op's own generator can fill get another seed. */
static int change_inputs(struct ws__measure *m, struct ws__bufs *b,
                         const struct ws__subject *s)
{
    struct ws__rng rng;
    size_t nset = b->nset, changed = 0;
    int rc;

    ws__rng_seed(&rng, s->t->input_seed + s->owner + 1);
    m->problem_done = false; /* not that of its seed any more */
    WS_TRY(change_some(m, b, &rng, &changed));
    if (changed)
        return 0;
    WS_TRY(m->deps.problem_fill(m->problem, m->ref, ws__rng_u64(&rng) >> 1,
                                m->opts.ref_threads));
    b->nset = 1; /* the others are not used again */
    rc = ws__bufs_upload(m, b, m->problem);
    b->nset = nset;
    return rc;
}

/* One launch on set 0 that does not touch the outputs before. */
static int launch(struct ws__measure *m, struct ws__bufs *b,
                  const struct ws__subject *s, struct ws__prog *prog,
                  uint64_t *hash)
{
    struct ws__dev_sample sample;

    ws__prog_make(m, b, s, 0, m->problem, prog);
    ws__prog_poison(prog, WS__POISON_B);
    prog->seq.fill += prog->nout;
    prog->seq.nfill -= prog->nout;
    WS_TRY(ws__measure_once(m, &prog->seq, &sample));
    *hash = sample.hash;
    return 0;
}

/* 1: right, or not looked at; 0: not; negative: the device failed. */
static int try_changed(struct ws__measure *m, struct ws__bufs *b,
                       struct ws__subject *s, struct ws__prog *prog,
                       enum ws__effort effort)
{
    uint64_t hash = 0;

    WS_TRY(change_inputs(m, b, s));
    WS_TRY(launch(m, b, s, prog, &hash));
    if (effort == WS__SCREEN && (s->kernel->order_dependent || hash != s->hash))
        return 1;
    WS_TRY(m->deps.reference_run(m->ref, m->problem));
    return ws__measure_compare_set(m, b, 0, WS__POISON_B, s,
                                   "keeps something between launches: right "
                                   "when checked, wrong on changed inputs: ");
}

int ws__measure_state(struct ws__measure *m, struct ws__bufs *b,
                      struct ws__subject *s, enum ws__effort effort)
{
    struct ws__mismatch kept = s->t->mismatch;
    struct ws__prog *prog = ws__alloc(m->ctx, 1, sizeof(*prog));
    int rc;

    if (!prog)
        return WS_ENOMEM;
    rc = try_changed(m, b, s, prog, effort);
    ws__free(m->ctx, prog);
    if (rc < 0)
        return ws__measure_blame(m, rc, s, 1, "run on changed inputs");
    if (!rc)
        s->t->verdict = WS__V_CHEAT;
    else
        s->t->mismatch = kept; /* the report on the checked launches */
    return 0;
}
