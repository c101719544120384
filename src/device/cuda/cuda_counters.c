/*
 * cuda_counters.c: counting by CUPTI's range profiler.
 *
 * Each launch is a range of its own (automatic ranges), so that what is
 * counted begins and ends with the kernel; ranges that a caller pushes span
 * more, and understate every percentage of elapsed time. If a set of metrics
 * takes several passes the whole sequence is run again for each (user replay),
 * after the same restores, fills and flush: buffers that are updated in place
 * hold their inputs each time, and every pass finds the same caches. CUPTI's
 * own replay would save and restore memory in between, which nobody flushes.
 *
 * Starting the library and working out a set cost hundreds of milliseconds and
 * are kept, for the last few sets. The profiler is enabled for the length of a
 * count only: while it is, launches are slower.
 *
 * Nothing else may be launched while a pass lasts: it would be a range. So
 * preparations come before it, and no kernel holds back the stream.
 */
#include "device/cuda/cuda.h"

#include <math.h>

#include "base/clock.h"
#include "base/hash.h"
#include "device/cuda/cuda_cupti.h"
#include "base/banned.h"

#define SETUPS 4
#define MAX_PASSES 1000u

/* What counting one list of metrics takes. */
struct setup {
    struct ws__hash key; /* of the names and the number of ranges */
    uint64_t used;       /* larger: later; 0: free place */
    cupti_host host;     /* NULL: none of them can be had */
    char **name;         /* that can be had, in one block */
    size_t nname, nrange, passes;
    size_t *at; /* in the caller's list */
    double *value;
    uint8_t *config, *data;
    size_t config_bytes, data_bytes;
};

struct ws__cuda_counters {
    struct ws__cuda *d;
    struct cupti_api api;
    bool begun;
    const char *chip; /* the library's */
    uint8_t *available;
    struct setup setup[SETUPS];
    uint64_t tick;
    cupti_ranges ranges;   /* enabled; NULL: not */
    struct setup *current; /* what it is enabled for */
};

/* A structure of arguments on the stack, its size filled in. */
#define ARGS(var, function, ...)                                               \
    struct cupti_##function var = {.structSize = CUPTI_SIZE_##function,        \
                                   __VA_ARGS__}

static int check(struct ws__cuda_counters *c, int error, const char *what)
{
    return error ? ws__cupti_fail(c->d->ctx, error, what) : 0;
}

/* ---- the library ------------------------------------------------------- */

/* What is not supported has its reason in one of the fields. */
static int unsupported(struct ws__cuda_counters *c,
                       const struct cupti_ProfilerDeviceSupported *s)
{
    const struct {
        int level, error;
    } why[] = {
        {s->confidentialCompute, CUPTI__E_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED},
        {s->vGpu, CUPTI__E_VIRTUALIZED_DEVICE_NOT_SUPPORTED},
        {s->sli, CUPTI__E_SLI_DEVICE_NOT_SUPPORTED},
        {s->cmp, CUPTI__E_CMP_DEVICE_NOT_SUPPORTED},
        {s->wsl, CUPTI__E_WSL_DEVICE_NOT_SUPPORTED},
    };

    for (size_t i = 0; i < WS_COUNT(why); i++)
        if (why[i].level != CUPTI__SUPPORTED)
            return check(c, why[i].error, "read counters of this device");
    return check(c, CUPTI__E_NOT_SUPPORTED, "read counters of this device");
}

static int check_support(struct ws__cuda_counters *c)
{
    ARGS(s, ProfilerDeviceSupported, .cuDevice = c->d->device,
         .api = CUPTI__RANGE_PROFILING);

    WS_TRY(check(c, c->api.ProfilerDeviceSupported(&s),
                 "ask for counters of this device"));
    return s.isSupported == CUPTI__SUPPORTED ? 0 : unsupported(c, &s);
}

/* Which counters this device and user have. */
static int ask_available(struct ws__cuda_counters *c)
{
    static const char what[] = "ask which counters there are";
    ARGS(a, ProfilerGetCounterAvailability, .ctx = c->d->context);

    WS_TRY(check(c, c->api.ProfilerGetCounterAvailability(&a), what));
    c->available = ws__alloc(c->d->ctx,
                             a.counterAvailabilityImageSize
                                 ? a.counterAvailabilityImageSize
                                 : 1,
                             1);
    if (!c->available)
        return WS_ENOMEM;
    a.pCounterAvailabilityImage = c->available;
    return check(c, c->api.ProfilerGetCounterAvailability(&a), what);
}

