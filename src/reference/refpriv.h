/* refpriv.h: what the files of this folder share and nobody else sees. */
#ifndef WS_REFPRIV_H
#define WS_REFPRIV_H

#include "reference/reference.h"

#define WS__REF_MAX_THREADS 256u

/* 0: the processors that are online; else `wanted`, within reason. */
unsigned ws__reference_threads(unsigned wanted);

/* The tile that TIES and SPIKES go by, in elements of memory. */
#define WS__STRETCH 64u

/* A family of values of one tensor. */
struct ws__twist {
    enum ws__family family;
    double size;       /* HUGE, SPIKES, DENORMAL, ONE_SIDED: ws__family_size */
    uint64_t elements; /* of the buffer */
    bool below;        /* ONE_SIDED: below zero, not above */
};

/* Fills elements [begin, end) of a buffer of type t by a rule; begin is a
 * multiple of WS__FILL_BLOCK. Any split gives the same bytes. twist NULL:
 * plain values. */
#define WS__FILL_BLOCK 1024u
void ws__fill_run(const struct ws__fill *rule, enum ws__dtype t, uint64_t seed,
                  const struct ws__twist *twist, void *data, uint64_t begin,
                  uint64_t end);
/* Root mean square of what a rule draws, and its largest magnitude. */
double ws__fill_rms(const struct ws__fill *rule);
double ws__fill_peak(const struct ws__fill *rule);

/* May a family change this tensor? */
bool ws__family_changes(const struct ws__instance *in, size_t tensor);
/* Is it one that ONE_SIDED puts below zero? */
bool ws__family_below(const struct ws__instance *in, size_t tensor);
/* How large, in what unit family_size.c says, values of a family are; 0: the
 * family has no size. */
double ws__family_size(const struct ws__instance *in, enum ws__family f,
                       size_t tensor);

/* --- mistakes (mistakes.c) ------------------------------------------------ */

/* One output: what is right, and what mistakes are made from. */
struct ws__right {
    struct ws_ctx *ctx;
    const struct ws__instance *in;
    size_t tensor;
    const double *v;   /* what is right: dense */
    const double *old; /* of another seed, or NULL */
    void *got;         /* room for the output as a kernel writes it */
    /* Made by the mistake at hand. */
    double mean, *means;
    size_t dim;     /* along which */
    uint64_t inner; /* elements of the dimensions after it */
    uint64_t one;   /* the element that is wrong */
    unsigned bits;
    int failed;
};
/* How a mistake ended. */
enum ws__mistake_end {
    WS__MISTAKE_NONE = -1, /* it is none here */
    WS__MISTAKE_PASSES,
    WS__MISTAKE_REJECTED
};
struct ws__mistaken {
    const char *name; /* "all zero" */
    enum ws__mistake_end end;
    const char *why;              /* NONE: why not; "": not worth telling */
    double share;                 /* worst error in units of what is allowed */
    bool rejected[WS__NRULES];    /* by the rules of others */
    struct ws__mismatch mismatch; /* by the op's rule */
};
size_t ws__mistakes(void); /* how many there are */
/* Those that every run can afford come first. */
size_t ws__mistakes_cheap(void);
/* How much is asked of a judgement. */
enum ws__judging {
    WS__JUDGE_END,   /* `end` alone */
    WS__JUDGE_SHARE, /* the share and the mismatch, too */
    WS__JUDGE_ALL    /* by the rules of others as well */
};
/* Makes mistake `which` and judges it. */
int ws__mistake(struct ws__right *r, size_t which, enum ws__judging how,
                struct ws__mistaken *out);
/* Judges one output as it stands in r->got. */
int ws__judge_output(const struct ws__right *r, enum ws__judging how,
                     struct ws__mistaken *out);
/* As a kernel would write v, in the output's type and strides; NaN stands for
 * an element that is not written. */
int ws__write_result(struct ws_ctx *ctx, const struct ws__tensor_shape *s,
                     const double *v, void *to);
/* 1 if v, as a kernel would write it, differs from what is right. */
int ws__stored_differ(const struct ws__right *r, const double *v);
/* Significant bits of a type, of the next narrower one, and x rounded. */
unsigned ws__lower_bits(enum ws__dtype t);
double ws__round_bits(double x, unsigned bits);
/* Why rounding to so many bits is no mistake under the op's tolerance; NULL:
 * it is one. */
