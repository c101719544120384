/* plan_forge.h: private to plan: the workshop of a forge: kernels, their
 * sources and trees, and the moves that they allow. */
#ifndef WS_PLAN_FORGE_H
#define WS_PLAN_FORGE_H

#include "plan/plan.h"
#include "search/forge/forge.h"
#include "xform/xform.h"

#define WS__FORGE_KERNELS 512 /* that a run may make */

struct ws__forge_source {
    const char *text; /* of its file; NULL: not read */
    bool parsed;
    struct ws__ast ast;
    struct ws__forge_move *move;
    struct ws__site *site; /* of each move */
    size_t nmove;
};

struct ws__workshop {
    struct ws_spec *spec;
    struct ws__measure *m; /* NULL: nothing is run, only explained */
    const struct ws_forge_opts *o;
    struct ws__arena arena;
    char *headers;
    size_t first; /* kernels of the specification itself */
    struct ws__forge_source source[WS__FORGE_KERNELS];
};

int ws__workshop_open(struct ws_spec *spec, const struct ws_forge_opts *o,
                      struct ws__workshop **out);
void ws__workshop_close(struct ws__workshop *s); /* NULL: no-op */
struct ws__forge_shop ws__workshop_seam(struct ws__workshop *s);
/* The text of a kernel's source file, in the workshop's arena. */
int ws__workshop_text(struct ws__workshop *s, size_t kernel, const char **out);

/* plan_diff.c: two texts as a unified diff, three lines around each change.
 * Freed by ws__free. */
int ws__plan_diff(struct ws_ctx *ctx, const char *name, const char *before,
                  const char *after, char **out);

#endif