static int begin(struct ws__cuda_counters *c)
{
    ARGS(init, ProfilerInitialize, .pPriv = NULL);
    ARGS(chip, DeviceGetChipName, .deviceIndex = (size_t)c->d->device);

    WS_TRY(ws__cupti_load(c->d->ctx, &c->api));
    WS_TRY(
        check(c, c->api.ProfilerInitialize(&init), "start CUPTI's profiler"));
    c->begun = true;
    WS_TRY(check_support(c));
    WS_TRY(check(c, c->api.DeviceGetChipName(&chip), "ask for the chip"));
    c->chip = chip.pChipName;
    return ask_available(c);
}

/* A profiler that cannot be disabled may be in the way of what is timed. */
static int disable(struct ws__cuda_counters *c)
{
    ARGS(off, RangeProfilerDisable, .pRangeProfilerObject = c->ranges);

    if (!c->ranges || c->d->dead)
        return 0;
    c->ranges = NULL;
    c->current = NULL;
    return check(c, c->api.RangeProfilerDisable(&off), "end counting");
}

static void drop_setup(struct ws__cuda_counters *c, struct setup *s)
{
    struct ws_ctx *ctx = c->d->ctx;

    if (c->current == s)
        disable(c);
    if (s->host && !c->d->dead) {
        ARGS(end, ProfilerHostDeinitialize, .pHostObject = s->host);

        c->api.ProfilerHostDeinitialize(&end);
    }
    ws__free(ctx, s->name);
    ws__free(ctx, s->at);
    ws__free(ctx, s->value);
    ws__free(ctx, s->config);
    ws__free(ctx, s->data);
    memset(s, 0, sizeof(*s));
}

void ws__cuda_counters_close(struct ws__cuda *d)
{
    struct ws__cuda_counters *c = d->counters;
    ARGS(end, ProfilerDeInitialize, .pPriv = NULL);

    if (!c)
        return;
    for (size_t i = 0; i < SETUPS; i++)
        drop_setup(c, &c->setup[i]);
    if (c->begun && !d->dead)
        c->api.ProfilerDeInitialize(&end);
    ws__cupti_unload(&c->api);
    ws__free(d->ctx, c->available);
    ws__free(d->ctx, c);
    d->counters = NULL;
}

/* What cannot be had is not asked for again: every try takes a while. */
static int open_counters(struct ws__cuda *d)
{
    int rc;

    if (d->uncounted.code) {
        d->ctx->err = d->uncounted;
        return d->uncounted.code;
    }
    if (d->counters)
        return 0;
    d->counters = ws__alloc(d->ctx, 1, sizeof(*d->counters));
    if (!d->counters)
        return WS_ENOMEM;
    d->counters->d = d;
    rc = begin(d->counters);
    if (rc < 0)
        ws__cuda_counters_close(d);
    if (rc == WS_ENOTSUP)
        d->uncounted = d->ctx->err;
    return rc;
}

/* ---- a set of metrics -------------------------------------------------- */

static int open_host(struct ws__cuda_counters *c, cupti_host *out)
{
    ARGS(h, ProfilerHostInitialize, .profilerType = CUPTI__RANGE_PROFILER,
         .pChipName = c->chip, .pCounterAvailabilityImage = c->available);

    *out = NULL;
    WS_TRY(check(c, c->api.ProfilerHostInitialize(&h),
                 "prepare CUPTI for the chip"));
    *out = h.pHostObject;
    return 0;
}

static int add(struct ws__cuda_counters *c, cupti_host host, const char **name,
               size_t n)
{
    ARGS(a, ProfilerHostConfigAddMetrics, .pHostObject = host,
         .ppMetricNames = name, .numMetrics = n);

    return c->api.ProfilerHostConfigAddMetrics(&a);
}

/* 1, 0 or an error. A host that refused a metric is of no use any more, so
 * each is asked alone. */
