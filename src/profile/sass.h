/*
 * sass.h: which instructions a compiled CUDA kernel consists of.
 *
 * The text comes from a disassembler of the CUDA toolkit, nvdisasm or
 * cuobjdump, where one is installed; nothing here knows the encoding. Counts
 * are of instructions as they stand in the code, not of those that run: a
 * loop's body counts once. They say what the compiler made of a kernel (are
 * there tensor instructions, how wide are the loads, does it spill), not how
 * often.
 */
#ifndef WS_SASS_H
#define WS_SASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* Name, key, words. By what an instruction does, not where it executes. */
#define WS__SASS_MAP(X)                                                        \
    X(TENSOR, "tensor", "matrix products of a warp (mma)")                     \
    X(TENSOR_WIDE, "tensor_wide", "matrix products of a warp group (wgmma)")   \
    X(FP32_FMA, "fp32_fma", "fp32 multiply-add")                               \
    X(FP32_ADD, "fp32_add", "fp32 add")                                        \
    X(FP32_MUL, "fp32_mul", "fp32 multiply")                                   \
    X(FP32_OTHER, "fp32_other", "fp32 compare, select, round")                 \
    X(FP64, "fp64", "fp64")                                                    \
    X(HALF, "half", "half and bfloat16, by two")                               \
    X(INT, "int", "integer, logic, address")                                   \
    X(SPECIAL, "special", "special functions (MUFU)")                          \
    X(CONVERT, "convert", "conversions of types")                              \
    X(MOVE, "move", "moves, constants, selects")                               \
    X(WARP, "warp", "shuffle, vote, match")                                    \
    X(GLOBAL_LD_NARROW, "global_ld_narrow", "global loads of 1 or 2 bytes")    \
    X(GLOBAL_LD_4, "global_ld_4", "global loads of 4 bytes")                   \
    X(GLOBAL_LD_8, "global_ld_8", "global loads of 8 bytes")                   \
    X(GLOBAL_LD_16, "global_ld_16", "global loads of 16 bytes")                \
    X(GLOBAL_LD_32, "global_ld_32", "global loads of 32 bytes")                \
    X(GLOBAL_ST_NARROW, "global_st_narrow", "global stores of 1 or 2 bytes")   \
    X(GLOBAL_ST_4, "global_st_4", "global stores of 4 bytes")                  \
    X(GLOBAL_ST_8, "global_st_8", "global stores of 8 bytes")                  \
    X(GLOBAL_ST_16, "global_st_16", "global stores of 16 bytes")               \
    X(GLOBAL_ST_32, "global_st_32", "global stores of 32 bytes")               \
    X(GENERIC_LD, "generic_ld", "loads whose space is not known")              \
    X(GENERIC_ST, "generic_st", "stores whose space is not known")             \
    X(SHARED_LD, "shared_ld", "shared loads")                                  \
    X(SHARED_ST, "shared_st", "shared stores")                                 \
    X(ASYNC_COPY, "async_copy", "asynchronous copies")                         \
    X(LOCAL_LD, "local_ld", "local loads (spills, indexed arrays)")            \
    X(LOCAL_ST, "local_st", "local stores (spills, indexed arrays)")           \
    X(ATOMIC_GLOBAL, "atomic_global", "global atomics and reductions")         \
    X(ATOMIC_SHARED, "atomic_shared", "shared atomics")                        \
    X(BARRIER, "barrier", "barriers, fences, waits for copies")                \
    X(BRANCH, "branch", "branches, calls, exits")                              \
    X(OTHER, "other", "others")

enum ws__sass_class {
#define WS_X(name, key, words) WS__SASS_##name,
    WS__SASS_MAP(WS_X)
#undef WS_X
        WS__NSASS
};

struct ws__sass_function {
    const char *name;
    uint32_t count[WS__NSASS]; /* instructions by class */
    uint32_t total;            /* their sum; empty ones (NOP) are left out */
    uint32_t predicated;       /* of those, under a predicate */
};

struct ws__sass {
    struct ws__arena arena;
    struct ws__sass_function *function; /* in the order of the text */
    size_t n;                           /* at least one */
};

const char *ws__sass_key(enum ws__sass_class c);
const char *ws__sass_words(enum ws__sass_class c);

/*
 * Counts in what `nvdisasm -c` or `cuobjdump -sass` printed, `len` bytes. A
 * function that has a section of its own is counted by that; what it calls
 * within it counts for it. Lines that are no instructions are passed over.
 * *out is freed by ws__sass_free; NULL on failure: WS_EPARSE (no instruction
 * anywhere), WS_ENOMEM. One thread a context.
 */
int ws__sass_parse(struct ws_ctx *ctx, const char *text, size_t len,
                   struct ws__sass **out);

/*
 * Disassembles a cubin (an ELF image, `n` bytes) and counts. folders: where
 * to look for nvdisasm, then cuobjdump, folders separated by ':' as in PATH;
 * may be NULL; /usr/local/cuda/bin comes last. The tool is started without a
 * shell, reads the image from memory without a name in any folder, and gets
 * WS__SASS_LIMIT_NS and WS__SASS_BYTES of output.
 *
 * WS_EINVAL: not a cubin. WS_ENOTSUP: no disassembler is there (with what to
 * install), or it does not know this code. WS_ETIMEOUT, WS_ELIMIT, WS_ECRASH
 * of the tool, WS_ECANCEL, and those of ws__sass_parse and ws__sys_fail.
 */
#define WS__SASS_LIMIT_NS ((uint64_t)30 * 1000000000u)
#define WS__SASS_BYTES ((size_t)64 << 20)
int ws__sass_read(struct ws_ctx *ctx, const char *folders, const void *cubin,
                  size_t n, struct ws__sass **out);
/* The same with other limits. */
int ws__sass_read_within(struct ws_ctx *ctx, const char *folders,
                         const void *cubin, size_t n, uint64_t limit_ns,
                         size_t max, struct ws__sass **out);
void ws__sass_free(struct ws__sass *s); /* NULL is fine */
/* The function of that name; NULL: none. */
const struct ws__sass_function *ws__sass_find(const struct ws__sass *s,
                                              const char *name);
/* The sum over the functions of these names, each once; over all if none of
 * them is there. Its name is NULL. */
void ws__sass_sum(const struct ws__sass *s, const char *const *name, size_t n,
                  struct ws__sass_function *out);

#endif
