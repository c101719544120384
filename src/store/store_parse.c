/*
 * store_parse.c: exported text back into rows, strictly.
 *
 * A file is read as a whole before anything is written: every line must be a
 * record of a known format with all its keys and no other, every number must
 * fit its column, and what stands in words (the config, the workload, the
 * verdict) must agree with the columns where both are there, so that a line
 * edited by hand is noticed. The error says line and reason.
 *
 * Runs and measurers stand on every line and are kept once. What depends on
 * the store that takes it all is checked in store_import.c.
 */
#include "store/store_text.h"

#include <jansson.h>
#include <math.h>

#include "base/banned.h"

#define MAX_ID ((uint64_t)1 << 53)

/* One line; the error is told with its number. */
struct line {
    struct ws_ctx *ctx;
    struct ws__loc loc;
    uint64_t format; /* of the record */
};

static int bad(const struct line *l, const char *fmt, ...) WS_PRINTF(2, 3);

static int bad(const struct line *l, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ws__fail_at(l->ctx, WS_EPARSE, &l->loc, "%s", text);
    return ws__hint(l->ctx, "nothing was imported; a file that 'wavesmith "
                            "trials --export' wrote reads as it is");
}

/* --- values -------------------------------------------------------------- */

static int get(const struct line *l, const json_t *obj, const char *key,
               json_t **out)
{
    *out = json_object_get(obj, key);
    return *out ? 0 : bad(l, "no key '%s'", key);
}

static int get_object(const struct line *l, const json_t *obj, const char *key,
                      json_t **out)
{
    WS_TRY(get(l, obj, key, out));
    return json_is_object(*out) ? 0 : bad(l, "'%s' is no object", key);
}

static int get_array(const struct line *l, const json_t *obj, const char *key,
                     json_t **out)
{
    WS_TRY(get(l, obj, key, out));
    return json_is_array(*out) ? 0 : bad(l, "'%s' is no list", key);
}

/* A number, or the digits of a large one. */
static int whole_of(const struct line *l, const char *key, const json_t *v,
                    uint64_t *out)
{
    const char *s = json_string_value(v);
    uint64_t sum = 0;

    if (json_is_integer(v) && json_integer_value(v) >= 0) {
        *out = (uint64_t)json_integer_value(v);
        return 0;
    }
    if (!s || !*s || strlen(s) > 20)
        return bad(l, "'%s' is no whole number", key);
    for (; *s; s++)
        if (*s < '0' || *s > '9' || __builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*s - '0'), &sum))
            return bad(l, "'%s' is no whole number", key);
    *out = sum;
    return 0;
}

static int get_whole(const struct line *l, const json_t *obj, const char *key,
                     uint64_t lo, uint64_t hi, uint64_t *out)
{
    json_t *v;

    WS_TRY(get(l, obj, key, &v));
    WS_TRY(whole_of(l, key, v, out));
    if (*out >= lo && *out <= hi)
        return 0;
    return bad(l, "'%s' is %llu, not %llu to %llu", key,
               (unsigned long long)*out, (unsigned long long)lo,
               (unsigned long long)hi);
}

static bool hex_u64(const char *s, uint64_t *out)
{
    static const char digits[] = "0123456789abcdef";

    *out = 0;
    if (strlen(s) != 16)
        return false;
    for (; *s; s++) {
        const char *at = strchr(digits, *s);

        if (!at)
            return false;
        *out = *out << 4 | (uint64_t)(at - digits);
    }
    return true;
}

static int real_of(const struct line *l, const char *key, const json_t *v,
                   double *out)
{
    const char *s = json_string_value(v);
    uint64_t bits;

    if (json_is_number(v)) {
        *out = json_number_value(v);
        return 0;
    }
    if (s && !strncmp(s, "nan:", 4) && hex_u64(s + 4, &bits)) {
        memcpy(out, &bits, sizeof(bits));
        if (isnan(*out))
            return 0;
    } else if (s && !strcmp(s, "inf")) {
        *out = (double)INFINITY;
        return 0;
    } else if (s && !strcmp(s, "-inf")) {
        *out = -(double)INFINITY;
        return 0;
    }
    return bad(l, "'%s' is no number", key);
}

