/*
 * t_plan_ready.c: a kernel in Triton in a pack: the files of its choices and
 * defaults and how they are launched, and the same specification from them.
 */
#include "base/t_base.h"
#include "plan/plan_tune.h"

static struct ws__pack_content content;

static const void *find(void *user, size_t kernel, const char *name,
                        size_t *bytes)
{
    char section[300];

    (void)user;
    snprintf(section, sizeof(section), "file:%zu:%s", kernel, name);
    for (size_t i = 0; i < content.nblob; i++)
        if (!strcmp(content.blob[i].name, section)) {
            *bytes = content.blob[i].bytes;
            return content.blob[i].data;
        }
    return NULL;
}

static void plan(struct ws_ctx *ctx, const struct ws__kernel *k,
                 const char *config, int64_t n, int want, struct ws__plan *p)
{
    union wsrt_value vars[WS__MAX_SLOTS] = {{0}};
    struct ws__config c;

    assert_int_equal(ws__config_parse(ctx, k, config, &c), 0);
    vars[0].i = n;
    ws__config_vars(k, &c, vars);
    assert_int_equal(ws__plan_make(ctx, k, vars, p), want);
}

static void triton(void **state)
{
    static struct ws__plan a, b;
    struct ws_ctx *ctx = t_ctx(NULL);
    char *op = NULL, *kernel = NULL;
    struct ws__spec_files files = {find, NULL};
    struct ws__pack_entry entry = {.time_ns = 1};
    struct ws__spec *again = NULL;
    struct ws__arena arena;
    struct ws_spec *spec;

    (void)state;
    assert_int_equal(ws_spec_open(ctx, "tests/data/triton/twice.yaml", NULL,
                                  &spec),
                     0);
    ws__arena_init(&arena, ctx);
    entry.workload = &spec->s->workload[1]; /* N=1024 */
    assert_int_equal(ws__config_parse(ctx, spec->s->kernel, "BLOCK=128,STEPS=2",
                                      &entry.candidate.config),
                     0);
    content = (struct ws__pack_content){.entry = &entry, .nentry = 1};
    assert_int_equal(ws__plan_ready(spec, &arena, &content), 0);
    /* The list, two files of the choice, the default's for two workloads. */
    assert_int_equal(content.nblob, 5);
    assert_string_equal(content.blob[0].name, "file:0:index.json");

    assert_int_equal(ws__spec_to_text(spec->s, 0, &op, &kernel), 0);
    assert_int_equal(ws__spec_from_parts(ctx, op, (const char *const *)&kernel,
                                         NULL, 1, &files, &again),
                     0);
    assert_string_equal(again->kernel->triton, "3.6.0 sm_90");
    /* Four cubins, and what is known to fail. */
    assert_int_equal(again->kernel->nready, 4 + 6);
    plan(ctx, spec->s->kernel, "BLOCK=128,STEPS=2", 1024, 0, &a);
    plan(ctx, again->kernel, "BLOCK=128,STEPS=2", 1024, 0, &b);
    assert_int_equal(a.nlaunch, b.nlaunch);
    for (size_t i = 0; i < a.nlaunch; i++) {
        assert_string_equal(a.launch[i].file->name, b.launch[i].file->name);
        assert_true(
            ws__hash_eq(a.launch[i].file->hash, b.launch[i].file->hash));
        assert_int_equal(a.launch[i].block[0], b.launch[i].block[0]);
        assert_int_equal(a.launch[i].narg, b.launch[i].narg);
    }
    plan(ctx, again->kernel, "BLOCK=128,WARPS=2", 1024, WS_ENOENT, &b);
    ws__spec_free(again);
    ws__free(ctx, op);
    ws__free(ctx, kernel);
    ws__arena_free(&arena);
    ws_spec_free(spec);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(triton)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
