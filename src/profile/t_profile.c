/* t_profile.c: floors, occupancy, facts, and what the rules make of them. */
#include "base/t_base.h"

#include <math.h>

#include "profile/profile.h"

/* ---- the roof of a sheet ---------------------------------------------------
 */

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void sheets(void **state)
{
    struct ws__identity id = {.device = "NVIDIA H200", .units = 132};
    struct ws__roof r;

    (void)state;
    ws__roof_of_sheet(&id, &r);
    assert_string_equal(r.device, "h200");
    assert_true(r.ceiling[WS__ROOF_COPY].value == 4800e9);
    assert_int_equal(r.ceiling[WS__ROOF_COPY].from, WS__ROOF_SHEET);
    assert_false(r.ceiling[WS__ROOF_L2].known);
    /* A guess is no ceiling. */
    snprintf(id.device, sizeof(id.device), "Unheard of");
    ws__roof_of_sheet(&id, &r);
    for (size_t i = 0; i < WS__NROOF; i++)
        assert_false(r.ceiling[i].known);
}

/* ---- occupancy -------------------------------------------------------------
 */

#define WORDS                                                                  \
    "compute capability: 9.0; clock: 1980 MHz; of a unit: 65536 registers, "   \
    "233472 bytes of shared memory (1024 of each block's reserved), 2048 "     \
    "threads, 32 blocks"

static void occupancy(void **state)
{
    static const struct {
        uint32_t registers, shared, threads, blocks;
        enum ws__limiter limiter;
    } c[] = {
        {32, 0, 256, 8, WS__LIMIT_THREADS},
        {255, 0, 256, 1, WS__LIMIT_REGISTERS},
        {128, 0, 256, 2, WS__LIMIT_REGISTERS},
        {32, 100 * 1024, 256, 2, WS__LIMIT_SHARED},
        {32, 227 * 1024, 128, 1, WS__LIMIT_SHARED},
        {32, 0, 32, 32, WS__LIMIT_BLOCKS},
        {33, 0, 1024, 1, WS__LIMIT_REGISTERS},
    };
    struct ws__identity id = {.units = 132};
    struct ws__unit_limits u;
    struct ws__occupancy o;

    (void)state;
    ws__unit_limits(&id, WORDS, &u);
    assert_int_equal(u.registers, 65536);
    assert_int_equal(u.shared, 233472);
    assert_int_equal(u.shared_reserved, 1024);
    assert_int_equal(u.threads, 2048);
    assert_int_equal(u.blocks, 32);
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        ws__occupancy_make(&u, c[i].registers, c[i].shared, c[i].threads, 132,
                           0, &o);
        assert_int_equal(o.blocks, c[i].blocks);
        assert_int_equal(o.limiter, c[i].limiter);
        assert_true(near(o.share, c[i].blocks * c[i].threads / 2048.));
    }
    /* One and a quarter waves. */
    ws__occupancy_make(&u, 32, 0, 256, 132 * 10, 0, &o);
    assert_true(near(o.waves, 1.25) && near(o.tail, .375));
    ws__occupancy_make(&u, 32, 0, 256, 132, 4, &o);
    assert_int_equal(o.blocks, 4);
    assert_true(near(o.waves, .25));
    /* Nothing known, nothing said. */
    ws__unit_limits(&id, "LLVM", &u);
    ws__occupancy_make(&u, 32, 0, 256, 132, 0, &o);
    assert_true(o.blocks == 0 && o.share == 0 && !o.limiter && o.waves == 0);
}

/* ---- facts --------------------------------------------------------------- */

