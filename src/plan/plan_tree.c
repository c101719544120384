/* plan_tree.c: see plan_tree.h. */
#include "plan/plan_tree.h"

#include <math.h>

#include "plan/plan_recordings.h"

#include "base/banned.h"

#define FORMAT 1
#define SURE 1.96 /* standard deviations of a 95% interval */
#define NAMES 5   /* of a path in brief */
#define OPEN 3

void ws__tree_id(uint64_t key, char out[WS__TREE_ID])
{
    if (key)
        snprintf(out, WS__TREE_ID, "%08x", (unsigned)(key >> 32));
    else
        snprintf(out, WS__TREE_ID, "root");
}

/* --- making --------------------------------------------------------------- */

static json_t *factor(double log_factor)
{
    return isfinite(log_factor) ? json_real(exp(log_factor)) : json_null();
}

/* A factor and its 95% interval. */
static json_t *belief(double mean, double sd)
{
    return json_pack("[o, o, o]", factor(mean), factor(mean - SURE * sd),
                     factor(mean + SURE * sd));
}

static json_t *id_json(uint64_t key)
{
    char id[WS__TREE_ID];

    ws__tree_id(key, id);
    return json_string(id);
}

static int put_best(struct ws_spec *spec, const struct ws__tried *t, json_t *j)
{
    const struct ws__kernel *k = &spec->s->kernel[t->best.kernel];
    struct ws__buf b;
    int rc;

    if (!t->have)
        return 0;
    ws__buf_init(&b, spec->ctx, 1 << 16);
    rc = ws__config_print(&b, k, &t->best.config);
    if (rc >= 0) {
        json_object_set_new(j, "kernel", json_string(k->name));
        json_object_set_new(j, "config", json_string(b.data ? b.data : ""));
    }
    ws__buf_free(&b);
    return rc < 0 ? rc : 0;
}

static int put_idea(struct ws_spec *spec, json_t *list,
                    const struct ws__tried *t)
{
    json_t *j = json_pack(
        "{s:o, s:o, s:s, s:s, s:s, s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, "
        "s:s?, s:b}",
        "id", id_json(t->key), "parent", id_json(t->parent_key), "place",
        t->place, "axis", t->axis, "choice", t->choice, "state",
        ws__idea_state_key(t->state), "depth", (int)t->depth, "tries",
        (int)t->tries, "expected", belief(t->expected, t->sd), "now",
        belief(t->now, t->now_sd), "prior", belief(t->prior, t->prior_sd),
        "found", factor(t->effect), "speedup", factor(t->gain), "mark",
        t->pruned   ? "pruned"
        : t->pinned ? "pinned"
                    : NULL,
        "added", t->added);

    if (!j || json_array_append(list, j) < 0) {
        json_decref(j);
        return ws__nomem(spec->ctx);
    }
    json_decref(j);
    return put_best(spec, t, j);
}

static json_t *lesson_json(const struct ws__lesson *l)
{
    return json_pack("{s:o, s:s, s:s, s:s, s:i, s:o, s:o, s:f, s:o, s:b}", "id",
                     id_json(l->key), "place", l->place, "axis", l->axis,
                     "choice", l->choice, "tries", (int)l->tries, "expected",
                     belief(l->expected, l->sd), "found", factor(l->effect),
                     "noise", l->noise, "after", belief(l->after, l->after_sd),
                     "failed", l->failed);
}

static int put_place(struct ws_spec *spec, const struct ws__catalogue *c,
                     size_t w, json_t *list)
{
    const struct ws__workload *work = &ws__plan_subject(spec).workload[w];
    size_t r = c ? ws__catalogue_regime(c, work) : 0;
    json_t *j;
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, spec->ctx, 1 << 16);
    rc = ws__plan_print_workload(&b, spec, work);
    j = rc < 0 ? NULL
               : json_pack("{s:s, s:s, s:s?}", "place", work->name, "workload",
                           b.data ? b.data : "", "regime",
                           c && r < c->nregime ? c->regime[r].name : NULL);
    ws__buf_free(&b);
    if (rc >= 0 && (!j || json_array_append_new(list, j) < 0))
        rc = ws__nomem(spec->ctx);
    return rc < 0 ? rc : 0;
}

