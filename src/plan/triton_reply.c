/*
 * triton_reply.c: what the helper for sources in Triton answers, as data.
 *
 * The helper is ours, but the text that it works on is not, and what it says
 * becomes a source and a kernel file. So nothing is taken that is not of the
 * promised form and within limits: edits lie in the source, one behind the
 * other, and make the text that the helper says they make; changes are of what
 * a move may change; transformations are those that it declared.
 */
#include "plan/plan_triton.h"

#include <jansson.h>
#include <math.h>

#include "llm/llm_reply.h"

#include "base/banned.h"

#define MAX_RULES 256
#define MAX_PLACES 4096
#define MAX_LIST 64 /* symptoms, conditions */
#define MAX_NAME 31
#define MAX_SHOWN 300 /* bytes of words for people */
#define MAX_SITE ((size_t)1 << 16)
#define MAX_SOURCE ((size_t)1 << 20)
#define MAX_EDITS 65536
#define MAX_CHANGES 64
#define MAX_YAML ((size_t)1 << 16)
#define MAX_GAIN 100

static int nonsense(struct ws_ctx *ctx, const char *what)
{
    return ws__fail(ctx, WS_EPROTO,
                    "the helper for Triton answers nonsense: %s", what);
}

/* --- parts ---------------------------------------------------------------- */

/* On one line, no longer than people read. NULL: no memory. */
static char *shown(struct ws__arena *a, const char *text)
{
    char *out = ws__arena_alloc(a, MAX_SHOWN + 4, 1);
    size_t n = 0;

    if (!out)
        return NULL;
    for (; *text && n < MAX_SHOWN; text++) {
        unsigned char c = (unsigned char)*text;
        bool blank = c <= ' ' || c == 127;

        if (blank && (!n || out[n - 1] == ' '))
            continue;
        out[n++] = blank ? ' ' : *text;
    }
    if (*text) {
        while (n && ((unsigned char)out[n - 1] & 0xc0) == 0x80)
            n--; /* no half of a character */
        if (n && (unsigned char)out[n - 1] >= 0xc0)
            n--;
        memcpy(out + n, "...", 3);
        n += 3;
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return out;
}

static const char *text_of(const json_t *map, const char *key)
{
    return json_string_value(json_object_get(map, key));
}

static bool is_name(const char *s)
{
    size_t n = s ? strlen(s) : 0;

    if (!n || n > MAX_NAME)
        return false;
    for (; *s; s++)
        if (!(*s == '_' || (*s >= 'a' && *s <= 'z') ||
              (*s >= '0' && *s <= '9')))
            return false;
    return true;
}

static bool is_number(const json_t *v, json_int_t lo, json_int_t hi)
{
    return json_is_integer(v) && json_integer_value(v) >= lo &&
           json_integer_value(v) <= hi;
}

/* A list of texts, joined by "; ", for people. NULL: no memory; *bad: it is
 * none. */
static const char *joined(struct ws__arena *a, const json_t *list, bool *bad)
{
    const char *all = "";

    *bad = !json_is_array(list) || json_array_size(list) > MAX_LIST;
    for (size_t i = 0; !*bad && all && i < json_array_size(list); i++) {
        const char *s = json_string_value(json_array_get(list, i));

        *bad = !s;
        if (s)
            all = ws__arena_printf(a, "%s%s%s", all, i ? "; " : "", s);
        if (all && strlen(all) > MAX_SITE)
            *bad = true;
    }
    return all ? shown(a, all) : NULL;
}

/* The reply as a map. What the helper cannot do is WS_EPARSE. */
static int open_reply(struct ws_ctx *ctx, struct ws__arena *a, const char *text,
                      size_t len, json_t **out)
{
    json_error_t e;
    const char *words;

    *out = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
    if (!*out)
        return nonsense(ctx, "it is no JSON");
    if (!json_is_object(*out))
        return nonsense(ctx, "it is no map");
    words = text_of(*out, "error");
    if (!words)
        return 0;
    words = shown(a, words);
    return words ? ws__fail(ctx, WS_EPARSE, "%s", words) : WS_ENOMEM;
}

/* --- transformations ------------------------------------------------------ */

const struct ws__triton_rule *
ws__triton_rule_named(const struct ws__triton_rules *r, const char *name)
{
    for (size_t i = 0; name && i < r->n; i++)
        if (!strcmp(r->rule[i].name, name))
            return &r->rule[i];
    return NULL;
}

static int read_finding(struct ws_ctx *ctx, struct ws__arena *a,
                        const json_t *list, struct ws__triton_rule *r)
{
    size_t n = json_array_size(list);
    const char **key = ws__arena_alloc(a, n + 1, sizeof(*key));

    if (!key)
        return WS_ENOMEM;
    if (!json_is_array(list) || n > MAX_LIST)
        return nonsense(ctx, "'symptoms' is no list");
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(list, i));

        if (!is_name(s))
            return nonsense(ctx, "a symptom is no name");
        key[i] = ws__arena_strdup(a, s);
        if (!key[i])
            return WS_ENOMEM;
    }
    r->finding = key;
    return 0;
}

