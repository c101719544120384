/*
 * fake_cupti.c: the CUPTI of fake.h.
 *
 * It counts launches of the fake driver, for which both must be in one process,
 * and makes figures of them: the value of a metric is fake_metric_value() of
 * its name and the place of the launch. It has the manners of the real one: a
 * metric whose name begins with "absent" is refused, and the host object that
 * refused it is of no use any more; room for counts must be asked for after
 * each enabling; a second set of metrics is ignored in silence until the
 * profiler is enabled anew (its figures are NaN then); twelve metrics go into
 * one pass, and the sequence has to be run once for each.
 */
#include "tests/fakecuda/fake.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda_cupti.h"

#define WS_X(name, theirs, fields, last)                                       \
    FAKE_EXPORT int cupti##name(struct cupti_##name *p);
CUPTI_FUNCTIONS(WS_X)
#undef WS_X
FAKE_EXPORT int cuptiGetVersion(uint32_t *version);

#define MAX_METRICS 256
#define IMAGE_MAGIC 0x5eedu

struct cupti_host_s {
    bool spoilt;
    size_t n;
    char name[MAX_METRICS][160];
};
/* What a configuration says; also at the start of the room for counts, with
 * what was counted. */
struct image {
    unsigned magic;
    size_t n, passes, ranges, seen;
    uint64_t key;
};
struct cupti_ranges_s {
    bool sized, set, running;
    struct image config;
    struct image *room;
    size_t pass, ranges;
    unsigned before;
};

