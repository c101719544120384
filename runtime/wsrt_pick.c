/*
 * wsrt_pick.c: which variant for this shape?
 *
 * First the entry of exactly this shape, through the index. Then what the
 * model for these types says (wsrt_model.c). Without one the nearest entry of
 * the same types whose variant may run the shape: the distance is the sum over
 * the variable axes of |log2 ratio|, so that 64 to 128 is as far as 4096 to
 * 8192. Last the default of the first kernel that may run it.
 *
 * Nearest goes through the logarithms column by column in blocks, which
 * compilers turn into vector code, and evaluates no guard on the way. Only if
 * the winner may not run the shape does a second pass ask for every variant
 * once, remembering the answers on the stack. Ties go to the entry that comes
 * first, whatever the order of work.
 *
 * Integers only: the same choice under any compiler and flags. Nothing is
 * written but *out and the caller's memo.
 */
#include "wsrt_format.h"

#include <string.h>

int wsrt__is_value(const struct wsrt_pack *p, uint32_t axis, int64_t value)
{
    const struct wsrt_f_axis *a = &p->axis[axis];

    if (a->kind == WSRT_AXIS_VAR)
        return value >= 1;
    if (value == a->dflt)
        return 1;
    for (uint32_t i = 0; i < a->ntype; i++)
        if (p->type[a->first_type + i].code == value)
            return 1;
    return 0;
}

int wsrt__axes_check(const struct wsrt_pack *p, const int64_t *axes)
{
    for (uint32_t i = 0; i < p->naxis; i++)
        if (!wsrt__is_value(p, i, axes[i]))
            return WSRT_EARG;
    return WSRT_OK;
}

/* An overflow or a division by zero in a condition: it does not hold. */
static int all_hold(const struct wsrt_pack *p, const struct wsrt_f_guard *g,
                    uint32_t n, const union wsrt_value *slot)
{
    for (uint32_t i = 0; i < n; i++) {
        union wsrt_value r;

        if (wsrt_eval(p->code + g[i].at, g[i].bytes, slot, &r, NULL) || !r.i)
            return 0;
    }
    return 1;
}

int wsrt__requires_hold(const struct wsrt_pack *p, const int64_t *axes)
{
    union wsrt_value slot[WSRT_MAX_SLOTS];

    if (!p->count[WSRT_S_REQUIRES])
        return 1;
    for (uint32_t i = 0; i < p->naxis; i++)
        slot[i].i = axes[i];
    return all_hold(p, p->require, p->count[WSRT_S_REQUIRES], slot);
}

void wsrt__fill_slots(const struct wsrt_pack *p, uint32_t variant,
                      const int64_t *axes, union wsrt_value *slot)
{
    const struct wsrt_f_variant *v = &p->variant[variant];
    uint32_t nparam = p->kernel[v->kernel].nparam;

    for (uint32_t i = 0; i < p->naxis; i++)
        slot++->i = axes[i];
    for (uint32_t i = 0; i < nparam; i++)
        slot++->i = p->value[v->first_value + i].slot;
    for (uint32_t i = 0; i < p->count[WSRT_S_DEVICE]; i++)
        slot++->i = p->device[i].value;
}

int wsrt__may_run(const struct wsrt_pack *p, uint32_t variant,
                  const int64_t *axes)
{
    const struct wsrt_f_variant *v = &p->variant[variant];
    const struct wsrt_f_kernel *k = &p->kernel[v->kernel];
    const struct wsrt_f_range *range = p->range + (size_t)v->kernel * p->naxis;
    union wsrt_value slot[WSRT_MAX_SLOTS];

    for (uint32_t i = 0; i < p->naxis; i++)
        if (axes[i] < range[i].lo || axes[i] > range[i].hi)
            return 0;
    if (!k->nguard)
        return 1;
    wsrt__fill_slots(p, variant, axes, slot);
    return all_hold(p, p->guard + k->first_guard, k->nguard, slot);
}