/* Shapes, values and the state of the device are asked for of all moves. */
static int read_gates(struct ws_ctx *ctx, const json_t *list,
                      struct ws__triton_rule *r)
{
    if (!json_is_array(list) || json_array_size(list) > MAX_LIST)
        return nonsense(ctx, "'gates' is no list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *s = json_string_value(json_array_get(list, i));

        if (s && !strcmp(s, "sanitizer"))
            r->want |= WS__WANT_SANITIZER;
        else if (!s || (strcmp(s, "shapes") && strcmp(s, "values") &&
                        strcmp(s, "state")))
            return nonsense(ctx, "a gate is none");
    }
    return 0;
}

static int read_rule(struct ws_ctx *ctx, struct ws__arena *a, const json_t *map,
                     struct ws__triton_rules *all)
{
    struct ws__triton_rule *r = &all->rule[all->n];
    const json_t *rounding = json_object_get(map, "rounding");
    bool bad;

    r->name = text_of(map, "name");
    if (!is_name(r->name) || ws__triton_rule_named(all, r->name))
        return nonsense(ctx, "a transformation has no name of its own");
    r->name = ws__arena_strdup(a, r->name);
    r->needs = joined(a, json_object_get(map, "holds"), &bad);
    if (!r->name || !r->needs)
        return WS_ENOMEM;
    if (bad)
        return nonsense(ctx, "'holds' is no list of texts");
    r->gain = json_number_value(json_object_get(map, "gain"));
    if (!(r->gain >= 1 && r->gain <= MAX_GAIN))
        return nonsense(ctx, "'gain' is no factor");
    if (!json_is_boolean(rounding))
        return nonsense(ctx, "'rounding' is neither true nor false");
    r->rounding = json_is_true(rounding);
    WS_TRY(read_finding(ctx, a, json_object_get(map, "symptoms"), r));
    WS_TRY(read_gates(ctx, json_object_get(map, "gates"), r));
    all->n++;
    return 0;
}

int ws__triton_rules_read(struct ws_ctx *ctx, struct ws__arena *a,
                          const char *text, size_t len,
                          struct ws__triton_rules *out)
{
    json_t *root;
    const json_t *list;
    size_t n;
    int rc;

    memset(out, 0, sizeof(*out));
    WS_TRY_DONE(open_reply(ctx, a, text, len, &root));
    list = json_object_get(root, "rules");
    n = json_array_size(list);
    if (!n || n > MAX_RULES)
        WS_TRY_DONE(nonsense(ctx, "'rules' is no list of them"));
    out->rule = ws__arena_alloc(a, n, sizeof(*out->rule));
    WS_TRY_DONE(out->rule ? 0 : WS_ENOMEM);
    for (size_t i = 0; i < n; i++)
        WS_TRY_DONE(read_rule(ctx, a, json_array_get(list, i), out));
done:
    json_decref(root);
    return rc;
}

/* --- places --------------------------------------------------------------- */

static int add_text(const char *text, size_t n, void *user)
{
    return ws__buf_add(user, text, n) < 0 ? -1 : 0;
}

/* What is sent back with `apply`: nothing but what is known here. */
static int put_site(struct ws_ctx *ctx, struct ws__arena *a, const json_t *map,
                    struct ws__triton_place *p)
{
    static const char *const kept[] = {"rule",   "function", "line",
                                       "column", "words",    "args"};
    json_t *site = json_object();
    struct ws__buf b;
    int rc = site ? 0 : ws__nomem(ctx);

