/*
 * ceilings_int.h: private to the folder.
 *
 * A meter is an open device with the module in use, three buffers at most and
 * the best way found so far. A way is one launch with its work; meters check
 * nothing of results: whoever makes a way does.
 */
#ifndef WS_CEILINGS_INT_H
#define WS_CEILINGS_INT_H

#include "ceilings/ceilings.h"

#define WS__METER_SAMPLES 64

struct ws__meter {
    struct ws_ctx *ctx;
    const struct ws__device *dev;
    const struct ws__device_info *info;
    bool quick;
    uint32_t module;          /* 0: none */
    struct ws__ceiling *into; /* the best so far */
    char *why;                /* of the last way that failed */
    struct ws__dev_sample sample[WS__METER_SAMPLES];
    size_t nsample;
};

/* One launch. */
struct ws__way {
    const char *entry;
    uint64_t grid;
    uint32_t block;
    struct ws__dev_arg arg[6];
    size_t narg;
};

/* Errors that end the whole measurement: the device is gone, or the caller
 * wants to stop. */
bool ws__meter_over(int rc);
/* A way failed: `rc` if that ends everything; else 0, its words kept. */
int ws__meter_failed(struct ws__meter *m, int rc);
/* The way computed something else. Returns 1. */
int ws__meter_wrong(struct ws__meter *m, const char *entry);

/* 0, or the error of the device; replaces the module in use. */
int ws__meter_build(struct ws__meter *m, const char *source,
                    const char *const *entry, size_t nentry);
void ws__meter_unload(struct ws__meter *m);
int ws__meter_alloc(struct ws__meter *m, uint64_t bytes, uint32_t *buffer);
void ws__meter_release(struct ws__meter *m, uint32_t *buffer); /* sets 0 */

void ws__way_buffer(struct ws__way *w, uint32_t buffer);
void ws__way_u32(struct ws__way *w, uint32_t v);
void ws__way_u64(struct ws__way *w, uint64_t v);
void ws__way_real(struct ws__way *w, double v, bool wide);

/* Runs it `rounds` times, stops when limit_ns are spent (0: does not). */
int ws__meter_run(struct ws__meter *m, const struct ws__way *w, uint32_t rounds,
                  uint64_t limit_ns);
/* How often a loop has to go round so that a launch takes about target_ns: the
 * u32 argument `at` of the way is set. */
int ws__meter_calibrate(struct ws__meter *m, struct ws__way *w, size_t at,
                        double target_ns);
/* Times a way that does `work` (bytes, operations) a launch and keeps it if it
 * is better. */
int ws__meter_time(struct ws__meter *m, const struct ws__way *w, double work);
/* A second and a half of it; what the end of that reaches is `sustained`. */
int ws__meter_sustain(struct ws__meter *m, const struct ws__way *w,
                      double work);

/* ceilings_text.c: source of the kernels that are OpenCL C and CUDA C. */
extern const char ws__ceilings_head[], ws__ceilings_memory[],
    ws__ceilings_shared[], ws__ceilings_fma[], ws__ceilings_launch[];
/* The word that the kernels write at place i. */
static inline uint32_t ws__ceilings_word(uint64_t i, uint32_t seed)
{
    return (uint32_t)i * 2654435761u + seed;
}

/* ceilings_tensor.c: matrix units; `c` is one of WS__ROOF_TENSOR_*. */
int ws__ceilings_tensor(struct ws__meter *m, enum ws__ceiling_of c);

#endif
