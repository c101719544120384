/*
 * devwire.c: packing of builds and batches. See devwire.h.
 *
 * Reading trusts nothing: counts are bounded by the bytes that are left, so a
 * damaged message is WS_EPROTO and never a huge allocation or a stray
 * pointer.
 */
#include "device/devwire.h"

#include "base/banned.h"

static int bad(struct ws__arena *a)
{
    return ws__fail(a->ctx, WS_EPROTO, "damaged message");
}

/* A struct of known size; zeroed if it does not fit. */
static void get_struct(struct ws__reader *r, void *out, size_t size)
{
    size_t n;
    const void *p = ws__get_blob(r, &n);

    memset(out, 0, size);
    if (p && n == size)
        memcpy(out, p, size);
    else
        r->bad = true;
}

static void put_array(struct ws__buf *b, const void *p, size_t n, size_t size)
{
    ws__put_blob(b, p, p ? n * size : 0);
}

/* An aligned copy in the arena; NULL and *n 0 if it is empty. */
static int get_array(struct ws__reader *r, struct ws__arena *a, size_t size,
                     const void **out, size_t *n)
{
    size_t bytes;
    const void *p = ws__get_blob(r, &bytes);
    void *copy;

    *out = NULL;
    *n = bytes / size;
    if (r->bad || bytes % size)
        return bad(a);
    if (!bytes)
        return 0;
    copy = ws__arena_alloc(a, bytes, 1);
    if (!copy)
        return WS_ENOMEM;
    memcpy(copy, p, bytes);
    *out = copy;
    return 0;
}

/* Room for a list whose elements take at least `least` bytes each. */
static int get_count(struct ws__reader *r, struct ws__arena *a, size_t least,
                     size_t size, void **out, size_t *n)
{
    uint64_t count = ws__get_u32(r);

    *out = NULL;
    *n = 0;
    if (r->bad || count > (uint64_t)(r->end - r->p) / least)
        return bad(a);
    *out = ws__arena_alloc(a, (size_t)count, size);
    if (!*out)
        return WS_ENOMEM;
    *n = (size_t)count;
    return 0;
}

static void put_strings(struct ws__buf *b, const char *const *s, size_t n)
{
    ws__put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        ws__put_str(b, s[i]);
}

static int get_strings(struct ws__reader *r, struct ws__arena *a,
                       const char *const **out, size_t *n)
{
    void *p;
    const char **s;

    WS_TRY(get_count(r, a, 8, sizeof(*s), &p, n));
    s = p;
    for (size_t i = 0; i < *n; i++) {
        s[i] = ws__get_str(r);
        if (!s[i])
            return bad(a);
    }
    *out = s;
    return 0;
}

void ws__put_info(struct ws__buf *b, const struct ws__device_info *info)
{
    ws__put_blob(b, info, sizeof(*info));
}

/* A byte that is neither 0 nor 1 is no bool. */
static void make_bool(bool *b)
{
    unsigned char raw;

    memcpy(&raw, b, 1);
    *b = raw != 0;
}

#define TERMINATE(array) ((array)[sizeof(array) - 1] = '\0')

void ws__get_info(struct ws__reader *r, struct ws__device_info *info)
{
    get_struct(r, info, sizeof(*info));
    make_bool(&info->usable);
    make_bool(&info->id.is_cpu);
    TERMINATE(info->name);
    TERMINATE(info->reason);
    TERMINATE(info->extra);
    TERMINATE(info->place);
    TERMINATE(info->id.device);
    TERMINATE(info->id.driver);
    TERMINATE(info->id.compiler);
    TERMINATE(info->id.tool);
    TERMINATE(info->id.family);
    TERMINATE(info->id.protocol);
}

void ws__put_build(struct ws__buf *b, const struct ws__build *build)
{
    ws__put_str(b, build->source);
    put_strings(b, build->option, build->noption);
    ws__put_u32(b, build->dialect);
    put_strings(b, build->entry, build->nentry);
    ws__put_u32(b, build->hint ? (uint32_t)build->nhint : 0);
    for (size_t i = 0; build->hint && i < build->nhint; i++) {
        ws__put_str(b, ws__plan_entry(&build->hint[i]));
        ws__put_blob(b, &build->hint[i], sizeof(build->hint[i]));
    }
    put_array(b, build->tensor_bytes, build->ntensor, sizeof(uint64_t));
    put_array(b, build->scratch_bytes, build->nscratch, sizeof(uint64_t));
    put_array(b, build->binary, build->binary_bytes, 1);
    ws__put_u32(b, (uint32_t)build->rehearse |
                       (uint32_t)build->compile_only << 1 |
                       (uint32_t)build->want_image << 2);
}