    ws__buf_init(&b, ctx, MAX_SITE);
    for (size_t i = 0; i < WS_COUNT(kept) && rc >= 0; i++) {
        json_t *v = json_object_get(map, kept[i]);

        if (v && json_object_set(site, kept[i], v) < 0)
            rc = ws__nomem(ctx);
    }
    if (rc >= 0 && json_dump_callback(site, add_text, &b,
                                      JSON_COMPACT | JSON_SORT_KEYS) < 0)
        rc = b.failed == WS_ELIMIT ? nonsense(ctx, "a site is too long")
                                   : ws__nomem(ctx);
    if (rc >= 0 && !(p->site = ws__arena_strndup(a, b.data, b.len)))
        rc = WS_ENOMEM;
    json_decref(site);
    ws__buf_free(&b);
    return rc;
}

/* Where, and in which of several functions. */
static const char *place_words(struct ws__arena *a, const json_t *map,
                               bool several, const char *words)
{
    return ws__arena_printf(a, "%s%sline %lld%s%s",
                            several ? text_of(map, "function") : "",
                            several ? ", " : "",
                            (long long)json_integer_value(
                                json_object_get(map, "line")),
                            *words ? ": " : "", words);
}

static int read_place(struct ws_ctx *ctx, struct ws__arena *a,
                      const json_t *map, bool site, bool several,
                      struct ws__triton_place *p)
{
    const json_t *args = json_object_get(map, "args");
    const char *words = text_of(map, site ? "words" : "why"), *short_words;
    bool bad = false;

    if (!words || !*words)
        return nonsense(ctx, "a place has no words");
    if (!text_of(map, "function") ||
        !is_number(json_object_get(map, "line"), 1, 1 << 24) ||
        !is_number(json_object_get(map, "column"), 0, 1 << 24))
        return nonsense(ctx, "a place is nowhere");
    short_words = shown(a, words);
    p->words = short_words
                   ? place_words(a, map, several, site ? short_words : "")
                   : NULL;
    if (!p->words)
        return WS_ENOMEM;
    if (!site) {
        p->refused = short_words;
        return 0;
    }
    if (args && !json_is_object(args))
        return nonsense(ctx, "'args' is no map");
    p->trust = joined(a, json_object_get(map, "unproven"), &bad);
    if (bad)
        return nonsense(ctx, "'unproven' is no list of texts");
    if (!p->trust)
        return WS_ENOMEM;
    if (!*p->trust)
        p->trust = NULL;
    return put_site(ctx, a, map, p);
}

/* The places of one transformation, in the order of the reply. */
static int add_places(struct ws_ctx *ctx, struct ws__arena *a,
                      const json_t *list, const struct ws__triton_rule *rule,
                      bool site, bool several, struct ws__triton_places *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *map = json_array_get(list, i);
        struct ws__triton_place *p = &out->place[out->n];

        if (strcmp(text_of(map, "rule"), rule->name))
            continue;
        p->rule = rule;
        WS_TRY(read_place(ctx, a, map, site, several, p));
        out->n++;
    }
    return 0;
}

static int check_rules(struct ws_ctx *ctx, const struct ws__triton_rules *rules,
                       const json_t *list, const char **function, bool *several)
{
    if (!json_is_array(list) || json_array_size(list) > MAX_PLACES)
        return nonsense(ctx, "'sites' or 'refusals' is no list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *map = json_array_get(list, i);
        const char *f = text_of(map, "function");

        if (!ws__triton_rule_named(rules, text_of(map, "rule")))
            return nonsense(ctx, "a place of no transformation");
        *several = *several || (f && *function && strcmp(f, *function));
        *function = f ? f : *function;
    }
    return 0;
}

int ws__triton_places_read(struct ws_ctx *ctx, struct ws__arena *a,
                           const struct ws__triton_rules *rules,
                           const char *text, size_t len,
                           struct ws__triton_places *out)
{
    const char *function = NULL;
    const json_t *site, *refusal;
    bool several = false;
    json_t *root;
    int rc;