static int hash_of(const struct line *l, const char *key, const json_t *v,
                   struct ws__hash *out)
{
    const char *s = json_string_value(v);

    if (s && strlen(s) == 32 && ws__hash_parse(s, out))
        return 0;
    return bad(l, "'%s' is no hash of 32 digits", key);
}

static int nibble(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* A string, or {"hex": ...} of one that is no UTF-8; freed by the caller. */
static int text_of(const struct line *l, const char *key, const json_t *v,
                   char **out)
{
    const char *hex = json_string_value(json_object_get(v, "hex"));
    size_t n;

    if (json_is_string(v)) {
        *out = ws__strdup(l->ctx, json_string_value(v));
        return *out ? 0 : WS_ENOMEM;
    }
    if (!hex || json_object_size(v) != 1 || strlen(hex) % 2)
        return bad(l, "'%s' is no text", key);
    n = strlen(hex) / 2;
    *out = ws__alloc(l->ctx, n + 1, 1);
    if (!*out)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int hi = nibble(hex[2 * i]), lo = nibble(hex[2 * i + 1]);

        if (hi < 0 || lo < 0 || !(hi | lo)) {
            ws__free(l->ctx, *out);
            *out = NULL;
            return bad(l, "'%s' is no text", key);
        }
        (*out)[i] = (char)(hi << 4 | lo);
    }
    return 0;
}

static int get_text(const struct line *l, const json_t *obj, const char *key,
                    char **out)
{
    json_t *v;

    WS_TRY(get(l, obj, key, &v));
    return text_of(l, key, v, out);
}

/* --- columns ------------------------------------------------------------- */

static int config_of(const struct line *l, const char *key, const json_t *v,
                     struct ws__config *out)
{
    size_t n = json_array_size(v);

    memset(out, 0, sizeof(*out));
    if (!json_is_array(v) || n > WS__MAX_PARAMS)
        return bad(l, "'%s' is no list of up to %d numbers", key,
                   WS__MAX_PARAMS);
    out->n = (uint16_t)n;
    for (size_t i = 0; i < n; i++) {
        uint64_t at;

        WS_TRY(whole_of(l, key, json_array_get(v, i), &at));
        if (at > UINT16_MAX)
            return bad(l, "'%s' has the number %llu", key,
                       (unsigned long long)at);
        out->at[i] = (uint16_t)at;
    }
    return 0;
}

static int samples_of(const struct line *l, const char *key, const json_t *v,
                      struct ws__trial *t)
{
    size_t n = json_array_size(v);

    if (!json_is_array(v) || n != t->nsample)
        return bad(l, "'%s' is no list of 'nsample' numbers", key);
    if (!n)
        return 0;
    t->sample_ns = ws__alloc(l->ctx, n, sizeof(double));
    if (!t->sample_ns)
        return WS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        WS_TRY(real_of(l, key, json_array_get(v, i), &t->sample_ns[i]));
    return 0;
}

static int chars_of(const struct line *l, const char *key, const json_t *v,
                    char *out, size_t size)
{
    char *text = NULL;
    int rc = text_of(l, key, v, &text);

    if (rc >= 0 && strlen(text) >= size)
        rc = bad(l, "'%s' is longer than %zu bytes", key, size - 1);
    if (rc >= 0)
        snprintf(out, size, "%s", text);
    ws__free(l->ctx, text);
    return rc;
}

static int put_whole(const struct line *l, const struct ws__column *c,
                     const json_t *v, void *p)
{
    uint64_t n;
    uint32_t n32;

    WS_TRY(whole_of(l, c->name, v, &n));
    if ((c->size == 1 && n > 1) || (c->size == sizeof(n32) && n > UINT32_MAX))
        return bad(l, "'%s' is too large", c->name);
    n32 = (uint32_t)n;
    if (c->size == 1)
        *(bool *)p = n == 1;
    else
        memcpy(p, c->size == sizeof(n32) ? (const void *)&n32 : &n, c->size);
    return 0;
}

