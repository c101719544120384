/*
 * wave_anchor.c: WaveTune's order of timing: for each macro config and each
 * number of waves in turn one pair more, whichever is drawn. It knows nothing
 * of times.
 */
#include "wave/wave.h"

#include <math.h>

#include "base/banned.h"

unsigned ws__wave_count(const struct ws__wave_table *t, size_t pair)
{
    double w = ceil((double)t->pair[pair].coord[WSRT_W_GRID] / t->sheet.units);

    return w < WS__WAVE_COUNTS ? (unsigned)w : WS__WAVE_COUNTS;
}

/* Moves one pair of each bucket that is left from `from` to `out`. */
static size_t one_turn(const struct ws__wave_table *t, uint32_t turn,
                       uint32_t *seen, uint32_t *from, size_t *n,
                       struct ws__wave_point *out)
{
    size_t kept = 0, moved = 0;

    for (size_t i = 0; i < *n; i++) {
        size_t pair = from[i], config = pair % t->nconfig;
        uint32_t *last = &seen[t->config[config].macro * (WS__WAVE_COUNTS + 1) +
                               ws__wave_count(t, pair)];

        if (*last == turn) {
            from[kept++] = from[i];
            continue;
        }
        *last = turn;
        out[moved++] = (struct ws__wave_point){(uint32_t)(pair / t->nconfig),
                                               (uint32_t)config};
    }
    *n = kept;
    return moved;
}

int ws__wave_anchors(const struct ws__wave_table *t,
                     const unsigned char *allowed, struct ws__rng *rng,
                     struct ws__wave_point *out, size_t *n)
{
    size_t pairs = t->nshape * t->nconfig, left = 0;
    uint32_t *from =
        ws__alloc(t->ctx, pairs + t->nconfig * (WS__WAVE_COUNTS + 1),
                  sizeof(*from));
    uint32_t *seen = from + pairs;

    *n = 0;
    if (!from)
        return WS_ENOMEM;
    for (size_t i = 0; i < pairs; i++)
        if ((!allowed || allowed[i / t->nconfig]) && t->pair[i].feasible)
            from[left++] = (uint32_t)i;
    ws__wave_shuffle(rng, from, left);
    for (uint32_t turn = 1; left; turn++)
        *n += one_turn(t, turn, seen, from, &left, out + *n);
    ws__free(t->ctx, from);
    return 0;
}
