/*
 * roof.h: the ceilings of a device: what its memories and units reach at most.
 *
 * Plain data. A ceiling that nobody measured and no data sheet has is not
 * known, and nothing may be concluded from it. Whoever shows a ceiling shows
 * where it is from: a data sheet promises what no kernel reaches, so a time is
 * further from such a ceiling than from a measured one.
 */
#ifndef WS_ROOF_H
#define WS_ROOF_H

#include "core/trial.h"

/* Id, key, unit, what it is. Bytes count reads and writes together. Keys are
 * stored: they are for ever. */
#define WS__ROOF_MAP(X)                                                        \
    X(COPY, "copy", "B/s", "device memory, read and written")                  \
    X(READ, "read", "B/s", "device memory, only read")                         \
    X(WRITE, "write", "B/s", "device memory, only written")                    \
    X(L2, "l2", "B/s", "the last level of cache, read")                        \
    X(SHARED, "shared", "B/s", "shared memory of all units, read")             \
    X(FP32, "fp32", "flop/s", "float32 on vector units")                       \
    X(FP64, "fp64", "flop/s", "float64 on vector units")                       \
    X(TENSOR_FP16, "tensor_fp16", "flop/s", "matrix units, float16")           \
    X(TENSOR_BF16, "tensor_bf16", "flop/s", "matrix units, bfloat16")          \
    X(TENSOR_TF32, "tensor_tf32", "flop/s", "matrix units, tf32")              \
    X(TENSOR_FP8, "tensor_fp8", "flop/s", "matrix units, 8-bit floats")        \
    X(TENSOR_INT8, "tensor_int8", "flop/s", "matrix units, 8-bit integers")    \
    X(LAUNCH, "launch", "ns", "a launch that does nothing, as it is timed")

enum ws__ceiling_of {
#define WS_X(name, key, unit, about) WS__ROOF_##name,
    WS__ROOF_MAP(WS_X)
#undef WS_X
        WS__NROOF
};

enum ws__roof_from { WS__ROOF_UNKNOWN, WS__ROOF_SHEET, WS__ROOF_MEASURED };

struct ws__ceiling {
    bool known;
    double value; /* in the unit of its row, above 0 */
    enum ws__roof_from from;
    /* Of measured ones; else 0. */
    double lo, hi;    /* 95% interval of the median */
    double sustained; /* the value after a while at full load, where that was
                         looked at; 0: it was not */
    uint32_t nsample;
    uint32_t mhz;    /* clock of the units, median of the samples; 0: unknown */
    uint32_t slowed; /* WS__SLOW_* bits (device.h) of the samples */
    uint32_t sustained_mhz, sustained_slowed; /* the same of `sustained` */
};

struct ws__roof {
    struct ws__ceiling ceiling[WS__NROOF];
    double cache_bytes;   /* of the last level; 0: unknown */
    char device[128];     /* as its driver names it, or a data sheet's */
    struct ws__hash hash; /* of the identity that was measured; zero: none */
    uint64_t measured_ns; /* when (UTC); 0: not measured */
    bool quick;           /* in a hurry: some may be 15% too low */
};

/* What ceilings belong to: device, driver and compiler, not the version of the
 * tool nor how times of kernels are measured. */
struct ws__hash ws__roof_identity(const struct ws__identity *id);

const char *ws__roof_key(enum ws__ceiling_of c);
const char *ws__roof_unit(enum ws__ceiling_of c);
const char *ws__roof_about(enum ws__ceiling_of c);
/* "measured", "data sheet", "unknown". */
const char *ws__roof_from(enum ws__roof_from f);

#endif
