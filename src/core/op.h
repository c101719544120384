/*
 * op.h: an operator's contract and its workloads: plain data.
 *
 * Everything lives in the arena of the specification that was loaded and is
 * constant after that; expressions use the scope that the spec folder builds:
 * slots 0..naxis-1 are the op's axes in order (a kernel's parameters and the
 * device variables follow, see kernel.h).
 */
#ifndef WS_OP_H
#define WS_OP_H

#include "base/hash.h"
#include "core/dtype.h"
#include "expr/expr.h"

#define WS__MAX_AXES 24
#define WS__MAX_DIMS 6
#define WS__MAX_TENSORS 32
#define WS__MAX_CONSTANTS 16

enum ws__axis_kind {
    WS__AXIS_VAR,   /* given by the workload */
    WS__AXIS_CONST, /* fixed by the op */
    WS__AXIS_TYPE   /* an element type chosen by the workload; the value is
                       the dtype code, the default the first listed */
};

/* What an axis tells of a list of counts that the caller has at hand, such as
 * the tokens that each expert of a mixture gets. Numbers are stored in packs:
 * they are for ever. */
enum ws__counts {
    WS__COUNTS_NO,      /* nothing: the caller gives the axis */
    WS__COUNTS_NONZERO, /* how many are above 0 */
    WS__COUNTS_MAX,     /* the largest */
    WS__COUNTS_BLOCKS   /* sum of ceil(count / block) */
};

struct ws__axis {
    const char *name, *about;
    enum ws__axis_kind kind;
    enum ws__counts counts; /* of axes that vary */
    int64_t counts_block;   /* BLOCKS */
    int64_t value;          /* const; type: the default */
    int64_t lo, hi;         /* declared range, inclusive; 0, 0: none */
    const enum ws__dtype *types;
    size_t ntypes;
    struct ws__loc loc;
};

/* How an input is filled. */
enum ws__fill_kind {
    WS__FILL_NORMAL,   /* mean a, standard deviation b */
    WS__FILL_UNIFORM,  /* [a, b) */
    WS__FILL_INTEGERS, /* whole numbers in [a, b] */
    WS__FILL_CONSTANT, /* a */
    WS__FILL_NATIVE    /* the op's own generator in reference.c */
};

struct ws__fill {
    enum ws__fill_kind kind;
    double a, b;
};

enum ws__role { WS__INPUT, WS__OUTPUT, WS__INOUT };

struct ws__tensor {
    const char *name, *about;
    enum ws__role role;
    size_t ndim; /* 0: a scalar, passed by value */
    struct ws__expr *dim[WS__MAX_DIMS];
    struct ws__expr *stride[WS__MAX_DIMS]; /* elements; NULL: row-major */
    enum ws__dtype dtype;                  /* NONE: given by type_axis */
    int type_axis;                         /* axis index or -1 */
    uint32_t align;                        /* bytes, power of two, 1 to 128 */
    bool infinite; /* outputs: a right result may be infinite */
    struct ws__fill fill;
    struct ws__loc loc;
};

/* When a result a is what the reference says, r. Numbers are hashed: they are
 * for ever. */
enum ws__tol_kind {
    WS__TOL_AUTO,     /* from dtypes and reduction length, see reference/ */
    WS__TOL_EXPLICIT, /* |a-r| <= atol + rtol*|r| for `ratio` of elements */
    WS__TOL_EITHER    /* |a-r| <= atol or |a-r| <= rtol*(|r| + 1e-8) for
                         `ratio` of them, and all are finite */
};

struct ws__tolerance {
    enum ws__tol_kind kind;
    double atol, rtol, ratio;
    struct ws__expr *reduction; /* AUTO: length of the longest sum; or NULL */
    enum ws__dtype accumulate;  /* AUTO: declared accumulate type; F32 */
    const char *rule;           /* its name, if it is one of those below */
};

