/*
 * occupancy.c: how many blocks a unit holds at once, and what limits it.
 *
 * The rules are those of the CUDA C++ programming guide (occupancy) and of its
 * occupancy calculator: registers are given to a warp in steps of 256 (8 a
 * thread), shared memory to a block in steps of 128 bytes, and a block of
 * compute capability 8 and later has 1 KiB more. The driver's own count is
 * taken where there is one.
 */
#include "profile/profile.h"

#include <math.h>

#include "base/banned.h"

#define LANES 32u
#define REGISTER_STEP 256u /* of a warp */
#define SHARED_STEP 128u   /* bytes of a block */

static uint32_t number_before(const char *words, const char *what)
{
    const char *at = strstr(words, what), *p = at;

    if (!at)
        return 0;
    while (p > words && p[-1] >= '0' && p[-1] <= '9')
        p--;
    return p == at ? 0 : (uint32_t)strtoul(p, NULL, 10);
}

void ws__unit_limits(const struct ws__identity *id, const char *words,
                     struct ws__unit_limits *out)
{
    memset(out, 0, sizeof(*out));
    out->units = id->units;
    words = strstr(words, "of a unit: ");
    if (!words)
        return;
    out->registers = number_before(words, " registers");
    out->shared = number_before(words, " bytes of shared memory");
    out->shared_reserved = number_before(words, " of each block's");
    out->threads = number_before(words, " threads");
    out->blocks = number_before(words, " blocks");
}

const char *ws__limiter_text(enum ws__limiter l)
{
    static const char *const text[] = {
        [WS__LIMIT_NONE] = "not known",
        [WS__LIMIT_REGISTERS] = "registers",
        [WS__LIMIT_SHARED] = "shared memory",
        [WS__LIMIT_THREADS] = "threads of a unit",
        [WS__LIMIT_BLOCKS] = "blocks of a unit",
    };

    return text[l];
}

static uint64_t up(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

static void count_limits(const struct ws__unit_limits *u, uint32_t registers,
                         uint64_t shared, uint64_t warps,
                         struct ws__occupancy *o)
{
    uint64_t of_warp = up((uint64_t)registers * LANES, REGISTER_STEP);
    uint64_t of_block = up(shared + u->shared_reserved, SHARED_STEP);

    o->by_threads = (uint32_t)(u->threads / (warps * LANES));
    o->by_blocks = u->blocks;
    o->by_registers = o->by_shared = UINT32_MAX;
    if (u->registers && of_warp)
        o->by_registers = (uint32_t)(u->registers / of_warp / warps);
    if (u->shared && shared)
        o->by_shared = (uint32_t)(u->shared / of_block);
}

/* Of two that are alike, the one that nobody can change. */
static void smallest(struct ws__occupancy *o)
{
    const struct {
        uint32_t blocks;
        enum ws__limiter limiter;
    } by[] = {{o->by_threads, WS__LIMIT_THREADS},
              {o->by_blocks, WS__LIMIT_BLOCKS},
              {o->by_registers, WS__LIMIT_REGISTERS},
              {o->by_shared, WS__LIMIT_SHARED}};

    o->blocks = UINT32_MAX;
    for (size_t i = 0; i < WS_COUNT(by); i++)
        if (by[i].blocks < o->blocks) {
            o->blocks = by[i].blocks;
            o->limiter = by[i].limiter;
        }
}

void ws__occupancy_make(const struct ws__unit_limits *u, uint32_t registers,
                        uint64_t shared_bytes, uint64_t threads,
                        uint64_t blocks, uint32_t told,
                        struct ws__occupancy *out)
{
    uint64_t warps = (threads + LANES - 1) / LANES;
    double full;

    memset(out, 0, sizeof(*out));
    if (u->threads && u->blocks && warps) {
        count_limits(u, registers, shared_bytes, warps, out);
        smallest(out);
    }
    if (told)
        out->blocks = told;
    if (u->threads && out->blocks)
        out->share = (double)(out->blocks * warps * LANES) / (double)u->threads;
    if (!u->units || !out->blocks || !blocks)
        return;
    full = (double)blocks / ((double)u->units * out->blocks);
    out->waves = full;
    out->tail = 1 - full / ceil(full);
}