const char *ws__bits_declared(const struct ws__instance *in, unsigned bits);
/* What to change when a mistake passes. */
void ws__advise(const struct ws__instance *in, const struct ws__mismatch *m,
                char out[256]);

/* --- the audit (audit.c, audit_inputs.c, audit_sound.c) ------------------- */

struct ws__auditing {
    struct ws_ctx *ctx;
    const struct ws__instance *in;
    const struct ws__audit *a;
    struct ws__problem *p, *other; /* of the seed, of another one */
    double *right[WS__MAX_TENSORS];
    void *got[WS__MAX_TENSORS]; /* room for each output */
};
int ws__audit_tell(const struct ws__auditing *x,
                   const struct ws__audit_line *line);
/* The plain inputs of the seed, into x->p. */
int ws__audit_refill(const struct ws__auditing *x);
struct ws__right ws__audit_output(const struct ws__auditing *x, size_t t,
                                  const double *right, const double *old);
/* Judges x->p's results as those of a kernel: the end into the line. */
int ws__audit_judge(const struct ws__auditing *x, struct ws__audit_line *line,
                    char advice[256]);
/* NULL, or why nobody can be judged by these results, and of which output. */
const char *ws__audit_unsound(const struct ws__auditing *x,
                              const double *const *v, size_t *which);
/* Lines of the reference; runs it on x->other. fit: mistakes may be tried. */
int ws__audit_sound(const struct ws__auditing *x, bool *fit);
/* Lines of changed inputs. Leaves the plain ones. */
int ws__audit_inputs(const struct ws__auditing *x);

/* Messages of a reference worker, after the hello. MAP_*: {u64 bytes} and a
 * descriptor; the area replaces the one before. CALL: see refcall.c. DONE:
 * {u32 -code, str message, str hint}. Python alone: START and SETUP, see
 * pyref.c; DONE answers SETUP. */
enum {
    WS__REF_MAP_INPUTS = 100,
    WS__REF_MAP_RESULTS,
    WS__REF_CALL,
    WS__REF_DONE,
    WS__REF_PYTHON,
    WS__REF_SETUP
};

enum ws__ref_what { WS__REF_RUN, WS__REF_GENERATE, WS__REF_MUTANT };

/* One call as it travels: everything a native reference needs to know. */
struct ws__ref_request {
    const char *name;
    enum ws__ref_what what;
    uint32_t which, threads;
    uint64_t seed;
    size_t naxis, ntensor;
    int64_t axis[WS__MAX_AXES];
    struct ws__ref_tensor tensor[WS__MAX_TENSORS]; /* pointers NULL */
    /* Where they lie in the two areas; UINT64_MAX: nowhere. */
    uint64_t input_at[WS__MAX_TENSORS], result_at[WS__MAX_TENSORS];
    bool generate[WS__MAX_TENSORS];
    size_t nconstant;
    struct ws__ref_constant constant[WS__MAX_CONSTANTS];
};
#define WS__REF_NOWHERE UINT64_MAX

/* Fills in what a problem knows: name, seed, axes, tensors, places. */
void ws__ref_request_fill(const struct ws__problem *p,
                          struct ws__ref_request *q);
/* Lets the worker fill the inputs marked native. r NULL: WS_EREFERENCE. */
int ws__reference_generate(struct ws__reference *r, struct ws__problem *p);

/* Worker: the answer to a call that ended with rc. */
int ws__ref_answer(struct ws_ctx *ctx, int sock, int rc);

/* pyref.c */
/* Before a call: no results; after it: WS_EREFERENCE if any is missing or NaN.
 * Code of a user that speaks on our socket itself deceives nobody with old
 * ones. */
void ws__python_forget(struct ws__problem *p);
int ws__python_complete(const struct ws__problem *p);
/* Starts the worker and sends all it needs; its answer is still to come. */
int ws__python_start(struct ws_ctx *ctx, const struct ws__op *op,
                     unsigned threads, uint64_t timeout_ns, int log,
                     struct ws__proc *proc);

void ws__ref_request_put(struct ws__buf *b, const struct ws__ref_request *q);
/* Checks all counts and that every tensor lies inside its area. WS_EPROTO. */
int ws__ref_request_get(struct ws_ctx *ctx, const void *data, size_t n,
                        size_t input_bytes, size_t result_bytes,
                        struct ws__ref_request *out);

#endif
