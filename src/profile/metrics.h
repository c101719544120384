/*
 * metrics.h: the hardware counters that a diagnosis reads, as data.
 *
 * One row a metric: what we call it, its unit, the sets it belongs to, and
 * what CUPTI and ncu call it. Names differ from one architecture to the next
 * and some metrics exist on a few only; those rows name each architecture
 * (WS__METRIC_OTHERS). tests/conformance/t_cuda_metrics.c asks CUPTI's host
 * interface, which needs no GPU, about every name on every architecture here,
 * and how many passes the one-pass set takes.
 *
 * A metric without a name on an architecture is missing there, and so is one
 * that a driver refuses: NaN, never zero.
 */
#ifndef WS_METRICS_H
#define WS_METRICS_H

#include <stdbool.h>
#include <stddef.h>

/* ONE_PASS: all of it in one pass, so that a kernel runs once: for every
 * candidate. Counters of the L2 would fit, but make a pass half as dear again
 * (32 ms for 20 on an H200). FULL: everything. */
enum { WS__METRICS_ONE_PASS = 1, WS__METRICS_FULL = 2 };

/* Architectures with names of their own, chip as CUPTI calls it. */
#define WS__METRIC_ARCHS(X)                                                    \
    X(80, "GA100")                                                             \
    X(89, "AD102")                                                             \
    X(90, "GH100")                                                             \
    X(100, "GB100")                                                            \
    X(120, "GB202")

/* Name, key, unit, sets (B: both, F: FULL), the counter's name where
 * WS__METRIC_OTHERS says nothing else. Units: ns, cycle, byte, sector,
 * request, wavefront, instruction, thread (instructions of single threads),
 * operation, warp, block, %, or 1 for a ratio. All count the whole launch on
 * the whole device unless the name says avg or max. */
