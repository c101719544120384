/*
 * store_text.c: a store as text, exact to the bit.
 *
 * What the tables hold is written by the lists of columns, as the tables are;
 * what a person looks for (names, the config, the verdict, the median) stands
 * before it in words. Numbers are the shortest digits that read back as the
 * same; what JSON has no word for (NaN and its bits, infinities, numbers that
 * common readers round) and texts that are no UTF-8 are written as texts, so
 * that any reader of JSON gets through.
 *
 * Order: descriptions by hash, trials by number, values by run and key. The
 * same store gives the same bytes. Verification comes first, and everything
 * is read within one transaction: what is exported is whole.
 */
#include "store/store_text.h"

#include <math.h>

#include "core/stats.h"
#include "base/banned.h"

/* --- values -------------------------------------------------------------- */

/* The length of the UTF-8 sequence at s, or 0 if it is none. */
static size_t utf8_length(const unsigned char *s)
{
    uint32_t code, least;
    size_t n;

    if (s[0] < 0x80)
        return 1;
    n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    least = n == 4 ? 0x10000 : n == 3 ? 0x800 : 0x80;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    code = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    return n;
}

static bool is_utf8(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;

    while (*p) {
        size_t n = utf8_length(p);

        if (!n)
            return false;
        p += n;
    }
    return true;
}

void ws__text_string(struct ws__buf *b, const char *s)
{
    if (!s) {
        ws__buf_puts(b, "null");
        return;
    }
    if (!is_utf8(s)) { /* its bytes */
        ws__buf_puts(b, "{\"hex\":\"");
        for (; *s; s++)
            ws__buf_printf(b, "%02x", (unsigned)(unsigned char)*s);
        ws__buf_puts(b, "\"}");
        return;
    }
    ws__buf_puts(b, "\"");
    while (*s) {
        size_t plain = strcspn(s, "\"\\\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a"
                                  "\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15"
                                  "\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
                                  "\x7f");

        ws__buf_add(b, s, plain);
        s += plain;
        if (*s == '"' || *s == '\\')
            ws__buf_printf(b, "\\%c", *s++);
        else if (*s)
            ws__buf_printf(b, "\\u%04x", (unsigned)(unsigned char)*s++);
    }
    ws__buf_puts(b, "\"");
}

void ws__text_hash(struct ws__buf *b, struct ws__hash h)
{
    char hex[33];

    ws__hash_hex(h, hex);
    ws__buf_printf(b, "\"%s\"", hex);
}

void ws__text_whole(struct ws__buf *b, uint64_t v)
{
    ws__buf_printf(b, v > WS__TEXT_WHOLE_MAX ? "\"%llu\"" : "%llu",
                   (unsigned long long)v);
}

void ws__text_real(struct ws__buf *b, double v)
{
    const struct ws__value value = {.type = WS__FLOAT, .u.f = v};
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    if (isnan(v))
        ws__buf_printf(b, "\"nan:%016llx\"", (unsigned long long)bits);
    else if (isinf(v))
        ws__buf_puts(b, v > 0 ? "\"inf\"" : "\"-inf\"");
    else
        ws__value_print(b, &value);
}

/* --- rows ---------------------------------------------------------------- */

static void put_config(struct ws__buf *b, const struct ws__config *c)
{
    ws__buf_puts(b, "[");
    for (size_t i = 0; i < c->n && i < WS__MAX_PARAMS; i++)
        ws__buf_printf(b, "%s%u", i ? "," : "", (unsigned)c->at[i]);
    ws__buf_puts(b, "]");
}

static void put_samples(struct ws__buf *b, const struct ws__trial *t)
{
    ws__buf_puts(b, "[");
    for (size_t i = 0; i < t->nsample; i++) {
        ws__buf_puts(b, i ? "," : "");
        ws__text_real(b, t->sample_ns[i]);
    }
    ws__buf_puts(b, "]");
}

static uint64_t whole_of(const void *p, size_t size)
{
    uint32_t v32;
    uint64_t v64;

    if (size == 1)
        return *(const unsigned char *)p;
    if (size == sizeof(v32)) {
        memcpy(&v32, p, sizeof(v32));
        return v32;
    }
    memcpy(&v64, p, sizeof(v64));
    return v64;
}

