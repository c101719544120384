/*
 * kernel.h: a kernel: device source, parameters with constraints, a launch
 * plan; and configs, the choice of one value for every parameter.
 *
 * Slots of a kernel's expressions: the op's axes, then the parameters, then
 * the device variables of WS__DEVICE_VARS.
 *
 * A kernel lives in the arena of its specification and is constant once
 * loaded; any thread may read it. Functions fail with details in the context.
 */
#ifndef WS_KERNEL_H
#define WS_KERNEL_H

#include "base/hash.h"
#include "core/op.h"
#include "wsrt_wave.h"

#define WS__MAX_PARAMS 64
#define WS__MAX_LAUNCHES 16
#define WS__MAX_ARGS 48
#define WS__MAX_SCRATCH 16
#define WS__MAX_ENTRY 256  /* bytes of an entry that is a name expression */
#define WS__MAX_FILES 4096 /* ready-made files of one kernel */

/* Limits of the device, visible to constraints and plans. */
#define WS__DEVICE_VARS(X)                                                     \
    X(UNITS, "device_units")         /* SMs, compute units */                  \
    X(THREADS, "device_max_threads") /* threads a block */                     \
    X(SHARED, "device_shared_bytes") /* local memory a block */                \
    X(VECTOR, "device_vector_bytes") /* preferred vector width */              \
    X(IS_CPU, "device_is_cpu")       /* 0 or 1 */

enum ws__device_var {
#define WS_X(name, text) WS__DV_##name,
    WS__DEVICE_VARS(WS_X)
#undef WS_X
        WS__NDEVICE_VARS
};

struct ws__param {
    const char *name, *about;
    enum ws__type type;
    struct ws__value *value;
    union wsrt_value *slot; /* the same values as slots */
    size_t nvalue, dflt;
    size_t dflt_of[2]; /* on other devices, on a processor; see
                          ws__kernel_bind */
    bool structural;
    struct ws__loc loc;
};

struct ws__constraint {
    struct ws__expr *expr; /* bool */
    const char *about;     /* may be NULL */
    bool needs_axes, needs_device;
    bool prune; /* thins the space that is searched; what it leaves out would
                   run, too */
};

enum ws__arg_kind {
    WS__ARG_TENSOR,  /* index of an op tensor; scalars by value */
    WS__ARG_SCRATCH, /* index of a scratch buffer */
    WS__ARG_VALUE,   /* dtype and expression */
    WS__ARG_SHARED   /* dynamic shared memory: bytes (OpenCL local arg) */
};

struct ws__arg {
    enum ws__arg_kind kind;
    size_t index;
    enum ws__dtype dtype; /* VALUE; TRITON: what a scratch buffer holds */
    struct ws__expr *expr;
    struct ws__expr *divisible; /* TRITON: 16 or 1, what the value is known to
                                   be a multiple of; NULL: 1 */
};

/* TRITON: a constant of the function that a file is compiled for. */
struct ws__meta {
    const char *name;
    struct ws__expr *expr;
    int type_axis; /* the type of this axis; -1: the value of expr */
    bool both;     /* a bool that shapes decide: both are compiled */
};

struct ws__launch {
    const char *entry;
    struct ws__expr *when;     /* bool; NULL: always */
    struct ws__expr *grid[3];  /* blocks; missing ones are 1 */
    struct ws__expr *block[3]; /* threads a block */
    struct ws__expr *shared;   /* static+dynamic bytes used, for the filter;
                                  NULL: unknown */
    struct ws__arg arg[WS__MAX_ARGS];
    size_t narg;
    struct ws__loc loc;
    bool pattern; /* entry is no plain name: see ws__pattern_print */
    /* TRITON: no block, no shared: the compiled file knows. */
    struct ws__meta *meta;
    size_t nmeta;
    struct ws__expr *warps, *stages;
};

struct ws__scratch {
    const char *name;
    struct ws__expr *bytes;
    struct ws__expr *when; /* NULL: always */
    bool zero;             /* zeroed before every launch plan, inside the
                              timed region */
};

enum ws__dialect {
    WS__DIALECT_PORTABLE, /* our dialect header: OpenCL C and CUDA C */
    WS__DIALECT_OPENCL,
    WS__DIALECT_CUDA,
    WS__DIALECT_PTX, /* ready-made: nothing is defined in it */
    WS__DIALECT_CUBIN,
    WS__DIALECT_TRITON /* cubins that Triton made, one a launch */
};

/* A ready-made file, by its name in the kernel's folder. */
struct ws__source_file {
    const char *name;
    const void *data; /* with a NUL behind it that is not counted */
    size_t bytes;
    struct ws__hash hash;
    /* TRITON: what it was compiled for, and how it is launched. */
    const char *key, *entry;
    uint32_t threads, shared_bytes, nulls; /* null pointers behind the args */
    const char *failed; /* the compiler's words: there is no data */
};

/* What the wave model is told of a kernel. Expressions are whole numbers of
 * axes, parameters, device variables, and `resident_blocks`: what the device
 * holds of this config at once (its slot follows the others). NULL: nothing, as
 * is what cannot be evaluated for a shape. */
