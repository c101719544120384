/* search_anchors.c: WaveTune's order of timing (arXiv 2604.10187), for
 * comparison: every macro config at every number of waves in turn. */
#include "search/lanes.h"

#include "base/banned.h"

static int start(const struct ws__problem_space *p, void **state)
{
    return ws__lanes_start(p, true, state);
}

const struct ws__strategy_ops ws__search_anchors = {
    .abi = WS__STRATEGY_ABI,
    .name = "anchors",
    .about = "WaveTune's order: every tile at every number of waves in turn",
    .start = start,
    .ask = ws__lanes_ask,
    .tell = ws__lanes_tell,
    .end = ws__lanes_end,
};
