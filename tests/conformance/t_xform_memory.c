/*
 * t_xform_memory.c: every transformation without memory: of what find and
 * apply ask for, each allocation fails once. The sources are those of
 * tests/data/xform.
 */
#include "base/t_base.h"

#include <dirent.h>

#include "base/fs.h"
#include "spec/spec.h"
#include "xform/clang_api.h"
#include "xform/t_xform.h"

static struct ws_ctx *ctx;

struct subject {
    const struct ws__xform_ops *x;
    const struct ws__kernel *k;
    struct ws__ast t;
};

static int transform(struct ws_ctx *c, void *user)
{
    struct subject *s = user;
    struct ws__sites *sites = calloc(1, sizeof(*sites));
    struct ws__rewrite *w = calloc(1, sizeof(*w));
    struct ws__arena a;
    char *text;
    int rc;

    assert_true(sites && w);
    ws__arena_init(&a, c);
    rc = ws__xform_find(c, &a, &s->t, s->k, s->x, sites);
    if (rc >= 0 && sites->n && !sites->site[0].refused)
        rc = ws__xform_apply(c, &a, &s->t, s->k, s->x, &sites->site[0], &text,
                             w);
    ws__arena_free(&a);
    free(sites);
    free(w);
    return rc;
}

static bool parse(struct ws__arena *a, const struct ws__kernel *k,
                  struct ws__ast *out)
{
    struct ws__ast_source s = {.path = k->source_file,
                               .dialect = k->dialect,
                               .headers = "ops/dialect/parse"};
    char *p = t_prologue(ctx, k), *text;
    size_t len;
    int rc;

    assert_true(ws__fs_read(ctx, k->source_file, 1 << 20, &text, &len) >= 0);
    s.text = ws__arena_strdup(a, text);
    s.prologue = p;
    rc = ws__ast_build(ctx, a, &s, out);
    ws__free(ctx, text);
    ws__free(ctx, p);
    ws__error_clear(ctx);
    return rc >= 0;
}

static bool one_case(const char *folder)
{
    struct subject s;
    struct ws__spec *spec;
    struct ws__arena a;
    char name[64], path[600];
    const char *dash = strrchr(folder, '-');

    assert_non_null(dash);
    snprintf(name, sizeof(name), "%.*s", (int)(dash - folder), folder);
    snprintf(path, sizeof(path), "tests/data/xform/%s/kernel.yaml", folder);
    s.x = ws__xform_lookup(name);
    assert_non_null(s.x);
    assert_true(ws__spec_load(ctx, path, NULL, &spec) >= 0);
    s.k = &spec->kernel[0];
    ws__arena_init(&a, ctx);
    if (!parse(&a, s.k, &s.t)) {
        ws__arena_free(&a);
        ws__spec_free(spec);
        return false;
    }
    t_torture(transform, &s);
    ws__arena_free(&a);
    ws__spec_free(spec);
    return true;
}

static int no_dots(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static void cases(void **state)
{
    struct dirent **d;
    struct cl_api api = {0};
    int n, done = 0;

    (void)state;
    if (ws__clang_open(ctx, NULL, &api) < 0) {
        ws__error_clear(ctx);
        SKIP("no libclang 19: nothing was transformed");
    }
    ws__clang_close(&api);
    n = scandir("tests/data/xform", &d, no_dots, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        done += one_case(d[i]->d_name);
        free(d[i]);
    }
    free(d);
    assert_int_equal(done, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases)};

    ctx = t_ctx(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