/* Names of the arguments do not matter, and sizes must be right. */
#define BEGIN(p, function)                                                     \
    do {                                                                       \
        TURN();                                                                \
        if ((p)->structSize != CUPTI_SIZE_##function || (p)->pPriv)            \
            return CUPTI__E_INVALID_PARAMETER;                                 \
    } while (0)

static unsigned launches(void)
{
    unsigned (*fn)(void) = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    if (driver)
        *(void **)&fn = dlsym(driver, "fake_launches");
    return fn ? fn() : 0;
}

int cuptiGetVersion(uint32_t *version)
{
    TURN();
    *version = 130001;
    return 0;
}

int cuptiProfilerInitialize(struct cupti_ProfilerInitialize *p)
{
    BEGIN(p, ProfilerInitialize);
    fake_state()->live[FAKE_PROFILER]++;
    return 0;
}

int cuptiProfilerDeInitialize(struct cupti_ProfilerDeInitialize *p)
{
    (void)p;
    TURN_AFTER(fake_state()->live[FAKE_PROFILER]--);
}

int cuptiProfilerDeviceSupported(struct cupti_ProfilerDeviceSupported *p)
{
    int *const level[] = {&p->architecture,        &p->sli, &p->vGpu,
                          &p->confidentialCompute, &p->cmp, &p->wsl};
    unsigned long long lacks = fake_setting("FAKECUDA_NO_COUNTERS", 0);

    BEGIN(p, ProfilerDeviceSupported);
    for (size_t i = 0; i < sizeof(level) / sizeof(*level); i++)
        *level[i] = lacks >> i & 1 ? 1 : CUPTI__SUPPORTED;
    p->isSupported = lacks ? 1 : CUPTI__SUPPORTED;
    return 0;
}

int cuptiDeviceGetChipName(struct cupti_DeviceGetChipName *p)
{
    BEGIN(p, DeviceGetChipName);
    p->pChipName = "GH100";
    return p->deviceIndex < 8 ? 0 : CUPTI__E_INVALID_PARAMETER;
}

int cuptiProfilerGetCounterAvailability(
    struct cupti_ProfilerGetCounterAvailability *p)
{
    BEGIN(p, ProfilerGetCounterAvailability);
    if (!p->ctx)
        return CUPTI__E_INVALID_PARAMETER;
    if (p->pCounterAvailabilityImage)
        memset(p->pCounterAvailabilityImage, 1, 16);
    else
        p->counterAvailabilityImageSize = 16;
    return 0;
}

/* ---- host --------------------------------------------------------------- */

int cuptiProfilerHostInitialize(struct cupti_ProfilerHostInitialize *p)
{
    BEGIN(p, ProfilerHostInitialize);
    if (!p->pChipName || strcmp(p->pChipName, "GH100"))
        return CUPTI__E_INVALID_CHIP_NAME;
    p->pHostObject = calloc(1, sizeof(*p->pHostObject));
    fake_state()->live[FAKE_METRICS]++;
    return 0;
}

int cuptiProfilerHostDeinitialize(struct cupti_ProfilerHostDeinitialize *p)
{
    free(p->pHostObject);
    TURN_AFTER(fake_state()->live[FAKE_METRICS]--);
}

int cuptiProfilerHostConfigAddMetrics(
    struct cupti_ProfilerHostConfigAddMetrics *p)
{
    struct cupti_host_s *h = p->pHostObject;

    BEGIN(p, ProfilerHostConfigAddMetrics);
    if (h->spoilt)
        return CUPTI__E_UNKNOWN;
    for (size_t i = 0; i < p->numMetrics; i++) {
        const char *name = p->ppMetricNames[i];

        if (!strncmp(name, "absent", 6) || h->n == MAX_METRICS) {
            h->spoilt = true;
            return CUPTI__E_INVALID_PARAMETER;
        }
        strncpy(h->name[h->n++], name, sizeof(h->name[0]) - 1);
    }
    return 0;
}

static struct image image_of(const char *const *name, size_t n)
{
    struct image m = {.magic = IMAGE_MAGIC, .n = n, .passes = (n + 11) / 12};

    for (size_t i = 0; i < n; i++)
        for (const char *c = name[i]; *c; c++)
            m.key = m.key * 31 + (unsigned char)*c;
    return m;
}

int cuptiProfilerHostGetConfigImageSize(
    struct cupti_ProfilerHostGetConfigImageSize *p)
{
    BEGIN(p, ProfilerHostGetConfigImageSize);
    if (p->pHostObject->spoilt)
        return CUPTI__E_UNKNOWN;
    p->configImageSize = sizeof(struct image);
    return 0;
}

int cuptiProfilerHostGetConfigImage(struct cupti_ProfilerHostGetConfigImage *p)
{
    const char *name[MAX_METRICS];
    struct cupti_host_s *h = p->pHostObject;
    struct image m;

    BEGIN(p, ProfilerHostGetConfigImage);
    for (size_t i = 0; i < h->n; i++)
        name[i] = h->name[i];
    m = image_of(name, h->n);
    if (h->spoilt || p->configImageSize < sizeof(m))
        return CUPTI__E_INVALID_PARAMETER;
    memcpy(p->pConfigImage, &m, sizeof(m));
    return 0;
}

int cuptiProfilerHostGetNumOfPasses(struct cupti_ProfilerHostGetNumOfPasses *p)
{
    struct image m;

    BEGIN(p, ProfilerHostGetNumOfPasses);
    memcpy(&m, p->pConfigImage, sizeof(m));
    p->numOfPasses = m.passes;
    return m.magic == IMAGE_MAGIC ? 0 : CUPTI__E_INVALID_PARAMETER;
}

int cuptiProfilerHostEvaluateToGpuValues(
    struct cupti_ProfilerHostEvaluateToGpuValues *p)
{
    struct image m, want = image_of(p->ppMetricNames, p->numMetrics);

    BEGIN(p, ProfilerHostEvaluateToGpuValues);
    memcpy(&m, p->pCounterDataImage, sizeof(m));
    if (m.magic != IMAGE_MAGIC || p->rangeIndex >= m.seen)
        return CUPTI__E_INVALID_PARAMETER;
    for (size_t i = 0; i < p->numMetrics; i++)
        p->pMetricValues[i] =
            m.key == want.key
                ? fake_metric_value(p->ppMetricNames[i], p->rangeIndex)
                : (double)NAN;
    return 0;
}

/* ---- ranges ------------------------------------------------------------- */

int cuptiRangeProfilerEnable(struct cupti_RangeProfilerEnable *p)
{
    BEGIN(p, RangeProfilerEnable);
    if (!p->ctx || fake_state()->live[FAKE_RANGES])
        return CUPTI__E_INVALID_OPERATION;
    p->pRangeProfilerObject = calloc(1, sizeof(*p->pRangeProfilerObject));
    fake_state()->live[FAKE_RANGES]++;
    return 0;
}

int cuptiRangeProfilerDisable(struct cupti_RangeProfilerDisable *p)
{
    free(p->pRangeProfilerObject);
    TURN_AFTER(fake_state()->live[FAKE_RANGES]--);
}

int cuptiRangeProfilerGetCounterDataSize(
    struct cupti_RangeProfilerGetCounterDataSize *p)
{
    BEGIN(p, RangeProfilerGetCounterDataSize);
    if (!p->numMetrics || !p->maxNumOfRanges ||
        p->maxNumRangeTreeNodes < p->maxNumOfRanges)
        return CUPTI__E_INVALID_PARAMETER;
    p->counterDataSize = sizeof(struct image);
    p->pRangeProfilerObject->sized = true;
    return 0;
}

int cuptiRangeProfilerCounterDataImageInitialize(
    struct cupti_RangeProfilerCounterDataImageInitialize *p)
{
    const struct image empty = {.magic = IMAGE_MAGIC};

    BEGIN(p, RangeProfilerCounterDataImageInitialize);
    if (!p->pRangeProfilerObject->sized)
        abort(); /* as the real one crashes */
    if (p->counterDataSize < sizeof(empty))
        return CUPTI__E_INVALID_PARAMETER;
    memcpy(p->pCounterData, &empty, sizeof(empty));
    return 0;
}

int cuptiRangeProfilerSetConfig(struct cupti_RangeProfilerSetConfig *p)
{
    struct cupti_ranges_s *r = p->pRangeProfilerObject;

    BEGIN(p, RangeProfilerSetConfig);
    if (p->range != CUPTI__AUTO_RANGE || p->replayMode != CUPTI__USER_REPLAY ||
        p->numNestingLevels != 1 || p->targetNestingLevel != 1 ||
        p->configSize < sizeof(r->config) || !p->maxRangesPerPass)
        return CUPTI__E_INVALID_PARAMETER;
    if (!r->set)
        memcpy(&r->config, p->pConfig, sizeof(r->config));
    r->set = true;
    r->room = (struct image *)(void *)p->pCounterDataImage;
    r->ranges = p->maxRangesPerPass;
    return 0;
}

int cuptiRangeProfilerStart(struct cupti_RangeProfilerStart *p)
{
    struct cupti_ranges_s *r = p->pRangeProfilerObject;

    BEGIN(p, RangeProfilerStart);
    if (!r->set || r->running)
        return CUPTI__E_INVALID_OPERATION;
    r->running = true;
    r->before = launches();
    return 0;
}

int cuptiRangeProfilerStop(struct cupti_RangeProfilerStop *p)
{
    struct cupti_ranges_s *r = p->pRangeProfilerObject;
    size_t seen;

    BEGIN(p, RangeProfilerStop);
    if (!r->running)
        return CUPTI__E_INVALID_OPERATION;
    r->running = false;
    seen = launches() - r->before;
    r->room->n = r->config.n;
    r->room->key = r->config.key;
    r->room->seen = seen;
    r->pass++;
    p->isAllPassSubmitted =
        r->pass % r->config.passes == 0 && !fake_setting("FAKECUDA_ENDLESS", 0);
    return 0;
}

int cuptiRangeProfilerDecodeData(struct cupti_RangeProfilerDecodeData *p)
{
    struct cupti_ranges_s *r = p->pRangeProfilerObject;

    BEGIN(p, RangeProfilerDecodeData);
    p->numOfRangeDropped =
        r->room->seen > r->ranges ? r->room->seen - r->ranges : 0;
    p->numOfRangeDropped += fake_setting("FAKECUDA_DROPPED", 0);
    return 0;
}

int cuptiRangeProfilerGetCounterDataInfo(
    struct cupti_RangeProfilerGetCounterDataInfo *p)
{
    struct image m;

    BEGIN(p, RangeProfilerGetCounterDataInfo);
    memcpy(&m, p->pCounterDataImage, sizeof(m));
    p->numTotalRanges = m.seen + fake_setting("FAKECUDA_MORE_RANGES", 0);
    return 0;
}