static void put_column(struct ws__buf *b, const struct ws__column *c,
                       const void *row)
{
    const void *p = (const char *)row + c->off;
    struct ws__hash h;
    double v;

    switch (c->kind) {
    case WS__KIND_UINT:
        ws__text_whole(b, whole_of(p, c->size));
        break;
    case WS__KIND_F64:
        memcpy(&v, p, sizeof(v));
        ws__text_real(b, v);
        break;
    case WS__KIND_HASH:
        memcpy(&h, p, sizeof(h));
        ws__text_hash(b, h);
        break;
    case WS__KIND_CONFIG:
        put_config(b, p);
        break;
    case WS__KIND_TEXT:
        ws__text_string(b, *(char *const *)p);
        break;
    case WS__KIND_CHARS:
        ws__text_string(b, p);
        break;
    case WS__KIND_SAMPLES:
        put_samples(b, row);
        break;
    }
}

static void put_columns(struct ws__buf *b, const struct ws__columns *c,
                        const void *row)
{
    for (size_t i = 0; i < c->n; i++) {
        ws__buf_printf(b, ",\"%s\":", c->at[i].name);
        put_column(b, &c->at[i], row);
    }
}

static void put_run(struct ws__buf *b, const struct ws__run *run,
                    uint64_t begun_ns)
{
    ws__buf_puts(b, ",\"run\":{\"begun_ns\":");
    ws__text_whole(b, begun_ns);
    put_columns(b, &ws__run_columns, run);
    ws__buf_puts(b, "}");
}

static void put_identity(struct ws__buf *b, const struct ws__store_row *r)
{
    struct ws__buf one;

    if (!r->has_identity) {
        ws__buf_puts(b, ",\"identity\":null");
        return;
    }
    ws__buf_init(&one, b->ctx, 1 << 16);
    put_columns(&one, &ws__identity_columns, &r->identity);
    if (one.failed && !b->failed)
        b->failed = one.failed;
    else
        ws__buf_printf(b, ",\"identity\":{%s}", one.data + 1);
    ws__buf_free(&one);
}

/* For people; a reader takes the columns. */
static int put_words(struct ws__buf *b, const struct ws__store_row *r,
                     const struct ws__parts *p)
{
    const struct ws__part_workload *w =
        ws__parts_workload(p, r->trial.workload);
    const struct ws__trial *t = &r->trial;
    struct ws__buf config;
    struct ws__summary sum;
    int rc;

    ws__buf_init(&config, b->ctx, 1 << 20);
    rc = ws__parts_config(p, &t->candidate, &config);
    if (rc > 0) {
        ws__buf_puts(b, ",\"op\":");
        ws__text_string(b, p->op);
        ws__buf_puts(b, ",\"kernel\":");
        ws__text_string(b, p->kernel[t->candidate.kernel].name);
        ws__buf_puts(b, ",\"config\":");
        ws__text_string(b, config.data ? config.data : "");
    }
    ws__buf_free(&config);
    WS_TRY(rc);
    if (w) {
        ws__buf_puts(b, ",\"workload\":");
        ws__text_string(b, w->axes);
    }
    ws__buf_puts(b, ",\"verdict\":");
    ws__text_string(b, ws__verdict_key(t->verdict));
    if (t->nsample) {
        WS_TRY(ws__summarize(b->ctx, t->sample_ns, t->nsample, &sum));
        ws__buf_puts(b, ",\"median_ns\":");
        ws__text_real(b, sum.median);
    }
    return b->failed;
}

static int put_trial(struct ws__buf *b, const struct ws__store_row *r,
                     const struct ws__parts *p)
{
    ws__buf_printf(b, "{\"wavesmith\":\"trial\",\"format\":%d,\"id\":",
                   WS__TEXT_FORMAT);
    ws__text_whole(b, r->trial.id);
    WS_TRY(put_words(b, r, p));
    put_run(b, &r->run, r->begun_ns);
    put_identity(b, r);
    ws__buf_puts(b, ",\"question\":{\"seq\":");
    ws__text_whole(b, r->seq);
    put_columns(b, &ws__question_columns, &r->question);
    ws__buf_printf(b, "},\"trial\":{\"part\":%u", r->part);
    put_columns(b, &ws__trial_columns, &r->trial);
    return ws__buf_puts(b, "}}\n");
}

/* --- the whole ----------------------------------------------------------- */

