/*
 * wsrt_wave.c: the wave model's formula in integers.
 *
 * Every quantity is its logarithm to the base 2 with 20 fraction bits, in 64
 * bits while it is worked with. Constants are at most WSRT_WAVE_MOST, which is
 * checked when a pack is opened, and coordinates at most 2^62, so two of them
 * add up within 32 bits, and what is worked with stays below 2^42: nothing here
 * can overflow, whatever a damaged file holds.
 */
#include "wsrt_wave.h"

#include <stddef.h>

#define NOTHING ((int64_t)WSRT_WAVE_NOTHING)
#define HALF 32768

/* round(2^20 * log2(1 + 2^-(i / 32))): between two points the curve is taken as
 * straight, which is off by less than 2^-15. */
#define SOFTPLUS_STEPS 640
#define SOFTPLUS_SHIFT (WSRT_WAVE_Q - 5)
static const int32_t softplus[SOFTPLUS_STEPS + 1] = {
    1048576, 1032281, 1016163, 1000222, 984459, 968873, 953464, 938231, 923175,
    908295,  893591,  879062,  864708,  850529, 836523, 822691, 809032, 795545,
    782230,  769085,  756111,  743306,  730670, 718201, 705899, 693763, 681792,
    669986,  658342,  646860,  635540,  624379, 613378, 602534, 591846, 581314,
    570936,  560712,  550638,  540716,  530943, 521317, 511838, 502504, 493315,
    484268,  475362,  466595,  457967,  449477, 441121, 432900, 424811, 416854,
    409027,  401327,  393755,  386308,  378985, 371784, 364705, 357745, 350902,
    344177,  337566,  331069,  324684,  318410, 312244, 306187, 300236, 294389,
    288646,  283005,  277464,  272022,  266678, 261429, 256276, 251216, 246248,
    241371,  236583,  231882,  227269,  222740, 218296, 213934, 209653, 205452,
    201330,  197285,  193316,  189423,  185603, 181855, 178179, 174573, 171036,
    167567,  164164,  160827,  157554,  154344, 151197, 148111, 145084, 142117,
    139208,  136355,  133558,  130817,  128129, 125494, 122912, 120380, 117898,
    115466,  113082,  110745,  108455,  106211, 104012, 101856, 99744,  97674,
    95646,   93659,   91711,   89803,   87934,  86102,  84308,  82550,  80827,
    79140,   77487,   75867,   74281,   72727,  71204,  69713,  68253,  66822,
    65421,   64048,   62704,   61387,   60097,  58834,  57597,  56386,  55199,
    54037,   52900,   51785,   50694,   49625,  48579,  47554,  46551,  45568,
    44606,   43664,   42741,   41838,   40953,  40087,  39239,  38409,  37596,
    36800,   36021,   35258,   34511,   33780,  33064,  32363,  31677,  31005,
    30347,   29703,   29073,   28456,   27851,  27260,  26681,  26114,  25559,
    25016,   24484,   23964,   23454,   22956,  22467,  21989,  21522,  21064,
    20615,   20176,   19747,   19326,   18915,  18512,  18118,  17732,  17354,
    16984,   16622,   16268,   15921,   15582,  15250,  14924,  14606,  14295,
    13990,   13691,   13399,   13113,   12834,  12560,  12292,  12029,  11773,
    11521,   11275,   11035,   10799,   10568,  10343,  10122,  9906,   9694,
    9487,    9284,    9086,    8892,    8702,   8516,   8334,   8156,   7982,
    7811,    7644,    7481,    7321,    7164,   7011,   6861,   6714,   6571,
    6430,    6293,    6158,    6027,    5898,   5772,   5648,   5527,   5409,
    5293,    5180,    5069,    4961,    4855,   4751,   4649,   4550,   4452,
    4357,    4264,    4173,    4083,    3996,   3911,   3827,   3745,   3665,
    3586,    3510,    3434,    3361,    3289,   3219,   3150,   3082,   3016,
    2952,    2889,    2827,    2766,    2707,   2649,   2592,   2537,   2483,
    2429,    2377,    2326,    2277,    2228,   2180,   2133,   2088,   2043,
    1999,    1957,    1915,    1874,    1834,   1794,   1756,   1718,   1681,
    1645,    1610,    1576,    1542,    1509,   1477,   1445,   1414,   1384,
    1354,    1325,    1297,    1269,    1242,   1215,   1189,   1164,   1139,
    1114,    1090,    1067,    1044,    1022,   1000,   979,    958,    937,
    917,     897,     878,     859,     841,    823,    805,    788,    771,
    755,     738,     723,     707,     692,    677,    663,    648,    635,
    621,     608,     595,     582,     569,    557,    545,    534,    522,
    511,     500,     489,     479,     469,    459,    449,    439,    430,
    421,     412,     403,     394,     386,    377,    369,    361,    354,
    346,     339,     331,     324,     317,    311,    304,    297,    291,
    285,     279,     273,     267,     261,    256,    250,    245,    239,
    234,     229,     224,     220,     215,    210,    206,    201,    197,
    193,     189,     185,     181,     177,    173,    169,    166,    162,
    159,     155,     152,     149,     146,    142,    139,    136,    133,
    131,     128,     125,     122,     120,    117,    115,    112,    110,
    107,     105,     103,     101,     99,     96,     94,     92,     90,
    88,      87,      85,      83,      81,     79,     78,     76,     74,
    73,      71,      70,      68,      67,     65,     64,     63,     61,
    60,      59,      57,      56,      55,     54,     53,     51,     50,
    49,      48,      47,      46,      45,     44,     43,     42,     41,
    41,      40,      39,      38,      37,     36,     36,     35,     34,
    33,      33,      32,      31,      31,     30,     29,     29,     28,
    27,      27,      26,      26,      25,     25,     24,     24,     23,
    23,      22,      22,      21,      21,     20,     20,     19,     19,
    19,      18,      18,      17,      17,     17,     16,     16,     16,
    15,      15,      15,      14,      14,     14,     13,     13,     13,
    13,      12,      12,      12,      12,     11,     11,     11,     11,
    10,      10,      10,      10,      9,      9,      9,      9,      9,
    9,       8,       8,       8,       8,      8,      7,      7,      7,
    7,       7,       7,       7,       6,      6,      6,      6,      6,
    6,       6,       6,       5,       5,      5,      5,      5,      5,
    5,       5,       5,       4,       4,      4,      4,      4,      4,
    4,       4,       4,       4,       4,      4,      3,      3,      3,
    3,       3,       3,       3,       3,      3,      3,      3,      3,
    3,       3,       3,       2,       2,      2,      2,      2,      2,
    2,       2,       2,       2,       2,      2,      2,      2,      2,
    2,       2,       2,       2,       2,      2,      2,      2,      2,
    1,       1};

