/*
 * reference.h: trusted results, inputs, tolerance, comparison.
 *
 * A reference runs in a worker of its own, never in the process that holds a
 * device. Inputs are made in the tool's process from a seed; the reference
 * worker sees them through shared memory and writes its results, in double
 * precision, into another shared area that no device worker ever maps.
 */
#ifndef WS_REFERENCE_H
#define WS_REFERENCE_H

#include "base/spawn.h"
#include "core/trial.h"

/* What a native reference gets: the tensors of the op in order. */
struct ws__ref_tensor {
    enum ws__dtype dtype; /* of `data` */
    size_t ndim;
    int64_t dim[WS__MAX_DIMS], stride[WS__MAX_DIMS];
    uint64_t elements;
    const void *data; /* inputs and inouts: as the candidate sees them */
    double *result;   /* outputs and inouts: dense row-major over dims */
    void *fill_data;  /* generate only: where to write (dtype, strides) */
};
struct ws__ref_constant {
    const char *name;
    double value;
};
struct ws__ref_call {
    const int64_t *axis; /* values of the op's axes, in the op's order */
    size_t naxis;
    struct ws__ref_tensor *tensor;
    size_t ntensor;
    uint64_t seed;                           /* generate */
    unsigned threads;                        /* how many it may use */
    struct ws_ctx *ctx;                      /* for errors and memory */
    const struct ws__ref_constant *constant; /* of the op, by name */
    size_t nconstant;
};
/* The constant of that name; WS_EREFERENCE if the op has none. */
int ws__ref_constant(const struct ws__ref_call *call, const char *name,
                     double *out);

/* ops/<op>/reference.c has one const ws__reference_<op>. */
struct ws__native_reference {
    uint32_t abi; /* 1 */
    const char *name;
    int (*run)(const struct ws__ref_call *call);
    /* Fills the inputs marked `fill: native`; NULL if none are. */
    int (*generate)(const struct ws__ref_call *call);
    /* Known-bad variants of run, for checking the checker: which < nmutant;
     * a name each. May be NULL. WS_ENOTSUP, with the reason: this mutant is
     * no mistake for these axes (nothing to drop). */
    size_t nmutant;
    const char *const *mutant_name;
    int (*mutant)(const struct ws__ref_call *call, size_t which);
};
extern const struct ws__native_reference *const ws__native_table[];
const struct ws__native_reference *ws__native_find(const char *name);

/* Helper for references: calls fn(user, begin, end) on slices of [0, n) in up
 * to `threads` threads; 0 or the first failure. fn must not use the context:
 * it belongs to one thread. */
int ws__parallel_for(struct ws_ctx *ctx, unsigned threads, uint64_t n,
                     int (*fn)(void *user, uint64_t begin, uint64_t end),
                     void *user);

/* Memory for all tensors of an instance: inputs (as the device sees them)
 * and reference results (double), two shared areas. */
struct ws__problem {
    struct ws_ctx *ctx;
    const struct ws__instance *in;
    struct ws__shm inputs, results;
    void *input[WS__MAX_TENSORS];    /* NULL for outputs */
    double *result[WS__MAX_TENSORS]; /* NULL for inputs */
    uint64_t seed;
    enum ws__family family;
    /* Of other results, if `sized` (ws__problem_sizes); a fill takes both
     * back. */
    double size[WS__MAX_TENSORS];
    bool sized;
    /* Whoever runs the reference looks at the results: neither NaN nor, from a
     * trusted kernel, other values the second time are a failure of the run. */
    bool unjudged;
};
int ws__problem_new(struct ws_ctx *ctx, const struct ws__instance *in,
                    struct ws__problem **out);
void ws__problem_free(struct ws__problem *p);
/* Fills every input from the seed by its rule (native ones by the worker).
 * Deterministic: same op, workload, seed: same bytes, any thread count. */
struct ws__reference;
int ws__problem_fill(struct ws__problem *p, struct ws__reference *r,
                     uint64_t seed, unsigned threads);

/* As ws__problem_fill, of a family (core/op.h). HUGE and SPIKES are sized by
 * the types and the length of sums of the instance (family_size.c), so that a
 * right result is finite. Whether the op takes the family is not asked. */
