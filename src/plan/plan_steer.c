/*
 * plan_steer.c: what people decide of the tree of a search, and reading it.
 *
 * A decision is a value of the run, "steer.000001", added by whoever decides
 * and never changed. The search reads new ones before each question and notes,
 * before one takes effect, after how many questions it did ("...after"). So a
 * run that is played again, from the log alone, decides at the same places. All
 * else in the log is written by the search.
 */
#include "plan/plan_tree.h"

#include <math.h>

#include "plan/plan_trials.h"

#include "base/banned.h"

#define PREFIX "steer"
#define MAX_OF_KIND 64 /* as the strategy takes */
#define EXPECTED 1.2
#define SPREAD 0.4
#define MAX_WORD 400

enum what { ADD, PIN, PRUNE, NOTE, NWHAT };
static const char *const what_key[NWHAT] =
    {[ADD] = "add", [PIN] = "pin", [PRUNE] = "prune", [NOTE] = "note"};

static enum what what_of(const char *key)
{
    int i = 0;

    while (i < NWHAT && (!key || strcmp(what_key[i], key) != 0))
        i++;
    return (enum what)i;
}

/* --- the log -------------------------------------------------------------- */

static void key_of(uint64_t number, bool after, char out[40])
{
    snprintf(out, 40, PREFIX ".%06llu%s", (unsigned long long)number,
             after ? ".after" : "");
}

/* 1: found; 0: there is none of this number. */
static int read_event(struct ws_ctx *ctx, const struct ws__journal *j,
                      const struct ws__run *run, uint64_t number, json_t **out)
{
    char key[40], *text;
    int rc;

    key_of(number, false, key);
    rc = j->ops->get(j->self, run, key, &text);
    if (rc <= 0)
        return rc;
    *out = json_loads(text, 0, NULL);
    ws__free(ctx, text);
    if (*out &&
        what_of(json_string_value(json_object_get(*out, "what"))) != NWHAT)
        return 1;
    json_decref(*out);
    return ws__fail(ctx, WS_ECORRUPT, "decision %llu of run %llu is none",
                    (unsigned long long)number, (unsigned long long)run->id);
}

/* 1: it takes effect after *asked questions; 0: not known yet. */
static int read_after(struct ws_ctx *ctx, const struct ws__journal *j,
                      const struct ws__run *run, uint64_t number,
                      uint64_t *asked)
{
    char key[40], *text, *end;
    int rc;

    key_of(number, true, key);
    rc = j->ops->get(j->self, run, key, &text);
    if (rc <= 0)
        return rc;
    *asked = strtoull(text, &end, 10);
    rc = end != text && !*end;
    ws__free(ctx, text);
    return rc ? 1
              : ws__fail(ctx, WS_ECORRUPT,
                         "when decision %llu took effect cannot be read",
                         (unsigned long long)number);
}

static int put_after(struct ws__steering *s, uint64_t number, uint64_t asked)
{
    char key[40], text[24];

    key_of(number, true, key);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)asked);
    return s->journal.ops->put(s->journal.self, s->run, key, text);
}

/* --- an idea in words ----------------------------------------------------- */

/* Allows the values of "BM=64,128" that the parameter has: how many. */
static size_t allow(const struct ws__param *p, const char *values,
                    bool *allowed, struct ws__buf *b)
{
    size_t n = 0;

    for (size_t v = 0; v < p->nvalue; v++) {
        const char *at = values;

        b->len = 0;
        ws__value_print(b, &p->value[v]);
        while (*at && b->data) {
            size_t len = strcspn(at, ",");

            if (len == b->len && !memcmp(at, b->data, len))
                allowed[v] = true;
            at += len + (at[len] == ',');
        }
        n += allowed[v];
    }
    return n;
}

/* One choice, for a kernel: 1, or 0 if it has no such parameter or value. */
static int add_set(struct ws_spec *spec, size_t kernel, const char *word,
                   struct ws__idea *idea)
{
    const struct ws__kernel *k = &spec->s->kernel[kernel];
    size_t len = strcspn(word, "="), n = 0;
    struct ws__idea_set *set = &idea->set[idea->nset];
    struct ws__buf b;