static void missing_is_not_zero(void **state)
{
    struct ws__subject s = {.fixed_ns = NAN};
    double counter[WS__NMETRIC], f[WS__NFACT];

    (void)state;
    ws__facts_make(&s, f);
    for (size_t i = 0; i < WS__NFACT; i++)
        assert_true(isnan(f[i]));
    for (size_t i = 0; i < WS__NMETRIC; i++)
        counter[i] = NAN;
    s.counter = counter;
    s.nlaunch = 1;
    ws__facts_make(&s, f);
    for (size_t i = 0; i < WS__NFACT; i++)
        assert_true(i == WS__F_LAUNCHES ? f[i] == 1 : isnan(f[i]));
    counter[WS__M_DRAM_PCT] = 50;
    counter[WS__M_XU_PCT] = 20;
    counter[WS__M_STALL_WAIT] = 3;
    counter[WS__M_LATENCY] = 12;
    ws__facts_make(&s, f);
    assert_true(f[WS__F_DRAM_BUSY] == .5 && f[WS__F_BUSIEST] == .5);
    assert_true(f[WS__F_WAIT] == .25 && isnan(f[WS__F_BARRIER]));
    /* No shared memory at all has no conflicts, and that is known. */
    assert_true(isnan(f[WS__F_CONFLICTS]));
    counter[WS__M_SHARED_LD_CONFLICTS] = counter[WS__M_SHARED_ST_CONFLICTS] = 0;
    counter[WS__M_SHARED_LD_WAVES] = counter[WS__M_SHARED_ST_WAVES] = 0;
    counter[WS__M_XU_PCT] = 70;
    ws__facts_make(&s, f);
    assert_true(f[WS__F_BUSIEST] == .7 && f[WS__F_CONFLICTS] == 0);
    counter[WS__M_FP64_PCT] = 90;
    ws__facts_make(&s, f);
    assert_true(f[WS__F_BUSIEST] == .9);
}

/* Instructions as written, and as they were counted, which is more. */
static void instructions(void **state)
{
    struct ws__sass_function code = {.total = 100};
    struct ws__subject s = {.fixed_ns = NAN, .mix = &code, .nlaunch = 1};
    double counter[WS__NMETRIC], f[WS__NFACT];

    (void)state;
    ws__facts_make(&s, f);
    assert_true(f[WS__F_USES_TENSOR] == 0 && isnan(f[WS__F_USES_WIDE]));
    assert_true(f[WS__F_DOUBLE_SHARE] == 0); /* no arithmetic at all */
    code.count[WS__SASS_FP64] = 10;
    code.count[WS__SASS_FP32_FMA] = 20;
    code.count[WS__SASS_HALF] = 10;
    code.count[WS__SASS_TENSOR_WIDE] = 1;
    ws__facts_make(&s, f);
    assert_true(f[WS__F_USES_TENSOR] == 1 && f[WS__F_USES_WIDE] == 1);
    assert_true(f[WS__F_DOUBLE_SHARE] == .25);
    for (size_t i = 0; i < WS__NMETRIC; i++)
        counter[i] = NAN;
    s.counter = counter;
    counter[WS__M_DADD] = counter[WS__M_DMUL] = counter[WS__M_FADD] = 0;
    counter[WS__M_FMUL] = counter[WS__M_HADD] = counter[WS__M_HMUL] = 0;
    counter[WS__M_HFMA] = 0;
    counter[WS__M_DFMA] = 10;
    counter[WS__M_FFMA] = 990;
    ws__facts_make(&s, f);
    assert_true(f[WS__F_DOUBLE_SHARE] == .01);
    counter[WS__M_FFMA] = NAN; /* then the code tells */
    ws__facts_make(&s, f);
    assert_true(f[WS__F_DOUBLE_SHARE] == .25);
}

/* Counts add up, rates are weighted with time. */
static void several_launches(void **state)
{
    struct ws__floor floor = {.bytes = 100, .bytes_ns = 10, .ns = 10};
    struct ws__subject s = {.floor = &floor, .fixed_ns = NAN, .nlaunch = 2};
    double counter[2 * WS__NMETRIC], f[WS__NFACT];

    (void)state;
    for (size_t i = 0; i < 2 * WS__NMETRIC; i++)
        counter[i] = NAN;
    s.counter = counter;
    for (size_t i = 0; i < 2; i++) {
        double *c = counter + i * WS__NMETRIC;

        c[WS__M_TIME] = i ? 300 : 100;
        c[WS__M_DRAM_READ] = i ? 50 : 70;
        c[WS__M_DRAM_WRITE] = 40;
        c[WS__M_ISSUE_PCT] = i ? 20 : 60;
    }
    ws__facts_make(&s, f);
    assert_true(near(f[WS__F_WASTE], 2));
    assert_true(near(f[WS__F_ISSUE], .3));
    counter[WS__NMETRIC + WS__M_DRAM_READ] = NAN;
    ws__facts_make(&s, f);
    assert_true(isnan(f[WS__F_WASTE]));
}