/* log2(1 + 2^-x), x >= 0. Without a branch: which of two terms is larger, and
 * by how much, is different for every variant. */
#define SOFT_END ((int64_t)SOFTPLUS_STEPS << SOFTPLUS_SHIFT)
static inline int64_t soft(int64_t x)
{
    int64_t end = SOFT_END;
    int64_t at = x < end ? x : end - 1, i = at >> SOFTPLUS_SHIFT;
    int64_t between = at & ((INT64_C(1) << SOFTPLUS_SHIFT) - 1);
    int64_t y = softplus[i] -
                ((softplus[i] - softplus[i + 1]) * between >> SOFTPLUS_SHIFT);

    return x < end ? y : 0;
}

/* log2(2^a + 2^b). */
static inline int64_t sum(int64_t a, int64_t b)
{
    int64_t top = a > b ? a : b, low = a > b ? b : a;

    return top + soft(top - low);
}

/* The same where b is mostly nothing beside a. */
static inline int64_t sum_rare(int64_t a, int64_t b)
{
    return a - b >= SOFT_END ? a : sum(a, b);
}

#define DISTANCE_MAX (INT64_C(1) << 30)

/* log2 of the smooth maximum ((2^a)^p + (2^b)^p)^(1/p); p and its inverse with
 * 16 fraction bits, above 0. */
static inline int64_t maximum(int64_t a, int64_t b, int32_t p,
                              int32_t p_inverse)
{
    int64_t top = a > b ? a : b, d = top - (a > b ? b : a);
    int64_t near = d < DISTANCE_MAX ? d : DISTANCE_MAX;

    near = (soft(near * p >> 16) * p_inverse + HALF) >> 16;
    return top + (d > DISTANCE_MAX ? 0 : near);
}