int ws__problem_fill_family(struct ws__problem *p, struct ws__reference *r,
                            uint64_t seed, unsigned threads, enum ws__family f);

/* false: values are like the plain ones, as SIGNS of fills around zero are. */
bool ws__family_tells(const struct ws__instance *in, enum ws__family f);

/* Bytes that must move at least on the inputs that p holds: the floor's, less
 * the rows that no entry of their index names, or more than one does. */
int ws__problem_bytes(const struct ws__problem *p, double *bytes);
/* Of a tensor with an index (op->touched): how many rows its entries name, and
 * how many entries name one. */
int ws__problem_rows(const struct ws__problem *p, size_t tensor,
                     uint64_t *distinct, uint64_t *named);

/* Does what is allowed of the output rest on the size of other results: has it
 * so few elements that theirs may be an accident, or is it of a family, and the
 * tolerance in numbers, which are for plain values? */
bool ws__problem_asks(const struct ws__problem *p, size_t tensor);
/* p->size of such outputs: the median over draws of p's family; how many times
 * larger than plain ones they are where the tolerance is in numbers. `draw`
 * fills `other` from this seed and computes its result. */
typedef int ws__draw_fn(void *user, struct ws__problem *other, uint64_t seed,
                        enum ws__family f);
int ws__problem_sizes(struct ws__problem *p, ws__draw_fn *draw, void *user);

/* 0, or WS_EACCES: the reference is Python and nobody said that it may run. */
int ws__reference_allowed(struct ws_ctx *ctx, const struct ws__op *op,
                          bool trust_python);
/* The reference of an op, native or (allowed) Python: its worker is started at
 * first use, replaced after a crash, killed after timeout_ns. Errors:
 * WS_EREFERENCE. */
int ws__reference_open(struct ws_ctx *ctx, const struct ws__op *op,
                       unsigned threads, uint64_t timeout_ns,
                       struct ws__reference **out);
void ws__reference_close(struct ws__reference *r);
/* Computes p->result from p->input. */
int ws__reference_run(struct ws__reference *r, struct ws__problem *p);
/* Known-bad results, into p->result like run: mutant `which` of the count. */
size_t ws__reference_mutants(const struct ws__reference *r);
const char *ws__reference_mutant_name(const struct ws__reference *r,
                                      size_t which);
int ws__reference_mutant(struct ws__reference *r, struct ws__problem *p,
                         size_t which);
/* May p->result be judged by? The cheapest of the mistakes that mistakes.c
 * makes from it (all zero, moved by one element, other signs, the mean
 * everywhere), where they are mistakes, must be rejected by the op's tolerance;
 * else WS_EREFERENCE. */
int ws__reference_admit(struct ws_ctx *ctx, const struct ws__problem *p);
/* 1: one output of p, *output, has the same value in all its elements, as it
 * stands in memory; else 0. With `other`, a problem of another seed with its
 * result, only if that value is the same there, while the inputs are not:
 * then a kernel need not compute it. NULL: not asked. */
int ws__reference_constant(const struct ws__problem *p,
                           const struct ws__problem *other, size_t *output);

/*
 * The audit: is the checker of an op fit to judge by, on one workload?
 * Everything is told line by line to a function; the op is refused if any line
 * ended as WS__AUDIT_REFUSED.
 */