    for (size_t i = 0; i < k->nparam; i++) {
        const struct ws__param *p = &k->param[i];

        if (strlen(p->name) != len || strncmp(p->name, word, len) != 0)
            continue;
        set->kernel = (uint32_t)kernel;
        set->param = (uint32_t)i;
        set->allowed = ws__arena_alloc(&spec->arena, p->nvalue, sizeof(bool));
        if (!set->allowed)
            return WS_ENOMEM;
        ws__buf_init(&b, spec->ctx, 4096);
        n = allow(p, word + len + 1, set->allowed, &b);
        ws__buf_free(&b);
    }
    idea->nset += n > 0;
    return n > 0;
}

/* Every kernel that has all of it. */
static int add_sets(struct ws_spec *spec, const json_t *words,
                    struct ws__idea *idea)
{
    for (size_t k = 0; k < spec->s->nkernel; k++) {
        size_t before = idea->nset, i;
        json_t *w;

        json_array_foreach((json_t *)words, i, w)
        {
            const char *word = json_string_value(w);
            int rc =
                word && strchr(word, '=') ? add_set(spec, k, word, idea) : 0;

            if (rc < 0)
                return rc;
            if (!rc) {
                idea->nset = before;
                break;
            }
        }
    }
    return 0;
}

static int make_idea(struct ws_spec *spec, const json_t *event,
                     const struct ws__idea **out)
{
    const json_t *words = json_object_get(event, "words");
    double expected = json_number_value(json_object_get(event, "expected"));
    size_t n = json_array_size(words), i;
    struct ws__idea *idea = ws__arena_alloc(&spec->arena, 1, sizeof(*idea));
    struct ws__buf b;
    json_t *w;
    int rc;

    if (!idea)
        return WS_ENOMEM;
    *idea = (struct ws__idea){.axis = "added",
                              .kernel = -1,
                              .factor = expected > 0 ? expected : EXPECTED,
                              .spread = SPREAD,
                              .difficulty = 1};
    idea->set = ws__arena_alloc(&spec->arena, n * spec->s->nkernel + 1,
                                sizeof(*idea->set));
    ws__buf_init(&b, spec->ctx, 1 << 16);
    json_array_foreach((json_t *)words, i, w)
    {
        ws__buf_printf(&b, "%s%s", i ? " " : "",
                       json_is_string(w) ? json_string_value(w) : "");
    }
    idea->choice = ws__arena_strdup(&spec->arena, b.data ? b.data : "");
    ws__buf_free(&b);
    if (!idea->set || !idea->choice)
        return WS_ENOMEM;
    rc = add_sets(spec, words, idea);
    *out = idea;
    return rc;
}

/* --- for a search --------------------------------------------------------- */

static int take(struct ws__steering *s, const json_t *event,
                struct ws__steer *out)
{
    static const enum ws__steer_kind kind[] = {[ADD] = WS__STEER_ADD,
                                               [PIN] = WS__STEER_PIN,
                                               [PRUNE] = WS__STEER_PRUNE};
    const char *node = json_string_value(json_object_get(event, "node"));
    enum what what = what_of(json_string_value(json_object_get(event, "what")));

    if (what == NOTE || !node)
        return 0;
    *out = (struct ws__steer){.kind = kind[what],
                              .node = strcmp(node, "root")
                                          ? (uint32_t)strtoul(node, NULL, 16)
                                          : 0};
    if (what == ADD)
        WS_TRY(make_idea(s->spec, event, &out->idea));
    return 1;
}

int ws__steering_next(void *user, uint64_t asked, bool live,
                      struct ws__steer *out)
{
    struct ws__steering *s = user;
    int rc = 0;

    while (!rc) {
        json_t *event;
        uint64_t after = asked;

        rc = read_event(s->spec->ctx, &s->journal, s->run, s->seen + 1, &event);
        if (rc <= 0)
            return rc;
        rc = read_after(s->spec->ctx, &s->journal, s->run, s->seen + 1, &after);
        if (!rc && live) {
            rc = put_after(s, s->seen + 1, asked);
            rc = rc < 0 ? rc : 1;
        }
        if (rc <= 0 || after > asked) {
            json_decref(event);
            return rc < 0 ? rc : 0;
        }
        s->seen++;
        rc = take(s, event, out);
        json_decref(event);
    }
    return rc;
}

/* --- for people ----------------------------------------------------------- */

struct tree {
    struct ws_tree t;
    struct ws__arena arena;
};

