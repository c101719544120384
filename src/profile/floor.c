/*
 * floor.c: the least time that an op can take on a device.
 *
 * The floor is the larger of two times: moving the bytes that must be moved,
 * and doing the operations that must be done. Both are divided by ceilings
 * whose origin is kept, since a time compared with a data sheet says less than
 * one compared with what the same device was seen to reach.
 */
#include "profile/profile.h"

#include <math.h>

#include "base/banned.h"

/* A ceiling in units of its row, a nanosecond. */
static double a_ns(const struct ws__roof *r, enum ws__ceiling_of c)
{
    return r->ceiling[c].known ? r->ceiling[c].value / 1e9 : 0;
}

static void put(struct ws__roof *r, enum ws__ceiling_of c, double value)
{
    if (value > 0)
        r->ceiling[c] = (struct ws__ceiling){.known = true,
                                             .value = value,
                                             .from = WS__ROOF_SHEET};
}

void ws__roof_of_sheet(const struct ws__identity *id, struct ws__roof *out)
{
    const struct ws__wave_device d = {.name = id->device,
                                      .units = id->units,
                                      .cache_bytes = (double)id->cache_bytes,
                                      .is_cpu = id->is_cpu};
    const struct ws__wave_sheet s = ws__wave_sheet_of(&d);

    memset(out, 0, sizeof(*out));
    snprintf(out->device, sizeof(out->device), "%s", id->device);
    out->cache_bytes =
        id->cache_bytes ? (double)id->cache_bytes : s.cache_bytes;
    if (s.vague)
        return;
    snprintf(out->device, sizeof(out->device), "%s", s.name);
    put(out, WS__ROOF_COPY, s.dram_gbs * 1e9);
    put(out, WS__ROOF_READ, s.dram_gbs * 1e9);
    put(out, WS__ROOF_WRITE, s.dram_gbs * 1e9);
    put(out, WS__ROOF_FP32, s.vector_tflops * 1e12);
    put(out, WS__ROOF_TENSOR_FP16, s.matrix_tflops * 1e12);
    /* bfloat16 has the rate of float16 on every device that has it. */
    put(out, WS__ROOF_TENSOR_BF16, s.matrix_tflops * 1e12);
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