enum ws__audit_kind {
    WS__AUDIT_SOUND,  /* the reference: a number, finite, repeated, varied */
    WS__AUDIT_RESULT, /* a mistake made from the result */
    WS__AUDIT_NATIVE, /* a mutant of the op's reference.c */
    WS__AUDIT_INPUTS, /* the reference of inputs that are misread */
    WS__AUDIT_IMPACT, /* the reference of one input of another seed */
    WS__AUDIT_FAMILY  /* a family of values */
};
enum ws__audit_end {
    WS__AUDIT_NONE = -1, /* no mistake here; FAMILY: the op takes none */
    WS__AUDIT_REFUSED,   /* the mistake passes, the reference is unfit */
    WS__AUDIT_FINE       /* the mistake is rejected, the reference is fit */
};
struct ws__audit_line {
    enum ws__audit_kind kind;
    enum ws__audit_end end;
    const char *name;          /* of the mistake, input or family */
    const char *tensor;        /* the output judged; NULL: all of them */
    const char *why;           /* NONE: why not; REFUSED: what to change */
    double share;              /* worst error in units of what is allowed */
    bool rejected[WS__NRULES]; /* by the rules of others; mistakes alone */
    /* FAMILY: of so many mistakes made from its result so many are rejected;
     * that is told, and refuses nothing: results that are nearly zero, or of
     * very different sizes, tell less. */
    unsigned tried, caught;
};
/* The text of a line lives until it returns; not 0: the audit ends so. */
typedef int ws__audit_fn(void *user, const struct ws__audit_line *line);
struct ws__audit {
    /* Computes p->result. WS_EREFERENCE: it will not of such inputs. */
    int (*run)(void *self, struct ws__problem *p);
    void *self;
    struct ws__reference *ref; /* for native fills and mutants; or NULL */
    unsigned threads;
    uint64_t seed;
    ws__audit_fn *tell;
    void *user;
};
int ws__audit_run(struct ws_ctx *ctx, const struct ws__instance *in,
                  const struct ws__audit *a);
/* Worker side; the second returns only if it cannot become Python. */
int ws__reference_serve(struct ws_ctx *ctx, int sock);
int ws__python_serve(struct ws_ctx *ctx, int sock);

/* Python for others, as WS__ROLE_COMPILE: the first message, by which the
 * worker becomes an interpreter on a script of ops/python. It and what it
 * starts write below `folder` only. */
int ws__python_send_start(struct ws_ctx *ctx, int sock, const char *name,
                          unsigned threads, const char *folder);
/* A file for what the interpreter prints; its descriptor. */
int ws__python_log(struct ws_ctx *ctx);
/* ": line" of it, or an empty text. */
void ws__python_last_words(int log, char *out, size_t n);

/*
 * Compares one output as it came from the device with the reference.
 * Explicit: an element fails if |a-r| > atol + rtol*|r|; `ratio` of them must
 * pass. Either: if |a-r| > atol and > rtol*(|r|+1e-8), or it is not finite.
 * Auto: |a-r| <= 2*eps(dtype)*|r| + (8*sqrt(len) + len/8)*eps(acc)*s,
 * where s is the root mean square of the reference (compare.c has the
 * derivation), or `size` if that is larger: 0 where the results themselves
 * tell it; integers must equal the rounded reference. NaN or infinity where
 * the reference has none always fails. `poison`: pattern the buffer was filled
 * with; wrong elements that still hold exactly that pattern count as unwritten
 * and fail whatever the ratio. Fills m; returns 1 equal, 0 not, negative on
 * error.
 */
int ws__compare(struct ws_ctx *ctx, const struct ws__instance *in,
                size_t tensor, const void *got, const double *want, double size,
                uint32_t poison, struct ws__mismatch *m);
/* The same for results of which some are far larger than others, since one
 * term of theirs is: what sums of that size err by is allowed, too. */
int ws__compare_uneven(struct ws_ctx *ctx, const struct ws__instance *in,
                       size_t tensor, const void *got, const double *want,
                       double size, uint32_t poison, struct ws__mismatch *m);
/* Errors are not judged: 1 if every element was written, and is a number (or
 * the reference's infinity, or what overflows in its type) where the reference
 * is one. For families of which ws__family_finite says so. */
int ws__compare_finite(struct ws_ctx *ctx, const struct ws__instance *in,
                       size_t tensor, const void *got, const double *want,
                       double size, uint32_t poison, struct ws__mismatch *m);
/* By another tolerance than the op's. */
int ws__compare_by(struct ws_ctx *ctx, const struct ws__instance *in,
                   const struct ws__tolerance *tol, size_t tensor,
                   const void *got, const double *want, uint32_t poison,
                   struct ws__mismatch *m);
/* Whether that ends as 1 or 0 and no more: stops where it is settled. */
int ws__compare_end(struct ws_ctx *ctx, const struct ws__instance *in,
                    const struct ws__tolerance *tol, size_t tensor,
                    const void *got, const double *want, uint32_t poison);

#endif