struct out {
    struct ws__store *s;
    const struct ws__export_opts *o;
    struct ws__buf *b;
    struct ws__parts parts; /* of the specification seen last */
    bool known;             /* ... which may have none */
    uint64_t records;
};

static bool is_wanted(const struct ws__export_opts *o,
                      const struct ws__run *run)
{
    static const struct ws__hash none;

    return (!o->run || run->id == o->run) &&
           (ws__hash_eq(o->device, none) ||
            ws__hash_eq(o->device, run->device));
}

static int see_spec(struct out *out, struct ws__hash spec)
{
    if (out->known && ws__hash_eq(out->parts.spec, spec))
        return 0;
    ws__parts_free(&out->parts);
    WS_TRY(ws__store_parts(out->s, spec, &out->parts));
    out->parts.spec = spec;
    out->known = true;
    return 0;
}

static int on_row(void *user, const struct ws__store_row *r)
{
    struct out *out = user;

    if (!is_wanted(out->o, &r->run))
        return 0;
    WS_TRY(ws__check_stop(out->s->ctx));
    WS_TRY(see_spec(out, r->run.spec));
    out->records++;
    return put_trial(out->b, r, &out->parts);
}

static int on_value(void *user, const struct ws__run *run, uint64_t begun_ns,
                    const char *key, const char *value)
{
    struct out *out = user;

    if (!is_wanted(out->o, run) || !strcmp(key, WS__STORE_VIEW))
        return 0;
    out->records++;
    ws__buf_printf(out->b, "{\"wavesmith\":\"value\",\"format\":%d,\"key\":",
                   WS__TEXT_FORMAT);
    ws__text_string(out->b, key);
    ws__buf_puts(out->b, ",\"value\":");
    ws__text_string(out->b, value);
    put_run(out->b, run, begun_ns);
    return ws__buf_puts(out->b, "}\n");
}

/* Descriptions of the runs that are wanted, by hash. */
static int put_specs(struct out *out)
{
    sqlite3_stmt *q;
    int rc;

    WS_TRY(ws__store_prepare(
        out->s,
        "SELECT DISTINCT hash FROM spec JOIN run r ON r.spec = hash"
        " WHERE ?1 IN (0, r.id) AND (?2 IS NULL OR ?2 = r.device)"
        " ORDER BY hash",
        &q));
    sqlite3_bind_int64(q, 1, (int64_t)out->o->run);
    if (!ws__hash_eq(out->o->device, (struct ws__hash){0, 0}))
        ws__store_bind_hash(q, 2, out->o->device);
    while ((rc = ws__store_step(out->s, q, "read")) > 0) {
        struct ws__hash h;

        if (!ws__store_read_hash(q, 0, &h)) {
            rc = ws__store_damaged(out->s, "a description has no hash");
            break;
        }
        rc = see_spec(out, h);
        if (rc < 0)
            break;
        ws__buf_printf(out->b,
                       "{\"wavesmith\":\"spec\",\"format\":%d,"
                       "\"spec\":",
                       WS__TEXT_FORMAT);
        ws__text_hash(out->b, h);
        ws__buf_puts(out->b, ",");
        ws__parts_print(out->b, &out->parts);
        ws__buf_puts(out->b, "}\n");
        out->records++;
    }
    sqlite3_finalize(q);
    return rc;
}

int ws__store_export(struct ws__store *s, const struct ws__export_opts *o,
                     struct ws__buf *b, uint64_t *records)
{
    struct out out = {.s = s, .o = o, .b = b};
    int rc;

    WS_TRY(ws__store_exec(s, "BEGIN", "read"));
    rc = ws__store_verify(s);
    if (rc >= 0)
        rc = put_specs(&out);
    if (rc >= 0)
        rc = ws__store_rows(s, &(struct ws__store_range){.run = o->run}, on_row,
                            &out);
    if (rc >= 0)
        rc = ws__store_values(s, on_value, &out);
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    ws__parts_free(&out.parts);
    if (rc >= 0 && b->failed)
        rc = b->failed == WS_ENOMEM
                 ? WS_ENOMEM
                 : ws__fail(s->ctx, b->failed,
                            "the text of '%s' would be longer than %zu bytes",
                            s->path, b->max);
    *records = out.records;
    return rc < 0 ? rc : 0;
}
