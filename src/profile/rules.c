/*
 * rules.c: the diagnosis, as a table.
 *
 * Order: at the floor, then the cost of launching, then the shape of memory
 * traffic, then units that are full, then what leaves all of them idle (grid,
 * occupancy, tail, imbalance), then what warps wait for. The first rule that
 * fires names the bound; the others are told as well. Thresholds are those that
 * the vendor's own rules ship with, as far as they are known, and engineering
 * judgement; docs/profiling.md says which, and tells their meaning.
 *
 * A test marked `maybe` passes if its fact is missing, so that a rule that
 * counters only sharpen works without them. Bounds that go with every rule for
 * idle units: nothing is at 80 % of what it reaches (60 % where warps are said
 * to wait), and there is time to win (a gap of 1.15 or more, if it is known).
 */
#include "profile/profile.h"

#include "base/banned.h"

#define T(op, fact, than)                                                      \
    {                                                                          \
        WS__##op, WS__F_##fact, than, false                                    \
    }
#define MAYBE(op, fact, than)                                                  \
    {                                                                          \
        WS__##op, WS__F_##fact, than, true                                     \
    }
#define TESTS(...) .test = {__VA_ARGS__}
#define SHOW(...) .show = {__VA_ARGS__}
#define MOVES(...) .move = {__VA_ARGS__}
#define DOWN(id, metric)                                                       \
    {                                                                          \
        id, metric, false                                                      \
    }
#define UP(id, metric)                                                         \
    {                                                                          \
        id, metric, true                                                       \
    }
#define TO_WIN MAYBE(GE, GAP, 1.15)
#define IDLE MAYBE(LT, BUSIEST, .8)
#define HALF_IDLE MAYBE(LT, BUSIEST, .6)
#define WAITING MAYBE(LT, ISSUE, .6)
/* What is mostly the cost of launching has units that wait, too. */
#define RUNNING MAYBE(LT, LAUNCH_SHARE, .5)