int ws__tree_doc(struct ws_spec *spec, const struct ws__catalogue *c,
                 const struct ws__tree *tree, uint64_t asked, json_t **out)
{
    json_t *places = json_array(), *nodes = json_array(), *open = json_array(),
           *lessons = json_array();
    size_t nplace = ws__plan_subject(spec).nworkload;
    int rc = 0;

    for (size_t i = 0; i < nplace && !rc; i++)
        rc = put_place(spec, c, i, places);
    for (size_t i = 0; i < tree->n && !rc; i++)
        rc = put_idea(spec, nodes, &tree->tried[i]);
    for (size_t i = 0; i < tree->nopen && !rc; i++)
        rc = put_idea(spec, open, &tree->open[i]);
    for (size_t i = 0; i < tree->nlesson && !rc; i++)
        if (json_array_append_new(lessons, lesson_json(&tree->lesson[i])) < 0)
            rc = ws__nomem(spec->ctx);
    *out = json_pack("{s:s, s:i, s:I, s:o, s:o, s:o, s:o}", "wavesmith", "tree",
                     "format", FORMAT, "question", (json_int_t)asked, "places",
                     places, "nodes", nodes, "open", open, "lessons", lessons);
    if (!rc && !*out)
        rc = ws__nomem(spec->ctx);
    if (rc < 0) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}

int ws__tree_dump(struct ws_ctx *ctx, const json_t *doc, char **out)
{
    char *text = json_dumps(doc, JSON_INDENT(1) | JSON_REAL_PRECISION(9));

    *out = text ? ws__strdup(ctx, text) : NULL;
    free(text);
    return *out ? 0 : ws__nomem(ctx);
}

int ws__tree_parse(struct ws_ctx *ctx, const char *text, json_t **out)
{
    json_t *doc = json_loads(text, 0, NULL);
    const char *kind = json_string_value(json_object_get(doc, "wavesmith"));

    *out = NULL;
    if (kind && !strcmp(kind, "tree") &&
        json_integer_value(json_object_get(doc, "format")) == FORMAT) {
        *out = doc;
        return 0;
    }
    json_decref(doc);
    return ws__fail(ctx, WS_ECORRUPT, "the tree in the store cannot be read");
}

/* --- telling -------------------------------------------------------------- */

static const char *str(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s ? s : "";
}

static bool is_of(const json_t *j, const char *key, const char *value)
{
    return !strcmp(str(j, key), value);
}

/* "1.20x", or what to say where there is none. */
static const char *times(const json_t *v, const char *none, char out[16])
{
    if (json_is_number(v))
        snprintf(out, 16, "%.2fx", json_number_value(v));
    else
        snprintf(out, 16, "%s", none);
    return out;
}

static const char *range(const json_t *v, char out[48])
{
    snprintf(out, 48, "%.2fx (%.2f to %.2f)",
             json_number_value(json_array_get(v, 0)),
             json_number_value(json_array_get(v, 1)),
             json_number_value(json_array_get(v, 2)));
    return out;
}

static void put_line(struct ws__buf *b, const json_t *j)
{
    char name[160], was[16], found[16], all[16], now[48];
    const bool open = is_of(j, "state", "open");

    snprintf(name, sizeof(name), "%*s%s: %s",
             open ? 0
                  : (int)(2 * (json_integer_value(json_object_get(j, "depth")) -
                               1)),
             "", str(j, "axis"), str(j, "choice"));
    ws__buf_printf(
        b, "  %-8s %-40s %-9s %5lld %8s %8s %8s  %s%s", str(j, "id"), name,
        json_is_string(json_object_get(j, "mark")) ? str(j, "mark")
                                                   : str(j, "state"),
        (long long)json_integer_value(json_object_get(j, "tries")),
        times(json_array_get(json_object_get(j, "expected"), 0), "-", was),
        times(json_object_get(j, "found"), open ? "-" : "nothing", found),
        times(json_object_get(j, "speedup"), "-", all),
        range(json_object_get(j, "now"), now),
        json_is_true(json_object_get(j, "added")) ? ", added" : "");
    if (open && !is_of(j, "parent", "root"))
        ws__buf_printf(b, ", on %s", str(j, "parent"));
    ws__buf_puts(b, "\n");
}

/* left: as many lines as there are nodes, whatever a store says of parents. */
static void put_children(struct ws__buf *b, const json_t *nodes,
                         const char *place, const char *parent, int depth,
                         size_t *left)
{
    size_t i;
    json_t *j;

    if (depth > WS__MAX_IDEAS)
        return;
    json_array_foreach((json_t *)nodes, i, j)
    {
        if (!is_of(j, "place", place) || !is_of(j, "parent", parent) || !*left)
            continue;
        --*left;
        put_line(b, j);
        put_children(b, nodes, place, str(j, "id"), depth + 1, left);
    }
}

static void put_open(struct ws__buf *b, const json_t *open, const char *place)
{
    bool any = false;
    size_t i;
    json_t *j;

    json_array_foreach((json_t *)open, i, j)
    {
        if (!is_of(j, "place", place))
            continue;
        if (!any)
            ws__buf_puts(b, "  open, the most promising first:\n");
        any = true;
        put_line(b, j);
    }
}