static int same_shape(const int64_t *a, const int64_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

uint32_t wsrt__find_entry(const struct wsrt_pack *p, const int64_t *axes,
                          uint64_t hash)
{
    uint32_t mask = p->count[WSRT_S_INDEX] - 1;

    for (uint32_t i = 0; i < WSRT_MAX_PROBES; i++) {
        uint32_t e = p->index[(hash + i) & mask];

        if (!e)
            return WSRT_NONE;
        if (same_shape(p->shape + (size_t)(e - 1) * p->naxis, axes, p->naxis))
            return e - 1;
    }
    return WSRT_NONE;
}

void wsrt__take_entry(const struct wsrt_pack *p, uint32_t e, enum wsrt_how how,
                      uint32_t distance, struct wsrt_pick *out)
{
    out->variant = p->entry[e].variant;
    out->how = how;
    out->entry = e;
    out->distance = distance;
    out->time_ns = p->entry[e].time_ns;
    out->default_ns = p->entry[e].default_ns;
}

/* The search for the nearest entry of one shape. */
struct search {
    const struct wsrt_pack *p;
    const int64_t *axes;
    int32_t log[WSRT_MAX_AXES];
    int32_t best_distance;
    uint32_t best; /* WSRT_NONE: none yet */
    int ask;       /* only entries whose variant may run the shape */
    uint64_t known[WSRT_MAX_VARIANTS / 64], may[WSRT_MAX_VARIANTS / 64];
};

#define BLOCK 16

static int32_t distance_1(int32_t a, int32_t b)
{
    int32_t d = a - b;

    return d < 0 ? -d : d;
}

/* Distances of the n <= BLOCK entries from `first` on. A whole block has a
 * loop of its own, of a constant length. 24 axes of 63 * 2^16 fit 31 bits. */
static void distances(const struct search *s, uint32_t first, uint32_t n,
                      int32_t *d)
{
    const struct wsrt_pack *p = s->p;
    uint32_t nentry = p->count[WSRT_S_ENTRIES];

    memset(d, 0, BLOCK * sizeof(*d));
    for (uint32_t k = 0; k < p->nvar; k++) {
        const int32_t *log = p->log + (size_t)k * nentry + first;
        int32_t at = s->log[k];

        if (n == BLOCK)
            for (uint32_t i = 0; i < BLOCK; i++)
                d[i] += distance_1(log[i], at);
        else
            for (uint32_t i = 0; i < n; i++)
                d[i] += distance_1(log[i], at);
    }
}

static int variant_may(struct search *s, uint32_t variant)
{
    uint64_t bit = UINT64_C(1) << variant % 64;

    if (!(s->known[variant / 64] & bit)) {
        s->known[variant / 64] |= bit;
        if (wsrt__may_run(s->p, variant, s->axes))
            s->may[variant / 64] |= bit;
    }
    return (s->may[variant / 64] & bit) != 0;
}

static void scan(struct search *s, const struct wsrt_f_group *g)
{
    int32_t d[BLOCK];

    for (uint32_t at = 0; at < g->n; at += BLOCK) {
        uint32_t n = g->n - at < BLOCK ? g->n - at : BLOCK;
        int32_t least = INT32_MAX;

        distances(s, g->first + at, n, d);
        for (uint32_t i = 0; i < n; i++)
            least = d[i] < least ? d[i] : least;
        if (least >= s->best_distance)
            continue;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t e = g->first + at + i;

            if (d[i] < s->best_distance &&
                (!s->ask || variant_may(s, s->p->entry[e].variant))) {
                s->best_distance = d[i];
                s->best = e;
            }
        }
    }
}

/* The entries with the same types, or NULL. */
const struct wsrt_f_group *wsrt__find_group(const struct wsrt_pack *p,
                                            const int64_t *axes)
{
    for (uint32_t i = 0; i < p->count[WSRT_S_GROUPS]; i++) {
        const int64_t *b = p->shape + (size_t)p->group[i].first * p->naxis;
        uint32_t k = 0;

        while (k < p->ntype && axes[p->type_axis[k]] == b[p->type_axis[k]])
            k++;
        if (k == p->ntype)
            return &p->group[i];
    }
    return NULL;
}

static int pick_nearest(const struct wsrt_pack *p, const int64_t *axes,
                        struct wsrt_pick *out)
{
    const struct wsrt_f_group *g = wsrt__find_group(p, axes);
    struct search s;