struct ws__kernel_wave {
    struct ws__expr *coord[WSRT_NWAVE];
    struct ws__expr *loop;    /* steps of a block */
    struct ws__expr *tile[3]; /* rows, columns, depth of a step */
    struct ws__expr *warps, *stages, *accumulators;
    struct ws__expr *engine; /* 0 vector, 1 mma, 2 wgmma */
    struct ws__expr *spread; /* bool */
    bool balanced;
};

struct ws__kernel {
    const char *name, *about, *file, *dir;
    const struct ws__op *op;    /* as the kernel sees it: its own names */
    const struct ws__op *bound; /* of the specification; mostly the same */
    enum ws__dialect dialect;
    const char *source;      /* final text but for the parameters: every include
                                of ours resolved */
    const char *source_file; /* ready-made ones: a pattern of names */
    struct ws__param param[WS__MAX_PARAMS];
    size_t nparam;
    struct ws__constraint *constraint;
    size_t nconstraint;
    const char **option; /* build options, from the allow-list */
    size_t noption;
    uint32_t specialize; /* bit a: axis a becomes a #define (type and const
                            axes always do) */
    int64_t range_lo[WS__MAX_AXES], range_hi[WS__MAX_AXES]; /* 0, 0: none */
    struct ws__launch launch[WS__MAX_LAUNCHES];
    size_t nlaunch;
    struct ws__scratch scratch[WS__MAX_SCRATCH];
    size_t nscratch;
    bool order_dependent; /* results may differ in rounding between runs */
    struct ws__kernel_wave wave;
    struct ws__scope scope;
    struct ws__hash hash; /* source, plan, space */
    /* PTX, CUBIN: every file that a config can name, if it is there. `source`
     * is empty then. */
    const struct ws__source_file *ready;
    size_t nready;
    /* TRITON: `ready` is sorted by key. triton: "3.6.0 sm_90", or NULL: not
     * compiled, then nothing runs. */
    const char *triton, *triton_source;
    const char *index;  /* the text that describes the files */
    const char *target; /* as the kernel file names it; NULL: the only one */
};

/* PTX, CUBIN and TRITON. */
static inline bool ws__dialect_is_ready(enum ws__dialect d)
{
    return d >= WS__DIALECT_PTX;
}
/* What a device gets of it. */
static inline enum ws__dialect ws__dialect_built(enum ws__dialect d)
{
    return d == WS__DIALECT_TRITON ? WS__DIALECT_CUBIN : d;
}
const char *ws__dialect_name(enum ws__dialect d);

/* One value index for every parameter; unused entries are zero. Hashed and
 * compared as bytes. */
struct ws__config {
    uint16_t n;
    uint16_t at[WS__MAX_PARAMS];
};

/* The defaults for a kind of device; a kernel as it is loaded has those of a
 * processor. The one function that changes a loaded kernel: not while others
 * use it. */
void ws__kernel_bind(struct ws__kernel *k, bool is_cpu);
void ws__config_default(const struct ws__kernel *k, struct ws__config *out);
bool ws__config_eq(const struct ws__config *a, const struct ws__config *b);
/* "BM=64,BN=32" in parameter order. */
int ws__config_print(struct ws__buf *b, const struct ws__kernel *k,
                     const struct ws__config *c);
/* Reads "k=v,k=v" over the default config. WS_ESPEC with the nearest name or
 * the list of allowed values. Does not check constraints. */
int ws__config_parse(struct ws_ctx *ctx, const struct ws__kernel *k,
                     const char *text, struct ws__config *out);
/* Fills the parameters' slots (vars has WS__MAX_SLOTS entries). */
void ws__config_vars(const struct ws__kernel *k, const struct ws__config *c,
                     union wsrt_value *vars);
size_t ws__kernel_param_slot(const struct ws__kernel *k, size_t param);
size_t ws__kernel_device_slot(const struct ws__kernel *k,
                              enum ws__device_var v);
/* Of `resident_blocks`, in expressions of the wave model alone. */
size_t ws__kernel_resident_slot(const struct ws__kernel *k);

/*
 * The text that is compiled: a prologue of #defines (parameters, type and
 * const axes, specialised axes, constants) and the source. For a parameter P of
 * value V:
 * "#define P V" (bool 0/1, strings bare; a float gets a decimal point). For a
 * type axis T of bfloat16: "#define T_IS_BFLOAT16 1". For a constant of the
 * op: "#define EPS 1e-05f", whole ones as they are. Names in the entries of
 * CUDA C are not defined: they reach the source through its templates, which
 * could not use a name that is a macro. PTX is its file's text; of a cubin it
 * is a line with the hash of the file (the bytes: ws__kernel_file). Freed by
 * ws__free.
 */
int ws__kernel_source(struct ws_ctx *ctx, const struct ws__kernel *k,
                      const struct ws__config *c, const struct ws__instance *in,
                      char **out);

/* Bit a: what is compiled differs with the value of axis a. */
uint32_t ws__kernel_baked(const struct ws__kernel *k);

