/*
 * metrics.c: look-ups in the table of metrics.h.
 */
#include "profile/metrics.h"

#include <string.h>

#include "base/banned.h"

enum { F = WS__METRICS_FULL, B = WS__METRICS_ONE_PASS | WS__METRICS_FULL };

static const struct row {
    const char *key, *unit, *counter;
    unsigned sets;
} ROWS[WS__NMETRIC] = {
#define WS_X(name, key, unit, sets, counter)                                   \
    [WS__M_##name] = {key, unit, counter, sets},
    WS__METRIC_MAP(WS_X)
#undef WS_X
};

static const struct other {
    enum ws__metric metric;
    unsigned arch;
    const char *counter;
} OTHERS[] = {
#define WS_X(name, arch, counter) {WS__M_##name, arch, counter},
    WS__METRIC_OTHERS(WS_X)
#undef WS_X
};
#define NOTHER (sizeof OTHERS / sizeof OTHERS[0])

const char *ws__metric_key(enum ws__metric m)
{
    return ROWS[m].key;
}

const char *ws__metric_unit(enum ws__metric m)
{
    return ROWS[m].unit;
}

bool ws__metric_in(enum ws__metric m, unsigned sets)
{
    return (ROWS[m].sets & sets) != 0;
}

unsigned ws__metric_arch(int major, int minor)
{
    switch (major) {
    case 8:
        return minor < 9 ? 80 : 89;
    case 9:
        return 90;
    case 10:
    case 11:
        return 100;
    case 12:
        return 120;
    default:
        return 0;
    }
}

const char *ws__metric_name(enum ws__metric m, unsigned arch)
{
    if (!arch)
        return NULL;
    for (size_t i = 0; i < NOTHER; i++)
        if (OTHERS[i].metric == m && OTHERS[i].arch == arch)
            return OTHERS[i].counter;
    return ROWS[m].counter;
}

size_t ws__metric_set(unsigned sets, unsigned arch, enum ws__metric *metric,
                      const char **name)
{
    size_t n = 0;
    for (enum ws__metric m = 0; m < WS__NMETRIC; m++) {
        const char *counter = ws__metric_name(m, arch);
        if (!counter || !ws__metric_in(m, sets))
            continue;
        metric[n] = m;
        name[n++] = counter;
    }
    return n;
}

enum ws__metric ws__metric_find(const char *name)
{
    for (enum ws__metric m = 0; m < WS__NMETRIC; m++)
        if (strcmp(ROWS[m].key, name) == 0 ||
            (ROWS[m].counter && strcmp(ROWS[m].counter, name) == 0))
            return m;
    for (size_t i = 0; i < NOTHER; i++)
        if (OTHERS[i].counter && strcmp(OTHERS[i].counter, name) == 0)
            return OTHERS[i].metric;
    return WS__NMETRIC;
}
