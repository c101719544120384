/*
 * t_spec_safety.c: what a specification cannot reach. Sources, include
 * folders and workload files lie inside of the folder of the file that names
 * them, links followed; build options come from a list. (Includes inside of
 * sources: t_spec.c; references: t_spec_reference.c.)
 */
#include "base/t_base.h"

#include <sys/stat.h>
#include <unistd.h>

#include "spec/spec.h"

#define OP "op: x\naxes: {M: var}\noutputs: {C: {shape: [M], dtype: int8}}\n"
#define LAUNCH "launches: [{entry: f, grid: M, block: 1, args: [C]}]\n"

static struct ws_ctx *ctx;
static char dir[] = "/tmp/ws_safe_XXXXXX";

static const char *at(const char *name)
{
    static char path[8][300];
    static unsigned next;
    char *p = path[next++ % 8];

    snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
    return p;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(at(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void refused(const char *what, const char *words)
{
    struct ws__spec *s = NULL;
    int rc = ws__spec_load(ctx, at("in/op.yaml"), NULL, &s);

    if (rc >= 0) {
        ws__spec_free(s);
        rc = ws__spec_load(ctx, at("in/k.yaml"), NULL, &s);
    }
    if (rc >= 0)
        fail_msg("%s: loaded", what);
    if (!strstr(ws_ctx_error(ctx)->message, words))
        fail_msg("%s: %s", what, ws_ctx_error(ctx)->message);
    assert_true(ws_ctx_error(ctx)->line > 0);
}

static void kernel_with(const char *source, const char *more)
{
    char text[600];

    snprintf(text, sizeof(text),
             "kernel: k\nop: op.yaml\nsource: %s\n" LAUNCH "%s\n", source,
             more);
    put("in/k.yaml", text);
}

static void files_stay_inside(void **state)
{
    static const char *const ways[] = {"../out.c", "link.c", "linked/out.c",
                                       "sub/../../out.c"};

    (void)state;
    put("in/op.yaml", OP);
    for (size_t i = 0; i < WS_COUNT(ways); i++) {
        kernel_with(ways[i], "");
        refused(ways[i], "outside of");
    }
    kernel_with(at("out.c"), "");
    refused("absolute", "outside of");
}

static void include_folders_stay_inside(void **state)
{
    static const char *const ways[] = {"..", "linked", "sub/../.."};

    (void)state;
    put("in/op.yaml", OP);
    for (size_t i = 0; i < WS_COUNT(ways); i++) {
        char more[300];

        snprintf(more, sizeof(more), "include: [%s]", ways[i]);
        kernel_with("k.c", more);
        refused(ways[i], "outside of");
    }
    kernel_with("k.c", "include: [/etc]");
    refused("absolute", "outside of");
}

static void workload_files_stay_inside(void **state)
{
    static const char *const ways[] = {"../out.yaml", "link.yaml",
                                       "linked/out.yaml", "/etc/passwd"};

    (void)state;
    kernel_with("k.c", "");
    for (size_t i = 0; i < WS_COUNT(ways); i++) {
        char text[400];

        snprintf(text, sizeof(text), OP "workloads: %s\n", ways[i]);
        put("in/op.yaml", text);
        refused(ways[i], "outside of");
    }
}

static void options_come_from_the_list(void **state)
{
    static const char *const bad[] = {
        "-DX=1",
        "-I/etc",
        "-include /etc/passwd",
        "-cl-std=CL9",
        "--pre-include=x",
        "-x spir",
        "-L.",
        "-o /tmp/out",
        "@/etc/passwd",
        "-fmad=maybe",
        "--maxrregcount=",
        "--maxrregcount=12345",
        "-cl-mad-enable -I/etc",
        "--maxrregcount=3 -I/etc",
        "\"\"",
    };
    static const char *const right[] = {"-cl-mad-enable", "--use_fast_math",
                                        "--maxrregcount=64"};
    struct ws__spec *s;

    (void)state;
    put("in/op.yaml", OP);
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        char more[200];

        snprintf(more, sizeof(more), "options: [%s%s%s]",
                 bad[i][0] == '"' ? "" : "\"", bad[i],
                 bad[i][0] == '"' ? "" : "\"");
        kernel_with("k.c", more);
        refused(bad[i], "is not allowed");
    }
    for (size_t i = 0; i < WS_COUNT(right); i++) {
        char more[200];

        snprintf(more, sizeof(more), "options: [%s]", right[i]);
        kernel_with("k.c", more);
        assert_int_equal(ws__spec_load(ctx, at("in/k.yaml"), NULL, &s), 0);
        ws__spec_free(s);
    }
}

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    if (!mkdtemp(dir) || mkdir(at("in"), 0755) || mkdir(at("in/sub"), 0755) ||
        symlink("../out.c", at("in/link.c")) ||
        symlink("../out.yaml", at("in/link.yaml")) ||
        symlink("..", at("in/linked")))
        return -1;
    put("out.c", "// outside\n");
    put("out.yaml", "- {M: 1}\n");
    put("in/k.c", "// inside\n");
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"in/link.c", "in/link.yaml",
                                        "in/linked", "in/k.c",
                                        "in/k.yaml", "in/op.yaml",
                                        "out.c",     "out.yaml"};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(names); i++)
        unlink(at(names[i]));
    rmdir(at("in/sub"));
    rmdir(at("in"));
    ws_ctx_free(ctx);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_stay_inside),
        cmocka_unit_test(include_folders_stay_inside),
        cmocka_unit_test(workload_files_stay_inside),
        cmocka_unit_test(options_come_from_the_list),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
