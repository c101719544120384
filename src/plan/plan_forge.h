/* plan_forge.h: private to plan: the workshop of a forge: kernels, their
 * sources and trees, and the moves that they allow. */
#ifndef WS_PLAN_FORGE_H
#define WS_PLAN_FORGE_H

#include "llm/llm.h"
#include "plan/plan.h"
#include "plan/plan_triton.h"
#include "search/forge/forge.h"
#include "xform/xform.h"

#define WS__FORGE_KERNELS 512 /* that a run may make */

/* What a kernel with a guard launches: where `when` holds, what `with` does,
 * which is the kernel itself once a move changed that; else what `without`
 * does, by its launches from `first` on. */
struct ws__forge_guard {
    const struct ws__expr *when; /* NULL: no guard, or a move changed it */
    const struct ws__scope *scope;
    uint32_t with, without;
    size_t first;
};

struct ws__forge_source {
    const char *text; /* of its file; NULL: not read */
    bool parsed;
    struct ws__ast ast;
    struct ws__forge_move *move;
    struct ws__site *site; /* of each move; in Triton: */
    struct ws__triton_places triton;
    size_t nmove;
    struct ws__forge_guard guard;
};

struct ws__workshop {
    struct ws_spec *spec;
    struct ws__measure *m; /* NULL: nothing is run, only explained */
    const struct ws_forge_opts *o;
    struct ws__arena arena;
    char *headers;
    struct ws__triton_helper helper; /* ctx NULL: it was not needed yet */
    struct ws__triton_ready ready;   /* spec NULL: nothing is compiled */
    size_t first;                    /* kernels of the specification itself */
    const char *name;                /* of the kernel that is begun with */
    /* A model that proposes, too; NULL: none. */
    struct ws__llm *model;
    struct ws__llm_meter meter;
    bool model_gone;
    uint32_t failed; /* kernel of the model's last reply if that failed; 0 */
    unsigned replies, profiles; /* so far, from the journal or anew */
    struct ws__journal journal;
    const struct ws__run *run;
    struct ws__buf diagnosis, told; /* words for the prompt */
    struct ws__forge_source source[WS__FORGE_KERNELS];
};

int ws__workshop_open(struct ws_spec *spec, const struct ws_forge_opts *o,
                      struct ws__workshop **out);
void ws__workshop_close(struct ws__workshop *s); /* NULL: no-op */
struct ws__forge_shop ws__workshop_seam(struct ws__workshop *s);
/* The text of a kernel's source file, in the workshop's arena. */
int ws__workshop_text(struct ws__workshop *s, size_t kernel, const char **out);

/* A kernel of the workshop's own making: 0, or as ws__spec_vary and
 * ws__ast_build fail. The text is in the workshop's arena. */
int ws__workshop_new(struct ws__workshop *s, uint32_t of, const char *text,
                     const struct ws__change *change, size_t nchange,
                     size_t *out);
/* The name of the next one; what it takes to use one that spec has made, whose
 * source is the text; what a kernel file, clang or the helper for Triton
 * refuses of a kernel is an answer, 0 and why, the rest stays an error. */
#define WS__WORKSHOP_NAME 256
void ws__workshop_name(const struct ws__workshop *s,
                       char name[WS__WORKSHOP_NAME]);
int ws__workshop_enter(struct ws__workshop *s, size_t kernel, const char *text);
int ws__workshop_refused(struct ws__workshop *s, size_t kernel, int rc,
                         char why[512]);

/* plan_guard.c: as a forge's shop has it. */
int ws__workshop_guard(void *self, const struct ws__candidate *with,
                       const struct ws__candidate *without,
                       const struct ws__forge_row *row, uint32_t *out,
                       const char **words, char why[512]);
/* As a forge's shop has it. */
bool ws__workshop_same(void *self, const struct ws__candidate *a,
                       const struct ws__candidate *b, uint32_t workload);
/* A kernel that was made from another one by a move has its guard, unless the
 * move changed what is launched where the condition does not hold. */
void ws__workshop_inherit(struct ws__workshop *s, size_t from, size_t to);
/* A condition on the shape that holds where a row wins and not where one
 * loses; NULL: none. In the arena. */
const char *ws__guard_condition(struct ws__arena *a, const struct ws__op *op,
                                const struct ws__workload *w,
                                const struct ws__forge_row *row, size_t n);

/* plan_forge_facts.c: what is known of the candidate of an ok trial on the
 * first workload, and the floor of every workload (0: not known; ws__free),
 * from the journal or from a profile made now. Facts follow each other in a run
 * that is continued as they did when it was begun. */
int ws__workshop_facts(struct ws__workshop *s, const struct ws__trial *t,
                       double fact[WS__NFACT], double **floor_ns);

/* As ws__measure_opts.ready; of a workshop. */
int ws__workshop_ready(void *self, const struct ws__kernel *k,
                       const union wsrt_value *vars);

/* plan_workshop_triton.c: the same as for C: the places of a source, moves made
 * of them, and the text and changes of one. The texts are in the workshop's
 * arena. */
int ws__workshop_triton_parse(struct ws__workshop *s, size_t kernel);
int ws__workshop_triton_moves(struct ws__workshop *s, size_t kernel);
int ws__workshop_triton_apply(struct ws__workshop *s, size_t kernel,
                              const struct ws__forge_move *m,
                              struct ws__triton_edited *out);

/* plan_forge_model.c: asks the model for a kernel made from this one: 1; 0:
 * nothing came of it, and why. */
int ws__workshop_ask(struct ws__workshop *s, uint32_t kernel, uint32_t *out,
                     char why[512]);
/* How a move ended, for the next prompt. */
void ws__workshop_hear(struct ws__workshop *s, const struct ws__forge_step *x);

/* plan_diff.c: two texts as a unified diff, three lines around each change;
 * empty if they are the same. Freed by ws__free. */
int ws__plan_diff(struct ws_ctx *ctx, const char *name, const char *before,
                  const char *after, char **out);

#endif