/* Rules of other projects, by name, with the numbers that they publish. */
#define WS__RULES "flashinfer-bench gpu-mode"
#define WS__NRULES 2
/* The rule of that index among WS__RULES. */
struct ws__tolerance ws__tolerance_named(int which);
/* "automatic", "explicit" or the rule's own name. */
const char *ws__tolerance_rule(const struct ws__tolerance *t);

/* Families of values: inputs of floating point that a normal or uniform rule
 * fills, changed in one way. What the op's own generator filled, constants,
 * whole numbers, files and scalars stay. */
#define WS__FAMILY_MAP(X)                                                      \
    X(PLAIN, "plain", "as the op says")                                        \
    X(TRIPLE, "x3", "three times as large")                                    \
    X(HUNDREDTH, "x0.01", "a hundredth")                                       \
    X(MINUS, "x-1", "other signs")                                             \
    X(TIES, "ties", "few different values")                                    \
    X(ZEROS, "zeros", "nothing but zeros")                                     \
    X(HUGE, "huge", "near the end of what results can hold")                   \
    X(DENORMAL, "denormal", "below the smallest normal number")                \
    X(SPIKES, "spikes", "one huge element in each stretch of a tile")          \
    X(SIGNS, "signs", "other signs in every fourth place, by lot")             \
    X(ONE_SIDED, "one-sided", "huge, inputs below and above zero in turn")

enum ws__family {
#define WS_X(name, key, text) WS__FAMILY_##name,
    WS__FAMILY_MAP(WS_X)
#undef WS_X
        WS__NFAMILY
};
const char *ws__family_key(enum ws__family f);
const char *ws__family_text(enum ws__family f);
/* WS__NFAMILY: there is none of that key. */
enum ws__family ws__family_parse(const char *key);

/* Where a workload's input comes from. */
enum ws__input_kind {
    WS__INPUT_OP,   /* filled as the op says */
    WS__INPUT_FILL, /* by a rule of the workload's own */
    WS__INPUT_FILE  /* from a safetensors file */
};

struct ws__input {
    enum ws__input_kind kind;
    struct ws__fill fill;
    const char *file, *key;  /* file: its canonical path; tensor in it */
    struct ws__hash content; /* of the tensor in the file when it was loaded */
    struct ws__loc loc;
};

struct ws__workload {
    const char *name; /* "M=16,N=4096,K=4096" if the file has none */
    const char *about;
    int64_t axis[WS__MAX_AXES]; /* value of every axis, const ones too */
    double weight;
    struct ws__loc loc;
    const struct ws__input
        *input; /* one a tensor of the op; NULL: as it says */
    /* The workload object (JSON) of flashinfer-bench that it was; or NULL. */
    const char *origin;
};

/* Which unit of a device an op's operations need at best. */
enum ws__unit {
    WS__UNIT_AUTO,   /* tensor: multiplies narrow floats along a reduction */
    WS__UNIT_TENSOR, /* matrix units */
    WS__UNIT_VECTOR
};

enum ws__cache_mode { WS__CACHE_DEFAULT, WS__CACHE_COLD, WS__CACHE_WARM };

/* A reference in Python: the text of a file, whose function gets the inputs in
 * the op's order and returns the outputs. Runs only if the user trusts it. */
enum ws__py_arrays {
    WS__PY_NUMPY, /* numpy; every float type as float64, which holds all */
    WS__PY_TORCH  /* torch tensors of the op's own types */
};
struct ws__python {
    const char *text; /* NULL: there is none */
    const char *file; /* what messages call it */
    const char *function;
    enum ws__py_arrays arrays;
};

/* A trusted kernel of the same op and its config ("BM=1"; NULL: default). */
struct ws__kernel;
struct ws__trusted {
    const struct ws__kernel *kernel; /* NULL: there is none */
    const char *config;
};