static int take_column(const struct line *l, const struct ws__column *c,
                       const json_t *v, void *row)
{
    void *p = (char *)row + c->off;
    struct ws__hash h;
    double real;

    switch (c->kind) {
    case WS__KIND_UINT:
        return put_whole(l, c, v, p);
    case WS__KIND_F64:
        WS_TRY(real_of(l, c->name, v, &real));
        memcpy(p, &real, sizeof(real));
        return 0;
    case WS__KIND_HASH:
        WS_TRY(hash_of(l, c->name, v, &h));
        memcpy(p, &h, sizeof(h));
        return 0;
    case WS__KIND_CONFIG:
        return config_of(l, c->name, v, p);
    case WS__KIND_TEXT:
        return json_is_null(v) ? 0 : text_of(l, c->name, v, (char **)p);
    case WS__KIND_CHARS:
        return chars_of(l, c->name, v, p, c->size);
    case WS__KIND_SAMPLES:
        return samples_of(l, c->name, v, row);
    }
    return 0;
}

/* All columns of an object that its format has, and no other key but `also`.
 * The others are zero. */
static int take_columns(const struct line *l, json_t *obj,
                        const struct ws__columns *c, const char *also,
                        void *row)
{
    size_t n = c->upto[l->format - 1];
    const char *key;
    json_t *v;

    for (size_t i = 0; i < n; i++) {
        WS_TRY(get(l, obj, c->at[i].name, &v));
        WS_TRY(take_column(l, &c->at[i], v, row));
    }
    if (json_object_size(obj) == n + (also != NULL))
        return 0;
    json_object_foreach(obj, key, v)
    {
        size_t i = 0;

        while (i < n && strcmp(c->at[i].name, key))
            i++;
        if (i == n && (!also || strcmp(also, key)))
            return bad(l, "unknown key '%.40s'", key);
    }
    return bad(l, "no key '%s'", also ? also : "");
}

/* --- descriptions -------------------------------------------------------- */

/* A text into the arena. */
static int arena_text(const struct line *l, struct ws__parts *p,
                      const json_t *obj, const char *key, const char **out)
{
    char *text;

    WS_TRY(get_text(l, obj, key, &text));
    *out = ws__arena_strdup(&p->arena, text);
    ws__free(l->ctx, text);
    return *out ? 0 : WS_ENOMEM;
}

static int arena_list(struct ws__parts *p, const json_t *list, size_t size,
                      void **out, size_t *n)
{
    *n = json_array_size(list);
    *out = ws__arena_alloc(&p->arena, *n, size);
    return *out ? 0 : WS_ENOMEM;
}

static int take_param(const struct line *l, struct ws__parts *p,
                      const json_t *obj, struct ws__part_param *out)
{
    json_t *values;

    WS_TRY(arena_text(l, p, obj, "name", &out->name));
    WS_TRY(get_array(l, obj, "values", &values));
    WS_TRY(arena_list(p, values, sizeof(*out->value), (void **)&out->value,
                      &out->nvalue));
    for (size_t i = 0; i < out->nvalue; i++) {
        const char *text = json_string_value(json_array_get(values, i));

        if (!text)
            return bad(l, "a value of parameter '%.40s' is no text", out->name);
        out->value[i] = ws__arena_strdup(&p->arena, text);
        if (!out->value[i])
            return WS_ENOMEM;
    }
    return 0;
}

static int take_kernel(const struct line *l, struct ws__parts *p,
                       const json_t *obj, struct ws__part_kernel *out)
{
    json_t *params, *hash;

    WS_TRY(arena_text(l, p, obj, "name", &out->name));
    WS_TRY(get(l, obj, "hash", &hash));
    WS_TRY(hash_of(l, "hash", hash, &out->hash));
    WS_TRY(get_array(l, obj, "parameters", &params));
    WS_TRY(arena_list(p, params, sizeof(*out->param), (void **)&out->param,
                      &out->nparam));
    for (size_t i = 0; i < out->nparam; i++)
        WS_TRY(take_param(l, p, json_array_get(params, i), &out->param[i]));
    return 0;
}

static int take_parts(const struct line *l, const json_t *obj,
                      struct ws__parts *p)
{
    json_t *kernels, *workloads, *hash;