int32_t wsrt__wave_log(int64_t x)
{
    return x > 0 ? wsrt__log2_20(x) : WSRT_WAVE_NOTHING;
}

static int64_t log_of(int64_t x)
{
    return wsrt__wave_log(x);
}

static int32_t fit_32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a from 0, b from 1. Half as many bits take a fraction of the time. */
static int64_t divide(int64_t a, int64_t b)
{
    return a <= UINT32_MAX && b <= UINT32_MAX ? (uint32_t)a / (uint32_t)b
                                              : a / b;
}

/* What the parts of one evaluation share; logarithms. */
struct work {
    const struct wsrt_wave_law *law;
    const struct wsrt_wave_form *form;
    const int64_t *coord;
    const int32_t *log; /* of the coordinates */
    int64_t grid, steps, loop, longest, bytes;
    int64_t slots;                        /* blocks of a full wave */
    int64_t step, latency, compute, load; /* of a step */
    int64_t head;                         /* of a block, beside its steps */
    int64_t memory, line;                 /* of the launch */
};

static void step_of(const struct wsrt_wave_law *law,
                    const struct wsrt_wave_form *f, const int32_t *log,
                    struct wsrt_wave_step *out)
{
    out->compute = sum((int64_t)log[WSRT_W_FLOPS] + f->flop,
                       (int64_t)log[WSRT_W_VECTOR] + f->vector);
    out->load = sum((int64_t)log[WSRT_W_SHARED] + f->shared,
                    (int64_t)log[WSRT_W_BYTES] + f->byte);
    out->step = maximum(out->compute, out->load, law->p, law->p_inverse);
}

static int64_t factor_of(const struct wsrt_wave_form *f, int64_t uneven)
{
    return f->step + (uneven ? f->uneven : 0);
}

static void prepare_step(struct work *w, const struct wsrt_wave_step *s)
{
    const struct wsrt_wave_law *law = w->law;
    const struct wsrt_wave_form *f = w->form;
    int64_t unique = w->log[WSRT_W_UNIQUE];
    int64_t factor = factor_of(f, w->coord[WSRT_W_UNEVEN]);
    int64_t rare, work;

    w->compute = s->compute + factor;
    w->load = s->load;
    w->step = s->step + factor;
    rare = least(0, unique - w->steps - w->bytes);
    work = law->balanced ? w->compute : w->step;
    w->latency =
        sum(sum(f->latency, sum_rare(w->bytes + f->latency_byte,
                                     f->latency + law->distinct + rare)),
            law->hidden + work);
    w->head = sum(f->block, f->fill + w->bytes + least(f->fill_steps, w->loop));
}

static void prepare_launch(struct work *w)
{
    const struct wsrt_wave_law *law = w->law;
    int64_t over = w->coord[WSRT_W_HOLD] - law->cache;
    int64_t again = NOTHING;

    /* What does not fit into the cache is read from memory again. */
    if (over > 0)
        again = w->log[WSRT_W_AGAIN] + log_of(over) - w->log[WSRT_W_HOLD] +
                law->again;
    w->memory = sum_rare(w->log[WSRT_W_UNIQUE], again) + w->form->dram;
    w->line = sum(w->log[WSRT_W_HOT],
                  (int64_t)w->log[WSRT_W_HOTCOLS] + law->line_columns) +
              law->line + w->form->line -
              ((most(2 * WSRT_WAVE_ONE, least(9 * WSRT_WAVE_ONE, w->loop)) -
                6 * WSRT_WAVE_ONE) *
                   law->line_loop >>
               WSRT_WAVE_Q);
}

static void prepare(struct work *w, const struct wsrt_wave_law *law,
                    const struct wsrt_wave_form *form,
                    const struct wsrt_wave_ready *ready,
                    const struct wsrt_wave_coords *c)
{
    struct wsrt_wave_step own;
    int64_t masked;

    w->law = law;
    w->form = form;
    w->coord = c->n;
    w->log = c->log;
    w->grid = c->log[WSRT_W_GRID];
    w->slots = ready ? ready->log_slots
                     : log_of((int64_t)form->occupancy * law->units);
    masked = (int64_t)c->log[WSRT_W_MASKED] + law->masked;
    w->steps = sum_rare(c->log[WSRT_W_STEPS], w->grid + masked);
    w->loop = w->steps - w->grid;
    w->longest = sum_rare(c->log[WSRT_W_LONGEST], masked);
    w->bytes = c->log[WSRT_W_BYTES];
    if (!ready || !ready->steady)
        step_of(law, form, c->log, &own);
    prepare_step(w, ready && ready->steady ? &ready->step : &own);
    prepare_launch(w);
}