/* A value as a #define gives it: bools 0 or 1, texts bare. */
int ws__value_define(struct ws__buf *b, const struct ws__value *v);

/* PTX, CUBIN: the ready-made file of a config: NULL if there is none, *name
 * (WS__MAX_ENTRY bytes) is what it would be called. in NULL: type axes have
 * their default. */
int ws__kernel_file(struct ws_ctx *ctx, const struct ws__kernel *k,
                    const struct ws__config *c, const struct ws__instance *in,
                    char *name, const struct ws__source_file **out);

/*
 * Texts with {NAME} in them: entries and the names of ready-made files. NAME
 * is a parameter, a constant axis, a type axis, or (entries) a specialised
 * axis, and stands for its value; a type for its name, in C++ if `cpp`.
 */
/* The next {NAME} from *p on, *p moved behind it; false: there is none. */
bool ws__pattern_next(const char **p, const char **name, size_t *n);
bool ws__pattern_has(const char *text, const char *name);
/* WS_ELIMIT at `loc` if it does not fit into n bytes. */
int ws__pattern_print(struct ws_ctx *ctx, const struct ws__kernel *k,
                      const char *text, const union wsrt_value *vars, bool cpp,
                      const struct ws__loc *loc, char *out, size_t n);
/* Is an entry a C++ name expression, that is: no plain name? */
bool ws__entry_is_expression(const char *entry);

/* A launch plan with all expressions evaluated. */
struct ws__plan_arg {
    enum ws__arg_kind kind;
    size_t index;   /* tensor or scratch */
    uint64_t bytes; /* value: its size; shared: bytes */
    unsigned char value[8];
};

struct ws__plan_launch {
    const char *entry; /* NULL: it is in entry_text; use ws__plan_entry */
    uint64_t grid[3];
    uint32_t block[3];
    uint64_t shared_bytes; /* as declared; 0 if not */
    struct ws__plan_arg arg[WS__MAX_ARGS];
    size_t narg;
    char entry_text[WS__MAX_ENTRY];     /* of a pattern, its names in place */
    const struct ws__source_file *file; /* TRITON: what it runs */
};

static inline const char *ws__plan_entry(const struct ws__plan_launch *l)
{
    return l->entry ? l->entry : l->entry_text;
}

struct ws__plan {
    struct ws__plan_launch launch[WS__MAX_LAUNCHES];
    size_t nlaunch;
    uint64_t scratch_bytes[WS__MAX_SCRATCH]; /* 0: not used */
};

/* vars: axes, parameters and device variables filled in. WS_ESPEC with the
 * launch's location if a size is not positive or absurd. */
int ws__plan_make(struct ws_ctx *ctx, const struct ws__kernel *k,
                  const union wsrt_value *vars, struct ws__plan *out);

/*
 * Triton. A file is compiled for a function, the types of its arguments, which
 * of them are multiples of 16, the constants, warps and stages. All of it is
 * one text, the key, that reads like a call in Python:
 *     gemm('*bf16:16', 'i32', BLOCK_M=128, EVEN_K=True, num_warps=8,
 *          num_stages=4)
 * It depends on axes and parameters, never on a device. `flip`, bit i: the
 * other value of constant i, a bool. WS_ESPEC, WS_EEXPR at the place.
 */
#define WS__MAX_TRITON_KEY 2048
#define WS__MAX_META 32  /* constants of one launch */
#define WS__MAX_NULLS 4u /* pointers of the compiler's own */
int ws__triton_key(struct ws_ctx *ctx, const struct ws__kernel *k,
                   const struct ws__launch *l, const union wsrt_value *vars,
                   uint32_t flip, char out[WS__MAX_TRITON_KEY]);
/* NULL: not compiled. */
const struct ws__source_file *ws__triton_file(const struct ws__kernel *k,
                                              const char *key);
/* May the launch's `when` hold? One on the device cannot be asked. */
bool ws__triton_may_run(const struct ws__kernel *k, const struct ws__launch *l,
                        const union wsrt_value *vars);
/* The files of a config's launches, each once; those that are not there are
 * left out. vars: axes and parameters. */
void ws__triton_files(struct ws_ctx *ctx, const struct ws__kernel *k,
                      const union wsrt_value *vars,
                      const struct ws__source_file *out[WS__MAX_LAUNCHES],
                      size_t *n);
/* The part of a plan that the compiled file decides; arguments are there. */
int ws__triton_plan(struct ws_ctx *ctx, const struct ws__kernel *k,
                    const struct ws__launch *l, const union wsrt_value *vars,
                    struct ws__plan_launch *out);

/* Mix in a value; a kernel's dialect, options, launches, scratch, and whether
 * its results depend on the order. */
struct ws__hash ws__value_meaning(struct ws__hash h, const struct ws__value *v);
struct ws__hash ws__kernel_plan_meaning(struct ws__hash h,
                                        const struct ws__kernel *k);
/* Identity of a candidate: final source, plan, config. */
struct ws__hash ws__candidate_hash(const struct ws__kernel *k,
                                   const struct ws__config *c,
                                   const char *final_source);

#endif
