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
#include "wave/wave.h"

/* ---- facts ----------------------------------------------------------------
 */

/* Id, key, unit, what it is. Shares lie within 0 and 1. */
#define WS__FACT_MAP(X)                                                        \
    X(TIME, "time", "ns", "measured time of the launches")                     \
    X(FLOOR, "floor", "ns", "least time on this device")                       \
    X(GAP, "gap", "x", "time over the floor")                                  \
    X(MEMORY_SHARE, "memory_share", "share", "of the time, moving the bytes")  \
    X(COMPUTE_SHARE, "compute_share", "share", "of the time, the operations")  \
    X(LAUNCH_SHARE, "launch_share", "share", "of the time, empty launches")    \
    X(FIXED_SHARE, "fixed_share", "share",                                     \
      "of the time, what a smaller workload costs as well")                    \
    X(WASTE, "waste", "x", "device memory traffic over the floor's bytes")     \
    X(DRAM_BUSY, "dram_busy", "share", "of what device memory reaches")        \
    X(TENSOR_BUSY, "tensor_busy", "share", "of the matrix units' cycles")      \
    X(FMA_BUSY, "fma_busy", "share", "of the float32 units' cycles")           \
    X(BUSIEST, "busiest", "share", "the busiest of memory and units")          \
    X(XU_BUSY, "xu_busy", "share", "of the special function units' cycles")    \
    X(LSU_BUSY, "lsu_busy", "share", "of the load and store units' cycles")    \
    X(LOAD_USED, "load_used", "share", "of the sectors that loads fetch")      \
    X(LOAD_SECTORS, "load_sectors", "sector", "fetched by a load of a warp")   \
    X(STORE_USED, "store_used", "share", "of the sectors that stores touch")   \
    X(STORE_SECTORS, "store_sectors", "sector", "touched by a warp's store")   \
    X(L2_HIT, "l2_hit", "share", "of sectors found in the last cache")         \
    X(L1_HIT, "l1_hit", "share", "of sectors found in the first cache")        \
    X(CONFLICTS, "conflicts", "share", "of shared memory's cycles")            \
    X(SHARED_USED, "shared_used", "share", "of the bytes shared memory moves") \
    X(SPILL_BYTES, "spill_bytes", "byte", "that a thread spills")              \
    X(SPILL_RATE, "spill_rate", "share", "of instructions, on local memory")   \
    X(LOCAL_SHARE, "local_share", "share", "of first-cache sectors, local")    \
    X(ATOMIC_SHARE, "atomic_share", "share", "of cache traffic, atomics")      \
    X(LANES, "lanes", "share", "of a warp's lanes that work")                  \
    X(OCCUPANCY, "occupancy", "share", "of warps that a unit can hold")        \
    X(OCCUPIED, "occupied", "share", "of warps that were there on average")    \
    X(LIMITER, "limiter", "",                                                  \
      "1 registers, 2 shared memory, 3 threads, "                              \
      "4 blocks")                                                              \
    X(WAVES, "waves", "x", "blocks over what the device holds at once")        \
    X(TAIL_LOSS, "tail_loss", "share", "of the last wave that is empty")       \
    X(IMBALANCE, "imbalance", "share", "of cycles in which units are idle")    \
    X(ISSUE, "issue", "share", "of cycles in which an instruction starts")     \
    X(ELIGIBLE, "eligible", "warp", "ready in a cycle, of a scheduler")        \
    X(ACTIVE, "active", "warp", "there in a cycle, of a scheduler")            \
    X(WANTS_TENSOR, "wants_tensor", "", "1: the op suits matrix units")        \
    X(USES_TENSOR, "uses_tensor", "", "1: the kernel uses matrix units")       \
    X(USES_WIDE, "uses_wide", "", "1: in the widest way of the device")        \
    WS__FACT_STALLS(X)

#define WS__FACT_STALLS(X)                                                     \
    X(LONG_SCOREBOARD, "long_scoreboard", "share", "waits for memory")         \
    X(SHORT_SCOREBOARD, "short_scoreboard", "share",                           \
      "waits for shared memory"                                                \
      " or special functions")                                                 \
    X(MIO_THROTTLE, "mio_throttle", "share", "queue of shared memory is full") \
    X(LG_THROTTLE, "lg_throttle", "share", "queue of global memory is full")   \
    X(TEX_THROTTLE, "tex_throttle", "share", "queue of textures is full")      \
    X(MATH_PIPE_THROTTLE, "math_pipe_throttle", "share", "a unit is busy")     \
    X(WAIT, "wait", "share", "fixed latency of the instruction before")        \
    X(BARRIER, "barrier", "share", "waits for other warps of the block")       \
    X(MEMBAR, "membar", "share", "waits at a memory fence")                    \
    X(BRANCH_RESOLVING, "branch_resolving", "share", "waits for a branch")     \
    X(NO_INSTRUCTION, "no_instruction", "share", "waits for instructions")     \
    X(IMC_MISS, "imc_miss", "share", "waits for constants")                    \
    X(DRAIN, "drain", "share", "waits for stores at its end")                  \
    X(DISPATCH_STALL, "dispatch_stall", "share", "dispatch is held up")        \
    X(SLEEPING, "sleeping", "share", "sleeps")                                 \
    X(GMMA, "gmma", "share", "waits for matrix units")                         \
    X(MISC, "misc", "share", "other")                                          \
    X(NOT_SELECTED, "not_selected", "share", "another warp was chosen")        \
    X(SELECTED, "selected", "share", "its instruction started")