static int get_hints(struct ws__reader *r, struct ws__arena *a,
                     struct ws__build *out)
{
    struct ws__plan_launch *hint;
    void *p;

    WS_TRY(get_count(r, a, sizeof(*hint), sizeof(*hint), &p, &out->nhint));
    hint = p;
    for (size_t i = 0; i < out->nhint; i++) {
        const char *entry = ws__get_str(r);

        get_struct(r, &hint[i], sizeof(hint[i]));
        hint[i].entry = entry;
        if (r->bad || !entry || hint[i].narg > WS__MAX_ARGS)
            return bad(a);
    }
    out->hint = hint;
    return 0;
}

int ws__get_build(struct ws__reader *r, struct ws__arena *a,
                  struct ws__build *out)
{
    const void *p;
    uint32_t flags;

    memset(out, 0, sizeof(*out));
    out->source = ws__get_str(r);
    WS_TRY(get_strings(r, a, &out->option, &out->noption));
    out->dialect = (enum ws__dialect)ws__get_u32(r);
    WS_TRY(get_strings(r, a, &out->entry, &out->nentry));
    WS_TRY(get_hints(r, a, out));
    WS_TRY(get_array(r, a, sizeof(uint64_t), &p, &out->ntensor));
    out->tensor_bytes = p;
    WS_TRY(get_array(r, a, sizeof(uint64_t), &p, &out->nscratch));
    out->scratch_bytes = p;
    WS_TRY(get_array(r, a, 1, &out->binary, &out->binary_bytes));
    flags = ws__get_u32(r);
    out->rehearse = flags & 1;
    out->compile_only = flags & 2;
    out->want_image = flags & 4;
    return r->bad || !out->source ? bad(a) : 0;
}

static void put_launch(struct ws__buf *b, const struct ws__dev_launch *l)
{
    ws__put_u32(b, l->module);
    ws__put_str(b, l->entry);
    for (int i = 0; i < 3; i++) {
        ws__put_u64(b, l->grid[i]);
        ws__put_u32(b, l->block[i]);
    }
    put_array(b, l->arg, l->narg, sizeof(*l->arg));
}

static int get_launch(struct ws__reader *r, struct ws__arena *a,
                      struct ws__dev_launch *l)
{
    const void *p;

    l->module = ws__get_u32(r);
    l->entry = ws__get_str(r);
    for (int i = 0; i < 3; i++) {
        l->grid[i] = ws__get_u64(r);
        l->block[i] = ws__get_u32(r);
    }
    WS_TRY(get_array(r, a, sizeof(*l->arg), &p, &l->narg));
    l->arg = p;
    return l->entry ? 0 : bad(a);
}

static void put_seq(struct ws__buf *b, const struct ws__dev_seq *s)
{
    ws__put_u32(b, (uint32_t)s->nlaunch);
    for (size_t i = 0; i < s->nlaunch; i++)
        put_launch(b, &s->launch[i]);
    put_array(b, s->restore, s->nrestore, sizeof(*s->restore));
    put_array(b, s->fill, s->nfill, sizeof(*s->fill));
    put_array(b, s->hash, s->nhash, sizeof(*s->hash));
}

static int get_seq(struct ws__reader *r, struct ws__arena *a,
                   struct ws__dev_seq *s)
{
    struct ws__dev_launch *launch;
    const void *p;
    void *q;

    WS_TRY(get_count(r, a, 8, sizeof(*launch), &q, &s->nlaunch));
    launch = q;
    for (size_t i = 0; i < s->nlaunch; i++)
        WS_TRY(get_launch(r, a, &launch[i]));
    s->launch = launch;
    WS_TRY(get_array(r, a, sizeof(*s->restore), &p, &s->nrestore));
    s->restore = p;
    WS_TRY(get_array(r, a, sizeof(*s->fill), &p, &s->nfill));
    s->fill = p;
    WS_TRY(get_array(r, a, sizeof(*s->hash), &p, &s->nhash));
    s->hash = p;
    return 0;
}

