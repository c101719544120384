/*
 * t_matrix.c: timing matrices: what is read of shapes, configs, passes and
 * clocks; what is refused, and where.
 */
#include "base/t_base.h"

#include <math.h>
#include <unistd.h>

#include "spec/matrix.h"
#include "spec/spec.h"

static struct ws_ctx *ctx;
static char dir[] = "/tmp/ws_matrix_XXXXXX", csv[64];
static struct ws__spec *spec;

static const char op_text[] =
    "op: o\naxes: {M: var, P_1: var, P_2: var, D: 4}\n"
    "outputs: {C: {shape: [M], dtype: float32}}\n"
    "workloads:\n- {M: 1, P_1: 2, P_2: 3}\n";
static const char kernel_text[] =
    "kernel: k\nop: ./op.yaml\nsource: k.c\n"
    "parameters:\n  B: {values: [1, 2, 4], default: 2}\n"
    "  ONE: {values: [7], default: 7}\n"
    "launches: [{entry: f, grid: M, block: 1, args: [C]}]\n";

static void write_file(const char *name, const char *text)
{
    char path[100];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int setup(void **state)
{
    char path[100];

    (void)state;
    ctx = t_ctx(NULL);
    if (!ctx || !mkdtemp(dir))
        return -1;
    write_file("op.yaml", op_text);
    write_file("kernel.yaml", kernel_text);
    write_file("k.c", "int f(void) { return B + ONE; }\n");
    snprintf(csv, sizeof(csv), "%s/m.csv", dir);
    snprintf(path, sizeof(path), "%s/kernel.yaml", dir);
    if (!ws__spec_load(ctx, path, NULL, &spec))
        return 0;
    print_error("%s (%s)\n", ws_ctx_error(ctx)->message,
                ws_ctx_error(ctx)->hint);
    return -1;
}

static int teardown(void **state)
{
    static const char *const names[] = {"op.yaml", "kernel.yaml", "k.c",
                                        "m.csv"};
    char path[100];

    (void)state;
    ws__spec_free(spec);
    ws_ctx_free(ctx);
    for (size_t i = 0; i < WS_COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

static int read_text(struct ws_ctx *c, const char *text, struct ws__matrix *m)
{
    write_file("m.csv", text);
    return ws__matrix_read(c, &spec->kernel[0], csv, m);
}

#define HEAD "shape,pass,src,M,P,B,median_us,sm_mhz,blocks_per_sm\n"
static const char good[] = HEAD "a,1,net,16,5/6,1,10.5,1980,2\n"
                                "a,1,net,16,5/6,2,20,1900,1\n"
                                "b,1,,32,5/7,1,30,,2\n"
                                "a,3,net,16,5/6,1,11,1970,2\n"
                                "a,1,net,16,5/6,2,21,1800,1\n"
                                "a,1,net,16,5/6,,9,1980,\n"
                                "a,1,net,16,5/6,3,9,1980,\n";

static void what_is_read(void **state)
{
    struct ws__matrix m;
    const struct ws__matrix_cell *c;

    (void)state;
    assert_int_equal(read_text(ctx, good, &m), 0);
    assert_int_equal(m.nshape, 2);
    assert_int_equal(m.nconfig, 2);
    assert_int_equal(m.npass, 2);
    assert_int_equal(ws__matrix_pass(&m, 1), 0);
    assert_int_equal(ws__matrix_pass(&m, 3), 1);
    assert_int_equal(ws__matrix_pass(&m, 2), -1);
    /* Rows of a library, and of values that are not in the space. */
    assert_int_equal(m.foreign, 2);
    assert_string_equal(m.shape[0].name, "a");
    assert_string_equal(m.shape[0].group, "net");
    assert_string_equal(m.shape[1].group, "");
    assert_int_equal(m.shape[0].axis[0], 16);
    assert_int_equal(m.shape[0].axis[1], 5);
    assert_int_equal(m.shape[0].axis[2], 6);
    assert_int_equal(m.shape[0].axis[3], 4); /* the op's constant */
    assert_int_equal(m.shape[1].axis[2], 7);
    c = &m.cell[0];
    assert_true(c->known);
    assert_true(fabs(c->ns[0] - 10500) < 1e-6);
    assert_true(fabs(c->ns[1] - 11000) < 1e-6);
    assert_true(fabs(c->mhz[0] - 1980) < 1e-6);
    assert_int_equal(c->resident, 2);
    /* Of two rows the last. */
    assert_true(fabs(m.cell[1].ns[0] - 21000) < 1e-6);
    assert_int_equal(m.cell[1].resident, 1);
    assert_true(m.cell[1].ns[1] <= 0);
    assert_true(m.cell[2].mhz[0] <= 0);
    assert_false(m.cell[3].known);
    ws__matrix_clear(ctx, &m);
}

static void a_file_with_little(void **state)
{
    struct ws__matrix m;

    (void)state;
    assert_int_equal(read_text(ctx, "time_ns,B,M,P_1,P_2\n100,4,1,2,3\n", &m),
                     0);
    assert_int_equal(m.npass, 1);
    assert_int_equal(m.pass[0], 1);
    assert_string_equal(m.shape[0].name, "");
    assert_true(fabs(m.cell[0].ns[0] - 100) < 1e-9);
    assert_int_equal(m.cell[0].resident, 0);
    ws__matrix_clear(ctx, &m);
}

struct broken {
    const char *text;
    int code;
    unsigned line;
    const char *message, *hint;
};

static const struct broken bad[] = {
    {"M,P_1,P_2,time_ns\n", WS_ESPEC, 1, "parameter", "B"},
    {"M,P_1,B,time_ns\n", WS_ESPEC, 1, "axis", "P_2"},
    {"M,P_1,P_2,B\n", WS_ESPEC, 1, "", ""},
    {"M,M,P_1,P_2,B,time_ns\n", WS_ESPEC, 1, "M", ""},
    {HEAD "a,1,n,x,5/6,1,10,1,1\n", WS_EPARSE, 2, "'x' in column 'M'",
     "whole number"},
    {HEAD "a,1,n,0,5/6,1,10,1,1\n", WS_EPARSE, 2, "'0' in column 'M'", ""},
    {HEAD "a,1,n,1,5,1,10,1,1\n", WS_EPARSE, 2, "'5' in column 'P'", ""},
    {HEAD "a,1,n,1,5/6,1,10,1,1\na,one,n,1,5/6,1,10,1,1\n", WS_EPARSE, 3,
     "'one' in column 'pass'", "number of a pass"},
    {HEAD "a,1,n,1,5/6,1,-3,1,1\n", WS_EPARSE, 2, "'-3' in column 'median_us'",
     "above 0"},
    {HEAD "a,1,n,1,5/6,1,10,fast,1\n", WS_EPARSE, 2,
     "'fast' in column 'sm_mhz'", "MHz"},
    {HEAD "a,1,n,1,5/6,1,10,1,-1\n", WS_EPARSE, 2,
     "'-1' in column 'blocks_per_sm'", "from 0"},
    {HEAD "a,1,n,1,5/6,1,10,1,1.5\n", WS_EPARSE, 2,
     "'1.5' in column 'blocks_per_sm'", ""},
    {HEAD "a,1,n,1\n", WS_EPARSE, 2, "", ""},
    {HEAD, WS_ESPEC, 0, "no timings", "kernel file"},
    {HEAD "a,1,n,1,5/6,3,10,1,1\n", WS_ESPEC, 0, "no timings", ""},
    {"", WS_ESPEC, 0, "no timings", ""},
};

static void refused(void **state)
{
    unsigned wrong = 0;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        const struct broken *b = &bad[i];
        struct ws__matrix m;
        int rc = read_text(ctx, b->text, &m);
        const struct ws_error *e = ws_ctx_error(ctx);

        if (rc == b->code && e->line == b->line && !strcmp(e->file, csv) &&
            strstr(e->message, b->message) &&
            (strstr(e->hint, b->hint) || strstr(e->message, b->hint)))
            continue;
        wrong++;
        print_error("case %zu: %d %s:%u: %s (%s)\n", i, rc, e->file, e->line,
                    e->message, e->hint);
    }
    assert_int_equal(wrong, 0);
}

static void too_many_passes(void **state)
{
    static char text[4000];
    size_t n = (size_t)snprintf(text, sizeof(text), "%s", HEAD);
    struct ws__matrix m;

    (void)state;
    for (int i = 1; i <= WS__MATRIX_PASSES + 1; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "a,%d,n,1,5/6,1,10,1,1\n", i);
    assert_int_equal(read_text(ctx, text, &m), WS_ELIMIT);
    assert_int_equal(ws_ctx_error(ctx)->line, WS__MATRIX_PASSES + 2);
}

static void no_file(void **state)
{
    struct ws__matrix m;

    (void)state;
    assert_int_equal(ws__matrix_read(ctx, &spec->kernel[0], "/nowhere/m.csv",
                                     &m),
                     WS_ENOENT);
}

static int torture(struct ws_ctx *c, void *user)
{
    struct ws__matrix m;

    (void)user;
    WS_TRY(ws__matrix_read(c, &spec->kernel[0], csv, &m));
    ws__matrix_clear(c, &m);
    return 0;
}

static void allocations_fail(void **state)
{
    (void)state;
    write_file("m.csv", good);
    assert_true(t_torture(torture, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read), cmocka_unit_test(a_file_with_little),
        cmocka_unit_test(refused),      cmocka_unit_test(too_many_passes),
        cmocka_unit_test(no_file),      cmocka_unit_test(allocations_fail),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