#define WS__METRIC_MAP(X)                                                      \
    X(TIME, "time", "ns", B, "gpu__time_duration.sum")                         \
    X(SM_CYCLES, "sm_cycles", "cycle", B, "sm__cycles_elapsed.max")            \
    X(SM_CYCLES_ACTIVE, "sm_cycles_active", "cycle", B,                        \
      "sm__cycles_active.avg")                                                 \
    X(GPC_CYCLES, "gpc_cycles", "cycle", B, "gpc__cycles_elapsed.max")         \
    X(DRAM_READ, "dram_read", "byte", B, "dram__bytes_read.sum")               \
    X(DRAM_WRITE, "dram_write", "byte", B, "dram__bytes_write.sum")            \
    X(DRAM_PCT, "dram_pct", "%", B,                                            \
      "dram__throughput.avg.pct_of_peak_sustained_elapsed")                    \
    X(L2_SECTORS, "l2_sectors", "sector", F, "lts__t_sectors.sum")             \
    X(WARPS_PCT, "warps_pct", "%", B,                                          \
      "sm__warps_active.avg.pct_of_peak_sustained_active")                     \
    X(ISSUE_PCT, "issue_pct", "%", B,                                          \
      "smsp__issue_active.avg.pct_of_peak_sustained_active")                   \
    X(WARPS_ELIGIBLE, "warps_eligible", "warp", B,                             \
      "smsp__warps_eligible.avg.per_cycle_active")                             \
    X(TENSOR_PCT, "tensor_pct", "%", B,                                        \
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed")       \
    X(WARPS_ACTIVE, "warps_active", "warp", F,                                 \
      "smsp__warps_active.avg.per_cycle_active")                               \
    X(IPC, "ipc", "instruction", F, "sm__inst_executed.avg.per_cycle_active")  \
    X(INST, "inst", "instruction", F, "smsp__inst_executed.sum")               \
    X(WARPS, "warps", "warp", F, "smsp__warps_launched.sum")                   \
    X(BLOCKS, "blocks", "block", F, "sm__ctas_launched.sum")                   \
    X(FMA_PCT, "fma_pct", "%", F,                                              \
      "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active")           \
    X(ALU_PCT, "alu_pct", "%", F,                                              \
      "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active")           \
    X(LSU_PCT, "lsu_pct", "%", F,                                              \
      "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active")           \
    X(XU_PCT, "xu_pct", "%", F,                                                \
      "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active")            \
    X(FP64_PCT, "fp64_pct", "%", F,                                            \
      "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active")          \
    X(L2_READ, "l2_read", "sector", F, "lts__t_sectors_op_read.sum")           \
    X(L2_WRITE, "l2_write", "sector", F, "lts__t_sectors_op_write.sum")        \
    X(L2_ATOM, "l2_atom", "sector", F, "lts__t_sectors_op_atom.sum")           \
    X(L2_RED, "l2_red", "sector", F, "lts__t_sectors_op_red.sum")              \
    X(L2_HIT_PCT, "l2_hit_pct", "%", F, "lts__t_sector_hit_rate.pct")          \
    X(L1_HIT_PCT, "l1_hit_pct", "%", F, "l1tex__t_sector_hit_rate.pct")        \
    X(GLOBAL_LD_SECTORS, "global_ld_sectors", "sector", F,                     \
      "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")                        \
    X(GLOBAL_ST_SECTORS, "global_st_sectors", "sector", F,                     \
      "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")                        \
    X(GLOBAL_LD_REQUESTS, "global_ld_requests", "request", F,                  \
      "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")                       \
    X(GLOBAL_ST_REQUESTS, "global_st_requests", "request", F,                  \
      "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")                       \
    X(GLOBAL_LD_USED, "global_ld_used", "byte", F,                             \
      "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio")       \
    X(GLOBAL_ST_USED, "global_st_used", "byte", F,                             \
      "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio")       \
    X(GLOBAL_ATOMS, "global_atoms", "instruction", F,                          \
      "smsp__sass_inst_executed_op_global_atom.sum")                           \
    X(TMA_LD_BYTES, "tma_ld_bytes", "byte", F, NULL)                           \
    X(TMA_ST_BYTES, "tma_st_bytes", "byte", F, NULL)                           \
    X(TMA_INST, "tma_inst", "instruction", F, NULL)                            \
    X(SHARED_LD_WAVES, "shared_ld_waves", "wavefront", F,                      \
      "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")                  \
    X(SHARED_ST_WAVES, "shared_st_waves", "wavefront", F,                      \
      "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")                  \
    X(SHARED_LD_CONFLICTS, "shared_ld_conflicts", "wavefront", F,              \
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum")              \
    X(SHARED_ST_CONFLICTS, "shared_st_conflicts", "wavefront", F,              \
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum")              \
    X(SHARED_LD_INST, "shared_ld_inst", "instruction", F,                      \
      "smsp__inst_executed_op_shared_ld.sum")                                  \
    X(SHARED_ST_INST, "shared_st_inst", "instruction", F,                      \
      "smsp__inst_executed_op_shared_st.sum")                                  \
    X(SHARED_USED_PCT, "shared_used_pct", "%", F,                              \
      "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct")            \
    X(LOCAL_LD_INST, "local_ld_inst", "instruction", F,                        \
      "smsp__inst_executed_op_local_ld.sum")                                   \
    X(LOCAL_ST_INST, "local_st_inst", "instruction", F,                        \
      "smsp__inst_executed_op_local_st.sum")                                   \
    X(LOCAL_LD_SECTORS, "local_ld_sectors", "sector", F,                       \
      "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum")                         \
    X(LOCAL_ST_SECTORS, "local_st_sectors", "sector", F,                       \
      "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum")                         \
    X(TENSOR_INST, "tensor_inst", "instruction", F,                            \
      "sm__inst_executed_pipe_tensor.sum")                                     \
    X(TENSOR_MMA, "tensor_mma", "instruction", F,                              \
      "sm__inst_executed_pipe_tensor_subpipe_hmma.sum")                        \
    X(TENSOR_WIDE, "tensor_wide", "instruction", F, NULL)                      \
    X(FADD, "fadd", "thread", F,                                               \
      "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum")                   \
    X(FMUL, "fmul", "thread", F,                                               \
      "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum")                   \
    X(FFMA, "ffma", "thread", F,                                               \
      "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")                   \
    X(DADD, "dadd", "thread", F,                                               \
      "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum")                   \
    X(DMUL, "dmul", "thread", F,                                               \
      "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum")                   \
    X(DFMA, "dfma", "thread", F,                                               \
      "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum")                   \
    X(HADD, "hadd", "thread", F,                                               \
      "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum")                   \
    X(HMUL, "hmul", "thread", F,                                               \
      "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum")                   \
    X(HFMA, "hfma", "thread", F,                                               \
      "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum")                   \
    X(TENSOR_BF16, "tensor_bf16", "operation", F,                              \
      "sm__ops_path_tensor_src_bf16_dst_fp32.sum")                             \
    X(TENSOR_FP16, "tensor_fp16", "operation", F,                              \
      "sm__ops_path_tensor_src_fp16_dst_fp32.sum")                             \
    X(TENSOR_FP16_HALF, "tensor_fp16_half", "operation", F,                    \
      "sm__ops_path_tensor_src_fp16_dst_fp16.sum")                             \
    X(TENSOR_TF32, "tensor_tf32", "operation", F,                              \
      "sm__ops_path_tensor_src_tf32_dst_fp32.sum")                             \
    X(TENSOR_FP8, "tensor_fp8", "operation", F,                                \
      "sm__ops_path_tensor_src_fp8.sum")                                       \
    X(TENSOR_INT8, "tensor_int8", "operation", F,                              \
      "sm__ops_path_tensor_src_int8.sum")                                      \
    X(TENSOR_FP64, "tensor_fp64", "operation", F,                              \
      "sm__ops_path_tensor_src_fp64.sum")                                      \
    X(LANES, "lanes", "1", F,                                                  \
      "smsp__average_thread_inst_executed_pred_on_per_inst_executed.ratio")    \
    X(UNIFORM_PCT, "uniform_pct", "%", F,                                      \
      "smsp__sass_average_branch_targets_threads_uniform.pct")                 \
    X(LATENCY, "latency", "cycle", F,                                          \
      "smsp__average_warp_latency_per_inst_issued.ratio")                      \
    WS__METRIC_STALLS(X)

/* Where a warp's cycles between two instructions go: their sum is LATENCY.
 * SELECTED is no stall, NOT_SELECTED none to be mended. */
#define WS__METRIC_STALLS(X)                                                   \
    WS__STALL_ROW(X, LONG_SCOREBOARD, long_scoreboard)                         \
    WS__STALL_ROW(X, SHORT_SCOREBOARD, short_scoreboard)                       \
    WS__STALL_ROW(X, MIO_THROTTLE, mio_throttle)                               \
    WS__STALL_ROW(X, LG_THROTTLE, lg_throttle)                                 \
    WS__STALL_ROW(X, TEX_THROTTLE, tex_throttle)                               \
    WS__STALL_ROW(X, MATH_PIPE_THROTTLE, math_pipe_throttle)                   \
    WS__STALL_ROW(X, WAIT, wait)                                               \
    WS__STALL_ROW(X, BARRIER, barrier)                                         \
    WS__STALL_ROW(X, MEMBAR, membar)                                           \
    WS__STALL_ROW(X, BRANCH_RESOLVING, branch_resolving)                       \
    WS__STALL_ROW(X, NO_INSTRUCTION, no_instruction)                           \
    WS__STALL_ROW(X, IMC_MISS, imc_miss)                                       \
    WS__STALL_ROW(X, DRAIN, drain)                                             \
    WS__STALL_ROW(X, DISPATCH_STALL, dispatch_stall)                           \
    WS__STALL_ROW(X, SLEEPING, sleeping)                                       \
    WS__STALL_ROW(X, GMMA, gmma)                                               \
    WS__STALL_ROW(X, MISC, misc)                                               \
    WS__STALL_ROW(X, NOT_SELECTED, not_selected)                               \
    WS__STALL_ROW(X, SELECTED, selected)

#define WS__STALL_ROW(X, name, reason)                                         \
    X(STALL_##name, "stall_" #reason, "cycle", F,                              \
      "smsp__average_warps_issue_stalled_" #reason "_per_issue_active.ratio")

/* Names that differ: metric, architecture, name; NULL: not there. */
#define WS__METRIC_OTHERS(X)                                                   \
    X(DRAM_READ, 120, "dram__bytes_op_read.sum")                               \
    X(DRAM_WRITE, 120, "dram__bytes_op_write.sum")                             \
    WS__METRIC_TMA(X, 90)                                                      \
    WS__METRIC_TMA(X, 100)                                                     \
    WS__METRIC_TMA(X, 120)                                                     \
    WS__METRIC_MMA(X, 80)                                                      \
    WS__METRIC_MMA(X, 89)                                                      \
    WS__METRIC_MMA(X, 90)                                                      \
    X(TENSOR_WIDE, 90, "sm__inst_executed_pipe_tensor_op_gmma.sum")            \
    X(TENSOR_WIDE, 100, "sm__inst_executed_pipe_tc.sum")                       \
    X(TENSOR_FP16, 90, "sm__ops_path_tensor_src_fp16.sum")                     \
    X(TENSOR_FP16_HALF, 90, NULL) /* in TENSOR_FP16 */                         \
    X(TENSOR_FP8, 80, NULL)                                                    \
    X(TENSOR_FP8, 100, "sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32.sum")     \
    X(TENSOR_FP8, 120, "sm__ops_path_tensor_src_fp8_dst_fp32.sum")             \
    X(STALL_IMC_MISS, 100, NULL)                                               \
    X(STALL_IMC_MISS, 120, NULL)                                               \
    X(STALL_GMMA, 80, NULL)                                                    \
    X(STALL_GMMA, 89, NULL)                                                    \
    X(STALL_GMMA, 100, NULL)                                                   \
    X(STALL_GMMA, 120, NULL)

#define WS__METRIC_TMA(X, arch)                                                \
    X(TMA_LD_BYTES, arch,                                                      \
      "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum")               \
    X(TMA_ST_BYTES, arch,                                                      \
      "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum")              \
    X(TMA_INST, arch, "sm__inst_executed_pipe_tma.sum")
#define WS__METRIC_MMA(X, arch)                                                \
    X(TENSOR_MMA, arch, "sm__inst_executed_pipe_tensor_op_hmma.sum")

enum ws__metric {
#define WS_X(name, key, unit, sets, counter) WS__M_##name,
    WS__METRIC_MAP(WS_X)
#undef WS_X
        WS__NMETRIC
};
#define WS__M_STALL_FIRST WS__M_STALL_LONG_SCOREBOARD
#define WS__NSTALL ((size_t)(WS__M_STALL_SELECTED - WS__M_STALL_FIRST + 1))

/* TENSOR_MMA counts the tensor instructions of a warp (mma.sync), TENSOR_WIDE
 * those that only the architecture has (wgmma on 90, tcgen05 on 100): without
 * the latter a kernel takes the slower way. */
const char *ws__metric_key(enum ws__metric m);
const char *ws__metric_unit(enum ws__metric m);
bool ws__metric_in(enum ws__metric m, unsigned sets); /* in any of them */

/* The architecture whose names a device of compute capability major.minor
 * takes (80 for 8.0 to 8.7, 89, 90, 100 for 10.x and 11.x, 120); 0: none. */
unsigned ws__metric_arch(int major, int minor);
/* The counter's name there; NULL: no such counter. */
const char *ws__metric_name(enum ws__metric m, unsigned arch);
/* All of `sets` that the architecture has: fills both arrays (room for
 * WS__NMETRIC) and returns how many. The names are literals. */
size_t ws__metric_set(unsigned sets, unsigned arch, enum ws__metric *metric,
                      const char **name);
/* The metric of a key, or of a counter's name on any architecture (as ncu
 * writes it); WS__NMETRIC: none. */
enum ws__metric ws__metric_find(const char *name);

#endif
