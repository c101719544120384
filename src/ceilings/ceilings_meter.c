/* ceilings_meter.c: runs ways on the device and keeps the best. */
#include "ceilings/ceilings_int.h"

#include "core/stats.h"

#include "base/banned.h"

/* A launch far longer than any of ours is a hang. */
#define LIMIT_NS UINT64_C(60000000000)
#define MOST_TIMES (1u << 22)
#define SUSTAIN_NS UINT64_C(1500000000)

bool ws__meter_over(int rc)
{
    return rc == WS_ENOMEM || rc == WS_ECANCEL || rc == WS_ETIMEOUT ||
           rc == WS_ECRASH || rc == WS_EPROTO;
}

int ws__meter_failed(struct ws__meter *m, int rc)
{
    if (ws__meter_over(rc))
        return rc;
    snprintf(m->why, WS__CEILINGS_WHY, "%.*s", WS__CEILINGS_WHY - 1,
             ws_ctx_error(m->ctx)->message);
    m->why[strcspn(m->why, "\n")] = '\0'; /* compilers say more */
    ws__error_clear(m->ctx);
    return 0;
}

int ws__meter_wrong(struct ws__meter *m, const char *entry)
{
    snprintf(m->why, WS__CEILINGS_WHY,
             "kernel '%s' computes something else on this device", entry);
    return 1;
}

int ws__meter_build(struct ws__meter *m, const char *source,
                    const char *const *entry, size_t nentry)
{
    const struct ws__build b = {.source = source,
                                .dialect = WS__DIALECT_PORTABLE,
                                .entry = entry,
                                .nentry = nentry};
    struct ws__built built = {0};

    ws__meter_unload(m);
    WS_TRY(ws__check_stop(m->ctx));
    WS_TRY(m->dev->ops->build(m->dev->self, &b, &built));
    m->module = built.module;
    ws__built_free(m->ctx, &built);
    return 0;
}

void ws__meter_unload(struct ws__meter *m)
{
    if (m->module)
        m->dev->ops->unload(m->dev->self, m->module);
    m->module = 0;
}

int ws__meter_alloc(struct ws__meter *m, uint64_t bytes, uint32_t *buffer)
{
    return m->dev->ops->alloc(m->dev->self, bytes, 0, 0, buffer);
}

void ws__meter_release(struct ws__meter *m, uint32_t *buffer)
{
    if (*buffer)
        m->dev->ops->release(m->dev->self, *buffer);
    *buffer = 0;
}

/* ---- arguments ----------------------------------------------------------- */

static void value(struct ws__way *w, const void *p, uint32_t bytes)
{
    struct ws__dev_arg *a = &w->arg[w->narg++];

    memset(a, 0, sizeof(*a));
    a->kind = WS__ARG_VALUE;
    a->bytes = bytes;
    memcpy(a->value, p, bytes);
}

void ws__way_buffer(struct ws__way *w, uint32_t buffer)
{
    w->arg[w->narg++] =
        (struct ws__dev_arg){.kind = WS__ARG_TENSOR, .buffer = buffer};
}

void ws__way_u32(struct ws__way *w, uint32_t v)
{
    value(w, &v, sizeof(v));
}

void ws__way_u64(struct ws__way *w, uint64_t v)
{
    value(w, &v, sizeof(v));
}

void ws__way_real(struct ws__way *w, double v, bool wide)
{
    float f = (float)v;

    if (wide)
        value(w, &v, sizeof(v));
    else
        value(w, &f, sizeof(f));
}

/* ---- running ------------------------------------------------------------- */