    if (!g)
        return WSRT_ENONE;
    s.p = p;
    s.axes = axes;
    s.ask = 0;
    s.best = WSRT_NONE;
    s.best_distance = INT32_MAX;
    for (uint32_t k = 0; k < p->nvar; k++)
        s.log[k] = wsrt__log2(axes[p->var_axis[k]]);
    scan(&s, g);
    if (!wsrt__may_run(p, p->entry[s.best].variant, axes)) {
        uint32_t words = (p->count[WSRT_S_VARIANTS] + 63) / 64;

        memset(s.known, 0, words * sizeof(s.known[0]));
        memset(s.may, 0, words * sizeof(s.may[0]));
        s.ask = 1;
        s.best = WSRT_NONE;
        s.best_distance = INT32_MAX;
        scan(&s, g);
        if (s.best == WSRT_NONE)
            return WSRT_ENONE;
    }
    wsrt__take_entry(p, s.best, WSRT_NEAREST, (uint32_t)s.best_distance, out);
    return WSRT_OK;
}

static int pick_default(const struct wsrt_pack *p, const int64_t *axes,
                        struct wsrt_pick *out)
{
    for (uint32_t k = 0; k < p->count[WSRT_S_KERNELS]; k++) {
        uint32_t v = p->kernel[k].dflt;

        if (v == WSRT_NONE || !wsrt__may_run(p, v, axes))
            continue;
        out->variant = v;
        out->how = WSRT_DEFAULT;
        out->entry = WSRT_NO_ENTRY;
        out->distance = 0;
        out->time_ns = 0;
        out->default_ns = 0;
        return WSRT_OK;
    }
    return WSRT_ENONE;
}

static int pick(const struct wsrt_pack *p, const int64_t *axes, uint64_t hash,
                struct wsrt_pick *out)
{
    uint32_t e = wsrt__find_entry(p, axes, hash);
    int rc;

    /* Every entry was checked when the pack was opened, also its shape. */
    if (e != WSRT_NONE) {
        wsrt__take_entry(p, e, WSRT_EXACT, 0, out);
        return WSRT_OK;
    }
    if (wsrt__axes_check(p, axes))
        return WSRT_EARG;
    if (!wsrt__requires_hold(p, axes))
        return WSRT_ENONE;
    rc = wsrt__pick_model(p, axes, out);
    if (rc == WSRT_EARG) /* there is none */
        rc = pick_nearest(p, axes, out);
    return rc == WSRT_OK ? rc : pick_default(p, axes, out);
}

int wsrt_pick(const struct wsrt_pack *p, const int64_t *axes,
              struct wsrt_pick *out)
{
    if (!p || !axes || !out)
        return WSRT_EARG;
    return pick(p, axes, wsrt__shape_hash(axes, p->naxis), out);
}

int wsrt_pick_memo(const struct wsrt_pack *p, struct wsrt_memo *memo,
                   const int64_t *axes, struct wsrt_pick *out)
{
    uint64_t hash;
    uint32_t slot;
    int rc;

    if (!p || !memo || !axes || !out)
        return WSRT_EARG;
    hash = wsrt__shape_hash(axes, p->naxis);
    slot = (uint32_t)(hash >> 40) % WSRT_MEMO_SLOTS;
    /* The tag keeps a memo that has seen another pack from answering. */
    if (memo->slot[slot].used == p->tag &&
        same_shape(memo->slot[slot].axes, axes, p->naxis)) {
        *out = memo->slot[slot].pick;
        return WSRT_OK;
    }
    rc = pick(p, axes, hash, out);
    if (rc == WSRT_OK) {
        memcpy(memo->slot[slot].axes, axes, p->naxis * sizeof(*axes));
        memo->slot[slot].pick = *out;
        memo->slot[slot].used = p->tag;
    }
    return rc;
}

int wsrt_entry(const struct wsrt_pack *p, uint32_t entry, struct wsrt_pick *out)
{
    if (!p || !out || entry >= p->count[WSRT_S_ENTRIES])
        return WSRT_EARG;
    wsrt__take_entry(p, entry, WSRT_EXACT, 0, out);
    return WSRT_OK;
}
