/* search_wave.c: the wave model asks what it most needs to know. */
#include "search/lanes.h"

#include "base/banned.h"

static int start(const struct ws__problem_space *p, void **state)
{
    return ws__lanes_start(p, false, state);
}

const struct ws__strategy_ops ws__search_wave = {
    .abi = WS__STRATEGY_ABI,
    .name = "wave",
    .about = "a model of all shapes at once asks what it needs to know",
    .start = start,
    .ask = ws__lanes_ask,
    .tell = ws__lanes_tell,
    .end = ws__lanes_end,
};
