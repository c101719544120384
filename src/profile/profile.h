/*
 * profile.h: from counters, resources and a floor to what holds a kernel back.
 *
 * What is known of a kernel on a workload are facts: named numbers, NaN where
 * one is missing, never zero. They come from counters (metrics.h), resources of
 * the build, the launch, and times. The rules are data (rules.c): each names
 * the facts that it reads, the bounds that they must pass, what that means and
 * which transformations move which metric. A rule that misses a fact does not
 * fire, and is listed as not looked at.
 *
 * Nothing here runs anything. Structures are plain; the functions have no state
 * and may run in any thread that owns its context.
 */
#ifndef WS_PROFILE_H
#define WS_PROFILE_H

#include "core/floor.h"
#include "profile/metrics.h"
#include "profile/sass.h"
#include "wave/wave.h"

/* ---- facts ----------------------------------------------------------------
 */

/* What must be there to know a fact. */
#define WS__NEEDS_MAP(X)                                                       \
    X(PLAN, "nothing")                                                         \
    X(TIMES, "times")                                                          \
    X(CEILINGS, "ceilings of the device ('wavesmith roof' measures them)")     \
    X(COUNTERS, "counters")                                                    \
    X(RESOURCES, "what a compiler says of registers and blocks")               \
    X(CODE, "counters, or a disassembler")                                     \
    X(SIZES, "another size that was timed")
enum ws__needs {
#define WS_X(name, text) WS__NEEDS_##name,
    WS__NEEDS_MAP(WS_X)
#undef WS_X
        WS__NNEEDS
};
const char *ws__needs_text(enum ws__needs n);

