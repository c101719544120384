/*
 * plan_forge_facts.c: what is known of a candidate of a forge, for its
 * diagnosis. A profile differs a little from time to time, and moves are ranked
 * by what it says: a run that is continued must be told the same again, so the
 * facts are kept in its journal.
 */
#include "plan/plan_forge.h"
#include "plan/plan_profile.h"

#include "base/banned.h"

#define MAX_TEXT ((size_t)64 << 10)

#define FLOOR "floor of workload"

static int print_facts(struct ws_ctx *ctx, const double fact[WS__NFACT],
                       const double *floor_ns, size_t nworkload, char **out)
{
    struct ws__buf b;

    ws__buf_init(&b, ctx, MAX_TEXT);
    ws__buf_puts(&b, "# fact, value\n");
    for (int i = 0; i < WS__NFACT; i++)
        if (!__builtin_isnan(fact[i]))
            ws__buf_printf(&b, "%s %.17g\n", ws__fact_key((enum ws__fact)i),
                           fact[i]);
    for (size_t w = 0; w < nworkload; w++)
        ws__buf_printf(&b, FLOOR " %zu %.17g\n", w, floor_ns[w]);
    if (b.failed) {
        int rc = b.failed;

        ws__buf_free(&b);
        return rc;
    }
    *out = ws__buf_take(&b);
    return 0;
}

/* A line that is no fact of ours is passed over. */
static void read_facts(const char *text, double fact[WS__NFACT],
                       double *floor_ns, size_t nworkload)
{
    char key[64];
    double value;
    size_t w;

    for (int i = 0; i < WS__NFACT; i++)
        fact[i] = __builtin_nan("");
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        enum ws__fact f;

        if (sscanf(text, FLOOR " %zu %lf", &w, &value) == 2 && w < nworkload)
            floor_ns[w] = value;
        if (sscanf(text, "%63s %lf", key, &value) != 2)
            continue;
        f = ws__fact_find(key);
        if (f != WS__NFACT)
            fact[f] = value;
    }
}

static int profile(struct ws__workshop *s, const struct ws__trial *t,
                   double fact[WS__NFACT], double *floor_ns)
{
    const struct ws__spec *spec = s->spec->s;
    const struct ws_profile_opts o = {.set = "full"};
    struct ws__profiling *p = ws__alloc(s->spec->ctx, 1, sizeof(*p));
    int rc;

    if (!p)
        return WS_ENOMEM;
    *p = (struct ws__profiling){.spec = s->spec,
                                .o = &o,
                                .m = s->m,
                                .device = ws__measure_device(s->m),
                                .c = t->candidate,
                                .one_size = true,
                                .scaled_axis = -1,
                                .counters = "none"};
    p->scaled_ns = p->fixed_ns = __builtin_nan("");
    p->w[0] = s->spec->s->workload[0];
    p->t = *t;
    rc = ws__instance_make(s->spec->ctx, s->spec->s->op, &p->w[0], &p->in);
    if (rc >= 0)
        rc = ws__profile_right(p);
    for (size_t w = 0; rc >= 0 && w < spec->nworkload; w++)
        rc = ws__profile_floor(p, &spec->workload[w], &floor_ns[w]);
    if (rc >= 0)
        ws__profile_facts(p, fact);
    ws__free(s->spec->ctx, p);
    return rc;
}

static int facts(struct ws__workshop *s, const struct ws__trial *t,
                 double fact[WS__NFACT], double *floor_ns)
{
    const struct ws__journal *j = &s->journal;
    size_t n = s->spec->s->nworkload;
    char *text = NULL;
    char key[40];
    int rc;

    snprintf(key, sizeof(key), "forge facts %u", ++s->profiles);
    rc = j->ops ? j->ops->get(j->self, s->run, key, &text) : 0;
    if (rc > 0)
        read_facts(text, fact, floor_ns, n);
    ws__free(s->spec->ctx, text);
    if (rc)
        return rc < 0 ? rc : 0;
    WS_TRY(profile(s, t, fact, floor_ns));
    if (!j->ops)
        return 0;
    WS_TRY(print_facts(s->spec->ctx, fact, floor_ns, n, &text));
    rc = j->ops->put(j->self, s->run, key, text);
    ws__free(s->spec->ctx, text);
    return rc;
}

int ws__workshop_facts(struct ws__workshop *s, const struct ws__trial *t,
                       double fact[WS__NFACT], double **floor_ns)
{
    int rc;

    *floor_ns =
        ws__alloc(s->spec->ctx, s->spec->s->nworkload, sizeof(**floor_ns));
    if (!*floor_ns)
        return WS_ENOMEM;
    rc = facts(s, t, fact, *floor_ns);
    if (rc < 0) {
        ws__free(s->spec->ctx, *floor_ns);
        *floor_ns = NULL;
    }
    return rc;
}