/* What so many blocks of one multiprocessor take, by one of them. */
static int64_t crowded(const struct wsrt_wave_law *law, int64_t resident)
{
    return resident + (resident * law->crowd >> WSRT_WAVE_Q);
}

/* Padding that changes no sum. */
#define NO_PADDING (-(INT64_C(1) << 60))

/* The padding's part of a step, or NO_PADDING. */
static int64_t padding_of(const struct work *w, int64_t log)
{
    int64_t padding = log + w->form->pad;

    return padding <= least(w->latency, w->step) - SOFT_END ? NO_PADDING
                                                            : padding;
}

/* A step of blocks of one multiprocessor together; resident: log2. */
static int64_t together(const struct work *w, int64_t resident, int64_t padding)
{
    int64_t latency = w->latency, step = w->step;

    if (padding != NO_PADDING) {
        latency = sum(latency, padding);
        step = sum(step, padding);
    }
    return maximum(latency, crowded(w->law, resident) + step, w->form->overlap,
                   w->form->overlap_inverse);
}

static int64_t store(const struct work *w)
{
    return w->log[WSRT_W_STORE] + w->form->store;
}

/* A wave of blocks; resident: of a multiprocessor, log2. */
static int64_t tile(const struct work *w, int64_t resident, int64_t padding)
{
    return sum(sum(w->head, resident + store(w)),
               w->loop + together(w, resident, padding));
}

/* Work beside its share of memory's time and of the hot lines'. */
static int64_t beside(const struct work *w, int64_t work, int64_t share)
{
    int32_t q = w->law->q, q_inverse = w->law->q_inverse;

    /* Few operations have hot lines. */
    if (w->coord[WSRT_W_HOT] > 0 || w->coord[WSRT_W_HOTCOLS] > 0 ||
        work - w->line - share <= DISTANCE_MAX)
        work = maximum(work, w->line + share, q, q_inverse);
    return maximum(work, w->memory + share, q, q_inverse);
}

/* Waves of equal blocks. With one wave after another their ends drift apart:
 * the steps of the staircase turn into a line. */
static int64_t waves(const struct work *w, struct wsrt_wave_terms *t)
{
    int64_t occupancy = w->form->occupancy, units = w->law->units;
    int64_t slots = occupancy * units, grid = w->coord[WSRT_W_GRID];
    int64_t full = divide(grid, slots), rest = grid - full * slots;
    int64_t most_padding = padding_of(w, w->log[WSRT_W_PADMOST]);
    int64_t mean_padding = padding_of(w, w->log[WSRT_W_PADDED] - w->grid);
    int64_t hard = NOTHING, even, sharp, block, resident, log_full;

    t->full = full;
    t->rest = rest;
    t->resident = divide(rest + units - 1, units);
    resident = log_of(full ? occupancy : t->resident);
    block = tile(w, resident, most_padding);
    t->tile = fit_32(block);
    if (rest) {
        if (full)
            block = tile(w, log_of(t->resident), most_padding);
        hard = beside(w, block, log_of(rest) - w->grid);
    }
    if (!full)
        return hard;
    even = beside(w, t->tile, w->slots - w->grid);
    log_full = log_of(full);
    hard = sum(hard, log_full + even);
    if (mean_padding != most_padding)
        even = beside(w, tile(w, resident, mean_padding), w->slots - w->grid);
    even += w->grid - w->slots;
    sharp = -sum(0, w->law->soft + log_full);
    return sum(sharp + hard, sharp + w->law->soft + log_full + even);
}

/* Blocks of unequal length, the longest first: nearly balanced, but not faster
 * than the longest. */
