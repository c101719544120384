/*
 * store_parts.c: what a specification's numbers stand for.
 *
 * A config is stored as indices and a workload as a number, for the lists
 * they point into never change under one hash of a specification. Those lists
 * are kept once for each hash, as one JSON text: names of kernels, parameters
 * and values as configs print them, and shapes. What has names only is no
 * part of the hash (a workload's name), so a later tune may rewrite the text;
 * nothing but words can change by that.
 *
 * The same text stands in exported files, and one reader serves both.
 */
#include "store/store_text.h"

#include "base/banned.h"

#define MAX_PARTS ((size_t)64 << 20)

/* --- from a specification ------------------------------------------------ */

/* The text of a buffer, in the arena; the buffer starts again. */
static const char *keep(struct ws__parts *p, struct ws__buf *b)
{
    const char *text =
        b->failed
            ? NULL
            : ws__arena_strndup(&p->arena, b->data ? b->data : "", b->len);

    ws__buf_free(b);
    return text;
}

static int make_param(struct ws__parts *p, const struct ws__param *from,
                      struct ws__part_param *to)
{
    struct ws__buf b;

    to->name = ws__arena_strdup(&p->arena, from->name);
    to->value = ws__arena_alloc(&p->arena, from->nvalue, sizeof(*to->value));
    to->nvalue = from->nvalue;
    if (!to->name || !to->value)
        return WS_ENOMEM;
    for (size_t i = 0; i < from->nvalue; i++) {
        ws__buf_init(&b, p->arena.ctx, MAX_PARTS);
        ws__value_print(&b, &from->value[i]);
        to->value[i] = keep(p, &b);
        if (!to->value[i])
            return WS_ENOMEM;
    }
    return 0;
}

static int make_kernel(struct ws__parts *p, const struct ws__kernel *from,
                       struct ws__part_kernel *to)
{
    to->name = ws__arena_strdup(&p->arena, from->name);
    to->hash = from->hash;
    to->param = ws__arena_alloc(&p->arena, from->nparam, sizeof(*to->param));
    to->nparam = from->nparam;
    if (!to->name || !to->param)
        return WS_ENOMEM;
    for (size_t i = 0; i < from->nparam; i++)
        WS_TRY(make_param(p, &from->param[i], &to->param[i]));
    return 0;
}

static int make_workload(struct ws__parts *p, const struct ws__op *op,
                         const struct ws__workload *from,
                         struct ws__part_workload *to)
{
    struct ws__buf b;

    to->name = ws__arena_strdup(&p->arena, from->name ? from->name : "");
    if (!to->name)
        return WS_ENOMEM;
    if (!op) {
        to->axes = to->name;
        return 0;
    }
    ws__buf_init(&b, p->arena.ctx, MAX_PARTS);
    ws__workload_print(&b, op, from);
    to->axes = keep(p, &b);
    to->hash = ws__workload_hash(op, from);
    return to->axes ? 0 : WS_ENOMEM;
}

int ws__parts_make(struct ws_ctx *ctx, struct ws__hash spec,
                   const struct ws__op *op, const struct ws__kernel *kernel,
                   size_t nkernel, const struct ws__workload *workload,
                   size_t nworkload, struct ws__parts *out)
{
    memset(out, 0, sizeof(*out));
    ws__arena_init(&out->arena, ctx);
    out->spec = spec;
    out->nkernel = nkernel;
    out->nworkload = nworkload;
    out->op = ws__arena_strdup(&out->arena, op ? op->name : "");
    out->kernel = ws__arena_alloc(&out->arena, nkernel, sizeof(*out->kernel));
    out->workload =
        ws__arena_alloc(&out->arena, nworkload, sizeof(*out->workload));
    if (!out->op || !out->kernel || !out->workload)
        return WS_ENOMEM;
    for (size_t i = 0; i < nkernel; i++)
        WS_TRY(make_kernel(out, &kernel[i], &out->kernel[i]));
    for (size_t i = 0; i < nworkload; i++)
        WS_TRY(make_workload(out, op, &workload[i], &out->workload[i]));
    return 0;
}

void ws__parts_free(struct ws__parts *p)
{
    if (p->arena.ctx)
        ws__arena_free(&p->arena);
    memset(p, 0, sizeof(*p));
}

/* --- use ----------------------------------------------------------------- */

int ws__parts_config(const struct ws__parts *p, const struct ws__candidate *c,
                     struct ws__buf *out)
{
    const struct ws__part_kernel *k;

    if (c->kernel >= p->nkernel)
        return 0;
    k = &p->kernel[c->kernel];
    if (c->config.n != k->nparam)
        return 0;
    for (size_t i = 0; i < k->nparam; i++)
        if (c->config.at[i] >= k->param[i].nvalue)
            return 0;
    for (size_t i = 0; i < k->nparam; i++)
        WS_TRY(ws__buf_printf(out, "%s%s=%s", i ? "," : "", k->param[i].name,
                              k->param[i].value[c->config.at[i]]));
    return 1;
}

const struct ws__part_workload *ws__parts_workload(const struct ws__parts *p,
                                                   uint32_t workload)
{
    return workload < p->nworkload ? &p->workload[workload] : NULL;
}

bool ws__parts_has_workload(const struct ws__parts *p, uint32_t workload)
{
    return workload < p->nworkload || (!p->nworkload && !workload);
}

/* --- as text ------------------------------------------------------------- */