struct ws__op {
    const char *name, *about, *file;
    const char *dir; /* folder of the file */
    /* The reference: one of three, or none. */
    const char *reference; /* native: name of a folder of ops/; else NULL */
    struct ws__python python;
    struct ws__trusted trusted;
    struct ws__axis axis[WS__MAX_AXES];
    size_t naxis;
    struct ws__tensor tensor[WS__MAX_TENSORS]; /* inputs, then outputs */
    size_t ntensor;
    struct ws__expr **require; /* conditions on axes that must hold */
    size_t nrequire;
    struct ws__tolerance tolerance;
    const char *refused[WS__NFAMILY]; /* why it takes no such values; NULL: it
                                         does */
    bool finite[WS__NFAMILY];         /* refused, but results must be numbers */
    struct ws__expr *flops, *bytes;   /* the floor's numerators; NULL: unknown,
                                         bytes: sum of distinct tensor bytes */
    /* What only explains times, and is no part of the hash: which unit does
     * the flops; and, by tensor, 1 + the input whose entries name the rows
     * (along the first dimension) that are read, 0: all are. `bytes` then
     * counts a row for each entry. */
    enum ws__unit unit;
    uint8_t touched[WS__MAX_TENSORS];
    enum ws__cache_mode cache;
    struct ws__workload *workload; /* shipped with the op */
    size_t nworkload;
    struct ws__hash hash; /* of everything above that has a meaning */
    struct ws__strtab strings;
    /* Numbers with a name, part of the meaning; by name. Whole ones lie within
     * 2^53, others can be a float32. */
    struct ws__constant constant[WS__MAX_CONSTANTS];
    size_t nconstant;
};

/* Does the op take such values? NULL if it does, else why not. */
const char *ws__family_refused(const struct ws__op *op, enum ws__family f);
/* It is refused, since errors cannot be judged; a result must be a number
 * wherever the reference is one all the same (ws__compare_finite). */
bool ws__family_finite(const struct ws__op *op, enum ws__family f);
int ws__op_axis(const struct ws__op *op, const char *name);   /* or -1 */
int ws__op_tensor(const struct ws__op *op, const char *name); /* or -1 */
/* Orders the values of all axes by those of the type axes alone; 0: the same
 * types. */
int ws__op_compare_types(const struct ws__op *op, const int64_t *a,
                         const int64_t *b);
/* What the op calls so: "an axis", "a tensor", "a constant"; or NULL. */
const char *ws__op_name_taken(const struct ws__op *op, const char *name);
/* Mixes in an expression: its text but for spaces; NULL has a hash too. */
struct ws__hash ws__expr_meaning(struct ws__hash h, const struct ws__expr *e);
/* How a tensor of a workload is filled; NULL: from a file. */
const struct ws__fill *ws__workload_fill(const struct ws__op *op,
                                         const struct ws__workload *w,
                                         size_t tensor);
/* Hash of op, axis values and inputs: the identity of a workload. */
struct ws__hash ws__workload_hash(const struct ws__op *op,
                                  const struct ws__workload *w);
/* "M=16,N=4096,K=4096", types by name, constants left out. */
int ws__workload_print(struct ws__buf *b, const struct ws__op *op,
                       const struct ws__workload *w);

/* The tensors of one workload, sized. */
struct ws__tensor_shape {
    size_t ndim;
    int64_t dim[WS__MAX_DIMS], stride[WS__MAX_DIMS]; /* elements */
    enum ws__dtype dtype;
    uint64_t elements; /* product of dims */
    uint64_t bytes;    /* extent in memory, strides included */
    bool contiguous;
};

struct ws__instance {
    const struct ws__op *op;
    const struct ws__workload *workload;
    struct ws__tensor_shape shape[WS__MAX_TENSORS];
    union wsrt_value vars[WS__MAX_SLOTS]; /* axes filled in, rest 0 */
    double flops;                         /* 0: unknown */
    double bytes;                         /* distinct bytes that must move */
    int64_t reduction;                    /* 1 if not declared */
};

/* Evaluates shapes. Errors: a require that fails, a dimension < 1, sizes over
 * 2^40 bytes: WS_ESPEC with the location of the workload or tensor. */
int ws__instance_make(struct ws_ctx *ctx, const struct ws__op *op,
                      const struct ws__workload *w, struct ws__instance *out);
/* Has it tensors of which only the rows that an index names must move? */
bool ws__op_picks_rows(const struct ws__op *op);

#endif
