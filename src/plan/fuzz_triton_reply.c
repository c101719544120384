/*
 * fuzz_triton_reply.c: hostile answers of the helper for Triton. The first byte
 * says to which request. What is taken is within its limits; what is refused
 * has a message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_triton.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char source[] = "import triton\n\n\ndef f(x):\n    pass\n";
static const char declared[] =
    "{\"rules\":[{\"name\":\"fast\",\"gain\":1.5,\"holds\":[],\"symptoms\":[],"
    "\"gates\":[],\"rounding\":true},{\"name\":\"slow\",\"gain\":1,\"holds\":"
    "[],\"symptoms\":[],\"gates\":[],\"rounding\":false}]}";

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            return false;
    return true;
}

static void check_rules(const struct ws__triton_rules *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (!*r->rule[i].name || strlen(r->rule[i].name) > 31 ||
            !(r->rule[i].gain >= 1) || !r->rule[i].finding ||
            !is_plain(r->rule[i].needs) ||
            ws__triton_rule_named(r, r->rule[i].name) != &r->rule[i])
            abort();
}

static void check_places(const struct ws__triton_places *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (!p->place[i].rule || !is_plain(p->place[i].words) ||
            !p->place[i].refused == !p->place[i].site ||
            (i && p->place[i - 1].rule > p->place[i].rule))
            abort();
}

static void check_edited(const struct ws__triton_edited *e)
{
    for (size_t i = 0; i < e->nchange; i++)
        if (!*e->change[i].path || strchr(e->change[i].path, '/') ||
            !*e->change[i].yaml || !is_plain(e->change[i].yaml))
            abort();
    if (!e->text)
        abort();
}

static int read_one(struct ws_ctx *ctx, struct ws__arena *a, uint8_t kind,
                    const char *text, size_t n)
{
    struct ws__triton_rules rules;
    struct ws__triton_places places;
    struct ws__triton_edited edited;
    int rc;

    if (kind == 'r') {
        rc = ws__triton_rules_read(ctx, a, text, n, &rules);
        if (rc >= 0)
            check_rules(&rules);
    } else if (kind == 'p') {
        rc = ws__triton_rules_read(ctx, a, declared, sizeof(declared) - 1,
                                   &rules);
        if (rc >= 0)
            rc = ws__triton_places_read(ctx, a, &rules, text, n, &places);
        if (rc >= 0)
            check_places(&places);
    } else {
        rc = ws__triton_edited_read(ctx, a, source, text, n, &edited);
        if (rc >= 0)
            check_edited(&edited);
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__arena arena;
    int rc;

    if (ctx && size) {
        ws__arena_init(&arena, ctx);
        rc = read_one(ctx, &arena, data[0], (const char *)data + 1, size - 1);
        if (rc < 0 && (!*ws_ctx_error(ctx)->message ||
                       (rc != WS_EPARSE && rc != WS_EPROTO)))
            abort();
        ws__arena_free(&arena);
    }
    ws_ctx_free(ctx);
    return 0;
}
