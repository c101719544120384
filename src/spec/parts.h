/*
 * parts.h: the readers of the parts of a specification, private to spec.
 */
#ifndef WS_SPEC_PARTS_H
#define WS_SPEC_PARTS_H

#include "core/kernel.h"
#include "spec/node.h"
#include "spec/spec.h"

/* What every reader needs. */
struct ws__load {
    struct ws_ctx *ctx;
    struct ws__arena *arena;
    const char *share_dir; /* of the options; NULL: ask when needed */
    const struct ws__node *trusted_tree; /* of the op's trusted kernel */
    bool no_files;                       /* the texts must hold everything */
    bool varied;     /* the source is a text that lies where the kernel says */
    bool op_outline; /* see spec.h */
    bool uncompiled; /* see spec.h */
    const struct ws__spec_files *files; /* then: the ready-made ones */
    size_t kernel;                      /* that is read, by index */
    /* Inputs that a generator fills because their files are missing: how many,
     * and the first. */
    size_t generated;
    struct ws__loc generated_at;
    const char *generated_file;
};

/* The shipped op that computes a Definition. */
struct ws__match {
    const struct ws__node *tree; /* in the Definition's names; NULL: none */
    const char *op, *dir;        /* name of the shipped op, its folder */
    /* Keys of a kernel that is written for it; NULL: not needed. */
    const struct ws__node *names, *variable;
};

/* struct ws__spec and what only this folder needs of it. */
struct ws__spec_full {
    struct ws__spec pub; /* first */
    const struct ws__node *op_tree;
    const struct ws__node **kernel_tree; /* one a kernel */
    size_t room;                         /* kernels; 0: as many as there are */
    struct ws__match match;
};

/* spec_op.c: the op but its workloads. file and dir are kept. */
int ws__load_op(struct ws__load *l, const struct ws__node *root,
                const char *file, const char *dir, struct ws__op **out);

/* The scope of an op's expressions: its axes and constants. */
int ws__load_op_scope(struct ws__load *l, struct ws__op *op,
                      struct ws__scope *out);
int ws__load_fill(struct ws__load *l, const struct ws__node *n,
                  struct ws__fill *f);
/* spec_reference.c: the value of `reference`. */
int ws__load_reference(struct ws__load *l, const struct ws__node *n,
                       struct ws__op *op);
/* The op's tree with the content of its reference instead of files. */
int ws__reference_inline(struct ws__load *l, const struct ws__op *op,
                         const struct ws__node *root,
                         const struct ws__node **out);
/* Is this kernel file the op's reference? 1 or 0. */
int ws__load_is_trusted(struct ws__load *l, const struct ws__op *op,
                        const char *file);

/* spec_workload.c */
int ws__load_workload_list(struct ws__load *l, const struct ws__op *op,
                           const struct ws__node *list,
                           struct ws__workload **out, size_t *n);
/* A file: a list, or JSON lines. `dir` not NULL: must lie inside it. */
int ws__load_workload_file(struct ws__load *l, const struct ws__op *op,
                           const char *dir, const char *path,
                           struct ws__workload **out, size_t *n);
int ws__load_workload_text(struct ws__load *l, const struct ws__op *op,
                           const char *text, struct ws__workload *out);
/* A map of axis values; the axes in `given` have one already. */
int ws__load_axis_values(struct ws__load *l, const struct ws__op *op,
                         const struct ws__node *map, struct ws__workload *w,
                         uint32_t *given);

/* spec_input.c: what a workload says of its inputs. */
int ws__load_inputs(struct ws__load *l, const struct ws__op *op,
                    const struct ws__node *map, struct ws__workload *w);
/* The entry of the input that n's key names; all are made if none is. */
int ws__load_input(struct ws__load *l, const struct ws__op *op,
                   const struct ws__node *n, struct ws__workload *w,
                   struct ws__input **out);
/* The tensor `key` of the file `path` inside of dir. WS_ENOENT: there is no
 * such file; the place is left to the caller. */
int ws__load_input_file(struct ws__load *l, const struct ws__node *at,
                        const char *dir, const char *path, const char *key,
                        struct ws__input *x);
/* Files must hold what the workload needs. */
int ws__load_check_inputs(struct ws__load *l, const struct ws__instance *in,
                          const struct ws__workload *w);

/* spec_flashinfer.c: trees of our own making. NULL to add to is passed on, so
 * that a chain is checked once; `at` lends its place. */
struct ws__node *ws__tree_new(struct ws__load *l, enum ws__node_kind kind,
                              const char *key, const char *text,
                              const struct ws__node *at);
struct ws__node *ws__tree_add(struct ws__load *l, struct ws__node *to,
                              enum ws__node_kind kind, const char *key,
                              const char *text, const struct ws__node *at);
void ws__tree_append(struct ws__node *to, struct ws__node *n);
/* A Definition as the tree of an op. */
bool ws__load_is_definition(const struct ws__node *root);
int ws__load_definition(struct ws__load *l, const struct ws__node *root,
                        const struct ws__node **out);
/* A line of a list of workloads: everything but the check at the end. */
bool ws__load_is_trace(const struct ws__node *n);
int ws__load_trace(struct ws__load *l, const struct ws__op *op,
                   const struct ws__node *line, struct ws__workload *w,
                   uint32_t *given);
/* Warns, once for all lines, of inputs that a generator fills. */
void ws__load_trace_note(struct ws__load *l);