const struct ws__rule ws__rules[] = {
    {"below_floor",
     "takes less than the least time: the ceilings are too low (measure them "
     "again), or the op declares more than it must do",
     WS__BOUND_BELOW, true, TESTS(T(LT, GAP, .95)),
     SHOW(WS__F_MEMORY_SHARE, WS__F_COMPUTE_SHARE, WS__F_WASTE)},
    {"at_floor", "takes no more than the floor", WS__BOUND_FLOOR, true,
     TESTS(T(LE, GAP, 1.05)), SHOW(WS__F_MEMORY_SHARE, WS__F_COMPUTE_SHARE)},

    {"launch", "half of the time or more is the cost of launching",
     WS__BOUND_LAUNCH, false,
     TESTS(T(GE, LAUNCH_SHARE, .5), MAYBE(GT, LAUNCHES, 1)),
     SHOW(WS__F_FIXED_SHARE), MOVES(DOWN(40, "time"), DOWN(24, "time"))},
    {"one_launch",
     "half of the time or more is the cost of one launch: less work would "
     "hardly be faster, more in one launch would",
     WS__BOUND_LAUNCH, false,
     TESTS(T(GE, LAUNCH_SHARE, .5), T(EQ, LAUNCHES, 1)), SHOW(WS__F_FLOOR),
     MOVES(DOWN(24, "time"))},
    {"fixed", "another size takes nearly as long: the cost is fixed",
     WS__BOUND_LAUNCH, false,
     TESTS(T(GE, FIXED_SHARE, .7), MAYBE(LT, BUSIEST, .6),
           MAYBE(LT, LAUNCH_SHARE, .5)),
     SHOW(WS__F_LAUNCH_SHARE), MOVES(DOWN(40, "time"), DOWN(24, "time"))},

    {"uncoalesced_loads",
     "loads of a warp are spread over more sectors than they use",
     WS__BOUND_MEMORY, false,
     TESTS(T(LT, LOAD_USED, .6), T(GE, LOAD_SECTORS, 8),
           MAYBE(GE, LOAD_EXCESS, .1), TO_WIN),
     SHOW(WS__F_WASTE, WS__F_LONG_SCOREBOARD, WS__F_LG_THROTTLE),
     MOVES(DOWN(1, "global_ld_sectors"), DOWN(2, "global_ld_sectors"),
           DOWN(10, "global_ld_sectors"))},
    {"uncoalesced_stores",
     "stores of a warp are spread over more sectors than they fill",
     WS__BOUND_MEMORY, false,
     TESTS(T(LT, STORE_USED, .6), T(GE, STORE_SECTORS, 8),
           MAYBE(GE, STORE_EXCESS, .1), TO_WIN),
     SHOW(WS__F_WASTE, WS__F_LG_THROTTLE),
     MOVES(DOWN(1, "global_st_sectors"), DOWN(2, "global_st_sectors"))},
    {"spills",
     "threads keep data in local memory: registers spill, or arrays "
     "are indexed by what is not constant",
     WS__BOUND_MEMORY, false,
     TESTS(T(GT, SPILL_BYTES, 0), MAYBE(GT, LOCAL_SHARE, .05), TO_WIN),
     SHOW(WS__F_SPILL_RATE, WS__F_LG_THROTTLE),
     MOVES(DOWN(39, "local_ld_sectors"), DOWN(38, "local_ld_sectors"),
           DOWN(8, "local_ld_sectors"))},
    {"bank_conflicts", "threads of a warp meet in banks of shared memory",
     WS__BOUND_MEMORY, false,
     TESTS(T(GE, CONFLICTS, .1), T(LT, SHARED_USED, .75), TO_WIN,
           MAYBE(LT, DRAM_BUSY, .8)),
     SHOW(WS__F_MIO_THROTTLE, WS__F_SHORT_SCOREBOARD),
     MOVES(DOWN(11, "shared_ld_conflicts"))},
    {"atomics", "much of the traffic is atomic operations", WS__BOUND_MEMORY,
     false, TESTS(T(GE, ATOMIC_SHARE, .1), TO_WIN, MAYBE(LT, DRAM_BUSY, .8)),
     SHOW(WS__F_LG_THROTTLE, WS__F_MEMBAR, WS__F_LONG_SCOREBOARD),
     MOVES(DOWN(13, "l2_red"), DOWN(14, "l2_red"), DOWN(12, "l2_red"))},
    {"waste", "moves more bytes than it must: data is read again",
     WS__BOUND_MEMORY, false,
     TESTS(T(GT, WASTE, 1.15), T(GE, DRAM_BUSY, .4), TO_WIN),
     SHOW(WS__F_L2_HIT, WS__F_L1_HIT),
     MOVES(DOWN(10, "dram_read"), DOWN(28, "dram_read"), DOWN(35, "dram_read"),
           DOWN(24, "dram_read"))},

    {"fp64",
     "computes in float64, though the op has none: a constant without an f, "
     "or a function of doubles",
     WS__BOUND_COMPUTE, false,
     TESTS(T(GE, DOUBLE_SHARE, .1), T(EQ, WANTS_DOUBLE, 0), TO_WIN,
           MAYBE(LT, DRAM_BUSY, .8)),
     SHOW(WS__F_FP64_BUSY, WS__F_FMA_BUSY), MOVES(DOWN(42, "fp64_pct"))},
    {"no_tensor",
     "multiplies matrices on float32 units, and the device has matrix units",
     WS__BOUND_COMPUTE, false,
     TESTS(T(EQ, WANTS_TENSOR, 1), T(EQ, USES_TENSOR, 0), T(GE, GAP, 1.5),
           MAYBE(LT, DRAM_BUSY, .8)),
     SHOW(WS__F_FMA_BUSY, WS__F_TENSOR_BUSY), MOVES(UP(22, "tensor_pct"))},
    {"dram", "device memory is at 80 % or more of what it reaches",
     WS__BOUND_MEMORY, false, TESTS(T(GE, DRAM_BUSY, .8)),
     SHOW(WS__F_WASTE, WS__F_L2_HIT),
     MOVES(DOWN(37, "dram_read"), DOWN(24, "dram_read"), DOWN(36, "dram_read"),
           DOWN(29, "dram_read"))},
    {"near_memory_floor",
     "80 % or more of the time is what moving the bytes takes at least",
     WS__BOUND_MEMORY, false,
     TESTS(T(GE, MEMORY_SHARE, .8), MAYBE(LT, DRAM_BUSY, .8)),
     SHOW(WS__F_COMPUTE_SHARE),
     MOVES(DOWN(37, "dram_read"), DOWN(24, "dram_read"))},
    {"tensor", "matrix units are at 80 % or more", WS__BOUND_COMPUTE, false,
     TESTS(T(GE, TENSOR_BUSY, .8)), SHOW(WS__F_COMPUTE_SHARE),
     MOVES(DOWN(37, "tensor_pct"))},
    {"fma", "float32 units are at 80 % or more", WS__BOUND_COMPUTE, false,
     TESTS(T(GE, FMA_BUSY, .8)), SHOW(WS__F_COMPUTE_SHARE),
     MOVES(DOWN(35, "ffma"), DOWN(6, "fma_pct"))},
    {"near_compute_floor",
     "80 % or more of the time is what the operations take at least",
     WS__BOUND_COMPUTE, false,
     TESTS(T(GE, COMPUTE_SHARE, .8), MAYBE(LT, TENSOR_BUSY, .8),
           MAYBE(LT, FMA_BUSY, .8)),
     SHOW(WS__F_MEMORY_SHARE)},
    {"special", "special function units are at 80 % or more", WS__BOUND_COMPUTE,
     false, TESTS(T(GE, XU_BUSY, .8)), SHOW(WS__F_MIO_THROTTLE),
     MOVES(DOWN(34, "xu_pct"))},
    {"fp64_units", "float64 units are at 80 % or more", WS__BOUND_COMPUTE,
     false, TESTS(T(GE, FP64_BUSY, .8)), SHOW(WS__F_DOUBLE_SHARE),
     MOVES(DOWN(35, "dfma"), DOWN(42, "fp64_pct"))},
    {"narrow_mma",
     "takes the slower way to the matrix units, which the device has a wide "
     "one to",
     WS__BOUND_COMPUTE, false,
     TESTS(T(EQ, USES_TENSOR, 1), T(EQ, USES_WIDE, 0), T(LT, TENSOR_BUSY, .6),
           T(GE, TENSOR_BUSY, .3)),
     SHOW(WS__F_GAP), MOVES(UP(23, "tensor_wide"))},

    {"small_grid", "there are fewer blocks than the device holds at once",
     WS__BOUND_LATENCY, false, TESTS(T(LT, WAVES, .75), IDLE, TO_WIN, RUNNING),
     SHOW(WS__F_OCCUPIED), MOVES(UP(26, "blocks"), UP(7, "blocks"))},
    {"few_warps_registers",
     "registers leave room for few warps, and the device waits",
     WS__BOUND_LATENCY, false,
     TESTS(T(LE, OCCUPANCY, .4), T(EQ, LIMITER, 1), HALF_IDLE, WAITING, TO_WIN,
           RUNNING),
     SHOW(WS__F_OCCUPIED, WS__F_ISSUE, WS__F_LONG_SCOREBOARD),
     MOVES(UP(8, "warps_active"), UP(7, "warps_active"),
           UP(25, "warps_active"))},
    {"few_warps_shared",
     "shared memory leaves room for few warps, and the device waits",
     WS__BOUND_LATENCY, false,
     TESTS(T(LE, OCCUPANCY, .4), T(EQ, LIMITER, 2), HALF_IDLE, WAITING, TO_WIN,
           RUNNING),
     SHOW(WS__F_OCCUPIED, WS__F_ISSUE, WS__F_LONG_SCOREBOARD),
     MOVES(UP(7, "warps_active"), UP(25, "warps_active"))},
    {"few_warps_blocks",
     "blocks are so small that a unit cannot hold enough of them",
     WS__BOUND_LATENCY, false,
     TESTS(T(LE, OCCUPANCY, .5), T(EQ, LIMITER, 4), HALF_IDLE, WAITING, TO_WIN,
           RUNNING),
     SHOW(WS__F_OCCUPIED, WS__F_ISSUE),
     MOVES(UP(7, "warps_active"), UP(5, "warps_active"))},
    {"tail", "the last wave of blocks leaves much of the device empty",
     WS__BOUND_TAIL, false,
     TESTS(T(GE, TAIL_LOSS, .2), T(GT, WAVES, 1), T(LT, WAVES, 4.5), IDLE,
           TO_WIN),
     SHOW(WS__F_IMBALANCE, WS__F_OCCUPIED),
     MOVES(DOWN(27, "sm_cycles"), DOWN(7, "sm_cycles"), DOWN(26, "sm_cycles"))},
    {"imbalance", "units are idle while one still works", WS__BOUND_IMBALANCE,
     false,
     TESTS(T(GE, IMBALANCE, .15), T(GE, WAVES, .9), IDLE, TO_WIN, RUNNING),
     SHOW(WS__F_OCCUPIED, WS__F_DRAIN),
     MOVES(UP(33, "sm_cycles_active"), UP(27, "sm_cycles_active"))},
    {"divergence", "lanes of a warp go different ways", WS__BOUND_COMPUTE,
     false, TESTS(T(LT, LANES, .75), IDLE, TO_WIN),
     SHOW(WS__F_BRANCH_RESOLVING), MOVES(UP(32, "lanes"), UP(4, "lanes"))},

#define STALLED(name) T(GE, name, .3), WAITING, HALF_IDLE, TO_WIN, RUNNING
    {"wait_memory", "warps wait for device memory or its caches",
     WS__BOUND_LATENCY, false, TESTS(STALLED(LONG_SCOREBOARD)),
     SHOW(WS__F_ELIGIBLE, WS__F_OCCUPIED, WS__F_L2_HIT),
     MOVES(DOWN(16, "stall_long_scoreboard"), DOWN(18, "stall_long_scoreboard"),
           DOWN(19, "stall_long_scoreboard"),
           DOWN(3, "stall_long_scoreboard"))},
    {"wait_shared", "warps wait for shared memory or special functions",
     WS__BOUND_LATENCY, false, TESTS(STALLED(SHORT_SCOREBOARD)),
     SHOW(WS__F_CONFLICTS, WS__F_XU_BUSY),
     MOVES(DOWN(9, "stall_short_scoreboard"), DOWN(34, "xu_pct"),
           DOWN(12, "stall_short_scoreboard"))},
    {"wait_mio", "the queue to shared memory is full", WS__BOUND_LATENCY, false,
     TESTS(STALLED(MIO_THROTTLE)), SHOW(WS__F_CONFLICTS),
     MOVES(DOWN(9, "stall_mio_throttle"), DOWN(34, "stall_mio_throttle"))},
    {"wait_lg", "the queue to global memory is full", WS__BOUND_LATENCY, false,
     TESTS(STALLED(LG_THROTTLE)), SHOW(WS__F_LOAD_SECTORS, WS__F_LOCAL_SHARE),
     MOVES(DOWN(3, "stall_lg_throttle"), DOWN(9, "stall_lg_throttle"))},
    {"wait_units", "warps wait for a unit that is busy", WS__BOUND_COMPUTE,
     false, TESTS(STALLED(MATH_PIPE_THROTTLE)),
     SHOW(WS__F_FMA_BUSY, WS__F_TENSOR_BUSY),
     MOVES(DOWN(6, "stall_math_pipe_throttle"))},
    /* Warps that are ready, and a scheduler that starts none of them. */
    {"wait_dispatch",
     "instructions that are ready are held back: operands share a port of "
     "the registers, or a unit's port is taken",
     WS__BOUND_COMPUTE, false,
     TESTS(T(GE, DISPATCH_STALL, .15), T(GE, ELIGIBLE, 2), MAYBE(LT, ISSUE, .8),
           IDLE, TO_WIN, RUNNING),
     SHOW(WS__F_FMA_BUSY),
     MOVES(DOWN(9, "stall_dispatch_stall"), DOWN(5, "stall_dispatch_stall"))},
    {"wait_fixed", "warps wait for the instruction before: too few in flight",
     WS__BOUND_LATENCY, false, TESTS(STALLED(WAIT)), SHOW(WS__F_ELIGIBLE),
     MOVES(DOWN(16, "stall_wait"), DOWN(5, "stall_wait"))},
    {"wait_barrier", "warps wait at barriers", WS__BOUND_LATENCY, false,
     TESTS(STALLED(BARRIER)), SHOW(WS__F_OCCUPIED),
     MOVES(DOWN(15, "stall_barrier"), DOWN(12, "stall_barrier"),
           DOWN(21, "stall_barrier"))},
    {"wait_fence", "warps wait at memory fences", WS__BOUND_LATENCY, false,
     TESTS(STALLED(MEMBAR)), SHOW(WS__F_ATOMIC_SHARE),
     MOVES(DOWN(13, "stall_membar"))},
    {"wait_instructions", "warps wait for instructions", WS__BOUND_LATENCY,
     false, TESTS(STALLED(NO_INSTRUCTION)),
     MOVES(DOWN(17, "stall_no_instruction"))},
    {"wait_constants", "warps wait for constants", WS__BOUND_LATENCY, false,
     TESTS(STALLED(IMC_MISS)), MOVES(DOWN(30, "stall_imc_miss"))},
    {"wait_tensor", "warps wait for matrix units", WS__BOUND_LATENCY, false,
     TESTS(STALLED(GMMA)), SHOW(WS__F_TENSOR_BUSY),
     MOVES(DOWN(21, "stall_gmma"), DOWN(20, "stall_gmma"))},
    {"wait_drain", "warps wait for their last stores", WS__BOUND_LATENCY, false,
     TESTS(STALLED(DRAIN)), SHOW(WS__F_STORE_SECTORS),
     MOVES(DOWN(1, "stall_drain"), DOWN(33, "stall_drain"))},

    /* Where nothing above explains more, the busiest part bounds. */
    {"mostly_dram", "device memory is at 60 to 80 % of what it reaches",
     WS__BOUND_MEMORY, false,
     TESTS(T(GE, DRAM_BUSY, .6), T(LT, DRAM_BUSY, .8), TO_WIN),
     SHOW(WS__F_WASTE, WS__F_LONG_SCOREBOARD),
     MOVES(DOWN(24, "dram_read"), DOWN(3, "time"))},
    {"mostly_tensor", "matrix units are busy for 60 to 80 % of the time",
     WS__BOUND_COMPUTE, false,
     TESTS(T(GE, TENSOR_BUSY, .6), T(LT, TENSOR_BUSY, .8), TO_WIN),
     SHOW(WS__F_COMPUTE_SHARE, WS__F_BARRIER),
     MOVES(UP(21, "tensor_pct"), UP(27, "tensor_pct"))},
    {"mostly_fma", "float32 units are busy for 60 to 80 % of the time",
     WS__BOUND_COMPUTE, false,
     TESTS(T(GE, FMA_BUSY, .6), T(LT, FMA_BUSY, .8), TO_WIN),
     SHOW(WS__F_COMPUTE_SHARE, WS__F_ISSUE),
     MOVES(UP(9, "fma_pct"), DOWN(6, "inst"))},
};
const size_t ws__nrule = WS_COUNT(ws__rules);
_Static_assert(WS_COUNT(ws__rules) <= WS__MAX_FINDINGS, "room for all");