    WS_TRY(arena_text(l, p, obj, "op", &p->op));
    WS_TRY(get_array(l, obj, "kernels", &kernels));
    WS_TRY(get_array(l, obj, "workloads", &workloads));
    WS_TRY(arena_list(p, kernels, sizeof(*p->kernel), (void **)&p->kernel,
                      &p->nkernel));
    WS_TRY(arena_list(p, workloads, sizeof(*p->workload), (void **)&p->workload,
                      &p->nworkload));
    for (size_t i = 0; i < p->nkernel; i++)
        WS_TRY(take_kernel(l, p, json_array_get(kernels, i), &p->kernel[i]));
    for (size_t i = 0; i < p->nworkload; i++) {
        const json_t *w = json_array_get(workloads, i);

        WS_TRY(arena_text(l, p, w, "name", &p->workload[i].name));
        WS_TRY(arena_text(l, p, w, "axes", &p->workload[i].axes));
        WS_TRY(get(l, w, "hash", &hash));
        WS_TRY(hash_of(l, "hash", hash, &p->workload[i].hash));
    }
    return 0;
}

static int load(const struct line *l, const char *text, size_t n, json_t **out)
{
    struct line at = *l;
    json_error_t e;

    *out = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (json_is_object(*out))
        return 0;
    if (*out) {
        json_decref(*out);
        *out = NULL;
        return bad(l, "a record is an object: {...}");
    }
    if (json_error_code(&e) == json_error_out_of_memory)
        return ws__nomem(l->ctx);
    at.loc.column = e.column > 0 ? (uint32_t)e.column : 0;
    return bad(&at, "not JSON: %s", e.text);
}

int ws__parts_parse(struct ws_ctx *ctx, struct ws__hash spec, const char *text,
                    struct ws__parts *out)
{
    struct line l = {.ctx = ctx};
    json_t *doc;
    int rc;

    memset(out, 0, sizeof(*out));
    ws__arena_init(&out->arena, ctx);
    out->spec = spec;
    WS_TRY(load(&l, text, strlen(text), &doc));
    rc = take_parts(&l, doc, out);
    json_decref(doc);
    return rc;
}

/* --- records ------------------------------------------------------------- */

static bool same_run(const struct ws__run *a, const struct ws__run *b)
{
    return ws__hash_eq(a->spec, b->spec) && ws__hash_eq(a->device, b->device) &&
           !strcmp(a->strategy, b->strategy) && a->seed == b->seed;
}

static int keep_run(struct ws__import *in, const struct ws__import_run *r,
                    size_t *index)
{
    for (*index = in->nrun; (*index)--;)
        if (same_run(&in->run[*index].run, &r->run))
            return 0;
    WS_TRY(ws__grow(in->ctx, (void **)&in->run, &in->run_cap, in->nrun,
                    sizeof(*r)));
    *index = in->nrun;
    in->run[in->nrun++] = *r;
    return 0;
}

static int take_run(const struct line *l, struct ws__import *in,
                    const json_t *doc, size_t *index)
{
    struct ws__import_run r;
    json_t *obj;

    memset(&r, 0, sizeof(r));
    WS_TRY(get_object(l, doc, "run", &obj));
    WS_TRY(get_whole(l, obj, "begun_ns", 0, INT64_MAX, &r.begun_ns));
    WS_TRY(take_columns(l, obj, &ws__run_columns, "begun_ns", &r.run));
    return keep_run(in, &r, index);
}

static int keep_identity(const struct line *l, struct ws__import *in,
                         const struct ws__import_identity *id, size_t *index)
{
    for (*index = in->nidentity; (*index)--;) {
        const struct ws__identity *old = &in->identity[*index].identity;

        if (!ws__hash_eq(old->hash, id->identity.hash))
            continue;
        return ws__columns_same(&ws__identity_columns, old, &id->identity)
                   ? 0
                   : bad(l, "this measurer's hash stands for another one on "
                            "an earlier line");
    }
    WS_TRY(ws__grow(in->ctx, (void **)&in->identity, &in->identity_cap,
                    in->nidentity, sizeof(*id)));
    *index = in->nidentity;
    in->identity[in->nidentity++] = *id;
    return 0;
}