/* spec_match.c: looks for a shipped op that declares the Definition (here as
 * an op) and computes it. */
int ws__load_match(struct ws__load *l, const struct ws__op *definition,
                   struct ws__match *out);

/* spec_kernel.c. `source`: instead of the file that the kernel names; NULL:
 * read that. */
int ws__load_kernel(struct ws__load *l, const struct ws__node *root,
                    const struct ws__op *op, const char *file, const char *dir,
                    const char *source, struct ws__kernel *out);
/* spec_space.c: parameters and constraints. */
int ws__load_params(struct ws__load *l, const struct ws__node *map,
                    struct ws__kernel *k);
int ws__load_constraints(struct ws__load *l, const struct ws__node *list,
                         struct ws__kernel *k);
/* The default must keep the constraints on parameters alone. */
int ws__load_check_default(struct ws__load *l, struct ws__kernel *k);
int ws__load_constraint(struct ws__load *l, const struct ws__node *text,
                        const char *about, bool prune, struct ws__kernel *k);
/* A list, or a list expression: distinct values of one type, as slots too. */
int ws__load_values(struct ws__load *l, const struct ws__kernel *k,
                    const struct ws__node *n, struct ws__param *p);
/* False: v is none of p's values. */
bool ws__load_default(const struct ws__value *v, struct ws__param *p);
/* The scope of a kernel: axes, parameters, device variables. */
int ws__load_kernel_scope(struct ws__load *l, struct ws__kernel *k,
                          struct ws__strtab *strings);
/* spec_pattern.c: the entry of a launch, and ready-made files. */
int ws__load_entry(struct ws__load *l, const struct ws__node *n,
                   const struct ws__kernel *k, struct ws__launch *out);
int ws__load_ready(struct ws__load *l, const struct ws__node *at,
                   struct ws__kernel *k);

/* The content of a ready-made file below the kernel's folder, or of the parts;
 * NULL *data: it is not there. */
int ws__load_ready_file(struct ws__load *l, const struct ws__node *at,
                        const char *dir, const char *name, void **data,
                        size_t *bytes);

/* spec_triton.c: what the launches of a kernel in Triton have of their own, and
 * the folder of compiled files. */
int ws__load_triton_keys(struct ws__load *l, const struct ws__node *launch);
int ws__load_triton_launch(struct ws__load *l, const struct ws__node *n,
                           const struct ws__kernel *k, struct ws__launch *out);
int ws__load_triton_args(struct ws__load *l, const struct ws__node *args,
                         const struct ws__kernel *k, struct ws__launch *out);
int ws__load_triton(struct ws__load *l, const struct ws__node *at,
                    const char *source, struct ws__kernel *k);

/* spec_wave.c: map may be NULL; launches are read. */
int ws__load_wave(struct ws__load *l, const struct ws__node *n,
                  struct ws__kernel *k);
/* spec_launch.c: scratch, launches. */
int ws__load_scratch(struct ws__load *l, const struct ws__node *map,
                     struct ws__kernel *k);
int ws__load_launches(struct ws__load *l, const struct ws__node *list,
                      struct ws__kernel *k);
/* Does a launch or a scratch buffer depend on this slot? */
bool ws__load_plan_uses(const struct ws__kernel *k, size_t slot);

/* spec_source.c: the file `name` inside `dir` with all includes of ours
 * resolved. `at`: the node that names it. */
int ws__load_source(struct ws__load *l, const struct ws__node *at,
                    const char *dir, const struct ws__node *includes,
                    enum ws__dialect dialect, const char **source,
                    const char **source_file);

/* The same for a text at hand; `path` says where it would lie. With no_files
 * it may include nothing. includes may be NULL. */
int ws__load_source_text(struct ws__load *l, const char *dir, const char *path,
                         const struct ws__node *includes,
                         enum ws__dialect dialect, const char *text,
                         const char **source);

/* spec_header.c: may CUDA C include <name>? */
bool ws__load_is_header(const char *name);

/* spec_t1.c */
int ws__load_t1(struct ws__load *l, const struct ws__node *root,
                const char *file, const char *dir, struct ws__kernel *out);

/* spec_hash.c */
struct ws__hash ws__op_meaning(const struct ws__op *op);
struct ws__hash ws__kernel_meaning(const struct ws__kernel *k);
struct ws__hash ws__spec_meaning(const struct ws__spec *s);

/* load_path.c: paths in the arena; reading. */
char *ws__load_join(struct ws__load *l, const char *dir, const char *name);
char *ws__load_dir(struct ws__load *l, const char *path);
/* Reads and parses a file; the text is in the arena. */
int ws__load_tree(struct ws__load *l, const char *path,
                  const struct ws__node **out);
int ws__load_share_dir(struct ws__load *l, const char **out);
/* op.yaml, op.yml or op.json in dir: its path, or NULL if there is none.
 * Failure of memory shows as WS_ENOMEM. */
int ws__load_find_op(struct ws__load *l, const char *dir, const char **out);
/* The file beside `path` with the nearest name; empty if none is near. */
void ws__load_nearest_file(struct ws__load *l, const char *path, char *name,
                           size_t n);
/* The kernel files of dir/kernels, sorted. */
int ws__load_list_kernels(struct ws__load *l, const char *dir,
                          const char ***out, size_t *n);

#endif