/* Id, key, unit, needs, what it is. Shares lie within 0 and 1. */
#define WS__FACT_MAP(X)                                                        \
    X(TIME, "time", "ns", TIMES, "measured time of the launches")              \
    X(FLOOR, "floor", "ns", CEILINGS, "least time on this device")             \
    X(GAP, "gap", "x", CEILINGS, "time over the floor")                        \
    X(MEMORY_SHARE, "memory_share", "share", CEILINGS,                         \
      "of the time, moving the bytes")                                         \
    X(COMPUTE_SHARE, "compute_share", "share", CEILINGS,                       \
      "of the time, the operations")                                           \
    X(LAUNCH_SHARE, "launch_share", "share", CEILINGS,                         \
      "of the time, empty launches")                                           \
    X(LAUNCHES, "launches", "launch", PLAN, "of the kernel")                   \
    X(FIXED_SHARE, "fixed_share", "share", SIZES,                              \
      "of the time, what another size costs as well")                          \
    X(WASTE, "waste", "x", COUNTERS,                                           \
      "device memory traffic over the floor's bytes")                          \
    X(DRAM_BUSY, "dram_busy", "share", COUNTERS,                               \
      "of what device memory reaches")                                         \
    X(TENSOR_BUSY, "tensor_busy", "share", COUNTERS,                           \
      "of the matrix units' cycles")                                           \
    X(FMA_BUSY, "fma_busy", "share", COUNTERS, "of the float32 units' cycles") \
    X(FP64_BUSY, "fp64_busy", "share", COUNTERS,                               \
      "of the float64 units' cycles")                                          \
    X(XU_BUSY, "xu_busy", "share", COUNTERS,                                   \
      "of the special function units' cycles")                                 \
    X(BUSIEST, "busiest", "share", COUNTERS,                                   \
      "the busiest of memory and units")                                       \
    X(LSU_BUSY, "lsu_busy", "share", COUNTERS,                                 \
      "of the load and store units' cycles")                                   \
    X(LOAD_USED, "load_used", "share", COUNTERS,                               \
      "of the sectors that loads fetch")                                       \
    X(LOAD_SECTORS, "load_sectors", "sector", COUNTERS,                        \
      "fetched by a load of a warp")                                           \
    X(STORE_USED, "store_used", "share", COUNTERS,                             \
      "of the sectors that stores touch")                                      \
    X(STORE_SECTORS, "store_sectors", "sector", COUNTERS,                      \
      "touched by a warp's store")                                             \
    X(LOAD_EXCESS, "load_excess", "x", COUNTERS,                               \
      "sectors fetched and not used, over the last cache's traffic")           \
    X(STORE_EXCESS, "store_excess", "x", COUNTERS,                             \
      "sectors touched and not filled, over the last cache's traffic")         \
    X(L2_HIT, "l2_hit", "share", COUNTERS,                                     \
      "of sectors found in the last cache")                                    \
    X(L1_HIT, "l1_hit", "share", COUNTERS,                                     \
      "of sectors found in the first cache")                                   \
    X(CONFLICTS, "conflicts", "share", COUNTERS, "of shared memory's cycles")  \
    X(SHARED_USED, "shared_used", "share", COUNTERS,                           \
      "of the bytes shared memory moves")                                      \
    X(SPILL_BYTES, "spill_bytes", "byte", RESOURCES, "that a thread spills")   \
    X(SPILL_RATE, "spill_rate", "share", COUNTERS,                             \
      "of instructions, on local memory")                                      \
    X(LOCAL_SHARE, "local_share", "share", COUNTERS,                           \
      "of first-cache sectors, local")                                         \
    X(ATOMIC_SHARE, "atomic_share", "share", COUNTERS,                         \
      "of cache traffic, atomics")                                             \
    X(LANES, "lanes", "share", COUNTERS, "of a warp's lanes that work")        \
    X(OCCUPANCY, "occupancy", "share", RESOURCES,                              \
      "of warps that a unit can hold")                                         \
    X(OCCUPIED, "occupied", "share", COUNTERS,                                 \
      "of warps that were there on average")                                   \
    X(LIMITER, "limiter", "", RESOURCES,                                       \
      "1 registers, 2 shared memory, 3 threads, 4 blocks")                     \
    X(WAVES, "waves", "x", RESOURCES,                                          \
      "blocks over what the device holds at once")                             \
    X(TAIL_LOSS, "tail_loss", "share", RESOURCES,                              \
      "of the last wave that is empty")                                        \
    X(IMBALANCE, "imbalance", "share", COUNTERS,                               \
      "of cycles in which units are idle")                                     \
    X(ISSUE, "issue", "share", COUNTERS,                                       \
      "of cycles in which an instruction starts")                              \
    X(ELIGIBLE, "eligible", "warp", COUNTERS,                                  \
      "ready in a cycle, of a scheduler")                                      \
    X(ACTIVE, "active", "warp", COUNTERS, "there in a cycle, of a scheduler")  \
    X(WANTS_TENSOR, "wants_tensor", "", PLAN, "1: the op suits matrix units")  \
    X(USES_TENSOR, "uses_tensor", "", CODE, "1: the kernel uses matrix units") \
    X(USES_WIDE, "uses_wide", "", CODE, "1: in the widest way of the device")  \
    X(WANTS_DOUBLE, "wants_double", "", PLAN,                                  \
      "1: the op has a float64 or sums in it")                                 \
    X(DOUBLE_SHARE, "double_share", "share", CODE,                             \
      "of float instructions, float64 ones")                                   \
    WS__FACT_STALLS(X)

