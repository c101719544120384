/*
 * rounds.h: the batched run, written once for all members.
 *
 * A member says how to time a sequence and how to flush; restoring, poison,
 * rotation of buffer sets, the order of programs, hashing and the limit are
 * the same everywhere, so that figures of two devices mean the same.
 */
#ifndef WS_ROUNDS_H
#define WS_ROUNDS_H

#include "device/device.h"

struct ws__round_ops {
    int (*copy)(void *dev, uint32_t to, uint32_t from);
    int (*fill)(void *dev, uint32_t buffer, uint32_t pattern);
    int (*hash)(void *dev, uint32_t buffer, uint64_t *out);
    int (*flush)(void *dev, uint64_t bytes);
    /* Runs the timed fills and the launches `inner` times; everything that
     * was queued before has ended first. s->ns: of all of it. `both`:
     * s->host_ns, too; it may be given without, if it costs nothing. */
    int (*timed)(void *dev, const struct ws__dev_seq *seq, uint32_t inner,
                 bool both, struct ws__dev_sample *s);
    /* Fills in what the device's clock does. Optional. */
    void (*look)(void *dev, struct ws__dev_sample *s);
};

/* What comes before a launch: restores, untimed fills, and the flush if
 * flush_bytes is not 0. */
int ws__device_prepare(const struct ws__round_ops *ops, void *dev,
                       const struct ws__dev_seq *seq, uint64_t flush_bytes);

int ws__device_rounds(struct ws_ctx *ctx, const struct ws__round_ops *ops,
                      void *dev, const struct ws__dev_batch *b,
                      struct ws__dev_sample *samples, size_t *n);

#endif
