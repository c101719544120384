/*
 * trial.c: names of verdicts, ownership of trials, identity of measurers.
 *
 * A trial owns its texts and its samples, nothing else; copies are deep, so
 * that a journal, a strategy and a report may keep one each.
 */
#include "core/trial.h"

#include "core/counters.h"

#include <math.h>

#include "base/banned.h"

static const struct {
    const char *key, *text;
} verdicts[] = {
#define WS_X(code, name, key, text) [code] = {key, text},
    WS__VERDICT_MAP(WS_X)
#undef WS_X
};

const char *ws__verdict_key(enum ws__verdict v)
{
    return (size_t)v < WS_COUNT(verdicts) ? verdicts[v].key : "unknown";
}

const char *ws__verdict_text(enum ws__verdict v)
{
    return (size_t)v < WS_COUNT(verdicts) ? verdicts[v].text : "unknown";
}

static const struct {
    const char *key, *text, *fails;
} gates[] = {
#define WS_X(code, name, key, text, fails) [code] = {key, text, fails},
    WS__GATE_MAP(WS_X)
#undef WS_X
};

const char *ws__gate_key(enum ws__gate g)
{
    return (size_t)g < WS_COUNT(gates) ? gates[g].key : "unknown";
}

const char *ws__gate_text(enum ws__gate g, enum ws__gate_end end)
{
    if ((size_t)g >= WS_COUNT(gates))
        return "unknown";
    return end == WS__GATE_FAILED ? gates[g].fails : gates[g].text;
}

enum ws__gate_end ws__gate_end(const struct ws__trial *t, enum ws__gate g)
{
    return (enum ws__gate_end)(t->gates >> (2 * g) & 3);
}

uint32_t ws__gates_passed(const struct ws__trial *t)
{
    uint32_t bits = 0;

    for (unsigned g = 0; g < WS__NGATE; g++)
        if (ws__gate_end(t, (enum ws__gate)g) == WS__GATE_PASSED)
            bits |= 1u << g;
    return bits;
}

void ws__gate_note(struct ws__trial *t, enum ws__gate g, enum ws__gate_end end,
                   uint64_t ns)
{
    t->gates &= ~(3u << (2 * g));
    t->gates |= (uint32_t)end << (2 * g);
    t->gate_ns[g] += ns;
}

void ws__gate_absent(struct ws__trial *t, enum ws__gate g, const char *why)
{
    ws__gate_note(t, g, WS__GATE_ABSENT, 0);
    t->absent[g] = why;
}

bool ws__candidate_eq(const struct ws__candidate *a,
                      const struct ws__candidate *b)
{
    return a->kernel == b->kernel && ws__config_eq(&a->config, &b->config);
}

bool ws__candidate_fits(const struct ws__candidate *c,
                        const struct ws__kernel *kernel, size_t nkernel)
{
    const struct ws__kernel *k;

    if (c->kernel >= nkernel)
        return false;
    k = &kernel[c->kernel];
    if (c->config.n != k->nparam)
        return false;
    for (size_t i = 0; i < k->nparam; i++)
        if (c->config.at[i] >= k->param[i].nvalue)
            return false;
    return true;
}

void ws__trial_clear(struct ws_ctx *ctx, struct ws__trial *t)
{
    ws__free(ctx, t->reason);
    ws__free(ctx, t->counters);
    ws__free(ctx, t->elsewhere);
    ws__free(ctx, t->sample_ns);
    memset(t, 0, sizeof(*t));
}

int ws__trial_copy(struct ws_ctx *ctx, const struct ws__trial *from,
                   struct ws__trial *to)
{
    *to = *from;
    to->reason = NULL;
    to->counters = NULL;
    to->elsewhere = NULL; /* for who asked alone */
    to->sample_ns = NULL;
    if (from->counters && !(to->counters = ws__strdup(ctx, from->counters)))
        goto fail;
    if (from->reason && !(to->reason = ws__strdup(ctx, from->reason)))
        goto fail;
    if (from->nsample) {
        to->sample_ns = ws__alloc(ctx, from->nsample, sizeof(double));
        if (!to->sample_ns)
            goto fail;
        memcpy(to->sample_ns, from->sample_ns, from->nsample * sizeof(double));
    }
    return 0;
fail:
    ws__trial_clear(ctx, to);
    return WS_ENOMEM;
}