struct found {
    struct ws__journal j;
    struct ws__run run;
    uint64_t want;
    bool any;   /* a run of the number that was asked for */
    char *text; /* of the latest that has a tree */
    struct ws_ctx *ctx;
};

static int see_run(void *user, const struct ws__store_sum *sum)
{
    struct found *f = user;
    char *text;
    int rc;

    if (f->want && sum->run.id != f->want)
        return 0;
    f->any = true;
    rc = f->j.ops->get(f->j.self, &sum->run, WS__TREE_VALUE, &text);
    if (rc <= 0)
        return rc;
    ws__free(f->ctx, f->text);
    f->text = text;
    f->run = sum->run;
    return 0;
}

static int find_tree(struct ws_ctx *ctx, struct ws__store *s, uint64_t run,
                     struct found *f, json_t **doc)
{
    int rc;

    *f = (struct found){.j = ws__store_journal(s), .want = run, .ctx = ctx};
    rc = ws__store_runs(s, see_run, f);
    if (rc >= 0 && !f->text) {
        if (run && !f->any)
            ws__fail(ctx, WS_ENOENT, "the store has no run %llu",
                     (unsigned long long)run);
        else if (run)
            ws__fail(ctx, WS_ENOENT, "run %llu has no tree",
                     (unsigned long long)run);
        else
            ws__fail(ctx, WS_ENOENT, "no run of the store has a tree");
        rc = ws__hint(ctx, "'wavesmith search', or tune by strategy "
                           "'worldmodel', makes one");
    }
    if (rc >= 0)
        rc = ws__tree_parse(ctx, f->text, doc);
    ws__free(ctx, f->text);
    return rc;
}

static int put_events(struct ws_ctx *ctx, struct found *f, json_t *doc)
{
    json_t *all = json_array(), *event;
    uint64_t n = 1, after;
    int rc;

    while ((rc = read_event(ctx, &f->j, &f->run, n, &event)) > 0) {
        rc = read_after(ctx, &f->j, &f->run, n, &after);
        json_object_set_new(event, "number", json_integer((json_int_t)n++));
        if (rc > 0)
            json_object_set_new(event, "after",
                                json_integer((json_int_t)after));
        if (json_array_append_new(all, event) < 0 && rc >= 0)
            rc = ws__nomem(ctx);
        if (rc < 0)
            break;
    }
    json_object_set_new(doc, "events", all);
    return rc < 0 ? rc : 0;
}

static int tell(struct ws_ctx *ctx, const struct ws_tree_opts *o,
                struct found *f, json_t *doc, struct tree *t)
{
    char node[WS__TREE_ID], *json = NULL;
    struct ws__buf b;
    int rc = 0;

    WS_TRY(put_events(ctx, f, doc));
    if (o->node)
        WS_TRY(ws__tree_node(ctx, doc, o->node, node));
    ws__buf_init(&b, ctx, 16 << 20);
    if (!o->node)
        ws__buf_printf(&b, "run %llu (%s), after question %lld\n",
                       (unsigned long long)f->run.id, f->run.strategy,
                       (long long)json_integer_value(
                           json_object_get(doc, "question")));
    rc = o->node ? ws__tree_explain(&b, doc, node) : ws__tree_text(&b, doc);
    if (rc >= 0)
        rc = ws__tree_dump(ctx, doc, &json);
    if (rc >= 0) {
        t->t.run = f->run.id;
        t->t.text = ws__arena_strdup(&t->arena, b.data ? b.data : "");
        t->t.json = ws__arena_strdup(&t->arena, json);
        rc = t->t.text && t->t.json ? 0 : WS_ENOMEM;
    }
    ws__free(ctx, json);
    ws__buf_free(&b);
    return rc;
}

void ws_tree_free(struct ws_ctx *ctx, struct ws_tree *t)
{
    struct tree *own = t ? t->priv : NULL;

    if (!own)
        return;
    ws__arena_free(&own->arena);
    ws__free(ctx, own);
}

int ws_tree_read(struct ws_ctx *ctx, const struct ws_tree_opts *opts,
                 struct ws_tree **out)
{
    struct ws__store *s;
    struct found f;
    struct tree *t;
    json_t *doc = NULL;
    int rc;