#define BALANCE (6 << 16)
#define BALANCE_INVERSE 10923
static int64_t balance(const struct work *w, struct wsrt_wave_terms *t)
{
    int64_t occupancy = w->form->occupancy, units = w->law->units;
    int64_t grid = w->coord[WSRT_W_GRID];
    int64_t each = divide(grid + units - 1, units);
    int64_t resident = least(occupancy, each);
    int64_t alone = least(resident, most(1, divide(grid, units)));
    int64_t at_once = log_of(units * resident);
    int64_t padding = padding_of(w, w->log[WSRT_W_PADDED] - w->grid);
    int64_t blocks =
        w->grid - at_once + sum(w->head, log_of(resident) + store(w));
    int64_t all =
        sum(w->steps - at_once + together(w, log_of(resident), padding),
            blocks);
    int64_t one = sum(sum(w->head, store(w)),
                      w->longest + together(w, log_of(alone), padding));

    t->full = divide(grid, units * occupancy);
    t->rest = grid - t->full * units * occupancy;
    t->resident = resident;
    t->tile = fit_32(tile(w, log_of(resident), padding));
    return beside(w, maximum(one, all, BALANCE, BALANCE_INVERSE), 0);
}

static int64_t formula(struct work *w, struct wsrt_wave_terms *t)
{
    int64_t after = NOTHING;

    if (w->coord[WSRT_W_GRID] <= 0)
        return w->law->start;
    t->body = fit_32(w->law->balanced ? balance(w, t) : waves(w, t));
    if (w->coord[WSRT_W_AFTER] > 0)
        after = sum(w->law->after, w->log[WSRT_W_AFTER] + w->law->after_byte);
    t->after = fit_32(after);
    return sum(w->law->start, sum_rare(t->body, after));
}

void wsrt__wave_logs(struct wsrt_wave_coords *c)
{
    for (uint32_t i = 0; i < WSRT_NWAVE; i++)
        c->log[i] = wsrt__wave_log(c->n[i]);
}

static void see(struct wsrt_wave_coords *c, const int64_t coord[WSRT_NWAVE])
{
    for (uint32_t i = 0; i < WSRT_NWAVE; i++)
        c->n[i] = coord[i];
    wsrt__wave_logs(c);
}

int32_t wsrt__wave_formula(const struct wsrt_wave_law *law,
                           const struct wsrt_wave_form *form,
                           const int64_t coord[WSRT_NWAVE])
{
    struct wsrt_wave_coords c;
    struct wsrt_wave_terms t;
    struct work w;

    see(&c, coord);
    prepare(&w, law, form, NULL, &c);
    return fit_32(formula(&w, &t));
}

/* Padding as a share of the tiles' rows; at most 2, so also where its rows are
 * so many that the shift would overflow. */
static int32_t padding_share(const struct wsrt_wave_form *form, int64_t padded,
                             int64_t blocks)
{
    int64_t log;

    if (padded <= 0 || blocks <= 0 || form->rows <= 0)
        return 0;
    log = log_of(padded) - log_of(blocks) - log_of(form->rows);
    if (log >= WSRT_WAVE_ONE)
        return 2 * WSRT_WAVE_ONE;
    return padded >= INT64_MAX >> 22
               ? 2 * WSRT_WAVE_ONE
               : (int32_t)((padded << WSRT_WAVE_Q) / blocks / form->rows);
}

static int64_t within(int64_t x, int64_t low, int64_t high)
{
    return most(low * WSRT_WAVE_ONE, least(high * WSRT_WAVE_ONE, x));
}

/* Those features that are no axes; slots: log2 of the blocks of a full wave. */
#define NREST (WSRT_WAVE_WEIGHTS - 1 - WSRT_WAVE_AXES)
static inline void rest_features(const struct wsrt_wave_form *form,
                                 int64_t slots,
                                 const struct wsrt_wave_glance *at,
                                 int32_t out[NREST])
{
    int64_t loaded = at->log_steps + at->log_bytes;
    int64_t v = within(at->log_grid - slots, -4, 4);
    int64_t share = sum(at->log_unique - loaded, -5917946 /* log2(0.02) */);

    out[0] = (int32_t)v;
    out[1] = (int32_t)(within(at->log_steps - at->log_grid, -8, 24) -
                       5 * WSRT_WAVE_ONE);
    out[2] = at->padded > 0 ? padding_share(form, at->padded, at->grid) : 0;
    out[3] = (int32_t)within(share, -6, 6);
    out[4] = (int32_t)(v * v >> (WSRT_WAVE_Q + 2));
    out[5] = (int32_t)most(v, 0);
}