    memset(out, 0, sizeof(*out));
    WS_TRY_DONE(open_reply(ctx, a, text, len, &root));
    site = json_object_get(root, "sites");
    refusal = json_object_get(root, "refusals");
    WS_TRY_DONE(check_rules(ctx, rules, site, &function, &several));
    WS_TRY_DONE(check_rules(ctx, rules, refusal, &function, &several));
    out->place =
        ws__arena_alloc(a, json_array_size(site) + json_array_size(refusal) + 1,
                        sizeof(*out->place));
    WS_TRY_DONE(out->place ? 0 : WS_ENOMEM);
    for (size_t i = 0; i < rules->n; i++) {
        WS_TRY_DONE(
            add_places(ctx, a, site, &rules->rule[i], true, several, out));
        WS_TRY_DONE(
            add_places(ctx, a, refusal, &rules->rule[i], false, several, out));
    }
done:
    json_decref(root);
    return rc;
}

/* --- edits ---------------------------------------------------------------- */

/* The source with the edits made. */
static int splice(struct ws_ctx *ctx, const char *source, const json_t *list,
                  struct ws__buf *b)
{
    size_t len = strlen(source), at = 0;

    if (!json_is_array(list) || json_array_size(list) > MAX_EDITS)
        return nonsense(ctx, "'edits' is no list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *e = json_array_get(list, i);
        const json_t *offset = json_object_get(e, "offset");
        const json_t *length = json_object_get(e, "length");
        size_t from, n;

        if (!is_number(offset, 0, (json_int_t)len) ||
            !is_number(length, 0, (json_int_t)len) || !text_of(e, "text"))
            return nonsense(ctx, "an edit lies outside of the source");
        from = (size_t)json_integer_value(offset);
        n = (size_t)json_integer_value(length);
        if (n > len - from)
            return nonsense(ctx, "an edit lies outside of the source");
        if (from < at)
            return nonsense(ctx, "edits overlap");
        ws__buf_add(b, source + at, from - at);
        ws__buf_puts(b, text_of(e, "text"));
        at = from + n;
    }
    ws__buf_add(b, source + at, len - at);
    if (b->failed == WS_ELIMIT)
        return ws__fail(ctx, WS_EPARSE, "the new source is too long");
    return b->failed;
}

/* A piece of YAML on one line. */
static bool is_line(const char *s)
{
    size_t n = strlen(s);

    if (!n || n > MAX_YAML || *s == '%')
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' || s[i] == 127)
            return false;
    return true;
}

static int read_changes(struct ws_ctx *ctx, struct ws__arena *a,
                        const json_t *list, struct ws__triton_edited *out)
{
    static const char *const roots[] = {"parameters", "constraints", "launches",
                                        "scratch", NULL};
    size_t n = json_array_size(list);

    if (!json_is_array(list) || n > MAX_CHANGES)
        return nonsense(ctx, "'changes' is no list");
    out->change = ws__arena_alloc(a, n + 1, sizeof(*out->change));
    if (!out->change)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const json_t *c = json_array_get(list, i);
        const char *path = text_of(c, "path"), *yaml = text_of(c, "yaml");

        if (!path || !ws__llm_is_path(path) || !ws__llm_is_root(roots, path))
            return nonsense(ctx, "a change is of no path that a move may "
                                 "change");
        if (!yaml || !is_line(yaml))
            return nonsense(ctx, "a change has no value on one line");
        path = ws__arena_strdup(a, path);
        yaml = ws__arena_strdup(a, yaml);
        if (!path || !yaml)
            return WS_ENOMEM;
        out->change[out->nchange++] = (struct ws__change){path, yaml};
    }
    return 0;
}

int ws__triton_edited_read(struct ws_ctx *ctx, struct ws__arena *a,
                           const char *source, const char *text, size_t len,
                           struct ws__triton_edited *out)
{
    const char *said, *made;
    struct ws__buf b;
    json_t *root;
    int rc;

    memset(out, 0, sizeof(*out));
    ws__buf_init(&b, ctx, MAX_SOURCE);
    WS_TRY_DONE(open_reply(ctx, a, text, len, &root));
    WS_TRY_DONE(splice(ctx, source, json_object_get(root, "edits"), &b));
    said = text_of(root, "source");
    made = b.data ? b.data : "";
    if (!said || strcmp(said, made) != 0)
        WS_TRY_DONE(nonsense(ctx, "its edits do not make its source"));
    WS_TRY_DONE(read_changes(ctx, a, json_object_get(root, "changes"), out));
    out->text = ws__arena_strdup(a, made);
    rc = out->text ? 0 : WS_ENOMEM;
done:
    json_decref(root);
    ws__buf_free(&b);
    return rc;
}
