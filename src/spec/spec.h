/*
 * spec.h: specifications in and out.
 *
 * A specification owns all that it points to (an arena), and is constant once
 * loaded but for ws__spec_workloads: any thread may read it, one at a time may
 * call functions on it, for they use its context. Functions return 0 or a
 * negative WS_E* with the details in the context; *out is NULL then.
 *
 * ws__spec_load accepts a kernel file, an op folder (op.yaml and all kernels
 * beside it in kernels/), an op file, a T1 file, or a Definition of
 * flashinfer-bench (with the kernels of the shipped op that computes it); YAML
 * and JSON alike. Every
 * error carries file, line, column, the offending text and what would be
 * right. docs/specification.md is the reference of the formats.
 */
#ifndef WS_SPEC_H
#define WS_SPEC_H

#include "core/idea.h"

enum ws__spec_kind { WS__SPEC_OP, WS__SPEC_KERNEL, WS__SPEC_T1 };

struct ws__spec {
    struct ws_ctx *ctx;
    enum ws__spec_kind kind;
    const char *path, *dir;    /* dir: where .wavesmith lies */
    bool definition;           /* the op was a Definition of flashinfer-bench */
    struct ws__op *op;         /* NULL for T1 */
    struct ws__kernel *kernel; /* array */
    size_t nkernel;
    struct ws__workload *workload; /* the op's, or those of the file given */
    size_t nworkload;
    struct ws__hash hash; /* op, kernels, workloads */
    struct ws__arena arena;
};

/* triton_index.c: the files that the text of an index.json lists, sorted by
 * key; of those without `failed` name, bytes and hash (0: not said) are set,
 * but no data. `file` names the text in errors. */
struct ws__triton_index {
    const char *version, *target;
    struct ws__source_file *file;
    size_t n;
};
int ws__triton_index_read(struct ws_ctx *ctx, struct ws__arena *arena,
                          const char *text, size_t len, const char *file,
                          struct ws__triton_index *out);

struct ws__spec_opts {
    const char *workloads; /* file, or NULL: those of the op */
    const char *share_dir; /* of shipped ops; NULL: ws__share_dir */
    /* Kernel files for an op, instead of those of its folder. */
    const char *const *kernels;
    size_t nkernels;
    /* Only what an op takes and gives: its reference, tolerance and workloads
     * are left out, so they may be unfinished. */
    bool op_outline;
    /* Kernels in Triton come without what was compiled of them. */
    bool uncompiled;
};

/* opts may be NULL. Errors: WS_ENOENT, WS_EPARSE (no YAML), WS_ESPEC, WS_EEXPR
 * (an expression), WS_ESPEC (a file outside of its folder), WS_ELIMIT. */
int ws__spec_load(struct ws_ctx *ctx, const char *path,
                  const struct ws__spec_opts *opts, struct ws__spec **out);
/* From texts, as ws__spec_to_text made them and a pack carries them: kernel i
 * is kernel_text[i] with source[i], whose includes are resolved already (NULL:
 * an empty one). op_text NULL: one T1 file. Nothing is kept of the texts;
 * errors call them "op", "kernel:0", "kernel:1", ... */
int ws__spec_from_text(struct ws_ctx *ctx, const char *op_text,
                       const char *const *kernel_text,
                       const char *const *source, size_t nkernel,
                       struct ws__spec **out);
/* The same with ready-made files: find gives the content (with a NUL behind
 * it) of a kernel's file, or NULL. */
struct ws__spec_files {
    const void *(*find)(void *user, size_t kernel, const char *name,
                        size_t *bytes);
    void *user;
};
int ws__spec_from_parts(struct ws_ctx *ctx, const char *op_text,
                        const char *const *kernel_text,
                        const char *const *source, size_t nkernel,
                        const struct ws__spec_files *files,
                        struct ws__spec **out);
void ws__spec_free(struct ws__spec *s); /* NULL is fine */

/* "M=16,N=4096" for the op's axes; missing var axes are an error that lists
 * them, missing type axes take their default. In the spec's arena. */
int ws__spec_workload(struct ws__spec *s, const char *text,
                      struct ws__workload *out);
/* Replaces the workloads by those of a file (YAML, JSON, or JSON lines). */
int ws__spec_workloads(struct ws__spec *s, const char *file);

/* The ideas for kernels of the op, from strategies.yaml beside its file (text
 * NULL) or from a text; *out NULL: there is no such file. What is said of
 * kernels that the specification does not have is left out. In the spec's
 * arena. docs/specification.md has the format. */
int ws__spec_catalogue(struct ws__spec *s, const char *text,
                       const struct ws__catalogue **out);

/* Where what Triton made of a kernel lies: <kernel file>.triton/<target>;
 * target NULL: the folder of all targets. NULL: no memory. */
char *ws__triton_folder(struct ws__arena *arena, const struct ws__kernel *k,
                        const char *target);

/* Kernels made from others. Makes room for so many more; pointers to kernels
 * are no longer good then, and stay good afterwards. */
int ws__spec_reserve(struct ws__spec *s, size_t more);
/* One more kernel: kernel `of` by another name, changed (core/change.h), and
 * with another text of its source file (NULL: the same). Its includes are
 * looked for as those of the file are. *out: its number. The specification's
 * hash stays. Errors as those of a kernel file; nothing is added then. */
struct ws__change;
int ws__spec_vary(struct ws__spec *s, size_t of, const char *name,
                  const struct ws__change *change, size_t nchange,
                  const char *text, size_t *out);
/* One more kernel: `with` where the condition holds, else the launches of
 * `without`; what only `without` has is lost but its launches, so that it must
 * be what `with` was made from. Entries of `without` are renamed where a pair
 * says so; `text` has the functions of both. Else as ws__spec_vary. */
struct ws__renamed {
    const char *from, *to;
};
int ws__spec_guard(struct ws__spec *s, size_t with, size_t without,
                   const char *when, const struct ws__renamed *renamed,
                   size_t nrenamed, const char *name, const char *text,
                   size_t *out);
/* What is known of a kernel and its op, as one map in JSON: the trees of the
 * kernel file (`launches`, `parameters`, `constraints`, `scratch`) and of the
 * op
 * (`axes`, `constants`, `inputs`, `inouts`, `outputs`). WS_ESPEC: the kernel
 * has names of its own for what is of the op. Freed by ws__free. */
int ws__spec_facts(struct ws__spec *s, size_t kernel, char **out);
/* The text of a kernel's file, the op named by `op`, the defaults those of the
 * config (NULL: as they were). Freed by ws__free. */
int ws__spec_kernel_file(struct ws__spec *s, size_t kernel, const char *op,
                         const struct ws__config *c, char **out);

/* The self-contained texts that a pack carries for kernel i; *op_text is NULL
 * for a T1 file. Freed by ws__free. */
int ws__spec_to_text(struct ws__spec *s, size_t kernel, char **op_text,
                     char **kernel_text);

#endif