void ws__put_batch(struct ws__buf *b, const struct ws__dev_batch *batch)
{
    ws__put_u32(b, (uint32_t)batch->nprog);
    ws__put_u32(b, batch->first_round);
    ws__put_u32(b, batch->rounds);
    ws__put_u32(b, batch->inner);
    ws__put_u64(b, batch->flush_bytes);
    ws__put_u64(b, batch->limit_ns);
    ws__put_u32(b, batch->graph);
    ws__put_u32(b, (uint32_t)(batch->nprog * batch->nset));
    for (size_t i = 0; i < batch->nprog * batch->nset; i++)
        put_seq(b, &batch->prog[i]);
}

void ws__put_count(struct ws__buf *b, const struct ws__dev_count *c)
{
    put_seq(b, &c->seq);
    ws__put_u64(b, c->flush_bytes);
    put_strings(b, c->metric, c->n);
}

int ws__get_count(struct ws__reader *r, struct ws__arena *a,
                  struct ws__dev_count *out)
{
    memset(out, 0, sizeof(*out));
    WS_TRY(get_seq(r, a, &out->seq));
    out->flush_bytes = ws__get_u64(r);
    WS_TRY(get_strings(r, a, &out->metric, &out->n));
    if (r->bad ||
        (out->seq.nlaunch && out->n > WS__COUNT_MAX / out->seq.nlaunch))
        return bad(a);
    return 0;
}

void ws__put_watch(struct ws__buf *b, const struct ws__dev_watch *w)
{
    put_seq(b, &w->seq);
    put_array(b, w->input, w->ninput, sizeof(*w->input));
}

int ws__get_watch(struct ws__reader *r, struct ws__arena *a,
                  struct ws__dev_watch *out)
{
    const void *p;

    memset(out, 0, sizeof(*out));
    WS_TRY(get_seq(r, a, &out->seq));
    WS_TRY(get_array(r, a, sizeof(*out->input), &p, &out->ninput));
    out->input = p;
    return r->bad ? bad(a) : 0;
}

void ws__put_built(struct ws__buf *b, const struct ws__built *built)
{
    ws__put_u32(b, built->module);
    ws__put_str(b, built->log);
    ws__put_blob(b, &built->res, sizeof(built->res));
    ws__put_blob(b, built->image, built->image_bytes);
    put_strings(b, (const char *const *)built->symbol, built->nsymbol);
}

static int keep_built(struct ws__arena *a, const char *log, const void *image,
                      const char *const *symbol, struct ws__built *out)
{
    if (log && !(out->log = ws__strdup(a->ctx, log)))
        return WS_ENOMEM;
    if (!out->image_bytes)
        return 0;
    out->image = ws__alloc(a->ctx, out->image_bytes, 1);
    if (!out->image)
        return WS_ENOMEM;
    memcpy(out->image, image, out->image_bytes);
    out->symbol = ws__strdup_all(a->ctx, symbol, out->nsymbol);
    return out->symbol ? 0 : WS_ENOMEM;
}

int ws__get_built(struct ws__reader *r, struct ws__arena *a,
                  struct ws__built *out)
{
    const char *const *symbol;
    const char *log;
    const void *image;
    int rc;

    memset(out, 0, sizeof(*out));
    out->module = ws__get_u32(r);
    log = ws__get_str(r);
    get_struct(r, &out->res, sizeof(out->res));
    image = ws__get_blob(r, &out->image_bytes);
    WS_TRY(get_strings(r, a, &symbol, &out->nsymbol));
    if (r->bad)
        return bad(a);
    rc = keep_built(a, log, image, symbol, out);
    if (rc < 0) {
        uint32_t module = out->module;

        ws__built_free(a->ctx, out);
        out->module = module; /* the caller unloads it */
    }
    return rc;
}

int ws__get_batch(struct ws__reader *r, struct ws__arena *a,
                  struct ws__dev_batch *out)
{
    struct ws__dev_seq *seq;
    size_t n;
    void *p;

    memset(out, 0, sizeof(*out));
    out->nprog = ws__get_u32(r);
    out->first_round = ws__get_u32(r);
    out->rounds = ws__get_u32(r);
    out->inner = ws__get_u32(r);
    out->flush_bytes = ws__get_u64(r);
    out->limit_ns = ws__get_u64(r);
    out->graph = ws__get_u32(r);
    WS_TRY(get_count(r, a, 8, sizeof(*seq), &p, &n));
    seq = p;
    for (size_t i = 0; i < n; i++)
        WS_TRY(get_seq(r, a, &seq[i]));
    if (r->bad || (out->nprog && n % out->nprog))
        return bad(a);
    out->nset = out->nprog ? n / out->nprog : 0;
    out->prog = seq;
    return 0;
}
