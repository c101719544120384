/* plan_profile.h: private to plan: what a profile found, before it is told. */
#ifndef WS_PLAN_PROFILE_H
#define WS_PLAN_PROFILE_H

#include "plan/plan.h"
#include "profile/profile.h"

enum { WS__PROFILE_ASKED, WS__PROFILE_SCALED };

struct ws__profiling {
    struct ws_spec *spec;
    const struct ws_profile_opts *o;
    struct ws__measure *m;
    const struct ws__device_info *device;
    struct ws__candidate c;
    const char *config_from;
    struct ws__workload w[2]; /* the one that was asked for, a smaller one */
    struct ws__instance in;
    struct ws__plan plan;
    struct ws__trial t;
    struct ws__summary time;
    double bytes; /* distinct, on the inputs that were timed */
    struct ws__roof roof;
    struct ws__floor floor;
    struct ws__occupancy occupancy;
    struct ws__resources res;
    int scaled_axis;            /* -1: none was timed */
    double scaled_ns, fixed_ns; /* NaN: not known */
    /* Counters. launch * WS__NMETRIC + metric; in the spec's arena. */
    double *counter;
    size_t ncounted;      /* launches */
    const char **counted; /* their entries, where the source tells them */
    const char *counters, *counters_why;
    uint32_t passes;
    unsigned arch;
    struct ws__mix mix;
    const char *mix_why; /* why there is none */
};

/* Instructions of the binary, if there is a disassembler and an image. What is
 * missing is said in mix_why; errors are those of memory and of being
 * stopped. */
int ws__profile_mix(struct ws__profiling *p);
/* Facts, diagnosis and all else as the public header has them. */
int ws__profile_public(const struct ws__profiling *p, struct ws_profile *out);

#endif
