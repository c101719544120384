/*
 * facts.c: counters, resources and times as the numbers that rules read.
 *
 * Formulas are those of docs/profiling.md. A fact whose counter is missing is
 * NaN: arithmetic carries that on, comparisons with it are false.
 */
#include "profile/profile.h"

#include <math.h>

#include "base/banned.h"

#define SECTOR 32.0 /* bytes */
#define USED_PCT 1  /* of its time a unit is busy that is used at all */
#define LANES 32.0

static const struct row {
    const char *key, *unit, *about;
    enum ws__needs needs;
} ROWS[WS__NFACT] = {
#define WS_X(name, key, unit, needs, about)                                    \
    {key, unit, about, WS__NEEDS_##needs},
    WS__FACT_MAP(WS_X)
#undef WS_X
};

const char *ws__fact_key(enum ws__fact f)
{
    return ROWS[f].key;
}

const char *ws__fact_unit(enum ws__fact f)
{
    return ROWS[f].unit;
}

const char *ws__fact_about(enum ws__fact f)
{
    return ROWS[f].about;
}

enum ws__needs ws__fact_needs(enum ws__fact f)
{
    return ROWS[f].needs;
}

enum ws__fact ws__fact_find(const char *key)
{
    for (size_t i = 0; i < WS__NFACT; i++)
        if (!strcmp(ROWS[i].key, key))
            return (enum ws__fact)i;
    return WS__NFACT;
}

const char *ws__needs_text(enum ws__needs n)
{
    static const char *const text[] = {
#define WS_X(name, text) [WS__NEEDS_##name] = text,
        WS__NEEDS_MAP(WS_X)
#undef WS_X
    };

    return text[n];
}

/* Does the metric count, so that those of several launches add up? */
static bool adds_up(enum ws__metric m)
{
    const char *unit = ws__metric_unit(m);
    static const char *const rates[] = {"%", "1"};

    if (m == WS__M_WARPS_ELIGIBLE || m == WS__M_WARPS_ACTIVE ||
        m == WS__M_IPC || m == WS__M_GLOBAL_LD_USED ||
        m == WS__M_GLOBAL_ST_USED ||
        (m >= WS__M_LATENCY && m <= WS__M_STALL_SELECTED))
        return false;
    for (size_t i = 0; i < WS_COUNT(rates); i++)
        if (!strcmp(unit, rates[i]))
            return false;
    return true;
}

double ws__subject_counter(const struct ws__subject *s, enum ws__metric m)
{
    double sum = 0, time = 0;

    if (!s->counter || !s->nlaunch)
        return NAN;
    if (s->nlaunch == 1)
        return s->counter[m];
    for (size_t i = 0; i < s->nlaunch; i++) {
        const double *v = s->counter + i * WS__NMETRIC;
        double weight = adds_up(m) ? 1 : v[WS__M_TIME];

        sum += v[m] * weight;
        time += weight;
    }
    return adds_up(m) ? sum : sum / time;
}

/* a / b; NaN if b is 0: nothing of it happened, so there is no share. */
static double over(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static double larger(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static void from_floor(const struct ws__subject *s, double *f)
{
    const struct ws__floor *o = s->floor;

    f[WS__F_TIME] = s->time_ns > 0 ? s->time_ns : NAN;
    if (s->nlaunch)
        f[WS__F_LAUNCHES] = (double)s->nlaunch;
    if (s->time_ns > 0 && !isnan(s->fixed_ns))
        f[WS__F_FIXED_SHARE] = s->fixed_ns / s->time_ns;
    if (!o)
        return;
    f[WS__F_WANTS_TENSOR] = o->tensor;
    f[WS__F_WANTS_DOUBLE] = o->f64;
    if (o->ns > 0)
        f[WS__F_FLOOR] = o->ns;
    f[WS__F_GAP] = f[WS__F_TIME] / f[WS__F_FLOOR];
    if (o->bytes_ns > 0)
        f[WS__F_MEMORY_SHARE] = o->bytes_ns / f[WS__F_TIME];
    if (o->flops_ns > 0)
        f[WS__F_COMPUTE_SHARE] = o->flops_ns / f[WS__F_TIME];
    /* Launches one after the other overlap, empty ones alone do not. */
    if (o->launch_ns > 0)
        f[WS__F_LAUNCH_SHARE] = fmin(o->launch_ns / f[WS__F_TIME], 1);
}

/* Instructions as written: how often each runs is not known. */
static void from_code(const struct ws__sass_function *code, double *f)
{
    const uint32_t *n = code->count;
    double narrow = (double)n[WS__SASS_FP32_FMA] + n[WS__SASS_FP32_ADD] +
                    n[WS__SASS_FP32_MUL] + n[WS__SASS_HALF];

    /* That there are none says nothing where the device has none. */
    if (n[WS__SASS_TENSOR_WIDE] > 0)
        f[WS__F_USES_WIDE] = 1;
    f[WS__F_USES_TENSOR] =
        n[WS__SASS_TENSOR_WIDE] > 0 || n[WS__SASS_TENSOR] > 0;
    f[WS__F_DOUBLE_SHARE] = over(n[WS__SASS_FP64], n[WS__SASS_FP64] + narrow);
}

static void from_build(const struct ws__subject *s, double *f)
{
    const struct ws__occupancy *o = s->occupancy;

    if (s->res && s->res->registers)
        f[WS__F_SPILL_BYTES] = s->res->spill_bytes;
    if (o && o->blocks) {
        if (o->share > 0)
            f[WS__F_OCCUPANCY] = o->share;
        if (o->limiter)
            f[WS__F_LIMITER] = o->limiter;
        if (o->waves > 0) {
            f[WS__F_WAVES] = o->waves;
            f[WS__F_TAIL_LOSS] = o->tail;
        }
    }
    if (s->mix && s->mix->total)
        from_code(s->mix, f);
}

/* Device memory: bytes of the counters over the time that they were counted
 * in, against the ceiling that the floor was taken with. */
static void memory_facts(const struct ws__subject *s, const double *c,
                         double *f)
{
    double bytes = c[WS__M_DRAM_READ] + c[WS__M_DRAM_WRITE];
    const struct ws__ceiling *top =
        s->roof ? &s->roof->ceiling[WS__ROOF_COPY] : NULL;

    f[WS__F_WASTE] = s->floor ? over(bytes, s->floor->bytes) : NAN;
    f[WS__F_DRAM_BUSY] = c[WS__M_DRAM_PCT] / 100;
    if (top && top->known && top->from == WS__ROOF_MEASURED)
        f[WS__F_DRAM_BUSY] =
            larger(f[WS__F_DRAM_BUSY],
                   over(bytes, c[WS__M_TIME]) * 1e9 / top->value);
    f[WS__F_L2_HIT] = c[WS__M_L2_HIT_PCT] / 100;
    f[WS__F_L1_HIT] = c[WS__M_L1_HIT_PCT] / 100;
    f[WS__F_LOAD_USED] = c[WS__M_GLOBAL_LD_USED] / SECTOR;
    f[WS__F_STORE_USED] = c[WS__M_GLOBAL_ST_USED] / SECTOR;
    f[WS__F_LOAD_SECTORS] =
        over(c[WS__M_GLOBAL_LD_SECTORS], c[WS__M_GLOBAL_LD_REQUESTS]);
    f[WS__F_STORE_SECTORS] =
        over(c[WS__M_GLOBAL_ST_SECTORS], c[WS__M_GLOBAL_ST_REQUESTS]);
    f[WS__F_ATOMIC_SHARE] =
        over(c[WS__M_L2_ATOM] + c[WS__M_L2_RED], c[WS__M_L2_SECTORS]);
}

static void shared_facts(const double *c, double *f)
{
    double local = c[WS__M_LOCAL_LD_SECTORS] + c[WS__M_LOCAL_ST_SECTORS];
    double global = c[WS__M_GLOBAL_LD_SECTORS] + c[WS__M_GLOBAL_ST_SECTORS];

    f[WS__F_CONFLICTS] =
        over(c[WS__M_SHARED_LD_CONFLICTS] + c[WS__M_SHARED_ST_CONFLICTS],
             c[WS__M_SHARED_LD_WAVES] + c[WS__M_SHARED_ST_WAVES]);
    f[WS__F_SHARED_USED] = c[WS__M_SHARED_USED_PCT] / 100;
    f[WS__F_SPILL_RATE] =
        over(c[WS__M_LOCAL_LD_INST] + c[WS__M_LOCAL_ST_INST], c[WS__M_INST]);
    f[WS__F_LOCAL_SHARE] = over(local, local + global);
}

/* Of single threads' instructions, as often as they ran. */
static double double_share(const double *c)
{
    double wide = c[WS__M_DADD] + c[WS__M_DMUL] + c[WS__M_DFMA];
    double narrow = c[WS__M_FADD] + c[WS__M_FMUL] + c[WS__M_FFMA] +
                    c[WS__M_HADD] + c[WS__M_HMUL] + c[WS__M_HFMA];

    return over(wide, wide + narrow);
}

static void unit_facts(const double *c, double *f)
{
    double wide = double_share(c);

    if (!isnan(wide))
        f[WS__F_DOUBLE_SHARE] = wide;
    f[WS__F_TENSOR_BUSY] = c[WS__M_TENSOR_PCT] / 100;
    f[WS__F_FMA_BUSY] = c[WS__M_FMA_PCT] / 100;
    f[WS__F_XU_BUSY] = c[WS__M_XU_PCT] / 100;
    f[WS__F_LSU_BUSY] = c[WS__M_LSU_PCT] / 100;
    f[WS__F_FP64_BUSY] = c[WS__M_FP64_PCT] / 100;
    for (size_t i = WS__F_DRAM_BUSY; i < WS__F_BUSIEST; i++)
        f[WS__F_BUSIEST] = larger(f[WS__F_BUSIEST], f[i]);
    f[WS__F_LANES] = c[WS__M_LANES] / LANES;
    f[WS__F_OCCUPIED] = c[WS__M_WARPS_PCT] / 100;
    f[WS__F_ISSUE] = c[WS__M_ISSUE_PCT] / 100;
    f[WS__F_ELIGIBLE] = c[WS__M_WARPS_ELIGIBLE];
    f[WS__F_ACTIVE] = c[WS__M_WARPS_ACTIVE];
    f[WS__F_IMBALANCE] =
        1 - over(c[WS__M_SM_CYCLES_ACTIVE], c[WS__M_SM_CYCLES]);
    /* Not the instructions of the matrix units: on an H200 these are one a
     * warp in kernels without a matrix product. */
    if (c[WS__M_TENSOR_PCT] >= USED_PCT)
        f[WS__F_USES_TENSOR] = 1;
    else if (!isnan(c[WS__M_TENSOR_PCT]) && isnan(f[WS__F_USES_TENSOR]))
        f[WS__F_USES_TENSOR] = 0;
    if (!isnan(c[WS__M_TENSOR_WIDE]))
        f[WS__F_USES_WIDE] = c[WS__M_TENSOR_WIDE] > 0;
    for (size_t i = 0; i < WS__NSTALL; i++)
        f[WS__F_STALL_FIRST + i] =
            over(c[WS__M_STALL_FIRST + i], c[WS__M_LATENCY]);
}

_Static_assert(WS__F_BUSIEST - WS__F_DRAM_BUSY == 5,
               "memory and units stand before the busiest of them");
_Static_assert(WS__F_SELECTED - WS__F_STALL_FIRST + 1 == WS__NSTALL,
               "a fact for each stall");

void ws__facts_make(const struct ws__subject *s, double out[WS__NFACT])
{
    double counter[WS__NMETRIC];

    for (size_t i = 0; i < WS__NFACT; i++)
        out[i] = NAN;
    for (size_t m = 0; m < WS__NMETRIC; m++)
        counter[m] = ws__subject_counter(s, (enum ws__metric)m);
    from_floor(s, out);
    from_build(s, out);
    if (!s->counter)
        return;
    memory_facts(s, counter, out);
    shared_facts(counter, out);
    unit_facts(counter, out);
}