    *out = NULL;
    WS_TRY(ws__trials_open(ctx, opts->store, true, &s));
    t = ws__alloc(ctx, 1, sizeof(*t));
    rc = t ? find_tree(ctx, s, opts->run, &f, &doc) : WS_ENOMEM;
    if (t) {
        ws__arena_init(&t->arena, ctx);
        t->t.priv = t;
    }
    if (rc >= 0)
        rc = tell(ctx, opts, &f, doc, t);
    json_decref(doc);
    ws__store_close(s);
    if (rc < 0) {
        ws_tree_free(ctx, t ? &t->t : NULL);
        return rc;
    }
    *out = &t->t;
    return 0;
}

/* --- deciding ------------------------------------------------------------- */

static const struct ws__part_param *find_param(const struct ws__part_kernel *k,
                                               const char *word)
{
    size_t len = strcspn(word, "=");

    for (size_t i = 0; i < k->nparam; i++)
        if (strlen(k->param[i].name) == len &&
            !strncmp(k->param[i].name, word, len))
            return &k->param[i];
    return NULL;
}

/* The first value of a word that the parameter has not; NULL: it has all. */
static const char *foreign_value(const struct ws__part_param *p,
                                 const char *word, size_t *len)
{
    const char *at = word + strcspn(word, "=") + 1;

    do {
        size_t v = 0;

        *len = strcspn(at, ",");
        while (v < p->nvalue && (strlen(p->value[v]) != *len ||
                                 strncmp(p->value[v], at, *len) != 0))
            v++;
        if (v == p->nvalue)
            return at;
        at += *len + 1;
    } while (at[-1]);
    return NULL;
}

static int bad_value(struct ws_ctx *ctx, const struct ws__part_param *p,
                     const char *value, size_t len)
{
    struct ws__buf b;

    ws__fail(ctx, WS_EINVAL, "'%.*s' is no value of '%s'", (int)len, value,
             p->name);
    ws__buf_init(&b, ctx, 1 << 16);
    for (size_t i = 0; i < p->nvalue; i++)
        ws__buf_printf(&b, "%s%s", i ? ", " : "", p->value[i]);
    ws__hint(ctx, "it has %.300s", b.data ? b.data : "none");
    ws__buf_free(&b);
    return WS_EINVAL;
}

/* A kernel must have all words; the first failure is told. */
static int check_words(struct ws_ctx *ctx, const struct ws__parts *p,
                       const struct ws_tree_change *c)
{
    const struct ws__part_param *bad = NULL;
    const char *value = NULL, *none = c->word[0];
    size_t len = 0;

    for (size_t i = 0; i < c->nword; i++)
        if (!strchr(c->word[i], '=') || c->word[i][0] == '=') {
            ws__fail(ctx, WS_EINVAL, "'%s' is no choice", c->word[i]);
            return ws__hint(ctx, "write PARAMETER=VALUE,VALUE,...");
        }
    for (size_t k = 0; k < p->nkernel; k++) {
        size_t ok = 0;

        for (size_t i = 0; i < c->nword; i++) {
            const struct ws__part_param *have =
                find_param(&p->kernel[k], c->word[i]);
            const char *foreign =
                have ? foreign_value(have, c->word[i], &len) : NULL;

            ok += have && !foreign;
            if (!have)
                none = c->word[i];
            if (foreign) {
                bad = have;
                value = foreign;
            }
        }
        if (ok == c->nword)
            return 0;
    }
    if (bad)
        return bad_value(ctx, bad, value, strcspn(value, ","));
    ws__fail(ctx, WS_EINVAL, "no kernel has a parameter '%.*s'",
             (int)strcspn(none, "="), none);
    return ws__hint(ctx, "'wavesmith space SPEC' lists them");
}

static int check_add(struct ws_ctx *ctx, struct ws__store *s,
                     const struct ws__run *run, const struct ws_tree_change *c)
{
    struct ws__parts p = {.nkernel = 0};
    int rc;

    if (!c->nword) {
        ws__fail(ctx, WS_EINVAL, "the idea says nothing");
        return ws__hint(ctx, "write PARAMETER=VALUE,VALUE,...");
    }
    if (c->expected != 0 && !(c->expected > 0.01 && c->expected < 100)) {
        ws__fail(ctx, WS_EINVAL, "a factor of %g cannot be expected",
                 c->expected);
        return ws__hint(ctx, "1.2 is a fifth faster");
    }
    rc = ws__store_parts(s, run->spec, &p);
    if (rc > 0)
        rc = check_words(ctx, &p, c);
    else if (!rc)
        rc = ws__fail(ctx, WS_ENOENT,
                      "the store does not know the parameters of run %llu",
                      (unsigned long long)run->id);
    ws__parts_free(&p);
    return rc;
}

