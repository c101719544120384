/*
 * plan_workshop_triton.c: what the helper for Triton says of a source, as the
 * moves of a forge.
 */
#include "plan/plan_forge.h"

#include "base/banned.h"

/* It is started when the first source in Triton is looked at. */
static int open_helper(struct ws__workshop *s)
{
    int rc;

    if (s->helper.ctx)
        return 0;
    rc = ws__triton_helper_open(s->spec->ctx, &s->arena, 0, &s->helper);
    if (rc < 0)
        s->helper.ctx = NULL;
    return rc;
}

int ws__workshop_triton_parse(struct ws__workshop *s, size_t kernel)
{
    struct ws__forge_source *f = &s->source[kernel];
    const char *text;
    char *facts;
    int rc;

    WS_TRY(open_helper(s));
    WS_TRY(ws__workshop_text(s, kernel, &text));
    WS_TRY(ws__spec_facts(s->spec->s, kernel, &facts));
    rc = ws__triton_find(&s->helper, text, facts, &f->triton);
    ws__free(s->spec->ctx, facts);
    return rc < 0 ? ws__error_prefix(s->spec->ctx, "'%s'",
                                     s->spec->s->kernel[kernel].source_file)
                  : 0;
}

int ws__workshop_triton_moves(struct ws__workshop *s, size_t kernel)
{
    struct ws__forge_source *f = &s->source[kernel];
    size_t n = f->triton.n;

    f->move = ws__arena_alloc(&s->arena, n + 1, sizeof(*f->move));
    if (!f->move)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct ws__triton_place *p = &f->triton.place[i];

        f->move[i] = (struct ws__forge_move){.name = p->rule->name,
                                             .words = p->words,
                                             .needs = p->rule->needs,
                                             .refused = p->refused,
                                             .trust = p->trust,
                                             .finding = p->rule->finding,
                                             .gain = p->rule->gain,
                                             .want = p->rule->want,
                                             .rounding = p->rule->rounding,
                                             .site = i};
    }
    f->nmove = n;
    return 0;
}

int ws__workshop_triton_apply(struct ws__workshop *s, size_t kernel,
                              const struct ws__forge_move *m,
                              struct ws__triton_edited *out)
{
    const struct ws__triton_place *p = &s->source[kernel].triton.place[m->site];
    const char *text;
    char *facts;
    int rc;

    WS_TRY(ws__workshop_text(s, kernel, &text));
    WS_TRY(ws__spec_facts(s->spec->s, kernel, &facts));
    rc = ws__triton_apply(&s->helper, text, facts, p->site, out);
    ws__free(s->spec->ctx, facts);
    return rc;
}