static int is_there(struct ws__cuda_counters *c, const char *name)
{
    cupti_host host;
    int error;

    WS_TRY(open_host(c, &host));
    error = add(c, host, &name, 1);
    {
        ARGS(end, ProfilerHostDeinitialize, .pHostObject = host);

        c->api.ProfilerHostDeinitialize(&end);
    }
    if (error && error != CUPTI__E_INVALID_PARAMETER)
        return check(c, error, "look for a metric");
    return !error;
}

/* Those of the list that can be had. */
static int choose(struct ws__cuda_counters *c, const char *const *metric,
                  size_t n, struct setup *s)
{
    struct ws_ctx *ctx = c->d->ctx;
    const char **keep = ws__alloc(ctx, n, sizeof(*keep));
    int rc = 0;

    s->at = ws__alloc(ctx, n, sizeof(*s->at));
    s->value = ws__alloc(ctx, n, sizeof(*s->value));
    if (!keep || !s->at || !s->value)
        rc = WS_ENOMEM;
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        rc = is_there(c, metric[i]);
        if (rc <= 0)
            continue;
        s->at[s->nname] = i;
        keep[s->nname++] = metric[i];
    }
    if (rc >= 0) {
        s->name = ws__strdup_all(ctx, keep, s->nname);
        rc = s->name ? 0 : WS_ENOMEM;
    }
    ws__free(ctx, keep);
    return rc;
}

static const char **names(const struct setup *s)
{
    return (const char **)(void *)s->name;
}

static int configure(struct ws__cuda_counters *c, struct setup *s)
{
    static const char what[] = "work out how to count";
    ARGS(size, ProfilerHostGetConfigImageSize, .pPriv = NULL);
    ARGS(image, ProfilerHostGetConfigImage, .pPriv = NULL);
    ARGS(passes, ProfilerHostGetNumOfPasses, .pPriv = NULL);

    WS_TRY(open_host(c, &s->host));
    WS_TRY(check(c, add(c, s->host, names(s), s->nname), what));
    size.pHostObject = image.pHostObject = s->host;
    WS_TRY(check(c, c->api.ProfilerHostGetConfigImageSize(&size), what));
    s->config_bytes = size.configImageSize;
    s->config = ws__alloc(c->d->ctx, s->config_bytes ? s->config_bytes : 1, 1);
    if (!s->config)
        return WS_ENOMEM;
    image.configImageSize = passes.configImageSize = s->config_bytes;
    image.pConfigImage = passes.pConfigImage = s->config;
    WS_TRY(check(c, c->api.ProfilerHostGetConfigImage(&image), what));
    WS_TRY(check(c, c->api.ProfilerHostGetNumOfPasses(&passes), what));
    s->passes = passes.numOfPasses;
    return 0;
}

static int make_setup(struct ws__cuda_counters *c, const char *const *metric,
                      size_t n, struct setup *s)
{
    WS_TRY(choose(c, metric, n, s));
    return s->nname ? configure(c, s) : 0;
}

static int find_setup(struct ws__cuda_counters *c, const char *const *metric,
                      size_t n, size_t nrange, struct setup **out)
{
    struct ws__hash key = ws__hash_u64((struct ws__hash){nrange, n}, n);
    struct setup *s = &c->setup[0];
    int rc;

    for (size_t i = 0; i < n; i++)
        key = ws__hash_str(key, metric[i]);
    for (size_t i = 0; i < SETUPS; i++) {
        *out = &c->setup[i];
        if ((*out)->used && ws__hash_eq((*out)->key, key)) {
            (*out)->used = ++c->tick;
            return 0;
        }
        if ((*out)->used < s->used)
            s = *out;
    }
    drop_setup(c, s);
    s->key = key;
    s->nrange = nrange;
    rc = make_setup(c, metric, n, s);
    if (rc < 0) {
        drop_setup(c, s);
        return rc;
    }
    s->used = ++c->tick;
    *out = s;
    return 0;
}

/* ---- counting ---------------------------------------------------------- */

/* Room for what the device counts. The profiler wants to be asked for the size
 * each time that it was enabled: it crashes otherwise. */