/* ---- rules --------------------------------------------------------------- */

struct known {
    enum ws__fact fact;
    double value;
};
#define K(name, value)                                                         \
    {                                                                          \
        WS__F_##name, value                                                    \
    }

static void diagnose(const struct known *k, size_t n, struct ws__diagnosis *d)
{
    double f[WS__NFACT];

    for (size_t i = 0; i < WS__NFACT; i++)
        f[i] = NAN;
    for (size_t i = 0; i < n && k[i].value != 0; i++)
        f[k[i].fact] = k[i].value < 0 ? 0 : k[i].value;
    ws__diagnose(f, d);
}

/* The first finding for each kind of fault. Below 0 stands for 0. */
static void rules_find_faults(void **state)
{
    static const struct {
        const char *key;
        enum ws__bound bound;
        struct known k[7];
    } c[] = {
        {"below_floor", WS__BOUND_BELOW, {K(GAP, .9), K(DRAM_BUSY, .9)}},
        {"at_floor", WS__BOUND_FLOOR, {K(GAP, 1.02), K(LOAD_USED, .1)}},
        {"launch", WS__BOUND_LAUNCH, {K(GAP, 9), K(LAUNCH_SHARE, .8)}},
        {"launch",
         WS__BOUND_LAUNCH,
         {K(GAP, 9), K(LAUNCH_SHARE, 1), K(LAUNCHES, 16)}},
        {"one_launch",
         WS__BOUND_LAUNCH,
         {K(GAP, 9), K(LAUNCH_SHARE, .6), K(LAUNCHES, 1), K(WAVES, .3)}},
        {"fixed", WS__BOUND_LAUNCH, {K(FIXED_SHARE, .9)}},
        {"uncoalesced_loads",
         WS__BOUND_MEMORY,
         {K(GAP, 6), K(LOAD_USED, .125), K(LOAD_SECTORS, 32),
          K(DRAM_BUSY, .85)}},
        {"uncoalesced_stores",
         WS__BOUND_MEMORY,
         {K(STORE_USED, .125), K(STORE_SECTORS, 32)}},
        {"spills", WS__BOUND_MEMORY, {K(SPILL_BYTES, 256), K(GAP, 3)}},
        {"bank_conflicts",
         WS__BOUND_MEMORY,
         {K(CONFLICTS, .9), K(SHARED_USED, .03), K(DRAM_BUSY, .2)}},
        {"atomics", WS__BOUND_MEMORY, {K(ATOMIC_SHARE, .5), K(GAP, 20)}},
        {"waste", WS__BOUND_MEMORY, {K(WASTE, 2), K(DRAM_BUSY, .9)}},
        {"no_tensor",
         WS__BOUND_COMPUTE,
         {K(WANTS_TENSOR, 1), K(USES_TENSOR, -1), K(GAP, 15), K(FMA_BUSY, .9)}},
        {"fp64",
         WS__BOUND_COMPUTE,
         {K(DOUBLE_SHARE, .3), K(WANTS_DOUBLE, -1), K(GAP, 3),
          K(FP64_BUSY, .9)}},
        {"fp64_units",
         WS__BOUND_COMPUTE,
         {K(DOUBLE_SHARE, .9), K(WANTS_DOUBLE, 1), K(GAP, 1.2),
          K(FP64_BUSY, .9)}},
        {"special", WS__BOUND_COMPUTE, {K(XU_BUSY, .9), K(GAP, 1.2)}},
        {"dram", WS__BOUND_MEMORY, {K(DRAM_BUSY, .92), K(WASTE, 1.01)}},
        {"near_memory_floor", WS__BOUND_MEMORY, {K(MEMORY_SHARE, .9)}},
        {"tensor", WS__BOUND_COMPUTE, {K(TENSOR_BUSY, .9), K(GAP, 1.2)}},
        {"fma", WS__BOUND_COMPUTE, {K(FMA_BUSY, .9), K(GAP, 1.2)}},
        {"small_grid", WS__BOUND_LATENCY, {K(WAVES, .1), K(GAP, 5)}},
        {"few_warps_registers",
         WS__BOUND_LATENCY,
         {K(OCCUPANCY, .125), K(LIMITER, 1), K(GAP, 3), K(BUSIEST, .3)}},
        {"few_warps_shared",
         WS__BOUND_LATENCY,
         {K(OCCUPANCY, .06), K(LIMITER, 2), K(GAP, 3)}},
        {"few_warps_blocks",
         WS__BOUND_LATENCY,
         {K(OCCUPANCY, .5), K(LIMITER, 4), K(GAP, 2)}},
        {"tail",
         WS__BOUND_TAIL,
         {K(WAVES, 1.02), K(TAIL_LOSS, .49), K(GAP, 1.9)}},
        {"imbalance",
         WS__BOUND_IMBALANCE,
         {K(IMBALANCE, .5), K(WAVES, 1), K(GAP, 2)}},
        {"wait_memory",
         WS__BOUND_LATENCY,
         {K(LONG_SCOREBOARD, .7), K(ISSUE, .2), K(GAP, 2)}},
        {"wait_dispatch",
         WS__BOUND_COMPUTE,
         {K(DISPATCH_STALL, .25), K(ELIGIBLE, 7.6), K(ISSUE, .68), K(GAP, 1.7),
          K(FMA_BUSY, .61)}},
        {"wait_barrier",
         WS__BOUND_LATENCY,
         {K(BARRIER, .5), K(ISSUE, .2), K(GAP, 2)}},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        struct ws__diagnosis d;

        diagnose(c[i].k, WS_COUNT(c[i].k), &d);
        assert_true(d.nfinding > 0);
        assert_string_equal(d.finding[0].rule->key, c[i].key);
        assert_int_equal(d.bound, c[i].bound);
        assert_true(d.finding[0].nevidence > 0);
    }
}