static int take_identity(const struct line *l, struct ws__import *in,
                         const json_t *doc, size_t *index)
{
    struct ws__import_identity id;
    json_t *obj;

    memset(&id, 0, sizeof(id));
    *index = WS__NO_IDENTITY;
    WS_TRY(get(l, doc, "identity", &obj));
    if (json_is_null(obj))
        return 0;
    WS_TRY(get_object(l, doc, "identity", &obj));
    WS_TRY(take_columns(l, obj, &ws__identity_columns, NULL, &id.identity));
    return keep_identity(l, in, &id, index);
}

static int check_codes(const struct line *l, const struct ws__record *r)
{
    const struct ws__question *q = &r->question;
    const char *why;

    if (r->trial.cache > WS__CACHE_WARM)
        return bad(l, "unknown cache mode %u", (unsigned)r->trial.cache);
    if (q->pair != (r->part > 0))
        return bad(l, "part %u does not go with 'pair'", r->part);
    why = ws__trial_flaw(q, r->part == 2 ? &q->b : &q->a, &r->trial);
    return why ? bad(l, "%s", why) : 0;
}

/* A text in words, if it is there, must be the one that the columns say. */
static int check_word(const struct line *l, const json_t *doc, const char *key,
                      const char *want)
{
    const json_t *v = json_object_get(doc, key);

    if (!v)
        return 0;
    if (json_is_string(v) && !strcmp(json_string_value(v), want))
        return 0;
    return bad(l, "'%s' does not agree with the numbers: they say '%.200s'",
               key, want);
}

static const struct ws__parts *parts_of(const struct ws__import *in,
                                        struct ws__hash spec)
{
    for (size_t i = 0; i < in->nspec; i++) {
        const struct ws__parts *p = &in->record[in->spec[i]].parts;

        if (ws__hash_eq(p->spec, spec))
            return p;
    }
    return NULL;
}

static int check_words(const struct line *l, const struct ws__import *in,
                       const json_t *doc, const struct ws__record *r)
{
    const struct ws__parts *p = parts_of(in, in->run[r->run].run.spec);
    const struct ws__part_workload *w;
    struct ws__buf b;
    int rc;

    WS_TRY(check_word(l, doc, "verdict", ws__verdict_key(r->trial.verdict)));
    if (!p)
        return 0;
    if (!ws__parts_has_workload(p, r->trial.workload))
        return bad(l, "the specification has no workload %u",
                   (unsigned)r->trial.workload);
    w = ws__parts_workload(p, r->trial.workload);
    if (w)
        WS_TRY(check_word(l, doc, "workload", w->axes));
    ws__buf_init(&b, l->ctx, 1 << 20);
    rc = ws__parts_config(p, &r->trial.candidate, &b);
    if (!rc) {
        rc = bad(l, "the specification has no such kernel or config");
    } else if (rc > 0) {
        rc = check_word(l, doc, "config", b.data ? b.data : "");
        if (rc >= 0)
            rc = check_word(l, doc, "kernel",
                            p->kernel[r->trial.candidate.kernel].name);
    }
    ws__buf_free(&b);
    return rc;
}

static int check_keys(const struct line *l, json_t *doc,
                      const char *const *known)
{
    const char *key;
    json_t *v;

    json_object_foreach(doc, key, v)
    {
        size_t i = 0;

        while (known[i] && strcmp(known[i], key))
            i++;
        if (!known[i])
            return bad(l, "unknown key '%.40s'", key);
    }
    return 0;
}

static int take_trial(const struct line *l, struct ws__import *in, json_t *doc,
                      struct ws__record *r)
{
    static const char *const keys[] = {"wavesmith", "format",    "id",
                                       "op",        "kernel",    "config",
                                       "workload",  "median_ns", "run",
                                       "identity",  "question",  "trial",
                                       "verdict",   NULL};
    json_t *question, *trial;
    uint64_t part;

    WS_TRY(check_keys(l, doc, keys));
    WS_TRY(get_whole(l, doc, "id", 1, MAX_ID, &r->trial.id));
    WS_TRY(take_run(l, in, doc, &r->run));
    WS_TRY(take_identity(l, in, doc, &r->identity));
    WS_TRY(get_object(l, doc, "question", &question));
    WS_TRY(get_whole(l, question, "seq", 1, MAX_ID, &r->seq));
    WS_TRY(
        take_columns(l, question, &ws__question_columns, "seq", &r->question));
    WS_TRY(get_object(l, doc, "trial", &trial));
    WS_TRY(get_whole(l, trial, "part", 0, 2, &part));
    r->part = (unsigned)part;
    WS_TRY(take_columns(l, trial, &ws__trial_columns, "part", &r->trial));
    r->trial.question = r->question.id;
    WS_TRY(check_codes(l, r));
    return check_words(l, in, doc, r);
}