#define WS__FACT_STALLS(X)                                                     \
    X(LONG_SCOREBOARD, "long_scoreboard", "share", COUNTERS,                   \
      "waits for memory")                                                      \
    X(SHORT_SCOREBOARD, "short_scoreboard", "share", COUNTERS,                 \
      "waits for shared memory or special functions")                          \
    X(MIO_THROTTLE, "mio_throttle", "share", COUNTERS,                         \
      "queue of shared memory is full")                                        \
    X(LG_THROTTLE, "lg_throttle", "share", COUNTERS,                           \
      "queue of global memory is full")                                        \
    X(TEX_THROTTLE, "tex_throttle", "share", COUNTERS,                         \
      "queue of textures is full")                                             \
    X(MATH_PIPE_THROTTLE, "math_pipe_throttle", "share", COUNTERS,             \
      "a unit is busy")                                                        \
    X(WAIT, "wait", "share", COUNTERS,                                         \
      "fixed latency of the instruction before")                               \
    X(BARRIER, "barrier", "share", COUNTERS,                                   \
      "waits for other warps of the block")                                    \
    X(MEMBAR, "membar", "share", COUNTERS, "waits at a memory fence")          \
    X(BRANCH_RESOLVING, "branch_resolving", "share", COUNTERS,                 \
      "waits for a branch")                                                    \
    X(NO_INSTRUCTION, "no_instruction", "share", COUNTERS,                     \
      "waits for instructions")                                                \
    X(IMC_MISS, "imc_miss", "share", COUNTERS, "waits for constants")          \
    X(DRAIN, "drain", "share", COUNTERS, "waits for stores at its end")        \
    X(DISPATCH_STALL, "dispatch_stall", "share", COUNTERS,                     \
      "dispatch is held up")                                                   \
    X(SLEEPING, "sleeping", "share", COUNTERS, "sleeps")                       \
    X(GMMA, "gmma", "share", COUNTERS, "waits for matrix units")               \
    X(MISC, "misc", "share", COUNTERS, "other")                                \
    X(NOT_SELECTED, "not_selected", "share", COUNTERS,                         \
      "another warp was chosen")                                               \
    X(SELECTED, "selected", "share", COUNTERS, "its instruction started")

enum ws__fact {
#define WS_X(name, key, unit, needs, about) WS__F_##name,
    WS__FACT_MAP(WS_X)
#undef WS_X
        WS__NFACT
};
#define WS__F_STALL_FIRST WS__F_LONG_SCOREBOARD
const char *ws__fact_key(enum ws__fact f);
const char *ws__fact_unit(enum ws__fact f);
const char *ws__fact_about(enum ws__fact f);
enum ws__needs ws__fact_needs(enum ws__fact f);
/* WS__NFACT: none of that key. */
enum ws__fact ws__fact_find(const char *key);

/* ---- the roof of a data sheet ----------------------------------------------
 */

/* The ceilings that the data sheet of a device has; of one without a sheet
 * none (the model's guesses are no ceilings). */
void ws__roof_of_sheet(const struct ws__identity *id, struct ws__roof *out);

/* ---- occupancy ------------------------------------------------------------
 */

/* What a unit holds; threads 0: not known. */
struct ws__unit_limits {
    uint32_t units, threads, blocks, registers, shared, shared_reserved;
};
/* From the words in which a device lists them. */
void ws__unit_limits(const struct ws__identity *id, const char *words,
                     struct ws__unit_limits *out);

enum ws__limiter {
    WS__LIMIT_NONE, /* not known */
    WS__LIMIT_REGISTERS,
    WS__LIMIT_SHARED,
    WS__LIMIT_THREADS,
    WS__LIMIT_BLOCKS
};
const char *ws__limiter_text(enum ws__limiter l);

struct ws__occupancy {
    uint32_t by_registers, by_shared, by_threads, by_blocks; /* blocks a unit */
    uint32_t blocks;                                         /* 0: not known */
    enum ws__limiter limiter;
    double share;       /* of the unit's warps */
    double waves, tail; /* tail: share of the last wave that is empty */
};
/* Registers are given out to a warp in steps of 256, shared memory in steps of
 * 128 bytes. If `told` (the driver's own count of blocks) is not 0 it decides
 * how many, the arithmetic says what limits. */
void ws__occupancy_make(const struct ws__unit_limits *u, uint32_t registers,
                        uint64_t shared_bytes, uint64_t threads,
                        uint64_t blocks, uint32_t told,
                        struct ws__occupancy *out);

