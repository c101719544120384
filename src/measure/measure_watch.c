/*
 * measure_watch.c: a launch that the hardware watches.
 *
 * A kernel that uses an input as scratch and puts back what was there, or
 * reads beside a buffer what changes nothing, has right results, whole guards
 * and inputs of the right hash. It fails a user whose inputs are shared or
 * read-only, or lie at the end of what is mapped. Devices that can (processors
 * by their pages, CUDA by its mappings) run it once with inputs that may only
 * be read and nothing that may be touched beside its buffers.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

/* What a buffer of the candidate is called; NULL: it is none of its own. */
static const char *name_of(const struct ws__measure *m,
                           const struct ws__bufs *b, size_t set,
                           const struct ws__subject *s, uint32_t buffer,
                           uint64_t *bytes)
{
    for (size_t t = 0; t < m->op->ntensor; t++)
        if (ws__measure_in_buffer(m->op, t) && b->tensor[set][t] == buffer) {
            *bytes = b->in->shape[t].bytes;
            return m->op->tensor[t].name;
        }
    for (size_t k = 0; k < s->kernel->nscratch; k++)
        if (b->scratch[set][s->owner][k] == buffer) {
            *bytes = s->plan->scratch_bytes[k];
            return s->kernel->scratch[k].name;
        }
    return NULL;
}

static int judge(struct ws__measure *m, struct ws__subject *s,
                 enum ws__verdict v, const char *what, const char *name,
                 const char *where)
{
    s->t->verdict = v;
    s->judged = true;
    return ws__trial_set_reason(m->ctx, s->t,
                                "%s%s%s%s%s (its results are right; the "
                                "access was seen in a watched launch)",
                                what, name ? "'" : "", name ? name : "",
                                name ? "'" : "", where);
}

static int blame_touch(struct ws__measure *m, const struct ws__bufs *b,
                       size_t set, struct ws__subject *s,
                       const struct ws__dev_touch *touch)
{
    static const char *const what[] = {
        [WS__TOUCH_INPUT] = "writes to input ",
        [WS__TOUCH_READ] = "reads outside of ",
        [WS__TOUCH_WRITE] = "writes outside of ",
        [WS__TOUCH_SOME] = "reads or writes outside of ",
    };
    uint64_t bytes = 0;
    const char *name =
        touch->buffer ? name_of(m, b, set, s, touch->buffer, &bytes) : NULL;
    bool before = touch->offset < 0;
    char where[64] = "";

    if (touch->kind == WS__TOUCH_INPUT)
        return judge(m, s, WS__V_CHEAT, what[touch->kind], name,
                     ", and puts back what was there");
    if (touch->buffer && !name)
        return judge(m, s, WS__V_CHEAT, what[touch->kind], NULL,
                     "its buffers: what is another launch's");
    if (!name)
        return judge(m, s, WS__V_WRONG, what[touch->kind], NULL,
                     "its buffers, where nothing may be mapped");
    if (!before && touch->offset < (int64_t)bytes)
        return judge(m, s, WS__V_CHEAT, what[touch->kind], NULL,
                     "its buffers: one that this launch was not given");
    if (touch->offset != WS__TOUCH_NOWHERE)
        snprintf(where, sizeof(where), ", %llu bytes %s",
                 (unsigned long long)(before ? -touch->offset
                                             : touch->offset - (int64_t)bytes),
                 before ? "before its start" : "after its end");
    return judge(m, s, WS__V_WRONG, what[touch->kind], name, where);
}

static int run(struct ws__measure *m, const struct ws__bufs *b, size_t set,
               const struct ws__dev_seq *seq, struct ws__dev_touch *out)
{
    uint32_t input[WS__MAX_TENSORS];
    size_t n = 0;
    int rc;

    for (size_t t = 0; t < m->op->ntensor; t++)
        if (m->op->tensor[t].role == WS__INPUT &&
            ws__measure_in_buffer(m->op, t))
            input[n++] = b->tensor[set][t];
    ws__measure_limit(m, (1 + n) * ws__measure_launch_limit(m));
    rc = m->dev.ops->watch(m->dev.self, seq, input, n, out);
    ws__measure_limit(m, 0);
    return rc;
}

static int watch_set(struct ws__measure *m, struct ws__bufs *b, size_t set,
                     struct ws__subject *s, struct ws__prog *prog)
{
    struct ws__dev_touch touch;
    unsigned gen = m->gen;
    int rc;

    ws__prog_make(m, b, s, set, m->problem, prog);
    ws__prog_poison(prog, ws__poison_draw(b), 0);
    m->age++;
    rc = run(m, b, set, &prog->seq, &touch);
    if (rc == WS_ENOTSUP) {
        ws__log(m->ctx, WS_LOG_DEBUG, "not watched: %s", m->ctx->err.message);
        return 0;
    }
    if (rc < 0)
        return ws__measure_blame(m, rc, s, 1, "run once more, watched");
    if (touch.kind == WS__TOUCH_NONE)
        return 0;
    s->t->verdict = WS__V_NONE;
    if (touch.offset != WS__TOUCH_NOWHERE)
        WS_TRY(ws__bufs_check(m, b, set, s, 1)); /* it can say more */
    if (s->t->verdict == WS__V_NONE)
        WS_TRY(blame_touch(m, b, set, s, &touch));
    if (m->gen == gen)
        ws__measure_lose(m);
    return 0;
}

int ws__measure_watch(struct ws__measure *m, struct ws__bufs *b,
                      struct ws__subject *s)
{
    struct ws__prog *prog;
    int rc = 0;

    if (!m->dev.ops->watch || m->opts.few_gates || m->opts.below)
        return 0;
    prog = ws__alloc(m->ctx, 1, sizeof(*prog));
    if (!prog)
        return WS_ENOMEM;
    /* On processors all sets: they can be told by their addresses. The first
     * set's buffers end at a page's end, the next one's begin at a page's
     * start. On CUDA any set is mapped anew, to other addresses than it has. */
    for (size_t set = 0; set < (m->info.id.is_cpu ? b->nset : 1) && rc == 0;
         set++)
        if (s->t->verdict == WS__V_OK)
            rc = watch_set(m, b, set, s, prog);
    ws__free(m->ctx, prog);
    return rc;
}