static int check_count(struct ws_ctx *ctx, const json_t *doc, enum what what)
{
    size_t n = 0, i;
    json_t *e;

    json_array_foreach(json_object_get(doc, "events"), i, e)
    {
        enum what other =
            what_of(json_string_value(json_object_get(e, "what")));

        n += what == ADD ? other == ADD : other == PIN || other == PRUNE;
    }
    if (what == NOTE || n < MAX_OF_KIND)
        return 0;
    return ws__fail(ctx, WS_ELIMIT, "the tree takes no more than %d of these",
                    MAX_OF_KIND);
}

static int make_event(struct ws_ctx *ctx, const struct ws_tree_change *c,
                      enum what what, const char *node, char **out)
{
    json_t *words = json_array();
    json_t *event;
    int rc = 0;

    for (size_t i = 0; i < c->nword; i++) {
        json_t *w =
            strlen(c->word[i]) <= MAX_WORD ? json_string(c->word[i]) : NULL;

        if (json_array_append_new(words, w) < 0)
            rc = ws__fail(ctx, WS_EINVAL,
                          "word %zu is no text of at most %d bytes", i + 1,
                          MAX_WORD);
    }
    event = json_pack("{s:s, s:s?, s:o}", "what", what_key[what], "node",
                      what == NOTE ? NULL : node, "words", words);
    if (what == ADD && event)
        json_object_set_new(event, "expected",
                            json_real(c->expected > 0 ? c->expected
                                                      : EXPECTED));
    if (!rc)
        rc = event ? ws__tree_dump(ctx, event, out) : ws__nomem(ctx);
    json_decref(event);
    return rc;
}

static int decide(struct ws_ctx *ctx, struct ws__store *s,
                  const struct ws_tree_opts *o, const struct ws_tree_change *c,
                  uint64_t *number)
{
    enum what what = what_of(c->what);
    char node[WS__TREE_ID] = "", *text;
    json_t *doc = NULL;
    struct found f;
    int rc;

    WS_TRY_DONE(find_tree(ctx, s, o->run, &f, &doc));
    WS_TRY_DONE(put_events(ctx, &f, doc));
    if (what != NOTE)
        WS_TRY_DONE(ws__tree_node(ctx, doc, c->node ? c->node : "", node));
    if ((what == PIN || what == PRUNE) && !strcmp(node, "root")) {
        rc = ws__fail(ctx, WS_EINVAL,
                      "the root is where all begins: it cannot "
                      "be pinned or pruned");
        goto done;
    }
    if (what == NOTE && !c->nword) {
        rc = ws__fail(ctx, WS_EINVAL, "the note is empty");
        goto done;
    }
    WS_TRY_DONE(check_count(ctx, doc, what));
    if (what == ADD)
        WS_TRY_DONE(check_add(ctx, s, &f.run, c));
    WS_TRY_DONE(make_event(ctx, c, what, node, &text));
    rc = ws__store_append_value(s, f.run.id, PREFIX, text, number);
    ws__free(ctx, text);
done:
    json_decref(doc);
    return rc;
}

int ws_tree_steer(struct ws_ctx *ctx, const struct ws_tree_opts *opts,
                  const struct ws_tree_change *change, uint64_t *number)
{
    struct ws__store *s;
    int rc;

    if (what_of(change->what) == NWHAT) {
        ws__fail(ctx, WS_EINVAL, "'%s' is nothing that can be decided",
                 change->what ? change->what : "");
        return ws__hint(ctx, "add, pin, prune or note");
    }
    /* For reading first: a store that is not there is not made. */
    WS_TRY(ws__trials_open(ctx, opts->store, true, &s));
    ws__store_close(s);
    WS_TRY(ws__trials_open(ctx, opts->store, false, &s));
    rc = decide(ctx, s, opts, change, number);
    ws__store_close(s);
    return rc < 0 ? rc : 0;
}