static int take_room(struct ws__cuda_counters *c, struct setup *s)
{
    ARGS(size, RangeProfilerGetCounterDataSize,
         .pRangeProfilerObject = c->ranges, .pMetricNames = names(s),
         .numMetrics = s->nname, .maxNumOfRanges = s->nrange,
         .maxNumRangeTreeNodes = (uint32_t)s->nrange);

    WS_TRY(check(c, c->api.RangeProfilerGetCounterDataSize(&size),
                 "make room for counts"));
    if (s->data && s->data_bytes == size.counterDataSize)
        return 0;
    ws__free(c->d->ctx, s->data);
    s->data_bytes = size.counterDataSize;
    s->data = ws__alloc(c->d->ctx, s->data_bytes ? s->data_bytes : 1, 1);
    return s->data ? 0 : WS_ENOMEM;
}

static int empty_room(struct ws__cuda_counters *c, const struct setup *s)
{
    ARGS(data, RangeProfilerCounterDataImageInitialize,
         .pRangeProfilerObject = c->ranges, .counterDataSize = s->data_bytes,
         .pCounterData = s->data);

    return check(c, c->api.RangeProfilerCounterDataImageInitialize(&data),
                 "make room for counts");
}

static int set_config(struct ws__cuda_counters *c, struct setup *s)
{
    ARGS(set, RangeProfilerSetConfig, .pRangeProfilerObject = c->ranges,
         .configSize = s->config_bytes, .pConfig = s->config,
         .counterDataImageSize = s->data_bytes, .pCounterDataImage = s->data,
         .range = CUPTI__AUTO_RANGE, .replayMode = CUPTI__USER_REPLAY,
         .maxRangesPerPass = s->nrange, .numNestingLevels = 1,
         .minNestingLevel = 1, .targetNestingLevel = 1);

    return check(c, c->api.RangeProfilerSetConfig(&set), "choose the metrics");
}

/* Ready to count this set, with nothing counted yet. Another set needs a
 * profiler that was enabled anew: one that is enabled goes on counting what it
 * was told first, and says nothing. */
static int enable(struct ws__cuda_counters *c, struct setup *s)
{
    ARGS(on, RangeProfilerEnable, .ctx = c->d->context);

    if (c->ranges && c->current == s)
        return empty_room(c, s);
    WS_TRY(disable(c));
    WS_TRY(check(c, c->api.RangeProfilerEnable(&on), "enable counting"));
    c->ranges = on.pRangeProfilerObject;
    WS_TRY(take_room(c, s));
    WS_TRY(empty_room(c, s));
    WS_TRY(set_config(c, s));
    c->current = s;
    return 0;
}

static int prepare(struct ws__cuda *d, const struct ws__dev_seq *seq,
                   uint64_t flush_bytes)
{
    if (!flush_bytes) { /* warm: as if it had run just before */
        WS_TRY(ws__cuda_prepare(d, seq, 0));
        WS_TRY(ws__cuda_enqueue(d, seq, 1));
    }
    WS_TRY(ws__cuda_prepare(d, seq, flush_bytes));
    return ws__cuda_finish(d, seq);
}

static int one_pass(struct ws__cuda_counters *c, const struct ws__dev_seq *seq,
                    bool *last)
{
    ARGS(start, RangeProfilerStart, .pRangeProfilerObject = c->ranges);
    ARGS(stop, RangeProfilerStop, .pRangeProfilerObject = c->ranges);
    struct ws__cuda *d = c->d;
    int rc, error;

    WS_TRY(check(c, c->api.RangeProfilerStart(&start), "start counting"));
    rc = ws__cuda_enqueue(d, seq, 1);
    if (!d->dead) {
        struct ws_error err = d->ctx->err;
        int end = ws__cuda_finish(d, seq);

        if (rc == 0 || d->dead)
            rc = end;
        else
            d->ctx->err = err;
    }
    if (d->dead)
        return rc;
    error = c->api.RangeProfilerStop(&stop);
    *last = stop.isAllPassSubmitted;
    return rc < 0 ? rc : check(c, error, "stop counting");
}