enum ws__fact {
#define WS_X(name, key, unit, about) WS__F_##name,
    WS__FACT_MAP(WS_X)
#undef WS_X
        WS__NFACT
};
#define WS__F_STALL_FIRST WS__F_LONG_SCOREBOARD
const char *ws__fact_key(enum ws__fact f);
const char *ws__fact_unit(enum ws__fact f);
const char *ws__fact_about(enum ws__fact f);

/* ---- the roof of a data sheet ----------------------------------------------
 */

/* The ceilings that the data sheet of a device has; of one without a sheet
 * none (the model's guesses are no ceilings). */
void ws__roof_of_sheet(const struct ws__identity *id, struct ws__roof *out);

/* ---- occupancy
 * --------------------------------------------------------------- */

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

/* ---- instruction mix
 * ----------------------------------------------------------- */

#define WS__MIX_MAP(X)                                                         \
    X(WIDE_MMA, "wgmma", "HGMMA IGMMA QGMMA BGMMA")                            \
    X(MMA, "mma", "HMMA IMMA QMMA DMMA BMMA")                                  \
    X(FFMA, "ffma", "FFMA FFMA2")                                              \
    X(FP32, "fp32", "FADD FMUL FADD2 FMUL2")                                   \
    X(FP64, "fp64", "DFMA DADD DMUL")                                          \
    X(HALF, "half", "HFMA2 HADD2 HMUL2")                                       \
    X(SPECIAL, "special", "MUFU")                                              \
    X(LDG_NARROW, "ldg8_16", "")                                               \
    X(LDG_32, "ldg32", "")                                                     \
    X(LDG_64, "ldg64", "")                                                     \
    X(LDG_128, "ldg128", "")                                                   \
    X(STG, "stg", "STG ST")                                                    \
    X(LDS, "lds", "LDS LDSM")                                                  \
    X(STS, "sts", "STS STSM")                                                  \
    X(LOCAL, "local", "LDL STL")                                               \
    X(ASYNC, "async_copy", "LDGSTS UBLKCP UTMALDG UTMASTG")                    \
    X(ATOMIC, "atomic", "ATOM ATOMG ATOMS RED REDG REDUX UTMAREDG")            \
    X(BARRIER, "barrier", "BAR SYNCS WARPSYNC")                                \
    X(BRANCH, "branch", "BRA BRX JMP CALL")                                    \
    X(OTHER, "other", "")

enum ws__mix_class {
#define WS_X(name, key, words) WS__MIX_##name,
    WS__MIX_MAP(WS_X)
#undef WS_X
        WS__NMIX
};
const char *ws__mix_key(enum ws__mix_class m);
struct ws__mix {
    uint64_t total, count[WS__NMIX]; /* as written, not as often as run */
    uint64_t functions;
};
/* Counts instructions in what `cuobjdump -sass` or `nvdisasm` wrote; `entry`
 * NULL: of all functions. WS_ESPEC: nothing in it looks like an instruction. */
int ws__mix_parse(struct ws_ctx *ctx, const char *text, size_t n,
                  const char *entry, struct ws__mix *out);

/* ---- import of ncu
 * ------------------------------------------------------------ */

struct ws__ncu_launch {
    const char *kernel;
    double value[WS__NMETRIC]; /* NaN: missing */
};
struct ws__ncu {
    struct ws__ncu_launch *launch;
    size_t nlaunch;
    size_t known, unknown; /* columns: metrics of metrics.h, others */
};
/* What `ncu --csv --page raw` wrote, `file` as messages call it. Everything is
 * in the arena. WS_ESPEC with file and line. */
int ws__ncu_parse(struct ws_ctx *ctx, struct ws__arena *a, const char *file,
                  const char *text, size_t n, struct ws__ncu *out);

/* ---- diagnosis
 * ------------------------------------------------------------------ */

/* What is known of a kernel on a workload. */
struct ws__subject {
    const struct ws__floor *floor;
    const struct ws__roof *roof;
    const struct ws__resources *res;
    const struct ws__occupancy *occupancy;
    const struct ws__mix *mix; /* NULL: no disassembler, or no image */
    double time_ns;            /* 0: not timed */
    double fixed_ns;           /* of it, whatever the size; NaN: not known */
    /* Counters of launch * WS__NMETRIC + metric; NULL: none. */
    const double *counter;
    size_t nlaunch;
};
/* Counters of several launches: counts are summed, rates weighted with the
 * launches' times. A launch without a metric makes it missing. */
void ws__facts_make(const struct ws__subject *s, double out[WS__NFACT]);

/* Id, key, text. */
#define WS__BOUND_MAP(X)                                                       \
    X(UNKNOWN, "unknown", "nothing that was looked at explains the time")      \
    X(FLOOR, "floor", "as fast as the op can be here")                         \
    X(MEMORY, "memory", "held by device memory")                               \
    X(COMPUTE, "compute", "held by arithmetic units")                          \
    X(LATENCY, "latency", "waits: too little is in flight")                    \
    X(LAUNCH, "launch", "held by the cost of launching")                       \
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
#define WS__RULE_TESTS 5
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