/* What is fast, or busy, has no such fault. */
static void rules_leave_others_alone(void **state)
{
    static const struct {
        const char *key;
        struct known k[6];
    } c[] = {
        /* A broadcast uses little of one sector. */
        {"uncoalesced_loads", {K(LOAD_USED, .125), K(LOAD_SECTORS, 1)}},
        /* Losing against the copy engine is no fault of the layout. */
        {"bank_conflicts", {K(CONFLICTS, .4), K(SHARED_USED, 1)}},
        {"few_warps_shared",
         {K(OCCUPANCY, .06), K(LIMITER, 2), K(BUSIEST, .9), K(GAP, 1.2)}},
        {"tail", {K(WAVES, 20.1), K(TAIL_LOSS, .04), K(GAP, 2)}},
        {"tail", {K(WAVES, .5), K(TAIL_LOSS, .5), K(GAP, 2)}},
        {"no_tensor", {K(WANTS_TENSOR, 1), K(USES_TENSOR, -1), K(GAP, 1.2)}},
        {"wait_memory", {K(LONG_SCOREBOARD, .7), K(ISSUE, .8)}},
        {"spills", {K(SPILL_BYTES, 8), K(LOCAL_SHARE, .001), K(GAP, 3)}},
        {"fp64", {K(DOUBLE_SHARE, .9), K(WANTS_DOUBLE, 1), K(GAP, 3)}},
        {"fp64", {K(DOUBLE_SHARE, .02), K(WANTS_DOUBLE, -1), K(GAP, 3)}},
        {"launch", {K(LAUNCH_SHARE, .9), K(LAUNCHES, 1), K(GAP, 3)}},
        {"imbalance",
         {K(IMBALANCE, .5), K(WAVES, 1), K(LAUNCH_SHARE, .7), K(GAP, 8)}},
        {"wait_memory",
         {K(LONG_SCOREBOARD, .6), K(ISSUE, .3), K(LAUNCH_SHARE, .7)}},
        {"one_launch", {K(LAUNCH_SHARE, .9), K(LAUNCHES, 2), K(GAP, 3)}},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        struct ws__diagnosis d;

        diagnose(c[i].k, WS_COUNT(c[i].k), &d);
        for (size_t j = 0; j < d.nfinding; j++)
            assert_string_not_equal(d.finding[j].rule->key, c[i].key);
    }
}

