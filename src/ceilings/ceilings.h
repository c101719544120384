/*
 * ceilings.h: measures what a device reaches at most (core/roof.h).
 *
 * Each ceiling is the best median among a few ways to run a kernel of ours
 * that does nothing but the one thing: move bytes, multiply and add. Where a
 * way is timed its results are compared with what the processor computes; one
 * that is wrong is no ceiling. What a device has not, or what it does not
 * build or run, is not known, never 0, and there is a reason.
 */
#ifndef WS_CEILINGS_H
#define WS_CEILINGS_H

#include "core/roof.h"
#include "device/device.h"

struct ws__ceilings_opts {
    bool quick; /* fewer ways and samples, smaller buffers, nothing sustained */
    /* Called before each ceiling is measured; optional. */
    void (*progress)(void *user, enum ws__ceiling_of c);
    void *user;
};

#define WS__CEILINGS_WHY 256

/* Why a ceiling is not known; "" of those that are. */
struct ws__ceilings_why {
    char text[WS__NROOF][WS__CEILINGS_WHY];
};

/*
 * Measures all on an open device, which must be idle; takes seconds. The
 * identity in *out is the device's (ws__roof_identity). Buffers of up to 1 GiB
 * each are allocated, two at a time. 0, or WS_ENOMEM, WS_ECANCEL, WS_ETIMEOUT
 * of the context, WS_ECRASH and WS_EPROTO of the device, which is then gone;
 * any other failure makes the one ceiling unknown.
 */
int ws__ceilings_measure(struct ws_ctx *ctx, const struct ws__device *dev,
                         const struct ws__ceilings_opts *opts,
                         struct ws__roof *out, struct ws__ceilings_why *why);

#endif