static int32_t axis_feature(int32_t log_axis)
{
    return log_axis - 8 * WSRT_WAVE_ONE;
}

static struct wsrt_wave_glance glance(const struct wsrt_wave_coords *c)
{
    return (struct wsrt_wave_glance){.grid = c->n[WSRT_W_GRID],
                                     .padded = c->n[WSRT_W_PADDED],
                                     .log_grid = c->log[WSRT_W_GRID],
                                     .log_steps = c->log[WSRT_W_STEPS],
                                     .log_unique = c->log[WSRT_W_UNIQUE],
                                     .log_bytes = c->log[WSRT_W_BYTES],
                                     .log_after = c->log[WSRT_W_AFTER]};
}

void wsrt__wave_features(const struct wsrt_wave_law *law,
                         const struct wsrt_wave_form *form,
                         const int64_t coord[WSRT_NWAVE],
                         const int32_t *log_axis, uint32_t naxis,
                         int32_t out[WSRT_WAVE_WEIGHTS])
{
    struct wsrt_wave_glance at;
    struct wsrt_wave_coords c;

    see(&c, coord);
    at = glance(&c);
    out[0] = WSRT_WAVE_ONE;
    for (uint32_t a = 0; a < WSRT_WAVE_AXES; a++)
        out[1 + a] = a < naxis ? axis_feature(log_axis[a]) : 0;
    rest_features(form, log_of((int64_t)form->occupancy * law->units), &at,
                  out + 1 + WSRT_WAVE_AXES);
}

static int64_t weighted(int32_t weight, int32_t feature)
{
    return (int64_t)weight * feature >> WSRT_WAVE_Q;
}

/* The features by their weights, one by one. */
static int64_t correction(const struct wsrt_wave_form *form, int64_t slots,
                          const struct wsrt_wave_glance *at,
                          const int32_t *log_axis, uint32_t naxis)
{
    const int32_t *weight = form->weight;
    int64_t total = *weight++;
    int32_t rest[NREST];

    for (uint32_t a = 0; a < naxis && a < WSRT_WAVE_AXES; a++)
        total += weighted(weight[a], axis_feature(log_axis[a]));
    rest_features(form, slots, at, rest);
    for (uint32_t i = 0; i < NREST; i++)
        total += weighted(weight[WSRT_WAVE_AXES + i], rest[i]);
    return total;
}

void wsrt__wave_terms(const struct wsrt_wave_law *law,
                      const struct wsrt_wave_form *form,
                      const int64_t coord[WSRT_NWAVE], const int32_t *log_axis,
                      uint32_t naxis, struct wsrt_wave_terms *out)
{
    struct wsrt_wave_glance at;
    struct wsrt_wave_coords c;
    struct work w;

    *out = (struct wsrt_wave_terms){0};
    see(&c, coord);
    prepare(&w, law, form, NULL, &c);
    out->total = fit_32(formula(&w, out));
    out->compute = fit_32(w.compute);
    out->load = fit_32(w.load);
    out->step = fit_32(w.step);
    out->latency = fit_32(w.latency);
    out->memory = fit_32(w.memory);
    out->line = fit_32(w.line);
    at = glance(&c);
    out->correction = fit_32(correction(form, w.slots, &at, log_axis, naxis));
}

int32_t wsrt__wave_predict(const struct wsrt_wave_law *law,
                           const struct wsrt_wave_form *form,
                           const struct wsrt_wave_ready *ready,
                           const struct wsrt_wave_coords *c,
                           const int32_t *log_axis, uint32_t naxis)
{
    struct wsrt_wave_glance at = glance(c);
    struct wsrt_wave_terms t;
    struct work w;

    prepare(&w, law, form, ready, c);
    return fit_32((int64_t)fit_32(formula(&w, &t)) +
                  correction(form, w.slots, &at, log_axis, naxis));
}

int32_t wsrt__wave_log2_ns(const struct wsrt_wave_law *law,
                           const struct wsrt_wave_form *form,
                           const int64_t coord[WSRT_NWAVE],
                           const int32_t *log_axis, uint32_t naxis)
{
    struct wsrt_wave_coords c;

    see(&c, coord);
    return wsrt__wave_predict(law, form, NULL, &c, log_axis, naxis);
}

