/*
 * floor.h: the least time that an op can take on a device (docs/profiling.md).
 */
#ifndef WS_FLOOR_H
#define WS_FLOOR_H

#include "core/op.h"
#include "core/roof.h"

struct ws__floor {
    double bytes, flops;       /* flops 0: the op does not say */
    double cached;             /* of the bytes: from the last cache */
    double bytes_ns, flops_ns; /* 0: no ceiling for it is known */
    double ns;                 /* the larger; 0: neither is known */
    double launch_ns;          /* of empty launches; 0: not known */
    /* Ceilings that were taken. by_bytes: of those that are not cached, the
     * last cache's if all are. */
    enum ws__ceiling_of by_bytes, by_flops;
    enum ws__roof_from bytes_from, cached_from, flops_from, launch_from;
    bool tensor;       /* the operations suit matrix units */
    bool f64;          /* a tensor is float64, or sums are declared so */
    bool partly_known; /* the op spends something that has no ceiling here */
};
/* bytes: distinct ones on the inputs at hand. Cold: all of them from device
 * memory. Warm: what fits into the last cache at its rate, the rest from device
 * memory. Launches are not in `ns`. */
void ws__floor_make(const struct ws__instance *in, double bytes,
                    const struct ws__roof *roof, enum ws__cache_mode cache,
                    size_t nlaunch, struct ws__floor *out);
/* Do its operations suit matrix units: as declared, else narrow floats that
 * are multiplied along a reduction. */
bool ws__floor_wants_tensor(const struct ws__instance *in);

/*
 * The time in ns that no kernel undercuts, whatever it is made of; 0: nothing
 * is known. A floor is what a good kernel is held against; this one decides
 * whether a time can be believed, so every doubt counts for the kernel: the
 * fastest memory, the fastest units (those of 8 bits for ops that have such
 * tensors), the upper ends of their intervals, and no outputs that may stay in
 * the cache. A ceiling that was slowed is not known, and where matrix units of
 * a GPU are not known, operations decide nothing. Processors
 * have nearer caches than the last one, and what they reach varies with other
 * programs: what fits into it costs nothing there, and the rest half.
 */
double ws__floor_limit(const struct ws__instance *in, double bytes,
                       const struct ws__roof *roof, enum ws__cache_mode cache,
                       bool cpu);

#endif
