/*
 * wave_law.c: from the fitted numbers to the formula's constants.
 *
 * One set of numbers serves every config of a kernel; what makes configs
 * differ is what they are made of: tile, warps, stages, registers. Rates are
 * those of one multiprocessor. A lower clock slows all that happens inside of
 * it and in the cache by the same factor, and device memory not at all.
 */
#include "wave/wave.h"

#include <math.h>

#include "base/banned.h"

static const struct {
    const char *name, *unit;
    double centre, sd;
    bool log;
} theta_table[WS__NTHETA] = {
#define WS_X(id, name, centre, sd, unit, log)                                  \
    [WS__T_##id] = {name, unit, centre, sd, log},
    WS__THETA_MAP(WS_X)
#undef WS_X
};

const char *ws__theta_name(enum ws__theta t)
{
    return theta_table[t].name;
}

const char *ws__theta_unit(enum ws__theta t)
{
    return theta_table[t].unit;
}

bool ws__theta_is_log(enum ws__theta t)
{
    return theta_table[t].log;
}

double ws__theta_value(enum ws__theta t, double fitted)
{
    return theta_table[t].log ? exp(fitted) : fitted;
}

/* Flops a ns of one multiprocessor, all of its vector units at work. Boards of
 * few watts cannot hold their clock then: a board spends so many picojoules on
 * an operation (what is known of a T4 of 70 W and a V100 of 250 W, both at
 * their limits), less where the process is finer than 12 nm. */
#define PICOJOULES 15.
#define FINER .6

static double vector_rate(const struct ws__wave_sheet *s)
{
    double rate = s->vector_tflops;

    if (s->watts > 0 && s->nm > 0)
        rate = fmin(rate,
                    s->watts / (PICOJOULES * pow(fmin(1, s->nm / 12), FINER)));
    return rate * 1e3 / s->units;
}

/* Without matrix units the vector units do that work. */
static double matrix_rate(const struct ws__wave_sheet *s)
{
    return s->matrix_tflops > 0 ? s->matrix_tflops * 1e3 / s->units
                                : vector_rate(s);
}

/* A core waits for its caches, not for far memory. What its second one gives,
 * sustained, is about 16 bytes a cycle, and the first one 64. */
static void core_prior(const struct ws__wave_sheet *s, double *centre)
{
    double ghz = s->mhz / 1e3;

    centre[WS__T_LATENCY] -= 3;
    centre[WS__T_LOAD] = log(16 * ghz);
    centre[WS__T_STORE] = log(16 * ghz);
    centre[WS__T_SHARED] = log(64 * ghz);
}

void ws__wave_prior(const struct ws__wave_sheet *sheet,
                    struct ws__wave_belief *out)
{
    const struct ws__wave_sheet *home = &ws__wave_sheets[0];
    double matrix = log(matrix_rate(sheet) / matrix_rate(home));
    double vector = log(vector_rate(sheet) / vector_rate(home));
    double clock = log(sheet->mhz / home->mhz);
    double whole = clock + log(sheet->units / home->units);
    double *centre = out->centre;

    for (int i = 0; i < WS__NTHETA; i++) {
        centre[i] = theta_table[i].log ? log(theta_table[i].centre)
                                       : theta_table[i].centre;
        out->sd[i] = theta_table[i].sd;
    }
    centre[WS__T_WGMMA] += matrix;
    centre[WS__T_MMA] += matrix;
    centre[WS__T_VECTOR] += vector;
    centre[WS__T_FMA] += vector;
    centre[WS__T_LOAD] += clock;
    centre[WS__T_SHARED] += clock;
    centre[WS__T_STORE] += clock;
    centre[WS__T_LINE] += whole;
    centre[WS__T_DRAM] += log(sheet->dram_gbs / home->dram_gbs);
    if (sheet->is_cpu)
        core_prior(sheet, centre);
    for (int i = 0; i < WS__NTHETA && sheet->vague; i++)
        out->sd[i] *= theta_table[i].log ? 2 : 1.5;
}

static int32_t q20(double log_value)
{
    double x = log_value / M_LN2 * WSRT_WAVE_ONE;

    return (int32_t)lrint(fmax(-WSRT_WAVE_MOST, fmin(WSRT_WAVE_MOST, x)));
}

static int32_t q16(double value)
{
    return (int32_t)lrint(fmax(1024., fmin(4194304., value * 65536)));
}

static void exponent(double value, int32_t *p, int32_t *inverse)
{
    *p = q16(value);
    *inverse = q16(1 / value);
}

void ws__wave_law(const struct ws__wave_table *t, const double *theta,
                  struct wsrt_wave_law *out)
{
    *out = (struct wsrt_wave_law){0};
    out->units = (int32_t)t->sheet.units;
    out->balanced = t->balanced;
    out->cache = (int64_t)(t->sheet.cache_bytes * .5);
    exponent(exp(theta[WS__T_P]), &out->p, &out->p_inverse);
    exponent(exp(theta[WS__T_Q]), &out->q, &out->q_inverse);
    out->start = q20(theta[WS__T_START]);
    out->soft = q20(theta[WS__T_SOFT]);
    out->again = q20(theta[WS__T_AGAIN]);
    out->line = q20(-theta[WS__T_LINE]);
    out->line_loop = q20(theta[WS__T_LINE_LOOP] * M_LN2);
    out->after = q20(theta[WS__T_AFTER]);
    out->after_byte = q20(-theta[WS__T_DRAM] - theta[WS__T_AFTER_BYTE]);
    out->line_columns = q20(theta[WS__T_LINE_COLUMNS]);
    out->masked = q20(theta[WS__T_MASKED]);
    if (t->balanced)
        out->crowd = q20(theta[WS__T_CROWD]);
    out->distinct = q20(theta[WS__T_DISTINCT]);
    out->hidden = q20(theta[WS__T_HIDDEN]);
}

static double log2_of(double x, double unknown)
{
    return x > 0 ? log2(x) : unknown;
}

static double engine_rate(const struct ws__wave_config *c, const double *theta)
{
    static const enum ws__theta rate[] = {WS__T_FMA, WS__T_MMA, WS__T_WGMMA};

    return theta[rate[c->engine]];
}

/* What a tile's form costs the units that compute. */
static double tile_factor(const struct ws__wave_config *c, const double *theta)
{
    return theta[WS__T_BY_ROWS] * (log2_of(c->rows, 7) - 7) +
           theta[WS__T_BY_COLUMNS] * (log2_of(c->columns, 7) - 7) +
           (c->warps > 4 ? theta[WS__T_BY_WARPS] : 0);
}

/* Registers that spill, and warps that share the rows of a tile. */
static double step_factor(const struct ws__wave_config *c, const double *theta)
{
    double each = c->warps > 0 ? c->accumulators / (32 * c->warps) : 0;

    return theta[WS__T_SPILL] * fmax(0, fmin(1, (each - 208) / 32)) +
           (c->spread ? theta[WS__T_SPREAD] : 0) +
           theta[WS__T_SHALLOW] * fmax(0, fmin(2, 4 - fmax(1, c->stages)));
}

void ws__wave_form(const struct ws__wave_config *c, const double *theta,
                   double clock, struct wsrt_wave_form *out)
{
    /* What waits for memory feels half of a slower clock. */
    double slow = -log(clock), half = slow / 2, tile = tile_factor(c, theta);
    double depth = log2_of(c->depth, 6), ahead = fmax(1, c->stages - 1);

    *out = (struct wsrt_wave_form){0};
    out->occupancy = c->occupancy ? (int32_t)c->occupancy : 1;
    out->flop = q20(slow - engine_rate(c, theta) - tile);
    out->vector = q20(slow - theta[WS__T_VECTOR] - tile);
    out->shared = q20(slow - theta[WS__T_SHARED]);
    out->byte = q20(slow - theta[WS__T_LOAD] -
                    theta[WS__T_BY_DEPTH] * fmin(depth - 6, 0));
    out->step = q20(step_factor(c, theta));
    out->uneven = q20(theta[WS__T_UNEVEN]);
    out->latency = q20(half + theta[WS__T_LATENCY] - log(ahead));
    out->latency_byte = q20(half + theta[WS__T_LATENCY_BYTE]);
    exponent(exp(theta[c->stages <= 2 ? WS__T_P_SHALLOW : WS__T_P]),
             &out->overlap, &out->overlap_inverse);
    out->pad = q20(slow + theta[WS__T_PAD] + depth * M_LN2);
    out->block = q20(half + theta[WS__T_BLOCK]);
    out->fill = q20(half + theta[WS__T_FILL]);
    out->fill_steps =
        c->stages > 1 ? q20(log(c->stages - 1)) : WSRT_WAVE_NOTHING;
    out->store = q20(-theta[WS__T_STORE]);
    out->dram = q20(-theta[WS__T_DRAM] -
                    theta[WS__T_DRAM_DEPTH] * (fmin(depth, 7) - 7));
    out->line = q20(-theta[WS__T_LINE_DEPTH] * (depth - 6) * M_LN2);
    out->rows = c->rows > 0 ? (int32_t)c->rows : 0;
}
