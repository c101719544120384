/*
 * floor.c: the least time that an op can take on a device.
 *
 * The floor is the larger of two times: moving the bytes that must be moved,
 * and doing the operations that must be done. Both are divided by ceilings
 * whose origin is kept, since a time compared with a data sheet says less than
 * one compared with what the same device was seen to reach.
 */
#include "core/floor.h"

#include <math.h>

#include "base/banned.h"

/* A ceiling in units of its row, a nanosecond. */
static double a_ns(const struct ws__roof *r, enum ws__ceiling_of c)
{
    return r->ceiling[c].known ? r->ceiling[c].value / 1e9 : 0;
}

static bool narrow(enum ws__dtype d)
{
    return d == WS__DT_F16 || d == WS__DT_BF16;
}

/* The narrowest float type of inputs. */
static enum ws__dtype float_type(const struct ws__instance *in)
{
    enum ws__dtype best = WS__DT_NONE;

    for (size_t i = 0; i < in->op->ntensor; i++) {
        enum ws__dtype d = in->shape[i].dtype;
        bool is_float = d == WS__DT_F64 || d == WS__DT_F32 || narrow(d);

        if (in->op->tensor[i].role == WS__OUTPUT || !in->shape[i].ndim ||
            !is_float)
            continue;
        if (!best || ws__dtype_bytes(d) < ws__dtype_bytes(best))
            best = d;
    }
    return best;
}

/* Without a word of the op: two inputs or more with rows and columns, narrow
 * floats, sums of at least 16 terms, and no fewer than 16 operations an
 * element: anything less has nothing that a matrix unit could multiply. */
bool ws__floor_wants_tensor(const struct ws__instance *in)
{
    size_t matrices = 0;
    double elements = 0;

    if (in->op->unit != WS__UNIT_AUTO)
        return in->op->unit == WS__UNIT_TENSOR;
    for (size_t i = 0; i < in->op->ntensor; i++) {
        if (in->op->tensor[i].role == WS__INPUT)
            matrices += in->shape[i].ndim >= 2 && narrow(in->shape[i].dtype);
        if (in->shape[i].ndim)
            elements += (double)in->shape[i].elements;
    }
    return matrices >= 2 && in->reduction >= 16 && in->flops >= 16 * elements;
}

static enum ws__ceiling_of rate_of(const struct ws__instance *in, bool tensor)
{
    switch (float_type(in)) {
    case WS__DT_F64:
        return WS__ROOF_FP64;
    case WS__DT_F16:
        return tensor ? WS__ROOF_TENSOR_FP16 : WS__ROOF_FP32;
    case WS__DT_BF16:
        return tensor ? WS__ROOF_TENSOR_BF16 : WS__ROOF_FP32;
    default:
        return tensor ? WS__ROOF_TENSOR_TF32 : WS__ROOF_FP32;
    }
}

/* The ceiling of device memory that suits what the op moves. */
static enum ws__ceiling_of memory_of(const struct ws__instance *in,
                                     const struct ws__roof *roof)
{
    double read = 0, write = 0;
    enum ws__ceiling_of c = WS__ROOF_COPY;

    for (size_t i = 0; i < in->op->ntensor; i++) {
        if (in->op->tensor[i].role != WS__OUTPUT)
            read += (double)in->shape[i].bytes;
        if (in->op->tensor[i].role != WS__INPUT)
            write += (double)in->shape[i].bytes;
    }
    if (write < read / 16)
        c = WS__ROOF_READ;
    else if (read < write / 16)
        c = WS__ROOF_WRITE;
    return roof->ceiling[c].known ? c : WS__ROOF_COPY;
}

static void bytes_time(const struct ws__instance *in,
                       const struct ws__roof *roof, enum ws__cache_mode cache,
                       struct ws__floor *out)
{
    double fits = cache == WS__CACHE_WARM ? roof->cache_bytes : 0;
    double memory, l2 = a_ns(roof, WS__ROOF_L2);

    out->cached = fits < out->bytes ? fits : out->bytes;
    out->cached_from = roof->ceiling[WS__ROOF_L2].from;
    out->by_bytes = out->cached > 0 && out->cached == out->bytes
                        ? WS__ROOF_L2
                        : memory_of(in, roof);
    out->bytes_from = roof->ceiling[out->by_bytes].from;
    memory = a_ns(roof, out->by_bytes);
    if (out->cached > 0 && l2 > 0)
        out->bytes_ns += out->cached / l2;
    if (out->cached < out->bytes && memory > 0)
        out->bytes_ns += (out->bytes - out->cached) / memory;
    out->partly_known = (out->cached > 0 && l2 <= 0) ||
                        (out->cached < out->bytes && memory <= 0);
}

/* A declared accumulation wants doubles as much as a tensor of them. */
static bool has_doubles(const struct ws__instance *in)
{
    for (size_t i = 0; i < in->op->ntensor; i++)
        if (in->shape[i].dtype == WS__DT_F64)
            return true;
    return in->op->tolerance.accumulate == WS__DT_F64;
}