static int take_spec(const struct line *l, json_t *doc, struct ws__record *r)
{
    static const char *const keys[] = {"wavesmith", "format",    "spec", "op",
                                       "kernels",   "workloads", NULL};
    json_t *hash;

    WS_TRY(check_keys(l, doc, keys));
    ws__arena_init(&r->parts.arena, l->ctx);
    WS_TRY(get(l, doc, "spec", &hash));
    WS_TRY(hash_of(l, "spec", hash, &r->parts.spec));
    return take_parts(l, doc, &r->parts);
}

static int take_value(const struct line *l, struct ws__import *in, json_t *doc,
                      struct ws__record *r)
{
    static const char *const keys[] = {"wavesmith", "format", "key",
                                       "value",     "run",    NULL};

    WS_TRY(check_keys(l, doc, keys));
    WS_TRY(take_run(l, in, doc, &r->run));
    WS_TRY(get_text(l, doc, "key", &r->key));
    return get_text(l, doc, "value", &r->value);
}

static int check_format(struct line *l, const json_t *doc)
{
    WS_TRY(get_whole(l, doc, "format", 1, MAX_ID, &l->format));
    if (l->format <= WS__TEXT_FORMAT)
        return 0;
    ws__fail_at(l->ctx, WS_EVERSION, &l->loc,
                "a record of format %llu; this program knows formats up to %d",
                (unsigned long long)l->format, WS__TEXT_FORMAT);
    return ws__hint(l->ctx, "use the newer release that wrote it");
}

static int take_record(struct line *l, struct ws__import *in, json_t *doc,
                       struct ws__record *r)
{
    const char *kind = json_string_value(json_object_get(doc, "wavesmith"));

    if (!kind)
        return bad(l, "no record of a store: no key 'wavesmith'");
    WS_TRY(check_format(l, doc));
    if (!strcmp(kind, "trial")) {
        r->kind = WS__RECORD_TRIAL;
        return take_trial(l, in, doc, r);
    }
    if (!strcmp(kind, "value")) {
        r->kind = WS__RECORD_VALUE;
        return take_value(l, in, doc, r);
    }
    if (strcmp(kind, "spec") != 0)
        return bad(l, "unknown kind of record '%.40s'", kind);
    r->kind = WS__RECORD_SPEC;
    return take_spec(l, doc, r);
}

static void record_clear(struct ws_ctx *ctx, struct ws__record *r)
{
    ws__trial_clear(ctx, &r->trial);
    ws__parts_free(&r->parts);
    ws__free(ctx, r->key);
    ws__free(ctx, r->value);
}

/* The halves of a pair stand one after the other. */
static int check_pair(const struct line *l, const struct ws__import *in,
                      const struct ws__record *r)
{
    const struct ws__record *before =
        in->nrecord ? &in->record[in->nrecord - 1] : NULL;
    bool open = before && before->part == 1;

    if (!open && r->part != 2)
        return 0;
    if (open && r->part == 2 && r->run == before->run &&
        r->seq == before->seq &&
        ws__columns_same(&ws__question_columns, &r->question,
                         &before->question))
        return 0;
    return bad(l, "half of a pair is missing before this line");
}

static int end_pair(const struct ws__import *in)
{
    struct line l = {in->ctx, {.file = in->name}, 0};

    if (!in->nrecord || in->record[in->nrecord - 1].part != 1)
        return 0;
    l.loc.line = in->record[in->nrecord - 1].line;
    return bad(&l, "the other half of this pair is missing");
}

static int keep_spec(struct ws__import *in)
{
    WS_TRY(ws__grow(in->ctx, (void **)&in->spec, &in->spec_cap, in->nspec,
                    sizeof(*in->spec)));
    in->spec[in->nspec++] = in->nrecord;
    return 0;
}