static const char *const MOVE[] = {
    [1] = "coalesce",
    [2] = "repack the layout",
    [3] = "vector loads and stores",
    [4] = "peel the tail",
    [5] = "coarsen threads",
    [6] = "32-bit indices",
    [7] = "block size and launch shape",
    [8] = "launch bounds",
    [9] = "register tiling",
    [10] = "shared-memory tiling",
    [11] = "pad or swizzle shared memory",
    [12] = "warp-shuffle reduction",
    [13] = "one atomic a block",
    [14] = "privatised histogram",
    [15] = "narrower barriers",
    [16] = "unroll and hoist loads",
    [17] = "less unrolling",
    [18] = "software pipeline",
    [19] = "asynchronous copies",
    [20] = "bulk copies",
    [21] = "warp specialisation",
    [22] = "matrix units",
    [23] = "wide matrix instructions",
    [24] = "fuse kernels",
    [25] = "split the kernel",
    [26] = "split K",
    [27] = "persistent grid",
    [28] = "rasterise tiles",
    [29] = "cache hints",
    [30] = "uniform loads",
    [31] = "clusters",
    [32] = "predicate branches",
    [33] = "balance the load",
    [34] = "fast intrinsics",
    [35] = "online algorithm",
    [36] = "recompute",
    [37] = "narrower storage",
    [38] = "no local arrays",
    [39] = "shorter live ranges",
    [40] = "launch graph",
    [41] = "specialise for shapes",
    [42] = "narrower arithmetic",
};

const char *ws__move_name(unsigned id)
{
    return id < WS_COUNT(MOVE) ? MOVE[id] : NULL;
}