void ws__floor_make(const struct ws__instance *in, double bytes,
                    const struct ws__roof *roof, enum ws__cache_mode cache,
                    size_t nlaunch, struct ws__floor *out)
{
    double rate;

    memset(out, 0, sizeof(*out));
    out->bytes = bytes;
    out->flops = in->flops;
    out->tensor = ws__floor_wants_tensor(in);
    out->f64 = has_doubles(in);
    out->by_flops = rate_of(in, out->tensor);
    bytes_time(in, roof, cache, out);
    rate = a_ns(roof, out->by_flops);
    if (in->flops > 0 && rate > 0) {
        out->flops_ns = in->flops / rate;
        out->flops_from = roof->ceiling[out->by_flops].from;
    } else if (in->flops > 0) {
        out->partly_known = true;
    }
    out->ns = out->bytes_ns > out->flops_ns ? out->bytes_ns : out->flops_ns;
    out->launch_from = roof->ceiling[WS__ROOF_LAUNCH].from;
    if (roof->ceiling[WS__ROOF_LAUNCH].known)
        out->launch_ns = roof->ceiling[WS__ROOF_LAUNCH].value * (double)nlaunch;
}

/* ---- what no kernel undercuts -------------------------------------------
 */

/* Of a ceiling that was slowed (power, heat) nobody knows how high it is. */
static bool is_sure(const struct ws__ceiling *c)
{
    return c->known && !c->slowed;
}

/* The highest of some ceilings, in units of their rows a nanosecond. */
static double highest(const struct ws__roof *r, const enum ws__ceiling_of *of,
                      size_t n)
{
    double best = 0;

    for (size_t i = 0; i < n; i++) {
        const struct ws__ceiling *c = &r->ceiling[of[i]];

        if (is_sure(c))
            best = fmax(best, fmax(c->value, c->hi) / 1e9);
    }
    return best;
}

static double output_bytes(const struct ws__instance *in)
{
    double sum = 0;

    for (size_t i = 0; i < in->op->ntensor; i++)
        if (in->op->tensor[i].role != WS__INPUT)
            sum += (double)in->shape[i].bytes;
    return sum;
}

static double least_bytes_ns(const struct ws__instance *in, double bytes,
                             const struct ws__roof *roof,
                             enum ws__cache_mode cache, bool cpu)
{
    static const enum ws__ceiling_of memory[] = {WS__ROOF_COPY, WS__ROOF_READ,
                                                 WS__ROOF_WRITE};
    static const enum ws__ceiling_of last[] = {WS__ROOF_L2};
    double dram = highest(roof, memory, WS_COUNT(memory));
    double l2 = cpu ? 0 : highest(roof, last, 1);
    double held = fmin(cache == WS__CACHE_WARM ? bytes : output_bytes(in),
                       roof->cache_bytes);
    double rest = fmax(bytes - held, 0), ns = 0;

    if (dram > 0 && roof->cache_bytes > 0)
        ns = rest / dram;
    if (l2 > 0 && cache == WS__CACHE_WARM)
        ns += held / l2;
    return ns;
}

static bool has_bytes(const struct ws__instance *in)
{
    for (size_t i = 0; i < in->op->ntensor; i++)
        if (ws__dtype_bytes(in->shape[i].dtype) == 1)
            return true;
    return false;
}

/* Operations a nanosecond of the fastest units that there may be; 0: a unit
 * that was not measured may be faster. */
static double fastest_unit(const struct ws__instance *in,
                           const struct ws__roof *roof, bool cpu)
{
    static const enum ws__ceiling_of all[] = {
        WS__ROOF_FP32,        WS__ROOF_FP64,        WS__ROOF_TENSOR_FP16,
        WS__ROOF_TENSOR_BF16, WS__ROOF_TENSOR_TF32, WS__ROOF_TENSOR_FP8,
        WS__ROOF_TENSOR_INT8};
    const struct ws__ceiling *c = roof->ceiling;
    bool bytes = has_bytes(in);

    if (!cpu && !is_sure(&c[WS__ROOF_TENSOR_FP16]) &&
        !is_sure(&c[WS__ROOF_TENSOR_BF16]))
        return 0;
    if (!cpu && bytes &&
        (!is_sure(&c[WS__ROOF_TENSOR_FP8]) ||
         !is_sure(&c[WS__ROOF_TENSOR_INT8])))
        return 0;
    return highest(roof, all, WS_COUNT(all) - (bytes ? 0 : 2));
}

double ws__floor_limit(const struct ws__instance *in, double bytes,
                       const struct ws__roof *roof, enum ws__cache_mode cache,
                       bool cpu)
{
    double rate = fastest_unit(in, roof, cpu);
    double ns = least_bytes_ns(in, bytes, roof, cache, cpu);

    if (rate > 0)
        ns = fmax(ns, in->flops / rate);
    return cpu ? ns / 2 : ns;
}
