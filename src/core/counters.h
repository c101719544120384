/*
 * counters.h: what hardware counted of a candidate, as a text to keep.
 *
 * "dram_read=50331648 issue_pct=12.5;dram_read=4096": the launches of a plan
 * in their order, of each the counters that it has by the keys of metrics.h. A
 * counter that is missing is not there; none is zero for want of a value.
 */
#ifndef WS_COUNTERS_H
#define WS_COUNTERS_H

#include "base/mem.h"

#define WS__MAX_COUNTERS 64 /* of a launch */
#define WS__COUNTER_KEY 32  /* with its end */

/* value[launch * nkey + i] of key[i], NaN: missing. *out is ws__free'd; NULL
 * where all are missing. */
int ws__counters_text(struct ws_ctx *ctx, const char *const *key, size_t nkey,
                      const double *value, size_t nlaunch, char **out);
struct ws__counted {
    uint32_t launch;
    char key[WS__COUNTER_KEY];
    double value;
};
/* The next of a text, from *at on, which begins as the text with out->launch
 * 0: 1; 0: there is none; -1: this is not such a text. */
int ws__counters_next(const char **at, struct ws__counted *out);
/* Is all of it such a text? */
bool ws__counters_sound(const char *text);

#endif
