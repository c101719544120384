/*
 * recdigest.c: what an operation was asked for, as a hash and in words.
 *
 * Structures are walked field by field: bytes between fields mean nothing,
 * and an address is another one in the next process.
 */
#include "device/recfile.h"

#include "base/banned.h"

static struct ws__hash mix_words(struct ws__hash h, const uint64_t *v, size_t n)
{
    h = ws__hash_u64(h, n);
    for (size_t i = 0; i < n; i++)
        h = ws__hash_u64(h, v[i]);
    return h;
}

static struct ws__hash mix_strings(struct ws__hash h, const char *const *s,
                                   size_t n)
{
    h = ws__hash_u64(h, n);
    for (size_t i = 0; i < n; i++)
        h = ws__hash_str(h, s[i]);
    return h;
}

static struct ws__hash mix_hint(struct ws__hash h,
                                const struct ws__plan_launch *l)
{
    h = ws__hash_str(h, ws__plan_entry(l));
    for (int i = 0; i < 3; i++)
        h = ws__hash_u64(ws__hash_u64(h, l->grid[i]), l->block[i]);
    h = ws__hash_u64(ws__hash_u64(h, l->shared_bytes), l->narg);
    for (size_t i = 0; i < l->narg; i++) {
        h = ws__hash_u64(h, (uint64_t)l->arg[i].kind);
        h = ws__hash_u64(ws__hash_u64(h, l->arg[i].index), l->arg[i].bytes);
        h = ws__hash_mix(h, l->arg[i].value, sizeof(l->arg[i].value));
    }
    return h;
}

static struct ws__hash mix_build(struct ws__hash h, const struct ws__build *b)
{
    h = ws__hash_str(h, b->source);
    if (b->binary)
        h = ws__hash_mix(h, b->binary, b->binary_bytes);
    h = mix_strings(h, b->option, b->noption);
    h = ws__hash_u64(h, (uint64_t)b->dialect);
    h = mix_strings(h, b->entry, b->nentry);
    h = ws__hash_u64(h, b->hint && b->rehearse ? b->nhint : 0);
    for (size_t i = 0; b->hint && b->rehearse && i < b->nhint; i++)
        h = mix_hint(h, &b->hint[i]);
    h = mix_words(h, b->tensor_bytes, b->tensor_bytes ? b->ntensor : 0);
    return mix_words(h, b->scratch_bytes, b->scratch_bytes ? b->nscratch : 0);
}

static struct ws__hash mix_launch(struct ws__hash h,
                                  const struct ws__dev_launch *l)
{
    h = ws__hash_str(ws__hash_u64(h, l->module), l->entry);
    for (int i = 0; i < 3; i++)
        h = ws__hash_u64(ws__hash_u64(h, l->grid[i]), l->block[i]);
    h = ws__hash_u64(h, l->narg);
    for (size_t i = 0; i < l->narg; i++) {
        const struct ws__dev_arg *a = &l->arg[i];

        h = ws__hash_u64(ws__hash_u64(h, (uint64_t)a->kind), a->buffer);
        h = ws__hash_mix(ws__hash_u64(h, a->bytes), a->value, sizeof(a->value));
    }
    return h;
}

static struct ws__hash mix_seq(struct ws__hash h, const struct ws__dev_seq *s)
{
    h = ws__hash_u64(h, s->nlaunch);
    for (size_t i = 0; i < s->nlaunch; i++)
        h = mix_launch(h, &s->launch[i]);
    h = ws__hash_u64(h, s->nrestore);
    for (size_t i = 0; i < s->nrestore; i++)
        h = ws__hash_u64(ws__hash_u64(h, s->restore[i].to), s->restore[i].from);
    h = ws__hash_u64(h, s->nfill);
    for (size_t i = 0; i < s->nfill; i++) {
        h = ws__hash_u64(ws__hash_u64(h, s->fill[i].buffer), s->fill[i].timed);
        h = ws__hash_u64(h, s->fill[i].pattern);
    }
    h = ws__hash_u64(h, s->nhash);
    for (size_t i = 0; i < s->nhash; i++)
        h = ws__hash_u64(h, s->hash[i]);
    return h;
}

static struct ws__hash mix_batch(struct ws__hash h,
                                 const struct ws__dev_batch *b)
{
    h = ws__hash_u64(ws__hash_u64(h, b->nprog), b->nset);
    h = ws__hash_u64(ws__hash_u64(h, b->first_round), b->rounds);
    h = ws__hash_u64(ws__hash_u64(h, b->inner), b->flush_bytes);
    h = ws__hash_u64(h, b->limit_ns);
    if (b->graph)
        h = ws__hash_u64(h, 1);
    for (size_t i = 0; i < b->nprog * b->nset; i++)
        h = mix_seq(h, &b->prog[i]);
    return h;
}

struct ws__hash ws__call_digest(const struct ws__call *c)
{
    struct ws__hash h = ws__hash_u64((struct ws__hash){6, 0}, (uint64_t)c->op);

    h = mix_words(h, c->arg, WS__CALL_ARGS);
    if (c->op == WS__CALL_WRITE)
        h = ws__hash_mix(h, c->in, (size_t)c->arg[2]);
    if (c->op == WS__CALL_BUILD)
        h = mix_build(h, c->build);
    if (c->op == WS__CALL_RUN)
        h = mix_batch(h, c->batch);
    if (c->op == WS__CALL_COUNT)
        h = mix_strings(mix_seq(h, c->seq), c->metric, (size_t)c->arg[1]);
    return h;
}

static const char *entry_of(const struct ws__call *c)
{
    const struct ws__dev_batch *b = c->batch;

    if (c->op == WS__CALL_BUILD && c->build->nentry)
        return c->build->entry[0];
    if (c->op == WS__CALL_RUN && b->nprog && b->nset && b->prog[0].nlaunch)
        return b->prog[0].launch[0].entry;
    if (c->op == WS__CALL_COUNT && c->seq->nlaunch)
        return c->seq->launch[0].entry;
    return NULL;
}

void ws__call_describe(const struct ws__call *c, char *out, size_t n)
{
    static const char *const args[WS__CALL_END] = {
#define WS_X(code, NAME, name, args) [WS__CALL_##NAME] = (args),
        WS__CALL_MAP(WS_X)
#undef WS_X
    };
    const char *word = args[c->op], *entry = entry_of(c);
    int used = snprintf(out, n, "%s", ws__call_name(c->op));

    if (entry)
        used += snprintf(out + used, n - (size_t)used, " '%.80s'", entry);
    for (size_t i = 0; *word && (size_t)used < n; i++) {
        int len = (int)strcspn(word, " ");

        used +=
            snprintf(out + used, n - (size_t)used, "%s %.*s %llu", i ? "," : "",
                     len, word, (unsigned long long)c->arg[i]);
        word += len + (word[len] != '\0');
    }
}
