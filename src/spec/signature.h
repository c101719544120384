/*
 * signature.h: what can be read from a kernel's source without a compiler.
 *
 * For drafts of specifications only: which functions a host can launch, what
 * they take, and which names somebody else has to define. The reader knows
 * the words of OpenCL C, CUDA C++ and our dialect header, and neither
 * evaluates #if nor looks up types: what it does not understand it says, in
 * words, instead of guessing.
 */
#ifndef WS_SIGNATURE_H
#define WS_SIGNATURE_H

#include "base/mem.h"
#include "core/dtype.h"

#define WS__SIG_MAX_ENTRIES 64
#define WS__SIG_MAX_ARGS 64
#define WS__SIG_MAX_MACROS 64

enum ws__sig_kind {
    WS__SIG_UNREAD,  /* see trouble */
    WS__SIG_POINTER, /* to device memory */
    WS__SIG_SHARED,  /* OpenCL local memory */
    WS__SIG_SCALAR
};

struct ws__sig_arg {
    const char *name; /* NULL: it has none */
    const char *type; /* as written */
    enum ws__sig_kind kind;
    enum ws__dtype dtype; /* of an element; NONE: see trouble */
    unsigned width;       /* elements of a vector type, else 1 */
    bool constant;        /* data behind a pointer is only read */
    bool is_unsigned;     /* and dtype the signed type of that size */
    const char *tparam;   /* the template's parameter that is its type */
    const char *trouble;  /* what was not understood; NULL: nothing */
};

struct ws__sig_entry {
    const char *name;
    uint32_t line; /* in the file that was given */
    struct ws__sig_arg arg[WS__SIG_MAX_ARGS];
    size_t narg;
    int64_t block[3]; /* declared as needed; 0: not declared */
    /* The same where it has names: numbers or single names. NULL: it has not */
    const char *block_text[3];
    const char *bounds;     /* words of __launch_bounds__, or NULL */
    const char *tparam[16]; /* names of a template's parameters */
    bool tparam_type[16];   /* it is a type */
    size_t ntparam;
    bool defined; /* has a body here */
};

struct ws__sig_macro {
    const char *name;
    uint32_t line;     /* of its first use */
    const char *value; /* that the source gives it if nobody does, or NULL */
    bool by_ifdef;     /* asked for by #ifdef: only whether it is defined */
};

struct ws__signature {
    struct ws__sig_entry *entry;
    size_t nentry;
    struct ws__sig_macro *macro; /* in the order of their first use */
    size_t nmacro;
    const char *note[16]; /* what was left out and why */
    size_t nnote;
    bool dynamic_shared; /* "extern __shared__": a launch says how much */
};

/* `text` may have #line directives: what lies in the file `skip` (NULL: none)
 * is read but not reported. Everything lives in the arena. Bad text is no
 * error: WS_ENOMEM, WS_ECANCEL. */
int ws__signature_read(struct ws_ctx *ctx, struct ws__arena *arena,
                       const char *text, const char *skip,
                       struct ws__signature *out);

/* A type in a driver's words, as "float*" or "uint". */
int ws__sig_read_type(struct ws_ctx *ctx, struct ws__arena *arena,
                      const char *type, struct ws__sig_arg *out);
#endif