static int all_passes(struct ws__cuda_counters *c, struct setup *s,
                      const struct ws__dev_seq *seq, uint64_t flush_bytes)
{
    bool last = false;

    for (size_t i = 0; !last; i++) {
        if (i == s->passes || i == MAX_PASSES)
            return ws__fail(c->d->ctx, WS_EDEVICE,
                            "counting does not end after %zu passes", i);
        WS_TRY(ws__check_stop(c->d->ctx));
        WS_TRY(prepare(c->d, seq, flush_bytes));
        WS_TRY(one_pass(c, seq, &last));
    }
    return 0;
}

/* What was not counted is no zero: better no result. */
static int decode(struct ws__cuda_counters *c, const struct setup *s)
{
    static const char what[] = "read what was counted";
    ARGS(decode, RangeProfilerDecodeData, .pRangeProfilerObject = c->ranges);
    ARGS(info, RangeProfilerGetCounterDataInfo, .pCounterDataImage = s->data,
         .counterDataImageSize = s->data_bytes);

    WS_TRY(check(c, c->api.RangeProfilerDecodeData(&decode), what));
    if (decode.numOfRangeDropped)
        return ws__fail(c->d->ctx, WS_EDEVICE,
                        "the profiler lost %zu of %zu launches",
                        decode.numOfRangeDropped, s->nrange);
    WS_TRY(check(c, c->api.RangeProfilerGetCounterDataInfo(&info), what));
    if (info.numTotalRanges != s->nrange)
        return ws__fail(c->d->ctx, WS_EDEVICE,
                        "the profiler saw %zu launches where there were %zu",
                        info.numTotalRanges, s->nrange);
    return 0;
}

static int collect(struct ws__cuda_counters *c, struct setup *s,
                   const struct ws__dev_seq *seq, uint64_t flush_bytes)
{
    struct ws_error err;
    int rc = enable(c, s);

    if (rc == 0)
        rc = all_passes(c, s, seq, flush_bytes);
    if (rc == 0)
        rc = decode(c, s);
    if (rc == 0)
        return 0;
    err = c->d->ctx->err; /* who knows what state it is in */
    disable(c);
    c->d->ctx->err = err;
    return rc;
}

static int evaluate(struct ws__cuda_counters *c, struct setup *s, size_t n,
                    double *value)
{
    ARGS(v, ProfilerHostEvaluateToGpuValues, .pHostObject = s->host,
         .pCounterDataImage = s->data, .counterDataImageSize = s->data_bytes,
         .ppMetricNames = names(s), .numMetrics = s->nname,
         .pMetricValues = s->value);

    for (size_t i = 0; i < s->nrange; i++) {
        v.rangeIndex = i;
        WS_TRY(check(c, c->api.ProfilerHostEvaluateToGpuValues(&v),
                     "work out metrics"));
        for (size_t k = 0; k < s->nname; k++)
            if (isfinite(s->value[k]))
                value[i * n + s->at[k]] = s->value[k];
    }
    return 0;
}

int ws__cuda_count(void *dev, const struct ws__dev_seq *seq,
                   uint64_t flush_bytes, const char *const *metric, size_t n,
                   double *value, uint32_t *passes)
{
    struct ws__cuda *d = dev;
    struct setup *s;
    uint64_t t0, t1;

    *passes = 0;
    for (size_t i = 0; i < seq->nlaunch * n; i++)
        value[i] = NAN;
    WS_TRY(ws__cuda_ready(d));
    if (!n || !seq->nlaunch)
        return ws__fail(d->ctx, WS_EINVAL, "nothing to count");
    t0 = ws__now_ns();
    WS_TRY(open_counters(d));
    WS_TRY(find_setup(d->counters, metric, n, seq->nlaunch, &s));
    if (!s->nname)
        return 0;
    t1 = ws__now_ns();
    ws__log(d->ctx, WS_LOG_DEBUG, "counting '%s'", seq->launch[0].entry);
    WS_TRY(collect(d->counters, s, seq, flush_bytes));
    WS_TRY(evaluate(d->counters, s, n, value));
    *passes = (uint32_t)s->passes;
    ws__log(d->ctx, WS_LOG_DEBUG,
            "counted %zu metrics of %zu launches in %zu passes: %.1f ms to "
            "prepare, %.1f ms to count",
            s->nname, s->nrange, s->passes, (double)(t1 - t0) * 1e-6,
            (double)(ws__now_ns() - t1) * 1e-6);
    return 0;
}