static void print_kernel(struct ws__buf *b, const struct ws__part_kernel *k)
{
    ws__buf_puts(b, "{\"name\":");
    ws__text_string(b, k->name);
    ws__buf_puts(b, ",\"hash\":");
    ws__text_hash(b, k->hash);
    ws__buf_puts(b, ",\"parameters\":[");
    for (size_t i = 0; i < k->nparam; i++) {
        ws__buf_puts(b, i ? ",{\"name\":" : "{\"name\":");
        ws__text_string(b, k->param[i].name);
        ws__buf_puts(b, ",\"values\":[");
        for (size_t j = 0; j < k->param[i].nvalue; j++) {
            ws__buf_puts(b, j ? "," : "");
            ws__text_string(b, k->param[i].value[j]);
        }
        ws__buf_puts(b, "]}");
    }
    ws__buf_puts(b, "]}");
}

int ws__parts_print(struct ws__buf *b, const struct ws__parts *p)
{
    ws__buf_puts(b, "\"op\":");
    ws__text_string(b, p->op);
    ws__buf_puts(b, ",\"kernels\":[");
    for (size_t i = 0; i < p->nkernel; i++) {
        ws__buf_puts(b, i ? "," : "");
        print_kernel(b, &p->kernel[i]);
    }
    ws__buf_puts(b, "],\"workloads\":[");
    for (size_t i = 0; i < p->nworkload; i++) {
        const struct ws__part_workload *w = &p->workload[i];

        ws__buf_puts(b, i ? ",{\"name\":" : "{\"name\":");
        ws__text_string(b, w->name);
        ws__buf_puts(b, ",\"axes\":");
        ws__text_string(b, w->axes);
        ws__buf_puts(b, ",\"hash\":");
        ws__text_hash(b, w->hash);
        ws__buf_puts(b, "}");
    }
    return ws__buf_puts(b, "]");
}

/* --- in the store -------------------------------------------------------- */

static uint64_t text_sum(struct ws__hash spec, const char *text)
{
    return ws__hash_str(spec, text).lo;
}

/* The text of a hash: 1 (freed by the caller), or 0. */
static int get_text(struct ws__store *s, struct ws__hash spec, char **text)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_kept(s, WS__SQL_SPEC_GET, &q));
    ws__store_bind_hash(q, 1, spec);
    rc = ws__store_step(s, q, "read");
    if (rc > 0) {
        const char *p = (const char *)sqlite3_column_text(q, 0);
        char hex[33];

        ws__hash_hex(spec, hex);
        if (!p || (uint64_t)sqlite3_column_int64(q, 1) != text_sum(spec, p))
            rc = ws__store_damaged(
                s, "the description of %s is not what was written", hex);
        else if (!(*text = ws__strdup(s->ctx, p)))
            rc = WS_ENOMEM;
    }
    ws__store_done(q);
    return rc;
}

static int put_text(struct ws__store *s, struct ws__hash spec, const char *text)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_kept(s, WS__SQL_SPEC_PUT, &q));
    ws__store_bind_hash(q, 1, spec);
    sqlite3_bind_text(q, 2, text, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 3, (int64_t)text_sum(spec, text));
    rc = ws__store_step(s, q, "write to");
    ws__store_done(q);
    return rc;
}

int ws__store_put_parts(struct ws__store *s, const struct ws__parts *p,
                        bool replace, bool *fresh)
{
    struct ws__buf b;
    char *old = NULL;
    int rc;

    ws__buf_init(&b, s->ctx, MAX_PARTS);
    ws__buf_puts(&b, "{");
    ws__parts_print(&b, p);
    rc = ws__buf_puts(&b, "}");
    if (rc >= 0)
        rc = get_text(s, p->spec, &old);
    *fresh = rc == 0;
    if (rc == 0 || (rc > 0 && replace && strcmp(old, b.data)))
        rc = put_text(s, p->spec, b.data);
    ws__free(s->ctx, old);
    ws__buf_free(&b);
    return rc < 0 ? rc : 0;
}

int ws__store_describe(struct ws__store *s, const struct ws__parts *p)
{
    bool fresh;

    WS_TRY(ws__store_begin(s, "write to"));
    return ws__store_finish(s, ws__store_put_parts(s, p, true, &fresh),
                            "write to");
}

int ws__store_parts(struct ws__store *s, struct ws__hash spec,
                    struct ws__parts *out)
{
    char *text = NULL;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = get_text(s, spec, &text);
    if (rc > 0) {
        rc = ws__parts_parse(s->ctx, spec, text, out);
        if (rc < 0)
            ws__parts_free(out);
        if (rc < 0 && rc != WS_ENOMEM)
            rc = ws__store_damaged(s, "a description does not read");
        rc = rc < 0 ? rc : 1;
    }
    ws__free(s->ctx, text);
    return rc;
}

int ws__store_check_parts(struct ws__store *s)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_prepare(s, "SELECT hash FROM spec", &q));
    while ((rc = ws__store_step(s, q, "verify")) > 0) {
        struct ws__parts p;
        struct ws__hash h;

        if (!ws__store_read_hash(q, 0, &h)) {
            rc = ws__store_damaged(s, "a description has no hash");
            break;
        }
        rc = ws__store_parts(s, h, &p);
        ws__parts_free(&p);
        if (rc < 0)
            break;
    }
    sqlite3_finalize(q);
    return rc < 0 ? rc : 0;
}