int ws__meter_run(struct ws__meter *m, const struct ws__way *w, uint32_t rounds,
                  uint64_t limit_ns)
{
    const struct ws__dev_launch l = {.module = m->module,
                                     .entry = w->entry,
                                     .grid = {w->grid, 1, 1},
                                     .block = {w->block, 1, 1},
                                     .arg = w->arg,
                                     .narg = w->narg};
    const struct ws__dev_seq seq = {.launch = &l, .nlaunch = 1};
    const struct ws__dev_batch batch = {.prog = &seq,
                                        .nprog = 1,
                                        .nset = 1,
                                        .rounds = rounds,
                                        .inner = 1,
                                        .limit_ns = limit_ns};

    m->nsample = 0;
    WS_TRY(ws__check_stop(m->ctx));
    if (m->dev->ops->set_limit)
        m->dev->ops->set_limit(m->dev->self, LIMIT_NS);
    return m->dev->ops->run(m->dev->self, &batch, m->sample, &m->nsample);
}

int ws__meter_calibrate(struct ws__meter *m, struct ws__way *w, size_t at,
                        double target_ns)
{
    uint32_t times = 16;

    for (;;) {
        double ns = 0;

        memcpy(w->arg[at].value, &times, sizeof(times));
        WS_TRY(ws__meter_run(m, w, 2, 0));
        for (size_t i = 0; i < m->nsample; i++)
            ns = i && m->sample[i].ns > ns ? ns : m->sample[i].ns;
        if (ns * 1.5 >= target_ns || times >= MOST_TIMES)
            return 0;
        /* What a launch costs by itself makes short ones look slow: at most
         * eight times longer at once. */
        times = target_ns < ns * 8 ? (uint32_t)(times * target_ns / ns) + 1
                                   : times * 8;
    }
}

static int by_mhz(const void *a, const void *b)
{
    const struct ws__dev_sample *x = a, *y = b;

    return x->mhz < y->mhz ? -1 : x->mhz > y->mhz;
}

/* Of m's samples from `first` on, which lose their order. */
static int summarize(struct ws__meter *m, size_t first, double work,
                     struct ws__ceiling *out)
{
    struct ws__dev_sample *s = m->sample + first;
    size_t n = m->nsample - first;
    double ns[WS__METER_SAMPLES];
    struct ws__summary sum;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < n; i++) {
        ns[i] = s[i].ns;
        out->slowed |= s[i].slowed;
    }
    if (!n)
        return ws__fail(m->ctx, WS_EDEVICE, "the device took no sample");
    WS_TRY(ws__summarize(m->ctx, ns, n, &sum));
    if (!(sum.lo > 0))
        return ws__fail(m->ctx, WS_EDEVICE,
                        "the device's clock stands still during a kernel");
    qsort(s, n, sizeof(*s), by_mhz);
    out->known = true;
    out->from = WS__ROOF_MEASURED;
    out->nsample = (uint32_t)n;
    out->mhz = s[n / 2].mhz;
    out->value = work > 0 ? work / sum.median * 1e9 : sum.median;
    out->lo = work > 0 ? work / sum.hi * 1e9 : sum.lo;
    out->hi = work > 0 ? work / sum.lo * 1e9 : sum.hi;
    return 0;
}

int ws__meter_time(struct ws__meter *m, const struct ws__way *w, double work)
{
    struct ws__ceiling c;
    bool better;

    WS_TRY(ws__meter_run(m, w, 2, 0)); /* warm */
    WS_TRY(ws__meter_run(m, w, m->quick ? 7 : 25, 0));
    WS_TRY(summarize(m, 0, work, &c));
    better = work > 0 ? c.value > m->into->value : c.value < m->into->value;
    if (!m->into->known || better)
        *m->into = c;
    return 0;
}

int ws__meter_sustain(struct ws__meter *m, const struct ws__way *w, double work)
{
    struct ws__ceiling c;
    double spent = 0;

    while (spent < (double)SUSTAIN_NS) {
        double before = spent;

        WS_TRY(ws__meter_run(m, w, WS__METER_SAMPLES, 0));
        for (size_t i = 0; i < m->nsample; i++)
            spent += m->sample[i].ns;
        if (!(spent > before))
            break;
    }
    WS_TRY(summarize(m, 0, work, &c));
    m->into->sustained = c.value;
    m->into->sustained_mhz = c.mhz;
    m->into->sustained_slowed = c.slowed;
    return 0;
}