static const char *flaw_of_times(const struct ws__trial *t)
{
    if (t->verdict != WS__V_OK)
        return NULL; /* of a failure anything is kept */
    if (t->nsample && !(t->did & WS__WANT_TIME))
        return "it has samples, but 'did' says that none were taken";
    for (size_t i = 0; i < t->nsample; i++)
        if (!isfinite(t->sample_ns[i]) || !(t->sample_ns[i] > 0))
            return "a sample of an ok trial is no time above 0";
    return NULL;
}

const char *ws__trial_flaw(const struct ws__question *q,
                           const struct ws__candidate *asked,
                           const struct ws__trial *t)
{
    const unsigned all = WS__WANT_BUILD | WS__WANT_VERDICT | WS__WANT_TIME |
                         WS__WANT_PROOF | WS__WANT_SANITIZER | WS__WANT_FRESH;

    if (t->verdict > WS__V_FILTERED)
        return "unknown verdict";
    if (t->effort > WS__CONFIRM || q->effort > WS__CONFIRM)
        return "unknown effort";
    if (t->did & ~all || q->want & ~all)
        return "unknown bits in 'did' or 'want'";
    if (!q->want)
        return "the question wants nothing";
    if (t->candidate.kernel != asked->kernel)
        return "its kernel is not the question's";
    if (!ws__config_eq(&t->candidate.config, &asked->config))
        return "its config is not the question's";
    if (t->workload != q->workload)
        return "its workload is not the question's";
    /* More may have been taken from elsewhere, and pairs always confirm. */
    if (t->effort < q->effort)
        return "its effort is below the question's";
    if (t->mismatch.bad > t->mismatch.total ||
        t->mismatch.nan > t->mismatch.total)
        return "more elements are wrong than there are";
    if (t->gates >> (2 * WS__NGATE))
        return "unknown gates";
    if (t->counters && !ws__counters_sound(t->counters))
        return "'counters' is no list of launches with key=number";
    return flaw_of_times(t);
}

int ws__trial_set_reason(struct ws_ctx *ctx, struct ws__trial *t,
                         const char *fmt, ...)
{
    va_list ap;
    int n;
    char *text;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        return ws__fail(ctx, WS_EBUG, "bad format");
    text = ws__alloc(ctx, (size_t)n + 1, 1);
    if (!text)
        return WS_ENOMEM;
    va_start(ap, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    ws__plain(text);
    ws__free(ctx, t->reason);
    t->reason = text;
    return 0;
}

void ws__identity_vars(const struct ws__identity *id,
                       const struct ws__kernel *k, union wsrt_value *vars)
{
    const int64_t device[WS__NDEVICE_VARS] = {
        [WS__DV_UNITS] = id->units,
        [WS__DV_THREADS] = id->max_threads,
        [WS__DV_SHARED] = (int64_t)id->shared_bytes,
        [WS__DV_VECTOR] = id->vector_bytes,
        [WS__DV_IS_CPU] = id->is_cpu,
    };

    for (int i = 0; i < WS__NDEVICE_VARS; i++)
        vars[ws__kernel_device_slot(k, (enum ws__device_var)i)].i = device[i];
}

void ws__identity_seal(struct ws__identity *id)
{
    struct ws__hash h = ws__hash_str((struct ws__hash){1, 0}, id->family);

    h = ws__hash_str(h, id->device);
    h = ws__hash_str(h, id->driver);
    h = ws__hash_str(h, id->compiler);
    h = ws__hash_str(h, id->tool);
    h = ws__hash_str(h, id->protocol);
    h = ws__hash_u64(h, id->units);
    h = ws__hash_u64(h, id->max_threads);
    h = ws__hash_u64(h, id->memory_bytes);
    h = ws__hash_u64(h, id->cache_bytes);
    h = ws__hash_u64(h, id->shared_bytes);
    h = ws__hash_u64(h, id->vector_bytes);
    id->hash = ws__hash_u64(h, id->is_cpu);
}

const char *ws__effort_key(enum ws__effort e)
{
    static const char *const key[] = {[WS__SCREEN] = "screen",
                                      [WS__NORMAL] = "normal",
                                      [WS__CONFIRM] = "confirm"};

    return (size_t)e < WS_COUNT(key) ? key[e] : "unknown";
}

const char *ws__step_name(enum ws__step s)
{
    static const char *const name[] = {
#define WS_X(name, text) [WS__STEP_##name] = text,
        WS__STEP_MAP(WS_X)
#undef WS_X
    };

    return name[s];
}