static void put_event(struct ws__buf *b, const json_t *e)
{
    const json_t *after = json_object_get(e, "after"), *word;
    size_t i;

    ws__buf_printf(b, "  %lld %s",
                   (long long)json_integer_value(json_object_get(e, "number")),
                   str(e, "what"));
    if (json_is_string(json_object_get(e, "node")))
        ws__buf_printf(b, " %s", str(e, "node"));
    json_array_foreach(json_object_get(e, "words"), i, word)
        ws__buf_printf(b, " %s",
                       json_is_string(word) ? json_string_value(word) : "?");
    if (json_is_integer(after))
        ws__buf_printf(b, ", since question %lld",
                       (long long)json_integer_value(after));
    else
        ws__buf_puts(b, ", not in effect yet");
    ws__buf_puts(b, "\n");
}

/* What people decided. */
static void put_events(struct ws__buf *b, const json_t *doc)
{
    const json_t *events = json_object_get(doc, "events");
    size_t i;
    json_t *e;

    if (json_array_size(events))
        ws__buf_puts(b, "decided by people:\n");
    json_array_foreach((json_t *)events, i, e) put_event(b, e);
}

int ws__tree_text(struct ws__buf *b, const json_t *doc)
{
    const json_t *places = json_object_get(doc, "places"),
                 *nodes = json_object_get(doc, "nodes");
    size_t i, left = json_array_size(nodes);
    json_t *p;

    ws__buf_printf(b, "  %-8s %-40s %-9s %5s %8s %8s %8s  %s\n", "node", "idea",
                   "state", "tried", "expected", "found", "in all",
                   "believed now");
    json_array_foreach((json_t *)places, i, p)
    {
        ws__buf_printf(b, "%s", str(p, "place"));
        if (json_is_string(json_object_get(p, "regime")))
            ws__buf_printf(b, " (%s)", str(p, "regime"));
        ws__buf_puts(b, "\n");
        put_children(b, nodes, str(p, "place"), "root", 0, &left);
        put_open(b, json_object_get(doc, "open"), str(p, "place"));
    }
    put_events(b, doc);
    return b->failed;
}

/* --- in brief ------------------------------------------------------------- */

static const json_t *find(const json_t *nodes, const char *place,
                          const char *id)
{
    size_t i;
    json_t *j;

    json_array_foreach((json_t *)nodes, i, j) if (is_of(j, "place", place) &&
                                                  is_of(j, "id", id)) return j;
    return NULL;
}

/* "staging: both > stages: many", the last few of it. */
static void put_path(struct ws__buf *b, const json_t *nodes, const json_t *j,
                     const char *place)
{
    const json_t *path[NAMES];
    size_t n = 0;

    while (j && n < NAMES) {
        path[n++] = j;
        j = find(nodes, place, str(j, "parent"));
    }
    if (j)
        ws__buf_puts(b, "... > ");
    while (n--)
        ws__buf_printf(b, "%s: %s%s", str(path[n], "axis"),
                       str(path[n], "choice"), n ? " > " : "");
}

static void put_work(struct ws__buf *b, const json_t *nodes, const char *place)
{
    size_t i;
    json_t *j;
    char text[48];

    json_array_foreach((json_t *)nodes, i, j)
    {
        if (!is_of(j, "place", place) || !is_of(j, "state", "worked on"))
            continue;
        ws__buf_puts(b, "  trying ");
        put_path(b, nodes, j, place);
        ws__buf_printf(b, "; believed %s\n",
                       range(json_object_get(j, "expected"), text));
    }
}

static void put_best_path(struct ws__buf *b, const json_t *nodes,
                          const char *place)
{
    const json_t *best = NULL;
    double most = 1;
    size_t i;
    json_t *j;

    json_array_foreach((json_t *)nodes, i, j)
    {
        double s = json_number_value(json_object_get(j, "speedup"));

        if (!is_of(j, "place", place) || s <= most)
            continue;
        most = s;
        best = j;
    }
    if (!best)
        return;
    ws__buf_puts(b, "  best   ");
    put_path(b, nodes, best, place);
    ws__buf_printf(b, "; %.2fx\n", most);
}

int ws__tree_brief(struct ws__buf *b, const json_t *doc, const char *place)
{
    const json_t *nodes = json_object_get(doc, "nodes");
    size_t i, n = 0;
    json_t *j;

    put_work(b, nodes, place);
    put_best_path(b, nodes, place);
    json_array_foreach(json_object_get(doc, "open"), i, j)
    {
        char text[48];

        if (!is_of(j, "place", place) || n == OPEN)
            continue;
        ws__buf_printf(b, "%s%s: %s %s", n++ ? ", " : "  open   ",
                       str(j, "axis"), str(j, "choice"),
                       range(json_object_get(j, "now"), text));
    }
    if (n)
        ws__buf_puts(b, "\n");
    return b->failed;
}

