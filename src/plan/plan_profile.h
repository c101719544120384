/* plan_profile.h: private to plan: what a profile found, before it is told. */
#ifndef WS_PLAN_PROFILE_H
#define WS_PLAN_PROFILE_H

#include "plan/plan.h"
#include "profile/profile.h"

enum { WS__PROFILE_ASKED, WS__PROFILE_SCALED };

/* What a launch of the plan uses. NaN: not known. */
struct ws__profile_use {
    double registers, shared_bytes, local_bytes;
    struct ws__occupancy occupancy;
};

struct ws__profiling {
    struct ws_spec *spec;
    const struct ws_profile_opts *o;
    struct ws__measure *m;
    const struct ws__device_info *device;
    struct ws__candidate c;
    const char *config_from;
    struct ws__workload w[2]; /* the one that was asked for, another size */
    struct ws__instance in;
    struct ws__plan plan;
    size_t launch_of[WS__MAX_LAUNCHES]; /* of the plan's: the kernel's launch */
    struct ws__trial t;
    struct ws__summary time;
    double bytes; /* distinct, on the inputs that were timed */
    struct ws__roof roof;
    struct ws__floor floor;
    struct ws__resources res; /* the most of all entries */
    struct ws__profile_use use[WS__MAX_LAUNCHES];
    size_t main_launch;         /* whose occupancy the diagnosis reads */
    bool one_size;              /* no other size is timed */
    int scaled_axis;            /* -1: none was timed */
    double scaled_ns, fixed_ns; /* NaN: not known */
    /* Launch of the plan * WS__NMETRIC + metric; NULL: none. In the spec's
     * arena. */
    double *counter;
    const char *counters, *counters_why;
    uint32_t passes;
    unsigned arch;
    struct ws__sass_function mix; /* of the plan's entries together */
    const char *mix_why;          /* why there is none */
};

/* Counters of the device or of a file, as the options say. */
int ws__profile_counters(struct ws__profiling *p);
/* What the binary tells, if the device gives one: what its entries use, and
 * their instructions, if there is a disassembler. Of several entries without a
 * binary the driver's words count for none. What is missing is said in mix_why.
 */
int ws__profile_image(struct ws__profiling *p);
/* What is known of a trial that is ok and timed: spec, o, m, device, c, w[0]
 * (the session's workload 0), in and t are there. */
int ws__profile_right(struct ws__profiling *p);
/* The floor of another workload, 0 if nothing is known; ws__profile_right was
 * there before. */
int ws__profile_floor(struct ws__profiling *p, const struct ws__workload *w,
                      double *ns);
void ws__profile_facts(const struct ws__profiling *p, double fact[WS__NFACT]);
/* Facts, diagnosis and all else as the public header has them. */
int ws__profile_public(const struct ws__profiling *p, struct ws_profile *out);

#endif
