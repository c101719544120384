/*
 * lanes.h: what strategies over plans of the wave model share (src/wave): one
 * plan a kernel, over all workloads. The functions are those of a strategy.
 */
#ifndef WS_LANES_H
#define WS_LANES_H

#include "search/search.h"

/* anchors: in WaveTune's order, else as the model asks. */
int ws__lanes_start(const struct ws__problem_space *p, bool anchors,
                    void **state);
int ws__lanes_ask(void *state, struct ws__candidate *c, uint32_t *workload);
int ws__lanes_tell(void *state, const struct ws__trial *t);
void ws__lanes_end(void *state);

#endif
