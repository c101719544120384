/*
 * measure_count.c: counters of a candidate, after a verdict of its own.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

int ws__measure_count(struct ws__measure *m, const struct ws__candidate *c,
                      uint32_t workload, const char *const *metric, size_t n,
                      struct ws__counts_of *out)
{
    (void)c;
    (void)workload;
    (void)metric;
    memset(out, 0, sizeof(*out));
    out->verdict = WS__V_OK;
    out->nmetric = n;
    out->reason = ws__strdup(m->ctx, "this build counts nothing");
    return out->reason ? 0 : WS_ENOMEM;
}

void ws__counts_clear(struct ws_ctx *ctx, struct ws__counts_of *c)
{
    ws__free(ctx, c->reason);
    ws__free(ctx, c->launch);
    ws__free(ctx, c->value);
    memset(c, 0, sizeof(*c));
}