/* What the sums and the table's straight pieces may be off together: 0.2%. */
#define ROUNDING 3000

/* Not above a step of so many blocks of one multiprocessor, nor above what is
 * beside the steps: without padding, nor what latency gains with distinct
 * bytes. */
static void ready_for(const struct wsrt_wave_law *law,
                      const struct wsrt_wave_form *f, const int32_t *log,
                      int64_t resident, struct wsrt_wave_ready *r)
{
    int64_t factor = f->step + least(0, f->uneven);
    int64_t step = r->step.step + factor;
    int64_t work = law->balanced ? r->step.compute + factor : step;
    int64_t wait =
        sum(f->latency, (int64_t)log[WSRT_W_BYTES] + f->latency_byte);
    uint32_t at = resident > WSRT_WAVE_RESIDENT ? 0 : (uint32_t)resident;

    resident = log_of(resident);
    r->together[at] = fit_32(maximum(sum(wait, law->hidden + work),
                                     crowded(law, resident) + step, f->overlap,
                                     f->overlap_inverse));
    r->head[at] =
        fit_32(sum(f->block, resident + log[WSRT_W_STORE] + (int64_t)f->store));
}

void wsrt__wave_ready(const struct wsrt_wave_law *law,
                      const struct wsrt_wave_form *form,
                      const struct wsrt_wave_coords *c, int steady,
                      struct wsrt_wave_ready *out)
{
    out->steady = steady;
    out->slots = (int64_t)form->occupancy * law->units;
    out->log_slots = (int32_t)log_of(out->slots);
    if (!steady)
        return;
    step_of(law, form, c->log, &out->step);
    for (int64_t resident = 1; resident <= WSRT_WAVE_RESIDENT; resident++)
        ready_for(law, form, c->log, resident, out);
    if (form->occupancy > WSRT_WAVE_RESIDENT)
        ready_for(law, form, c->log, form->occupancy, out);
    else {
        out->together[0] = out->together[form->occupancy];
        out->head[0] = out->head[form->occupancy];
    }
}

/* However the waves fall, blocks that are resident together do no more than
 * `occupancy` of them would. Where blocks cost each other something the last
 * wave may be cheaper by the block: x - x^(1 + crowd) of a full one, which is
 * never more than crowd / e; 5/8 of it as a logarithm. */
static int64_t work_bound(const struct wsrt_wave_law *law,
                          const struct wsrt_wave_form *f,
                          const struct wsrt_wave_ready *r,
                          const struct wsrt_wave_glance *g)
{
    int64_t loop = g->log_steps - g->log_grid, waves = 0, resident;
    uint32_t at = 0;

    if (g->grid >= r->slots) {
        waves = most(0, g->log_grid - r->log_slots);
        if (!law->balanced && law->crowd > 0)
            waves -= (int64_t)law->crowd * 5 / 8 >> least(waves >> 20, 32);
    } else {
        /* Fewer than fit: one wave; if they are balanced its gaps are filled.
         * More of them on a multiprocessor take no less. */
        resident = divide(g->grid + law->units - 1, law->units);
        if (law->balanced)
            waves = g->log_grid - log_of(law->units * resident);
        at = (uint32_t)least(resident, WSRT_WAVE_RESIDENT);
    }
    return waves + sum(loop + r->together[at],
                       most(r->head[at], f->fill + g->log_bytes +
                                             least(f->fill_steps, loop)));
}

/* Memory has all distinct bytes to move. */
int32_t wsrt__wave_bound(const struct wsrt_wave_law *law,
                         const struct wsrt_wave_form *form,
                         const struct wsrt_wave_ready *ready,
                         const struct wsrt_wave_glance *at,
                         const int32_t *log_axis, uint32_t naxis)
{
    int64_t body = law->start;

    if (at->grid > 0) {
        body = at->log_unique + form->dram;
        if (ready->steady)
            body = most(body, work_bound(law, form, ready, at));
        if (at->log_after >= 0)
            body = sum(body, most(law->after, at->log_after + law->after_byte));
        body = sum(body, law->start);
    }
    return fit_32((int64_t)fit_32(body) +
                  correction(form, ready->log_slots, at, log_axis, naxis) -
                  ROUNDING);
}
