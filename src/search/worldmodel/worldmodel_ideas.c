/*
 * worldmodel_ideas.c: the ideas that a search has.
 *
 * Without a catalogue every parameter is an axis of design: each of its values
 * is a choice, or each quarter of them if they are many. Nothing is expected of
 * them.
 */
#include "search/worldmodel/worldmodel.h"

#include "base/banned.h"

#define VALUES 6 /* more are taken in quarters */
#define SPREAD 0.1

/* How a config is made is not changed: it is tuned; or what is best on another
 * shape is taken over. */
static const struct ws__idea general[NGENERAL] = {
    [TUNE] = {.axis = "tuning",
              .choice = "as it is",
              .about = "what the ideas leave free",
              .kernel = -1,
              .factor = 1.05,
              .spread = 0.15,
              .difficulty = 1},
    [BORROW] = {.axis = "shape",
                .choice = "as elsewhere",
                .about = "what is best on another shape",
                .kernel = -1,
                .factor = 1.05,
                .spread = 0.15,
                .difficulty = 1},
};

static size_t quarters(const struct ws__param *p)
{
    return p->nvalue > VALUES ? 4 : p->nvalue;
}

static size_t count_ideas(const struct world *w)
{
    const struct ws__problem_space *p = w->p;
    size_t n = NGENERAL + (p->nkernel > 1 ? p->nkernel : 0);

    for (size_t k = 0; k < p->nkernel; k++)
        for (size_t i = 0; i < p->kernel[k].nparam; i++)
            n += quarters(&p->kernel[k].param[i]);
    return n;
}

static struct ws__idea *add(struct world *w, const char *axis, size_t axis_id)
{
    struct ws__idea *idea = &w->idea[w->nidea++];

    *idea = (struct ws__idea){.axis = axis,
                              .axis_id = (uint32_t)axis_id,
                              .kernel = -1,
                              .factor = 1,
                              .spread = SPREAD,
                              .difficulty = 1};
    return idea;
}

/* What a choice is called: a value, or from the first to the last of some. */
static int name_choice(struct world *w, struct ws__idea *idea,
                       const struct ws__param *p, size_t from, size_t to)
{
    struct ws__buf b;

    ws__buf_init(&b, w->p->ctx, 200);
    ws__value_print(&b, &p->value[from]);
    if (to > from + 1) {
        ws__buf_printf(&b, " to ");
        ws__value_print(&b, &p->value[to - 1]);
    }
    idea->choice =
        b.failed ? NULL : ws__arena_strdup(&w->arena, b.data ? b.data : "");
    ws__buf_free(&b);
    return idea->choice ? 0 : WS_ENOMEM;
}

static int add_values(struct world *w, size_t kernel, size_t param)
{
    const struct ws__param *p = &w->p->kernel[kernel].param[param];
    size_t n = quarters(p), axis = w->naxis++;

    for (size_t i = 0; i < n; i++) {
        struct ws__idea *idea = add(w, p->name, axis);
        size_t from = i * p->nvalue / n, to = (i + 1) * p->nvalue / n;

        idea->set = ws__arena_alloc(&w->arena, 1, sizeof(*idea->set));
        if (!idea->set)
            return WS_ENOMEM;
        idea->nset = 1;
        idea->set->kernel = (uint32_t)kernel;
        idea->set->param = (uint32_t)param;
        idea->set->allowed =
            ws__arena_alloc(&w->arena, p->nvalue, sizeof(bool));
        if (!idea->set->allowed)
            return WS_ENOMEM;
        for (size_t v = from; v < to; v++)
            idea->set->allowed[v] = true;
        WS_TRY(name_choice(w, idea, p, from, to));
    }
    return 0;
}

static int derive(struct world *w)
{
    const struct ws__problem_space *p = w->p;

    if (p->nkernel > 1) {
        size_t axis = w->naxis++;

        for (size_t k = 0; k < p->nkernel; k++) {
            struct ws__idea *idea = add(w, "kernel", axis);

            idea->choice = p->kernel[k].name;
            idea->kernel = (int32_t)k;
        }
    }
    for (size_t k = 0; k < p->nkernel; k++)
        for (size_t i = 0; i < p->kernel[k].nparam; i++)
            if (p->kernel[k].param[i].nvalue > 1)
                WS_TRY(add_values(w, k, i));
    return 0;
}

int ws__world_ideas(struct world *w)
{
    const struct ws__catalogue *c = w->catalogue;
    size_t n = c ? NGENERAL + c->nidea : count_ideas(w);

    w->idea = ws__arena_alloc(&w->arena, n + ADDED, sizeof(*w->idea));
    if (!w->idea)
        return WS_ENOMEM;
    for (; w->nidea < NGENERAL; w->nidea++) {
        w->idea[w->nidea] = general[w->nidea];
        w->idea[w->nidea].axis_id = (uint32_t)w->naxis++;
    }
    if (!c)
        return derive(w);
    for (size_t i = 0; i < c->nidea; i++) {
        w->idea[w->nidea] = c->idea[i];
        w->idea[w->nidea++].axis_id += NGENERAL;
    }
    w->naxis += c->naxis;
    return 0;
}