/* Room for one more record, cleared; it is none yet. */
static int next_record(struct ws__import *in, uint32_t line,
                       struct ws__record **out)
{
    WS_TRY(ws__grow(in->ctx, (void **)&in->record, &in->record_cap, in->nrecord,
                    sizeof(**out)));
    *out = &in->record[in->nrecord];
    memset(*out, 0, sizeof(**out));
    (*out)->line = line;
    return 0;
}

static int take_line(struct ws__import *in, const char *text, size_t n,
                     uint32_t number)
{
    struct line l = {in->ctx, {.file = in->name, .line = number}, 0};
    struct ws__record *r;
    json_t *doc;
    int rc;

    WS_TRY(ws__check_stop(in->ctx));
    WS_TRY(next_record(in, number, &r));
    WS_TRY(load(&l, text, n, &doc));
    rc = take_record(&l, in, doc, r);
    json_decref(doc);
    if (rc >= 0)
        rc = check_pair(&l, in, r);
    if (rc >= 0 && r->kind == WS__RECORD_SPEC)
        rc = keep_spec(in);
    if (rc < 0)
        record_clear(in->ctx, r);
    else
        in->nrecord++;
    return rc < 0 ? rc : 0;
}

int ws__import_begin(struct ws_ctx *ctx, const char *name,
                     struct ws__import **out)
{
    struct ws__import *in = ws__alloc(ctx, 1, sizeof(*in));

    *out = NULL;
    if (!in)
        return WS_ENOMEM;
    in->ctx = ctx;
    in->name = ws__strdup(ctx, name);
    if (!in->name) {
        ws__import_free(in);
        return WS_ENOMEM;
    }
    *out = in;
    return 0;
}

int ws__import_new(struct ws_ctx *ctx, const char *name, const char *text,
                   size_t n, struct ws__import **out)
{
    const char *end = text + n;
    struct ws__import *in;
    int rc;

    *out = NULL;
    WS_TRY(rc = ws__import_begin(ctx, name, &in));
    for (uint32_t number = 1; rc >= 0 && text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t len = (size_t)((stop ? stop : end) - text);

        if (strspn(text, " \t\r") < len) /* blank lines are none */
            rc = take_line(in, text, len, number);
        text = stop ? stop + 1 : end;
    }
    if (rc >= 0)
        rc = end_pair(in);
    if (rc < 0) {
        ws__import_free(in);
        return rc;
    }
    *out = in;
    return 0;
}

/* --- from a program ------------------------------------------------------ */

int ws__import_answer(struct ws__import *in, const struct ws__run *run,
                      const struct ws__identity *id, uint32_t line,
                      const struct ws__question *q, const struct ws__trial *t)
{
    struct line l = {in->ctx, {.file = in->name, .line = line}, 0};
    struct ws__import_identity who = {.identity = *id};
    struct ws__import_run r = {.run = *run, .begun_ns = t->wall_ns};
    struct ws__record *rec;

    WS_TRY(next_record(in, line, &rec));
    rec->kind = WS__RECORD_TRIAL;
    rec->seq = q->id;
    rec->question = *q;
    WS_TRY(keep_run(in, &r, &rec->run));
    WS_TRY(keep_identity(&l, in, &who, &rec->identity));
    WS_TRY(ws__trial_copy(in->ctx, t, &rec->trial));
    rec->trial.question = q->id;
    in->nrecord++;
    return 0;
}

int ws__import_describe_take(struct ws__import *in, struct ws__parts *p)
{
    struct ws__record *rec;
    int rc = next_record(in, 0, &rec);

    if (rc < 0) {
        ws__parts_free(p);
        return rc;
    }
    rec->kind = WS__RECORD_SPEC;
    rec->parts = *p;
    memset(p, 0, sizeof(*p));
    in->nrecord++;
    return 0;
}

void ws__import_free(struct ws__import *in)
{
    if (!in)
        return;
    for (size_t i = 0; i < in->nrecord; i++)
        record_clear(in->ctx, &in->record[i]);
    ws__free(in->ctx, in->record);
    ws__free(in->ctx, in->spec);
    ws__free(in->ctx, in->run);
    ws__free(in->ctx, in->identity);
    ws__free(in->ctx, in->name);
    ws__free(in->ctx, in);
}
