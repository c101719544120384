/* plan_tune.h: private to plan: from an outcome to rows and a pack. */
#ifndef WS_PLAN_TUNE_H
#define WS_PLAN_TUNE_H

#include "measure/fleet.h"
#include "pack/pack.h"
#include "plan/plan.h"
#include "search/search.h"
#include "store/store.h"

/* Rows, and the pack if opts->pack names one and anything is right. */
int ws__tune_result(struct ws_spec *spec, const struct ws_tune_opts *opts,
                    const struct ws__outcome *o, struct ws__measure *m,
                    struct ws_tune_result **out);

#endif