/* --- one node ------------------------------------------------------------- */

int ws__tree_node(struct ws_ctx *ctx, const json_t *doc, const char *begins,
                  char out[WS__TREE_ID])
{
    static const char *const lists[] = {"nodes", "open"};
    size_t n = strlen(begins);

    out[0] = '\0';
    if (!strcmp(begins, "root")) {
        snprintf(out, WS__TREE_ID, "root");
        return 0;
    }
    for (size_t l = 0; l < WS_COUNT(lists) && n; l++) {
        size_t i;
        json_t *j;

        json_array_foreach(json_object_get(doc, lists[l]), i, j)
        {
            const char *id = str(j, "id");

            if (strncmp(id, begins, n) != 0 || !strcmp(id, out))
                continue;
            if (out[0]) {
                ws__fail(ctx, WS_EINVAL, "more than one node begins with '%s'",
                         begins);
                return ws__hint(ctx, "write more of its name");
            }
            snprintf(out, WS__TREE_ID, "%s", id);
        }
    }
    if (out[0])
        return 0;
    ws__fail(ctx, WS_EINVAL, "the tree has no node '%s'", begins);
    return ws__hint(ctx, "'wavesmith tree STORE show' lists them, by place");
}

static void put_lessons(struct ws__buf *b, const json_t *doc,
                        const json_t *node)
{
    bool any = false;
    size_t i;
    json_t *j;
    char was[48], then[48], found[16];

    json_array_foreach(json_object_get(doc, "lessons"), i, j)
    {
        bool same = is_of(j, "choice", str(node, "choice"));

        if (!is_of(j, "axis", str(node, "axis")))
            continue;
        if (!any)
            ws__buf_printf(b, "  %-10s %-8s %-24s %5s %-22s %8s  %s\n",
                           "attempts", "node", "choice", "tried", "predicted",
                           "actual", "believed of it then");
        any = true;
        ws__buf_printf(b, "  %-10s %-8s %-24s %5lld %-22s %8s  %s%s\n",
                       str(j, "place"), str(j, "id"), str(j, "choice"),
                       (long long)json_integer_value(
                           json_object_get(j, "tries")),
                       range(json_object_get(j, "expected"), was),
                       json_is_true(json_object_get(j, "failed"))
                           ? "nothing"
                           : times(json_object_get(j, "found"), "-", found),
                       range(json_object_get(j, "after"), then),
                       same ? "" : " (another choice)");
    }
    if (!any)
        ws__buf_puts(b, "  nothing on its axis was tried to the end yet\n");
}

static void explain_one(struct ws__buf *b, const json_t *doc, const json_t *j)
{
    char text[48], found[16], all[16];

    ws__buf_printf(b, "%s: %s, node %s on %s, for %s: %s, %lld tried\n",
                   str(j, "axis"), str(j, "choice"), str(j, "id"),
                   str(j, "parent"), str(j, "place"), str(j, "state"),
                   (long long)json_integer_value(json_object_get(j, "tries")));
    ws__buf_printf(b, "  before anything was tried: %s%s\n",
                   range(json_object_get(j, "prior"), text),
                   json_is_true(json_object_get(j, "added"))
                       ? ", as who added it said"
                       : "");
    put_lessons(b, doc, j);
    ws__buf_printf(b, "  when it was chosen: %s\n",
                   range(json_object_get(j, "expected"), text));
    if (!is_of(j, "state", "open"))
        ws__buf_printf(b, "  found: %s over its parent's best, %s in all\n",
                       times(json_object_get(j, "found"), "nothing", found),
                       times(json_object_get(j, "speedup"), "nothing", all));
    if (json_is_string(json_object_get(j, "config")))
        ws__buf_printf(b, "  its best: %s: %s\n", str(j, "kernel"),
                       str(j, "config"));
    ws__buf_printf(b, "  now: %s\n", range(json_object_get(j, "now"), text));
}

int ws__tree_explain(struct ws__buf *b, const json_t *doc, const char *id)
{
    static const char *const lists[] = {"nodes", "open"};

    if (!strcmp(id, "root"))
        ws__buf_puts(b, "the default of each place: all factors are counted "
                        "from it\n");
    for (size_t l = 0; l < WS_COUNT(lists); l++) {
        size_t i;
        json_t *j;

        json_array_foreach(json_object_get(doc, lists[l]), i,
                           j) if (is_of(j, "id", id)) explain_one(b, doc, j);
    }
    return b->failed;
}