/* ---- diagnosis ------------------------------------------------------------
 */

/* What is known of a kernel on a workload. */
struct ws__subject {
    const struct ws__floor *floor;
    const struct ws__roof *roof;
    const struct ws__resources *res;
    const struct ws__occupancy *occupancy;
    const struct ws__sass_function *mix; /* NULL or empty: not known */
    double time_ns;                      /* 0: not timed */
    double fixed_ns; /* of it, whatever the size; NaN: not known */
    /* Counters of launch * WS__NMETRIC + metric; NULL: none. */
    const double *counter;
    size_t nlaunch; /* 0: not known */
};
/* A metric over all launches: counts are summed, rates weighted with the
 * launches' times. NaN: missing in one of them. */
double ws__subject_counter(const struct ws__subject *s, enum ws__metric m);
void ws__facts_make(const struct ws__subject *s, double out[WS__NFACT]);

/* Id, key, text. */
#define WS__BOUND_MAP(X)                                                       \
    X(UNKNOWN, "unknown", "nothing that was looked at explains the time")      \
    X(FLOOR, "floor", "as fast as the op can be here")                         \
    X(BELOW, "below", "faster than can be: ceilings or floor are wrong")       \
    X(MEMORY, "memory", "held by device memory")                               \
    X(COMPUTE, "compute", "held by arithmetic units")                          \
    X(LATENCY, "latency", "waits: too little is in flight")                    \
    X(LAUNCH, "launch", "held by costs that do not grow with the size")        \
    X(TAIL, "tail", "held by a last wave that is not full")                    \
    X(IMBALANCE, "imbalance", "units wait for the one with the most work")

enum ws__bound {
#define WS_X(name, key, text) WS__BOUND_##name,
    WS__BOUND_MAP(WS_X)
#undef WS_X
        WS__NBOUND
};
const char *ws__bound_key(enum ws__bound b);
const char *ws__bound_text(enum ws__bound b);

enum ws__rule_op { WS__RULE_END, WS__LE, WS__LT, WS__GE, WS__GT, WS__EQ };
struct ws__rule_test {
    enum ws__rule_op op;
    enum ws__fact fact;
    double than;
    bool maybe; /* passes if the fact is missing */
};
/* A transformation, and what it should do to a metric or fact. */
struct ws__rule_move {
    uint8_t id; /* of the catalogue: "coalesce" is 1; 0: no more */
    const char *metric;
    bool up;
};
#define WS__RULE_TESTS 6
#define WS__RULE_MOVES 4
struct ws__rule {
    const char *key, *text;
    enum ws__bound bound;
    bool ends; /* nothing after it matters */
    struct ws__rule_test test[WS__RULE_TESTS];
    enum ws__fact show[3]; /* more evidence; ends with TIME */
    struct ws__rule_move move[WS__RULE_MOVES];
};
extern const struct ws__rule ws__rules[];
extern const size_t ws__nrule;
/* A transformation's name in the catalogue; NULL: there is none of that id. */
const char *ws__move_name(unsigned id);

struct ws__finding {
    const struct ws__rule *rule;
    enum ws__fact evidence[WS__RULE_TESTS + 3];
    size_t nevidence;
};
#define WS__MAX_FINDINGS 48
struct ws__diagnosis {
    enum ws__bound bound; /* of the first finding */
    struct ws__finding finding[WS__MAX_FINDINGS];
    size_t nfinding;
    /* Rules that could not be looked at, and the fact that was missing. */
    struct {
        const struct ws__rule *rule;
        enum ws__fact fact;
    } blind[WS__MAX_FINDINGS];
    size_t nblind;
    enum ws__fact stall[3]; /* the largest, largest first */
    size_t nstall;
};
void ws__diagnose(const double fact[WS__NFACT], struct ws__diagnosis *out);

#endif