/* Facts that a GPU told of kernels whose faults are known: a line a kernel. */
static void recorded_line(char *line)
{
    char *at, *kernel = strtok_r(line, "\t", &at), *want, *word;
    struct ws__diagnosis d;
    double f[WS__NFACT];

    for (size_t i = 0; i < WS__NFACT; i++)
        f[i] = NAN;
    want = strtok_r(NULL, "\t", &at);
    while ((word = strtok_r(NULL, "\t", &at)) != NULL) {
        char *value = strchr(word, '=');
        enum ws__fact fact;

        assert_non_null(value);
        *value++ = '\0';
        fact = ws__fact_find(word);
        assert_true(fact < WS__NFACT);
        f[fact] = strtod(value, NULL);
    }
    ws__diagnose(f, &d);
    if (!d.nfinding || strcmp(d.finding[0].rule->key, want) != 0)
        print_error("%s: %s\n", kernel,
                    d.nfinding ? d.finding[0].rule->key : "nothing");
    assert_true(d.nfinding > 0);
    assert_string_equal(d.finding[0].rule->key, want);
}

static void recorded(void **state)
{
    FILE *f = fopen("tests/data/profile/h200-faults.tsv", "r");
    size_t cap = 0, n = 0;
    char *line = NULL;

    (void)state;
    assert_non_null(f);
    while (getline(&line, &cap, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#')
            continue;
        recorded_line(line);
        n++;
    }
    assert_int_equal(n, 15);
    free(line);
    fclose(f);
}

static void blind_without_counters(void **state)
{
    static const struct known k[] = {K(OCCUPANCY, .5), K(LIMITER, 3),
                                     K(GAP, 4)};
    struct ws__diagnosis d;
    bool dram = false, tail = false, few = false;

    (void)state;
    diagnose(k, WS_COUNT(k), &d);
    assert_int_equal(d.bound, WS__BOUND_UNKNOWN);
    assert_int_equal(d.nfinding, 0);
    for (size_t i = 0; i < d.nblind; i++) {
        const char *key = d.blind[i].rule->key;

        dram = dram ||
               (!strcmp(key, "dram") && d.blind[i].fact == WS__F_DRAM_BUSY);
        tail = tail || !strcmp(key, "tail");
        few = few || !strncmp(key, "few_warps", 9);
    }
    assert_true(dram && tail);
    assert_false(few); /* looked at, and it is not so */
}

static void stalls_are_ranked(void **state)
{
    static const struct known k[] = {K(WAIT, .1), K(BARRIER, .3),
                                     K(LONG_SCOREBOARD, .2), K(SELECTED, .4)};
    struct ws__diagnosis d;

    (void)state;
    diagnose(k, WS_COUNT(k), &d);
    assert_int_equal(d.nstall, 3);
    assert_int_equal(d.stall[0], WS__F_BARRIER);
    assert_int_equal(d.stall[1], WS__F_LONG_SCOREBOARD);
    assert_int_equal(d.stall[2], WS__F_WAIT);
}

/* Keys are different, moves exist, metrics that they should move, too. */
static void table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < ws__nrule; i++) {
        const struct ws__rule *r = &ws__rules[i];

        assert_true(r->bound > WS__BOUND_UNKNOWN && r->bound < WS__NBOUND);
        assert_true(r->test[0].op != WS__RULE_END && !r->test[0].maybe);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(r->key, ws__rules[j].key);
        for (size_t j = 0; j < WS__RULE_MOVES && r->move[j].id; j++) {
            assert_non_null(ws__move_name(r->move[j].id));
            assert_true(ws__metric_find(r->move[j].metric) < WS__NMETRIC);
            assert_string_equal(ws__metric_key(
                                    ws__metric_find(r->move[j].metric)),
                                r->move[j].metric);
        }
    }
    assert_null(ws__move_name(0));
    assert_null(ws__move_name(43));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sheets),
        cmocka_unit_test(occupancy),
        cmocka_unit_test(missing_is_not_zero),
        cmocka_unit_test(several_launches),
        cmocka_unit_test(instructions),
        cmocka_unit_test(rules_find_faults),
        cmocka_unit_test(rules_leave_others_alone),
        cmocka_unit_test(recorded),
        cmocka_unit_test(blind_without_counters),
        cmocka_unit_test(stalls_are_ranked),
        cmocka_unit_test(table_is_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
