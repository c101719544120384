/*
 * wsrt_counts.c: axes that are facts about a list of counts.
 *
 * A grouped operation's time depends on how its rows are spread over the
 * groups; its caller has the rows of each group at hand, in host memory.
 */
#include "wsrt_format.h"

static int64_t fact(const struct wsrt_f_counts *c, const int32_t *counts,
                    uint32_t n)
{
    int64_t r = 0;

    for (uint32_t i = 0; i < n; i++) {
        int64_t v = counts[i];

        if (c->kind == WSRT_COUNTS_NONZERO)
            r += v > 0;
        else if (c->kind == WSRT_COUNTS_MAX)
            r = v > r ? v : r;
        else
            r += v / c->block + (v % c->block != 0);
    }
    return r;
}

int wsrt_counts(const struct wsrt_pack *p, const int32_t *counts, uint32_t n,
                int64_t *axes)
{
    int any = 0;

    if (!p || !axes || (n && !counts))
        return WSRT_EARG;
    for (uint32_t i = 0; i < n; i++) {
        if (counts[i] < 0)
            return WSRT_EARG;
        any |= counts[i] > 0;
    }
    if (!any)
        return WSRT_EARG;
    for (uint32_t i = 0; i < p->count[WSRT_S_COUNTS]; i++)
        axes[p->counts[i].axis] = fact(&p->counts[i], counts, n);
    return WSRT_OK;
}

int wsrt_axis_is_counted(const struct wsrt_pack *p, uint32_t axis)
{
    for (uint32_t i = 0; p && i < p->count[WSRT_S_COUNTS]; i++)
        if (p->counts[i].axis == axis)
            return 1;
    return 0;
}
