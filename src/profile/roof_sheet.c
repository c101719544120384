/*
 * roof_sheet.c: ceilings that a data sheet promises.
 */
#include "profile/profile.h"

#include "base/banned.h"

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
