/*
 * spec_hash.c: what a specification means, as hashes.
 *
 * Taken from the structures, never from the text: comments, spaces, the
 * order of unrelated keys and descriptions do not change a hash. Workloads
 * are not part of an op's hash (they have their own), and a kernel's hash
 * does not cover its op.
 */
#include "spec/parts.h"

#include "base/banned.h"

static struct ws__hash mix_double(struct ws__hash h, double v)
{
    return ws__hash_mix(h, &v, sizeof(v));
}

static struct ws__hash mix_axis(struct ws__hash h, const struct ws__axis *a)
{
    h = ws__hash_u64(ws__hash_str(h, a->name), (uint64_t)a->kind);
    h = ws__hash_u64(ws__hash_u64(h, (uint64_t)a->lo), (uint64_t)a->hi);
    h = ws__hash_u64(ws__hash_u64(h, (uint64_t)a->value), a->ntypes);
    for (size_t i = 0; i < a->ntypes; i++)
        h = ws__hash_u64(h, (uint64_t)a->types[i]);
    if (a->counts) /* only what is there, as below */
        h = ws__hash_u64(ws__hash_u64(h, (uint64_t)a->counts),
                         (uint64_t)a->counts_block);
    return h;
}

static struct ws__hash mix_tensor(struct ws__hash h, const struct ws__tensor *t)
{
    h = ws__hash_u64(ws__hash_str(h, t->name), (uint64_t)t->role);
    h = ws__hash_u64(h, t->ndim);
    for (size_t i = 0; i < t->ndim; i++)
        h = ws__expr_meaning(ws__expr_meaning(h, t->dim[i]), t->stride[i]);
    h = ws__hash_u64(ws__hash_u64(h, (uint64_t)t->dtype),
                     (uint64_t)t->type_axis);
    h = ws__hash_u64(ws__hash_u64(h, t->align), (uint64_t)t->fill.kind);
    return mix_double(mix_double(h, t->fill.a), t->fill.b);
}

/* Only what is there: an op with a native reference keeps its hash. */
static struct ws__hash mix_reference(struct ws__hash h, const struct ws__op *op)
{
    h = ws__hash_str(h, op->reference);
    if (op->python.text) {
        h = ws__hash_str(ws__hash_str(h, "python"), op->python.text);
        h = ws__hash_str(h, op->python.function);
        h = ws__hash_u64(h, (uint64_t)op->python.arrays);
    }
    if (op->trusted.kernel) {
        const struct ws__hash *k = &op->trusted.kernel->hash;

        h = ws__hash_mix(ws__hash_str(h, "kernel"), k, sizeof(*k));
        h = ws__hash_str(h, op->trusted.config);
    }
    return h;
}

struct ws__hash ws__op_meaning(const struct ws__op *op)
{
    const struct ws__tolerance *t = &op->tolerance;
    struct ws__hash h = ws__hash_str((struct ws__hash){3, 0}, op->name);

    h = ws__hash_u64(h, op->naxis);
    for (size_t i = 0; i < op->naxis; i++)
        h = mix_axis(h, &op->axis[i]);
    h = ws__hash_u64(h, op->ntensor);
    for (size_t i = 0; i < op->ntensor; i++)
        h = mix_tensor(h, &op->tensor[i]);
    h = ws__hash_u64(h, op->nrequire);
    for (size_t i = 0; i < op->nrequire; i++)
        h = ws__expr_meaning(h, op->require[i]);
    h = mix_reference(h, op);
    h = ws__hash_u64(h, (uint64_t)t->kind);
    h = mix_double(mix_double(mix_double(h, t->atol), t->rtol), t->ratio);
    h = ws__expr_meaning(h, t->reduction);
    h = ws__hash_u64(h, (uint64_t)t->accumulate);
    h = ws__expr_meaning(ws__expr_meaning(h, op->flops), op->bytes);
    h = ws__hash_u64(h, (uint64_t)op->cache);
    /* Mixed in only where there are any: ops without keep the hash that they
     * had before there were constants. */
    for (size_t i = 0; i < op->nconstant; i++)
        h = ws__value_meaning(ws__hash_str(h, op->constant[i].name),
                              &op->constant[i].value);
    for (size_t f = 0; f < WS__NFAMILY; f++)
        if (op->refused[f])
            h = ws__hash_u64(ws__hash_str(h, "without"), 2 * f + op->finite[f]);
    return h;
}

static struct ws__hash mix_param(struct ws__hash h, const struct ws__param *p)
{
    h = ws__hash_u64(ws__hash_str(h, p->name), (uint64_t)p->type);
    h = ws__hash_u64(ws__hash_u64(h, p->nvalue), p->dflt_of[1]);
    if (p->dflt_of[0] != p->dflt_of[1])
        h = ws__hash_u64(ws__hash_str(h, "gpu"), p->dflt_of[0]);
    for (size_t i = 0; i < p->nvalue; i++)
        h = ws__value_meaning(h, &p->value[i]);
    return ws__hash_u64(h, p->structural);
}

static struct ws__hash mix_space(struct ws__hash h, const struct ws__kernel *k)
{
    h = ws__hash_u64(h, k->nparam);
    for (size_t i = 0; i < k->nparam; i++)
        h = mix_param(h, &k->param[i]);
    h = ws__hash_u64(h, k->nconstraint);
    for (size_t i = 0; i < k->nconstraint; i++) {
        h = ws__expr_meaning(h, k->constraint[i].expr);
        if (k->constraint[i].prune)
            h = ws__hash_str(h, "prune");
    }
    return h;
}

struct ws__hash ws__kernel_meaning(const struct ws__kernel *k)
{
    struct ws__hash h = ws__hash_str((struct ws__hash){4, 0}, k->source);

    h = mix_space(ws__kernel_plan_meaning(h, k), k);
    if (k->triton)
        h = ws__hash_str(h, k->triton);
    else if (k->triton_source)
        h = ws__hash_str(h, k->triton_source);
    for (size_t i = 0; i < k->nready; i++) {
        const struct ws__source_file *f = &k->ready[i];

        h = ws__hash_mix(ws__hash_str(h, f->key ? f->key : f->name), &f->hash,
                         sizeof(f->hash));
    }
    h = ws__hash_u64(h, k->specialize);
    for (size_t i = 0; k->op && i < k->op->naxis; i++)
        h = ws__hash_u64(ws__hash_u64(h, (uint64_t)k->range_lo[i]),
                         (uint64_t)k->range_hi[i]);
    /* What the wave model is told changes no result: not of the meaning. */
    return h;
}

struct ws__hash ws__spec_meaning(const struct ws__spec *s)
{
    struct ws__hash h = ws__hash_u64((struct ws__hash){5, 0}, s->nkernel);

    if (s->op)
        h = ws__hash_mix(h, &s->op->hash, sizeof(s->op->hash));
    for (size_t i = 0; i < s->nkernel; i++) {
        h = ws__hash_str(h, s->kernel[i].name);
        h = ws__hash_mix(h, &s->kernel[i].hash, sizeof(s->kernel[i].hash));
    }
    h = ws__hash_u64(h, s->nworkload);
    for (size_t i = 0; i < s->nworkload; i++) {
        struct ws__hash w = ws__workload_hash(s->op, &s->workload[i]);

        h = mix_double(ws__hash_mix(h, &w, sizeof(w)), s->workload[i].weight);
    }
    return h;
}
