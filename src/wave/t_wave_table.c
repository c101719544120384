/*
 * t_wave_table.c: coordinates from expressions: those of the kernels in
 * tests/perf/h200 against the launched grids in their matrices, what is put
 * together where a kernel says nothing, and an occupancy that comes later.
 */
#include "base/t_base.h"

#include <math.h>
#include <unistd.h>

#include "spec/csv.h"
#include "spec/matrix.h"
#include "spec/spec.h"
#include "wave/wave_table.h"

static struct ws_ctx *ctx;

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

/* --- the kernels of tests/perf/h200 --------------------------------------- */

struct h200 {
    struct ws__spec *spec;
    const struct ws__kernel *kernel;
    struct ws__matrix m;
    int64_t *axis;
    uint32_t *occupancy;
    struct ws__wave_maker maker;
};

static bool known(void *user, size_t shape, size_t config)
{
    const struct h200 *h = user;

    return h->m.cell[shape * h->m.nconfig + config].known;
}

static void make_h200(struct h200 *h, const char *name)
{
    char path[100], data[100];
    size_t naxis;

    memset(h, 0, sizeof(*h));
    snprintf(path, sizeof(path), "tests/perf/h200/%s.yaml", name);
    snprintf(data, sizeof(data), "tests/data/h200/%s.csv.gz", name);
    assert_int_equal(ws__spec_load(ctx, path, NULL, &h->spec), 0);
    h->kernel = &h->spec->kernel[0];
    assert_int_equal(ws__matrix_read(ctx, h->kernel, data, &h->m), 0);
    naxis = h->kernel->op->naxis;
    h->axis = calloc(h->m.nshape * naxis, sizeof(*h->axis));
    h->occupancy = calloc(h->m.nconfig, sizeof(*h->occupancy));
    for (size_t i = 0; i < h->m.nshape; i++)
        memcpy(h->axis + i * naxis, h->m.shape[i].axis,
               naxis * sizeof(*h->axis));
    for (size_t j = 0; j < h->m.nconfig; j++)
        h->occupancy[j] = 2;
    assert_int_equal(ws__wave_table_make(
                         &(struct ws__wave_source){.ctx = ctx,
                                                   .kernel = h->kernel,
                                                   .sheet = &ws__wave_sheets[0],
                                                   .axis = h->axis,
                                                   .nshape = h->m.nshape,
                                                   .config = h->m.config,
                                                   .occupancy = h->occupancy,
                                                   .nconfig = h->m.nconfig,
                                                   .feasible = known,
                                                   .user = h},
                         &h->maker),
                     0);
}

static void free_h200(struct h200 *h)
{
    ws__wave_table_clear(&h->maker);
    ws__matrix_clear(ctx, &h->m);
    ws__spec_free(h->spec);
    free(h->axis);
    free(h->occupancy);
}

static const struct ws__wave_pair *pair(const struct h200 *h, size_t shape,
                                        size_t config)
{
    return &h->maker.table.pair[shape * h->m.nconfig + config];
}

/* A row of the file in the matrix; false: it is none of the kernel's. */
static bool find_row(const struct h200 *h, struct ws__csv *c,
                     const struct ws__csv_axis *at, size_t *shape,
                     size_t *config)
{
    const struct ws__kernel *k = h->kernel;
    char text[256] = "";
    struct ws__config want;

    for (size_t p = 0; p < k->nparam; p++) {
        size_t n = strlen(text);
        const char *v = c->row.cell[ws__csv_column(c, k->param[p].name)];

        if (!*v)
            return false;
        snprintf(text + n, sizeof(text) - n, "%s%s=%s", n ? "," : "",
                 k->param[p].name, v);
    }
    assert_int_equal(ws__config_parse(ctx, k, text, &want), 0);
    for (*config = 0; *config < h->m.nconfig; ++*config)
        if (ws__config_eq(&h->m.config[*config], &want))
            break;
    for (*shape = 0; *shape < h->m.nshape; ++*shape) {
        bool same = true;

        for (size_t a = 0; a < k->op->naxis && same; a++) {
            int64_t v = h->m.shape[*shape].axis[a];

            if (at[a].column >= 0)
                assert_true(ws__csv_axis_value(c, &k->op->axis[a], at[a], &v));
            same = v == h->m.shape[*shape].axis[a];
        }
        if (same)
            break;
    }
    return *shape < h->m.nshape && *config < h->m.nconfig;
}

/* Compares a share of the rows; returns how many. */
static size_t compare_grids(const char *name)
{
    struct ws__csv_axis at[WS__MAX_AXES];
    struct ws__text_source text;
    struct ws__csv c;
    struct h200 h;
    char data[100];
    size_t n = 0, rows = 0, shape, config;
    int grid;

    make_h200(&h, name);
    snprintf(data, sizeof(data), "tests/data/h200/%s.csv.gz", name);
    assert_int_equal(ws__text_open(ctx, data, &text), 0);
    ws__csv_init(&c, ctx, &text);
    assert_int_equal(ws__csv_names(&c), 1);
    ws__csv_find_axes(&c, h.kernel->op, at);
    grid = ws__csv_column(&c, "grid");
    assert_true(grid >= 0);
    while (ws__csv_row(&c) > 0) {
        if (rows++ % 7 || !find_row(&h, &c, at, &shape, &config))
            continue;
        assert_int_equal(pair(&h, shape, config)->coord[WSRT_W_GRID],
                         atoll(c.row.cell[grid]));
        n++;
    }
    ws__csv_clear(&c);
    ws__text_close(&text);
    free_h200(&h);
    return n;
}

static void grids_are_those_launched(void **state)
{
    (void)state;
    assert_true(compare_grids("gemm") > 4000);
    assert_true(compare_grids("attn") > 1000);
    assert_true(compare_grids("moe") > 1000);
}

/* Of causal attention, by counting block after block. */
static void steps_of_attention(void **state)
{
    struct h200 h;

    (void)state;
    make_h200(&h, "attn");
    assert_true(h.maker.table.balanced);
    for (size_t i = 0; i < h.m.nshape; i++) {
        const int64_t *axis = h.m.shape[i].axis;
        int64_t heads = axis[0] * axis[2], s = axis[1];

        for (size_t j = 0; j < h.m.nconfig; j++) {
            const struct ws__wave_config *c = &h.maker.table.config[j];
            int64_t bm = (int64_t)c->rows, bn = (int64_t)c->columns;
            int64_t steps = 0, longest = 0;

            if (!pair(&h, i, j)->feasible)
                continue;
            for (int64_t row = 0; row < s; row += bm) {
                int64_t end = row + bm < s ? row + bm : s;
                int64_t n = (end + bn - 1) / bn;

                steps += n;
                longest = n > longest ? n : longest;
            }
            assert_int_equal(pair(&h, i, j)->coord[WSRT_W_STEPS],
                             heads * steps);
            assert_int_equal(pair(&h, i, j)->coord[WSRT_W_LONGEST], longest);
            assert_int_equal(pair(&h, i, j)->coord[WSRT_W_PADDED],
                             heads * ((s + bm - 1) / bm * bm - s));
        }
    }
    free_h200(&h);
}

static void configs_of_gemm(void **state)
{
    struct h200 h;
    size_t split = 0;

    (void)state;
    make_h200(&h, "gemm");
    assert_int_equal(h.maker.table.naxis, 3);
    for (size_t j = 0; j < h.m.nconfig; j++) {
        const struct ws__wave_config *c = &h.maker.table.config[j];

        assert_true(c->rows >= 16 && c->rows <= 256 && c->columns >= 32);
        assert_true(c->accumulators > 0 && c->warps >= 4 && c->stages >= 2);
        assert_int_equal(c->engine,
                         c->rows >= 64 ? WS__ENGINE_WGMMA : WS__ENGINE_MMA);
        /* The first of a macro config names it. */
        assert_true(c->macro <= j);
        assert_int_equal(h.maker.table.config[c->macro].macro, c->macro);
    }
    for (size_t i = 0; i < h.m.nshape; i++)
        for (size_t j = 0; j < h.m.nconfig; j++)
            split += pair(&h, i, j)->coord[WSRT_W_AFTER] > 0;
    assert_true(split > 500);
    free_h200(&h);
}

/* `again` of attention uses resident_blocks: what is known later changes it. */
static void occupancy_comes_later(void **state)
{
    struct h200 h;
    size_t less = 0;

    (void)state;
    make_h200(&h, "attn");
    ws__wave_table_occupancy(&h.maker, 0, 1);
    ws__wave_table_occupancy(&h.maker, 1, 1);
    assert_int_equal(h.maker.table.config[1].occupancy, 1);
    for (size_t i = 0; i < h.m.nshape; i++) {
        int64_t before = pair(&h, i, 1)->coord[WSRT_W_AGAIN];

        if (!pair(&h, i, 1)->feasible)
            continue;
        ws__wave_table_occupancy(&h.maker, 1, 16);
        less += pair(&h, i, 1)->coord[WSRT_W_AGAIN] < before;
        assert_true(pair(&h, i, 1)->coord[WSRT_W_AGAIN] <= before);
        ws__wave_table_occupancy(&h.maker, 1, 1);
        assert_int_equal(pair(&h, i, 1)->coord[WSRT_W_AGAIN], before);
    }
    assert_true(less > 20);
    free_h200(&h);
}

/* --- a kernel that says nothing ------------------------------------------- */

static const char plain_op[] = "op: add\n"
                               "axes: {M: var, N: var}\n"
                               "inputs: {A: {shape: [M, N], dtype: float32}}\n"
                               "outputs: {C: {shape: [M, N], dtype: float16}}\n"
                               "floor: {flops: 3 * M * N}\n"
                               "workloads:\n- {M: 100, N: 64}\n";
static const char plain_kernel[] =
    "kernel: k\nop: ./op.yaml\nsource: k.c\n"
    "parameters: {B: {values: [16, 32], default: 16}}\n"
    "launches: [{entry: f, grid: [\"ceil_div(M, B)\", 2], block: 1, "
    "args: [A, C]}]\n"
    "wave: {shared: 1 // (M - 100), store: M - 40, stages: 1 // (B - 16)}\n";

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[100];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool always(void *user, size_t shape, size_t config)
{
    (void)user;
    (void)shape;
    (void)config;
    return true;
}

static int make_plain(struct ws_ctx *c, const struct ws__spec *s,
                      struct ws__wave_maker *m)
{
    static const int64_t axis[] = {100, 64, 33, 16};
    struct ws__config config;

    ws__config_default(&s->kernel[0], &config);
    return ws__wave_table_make(
        &(struct ws__wave_source){.ctx = c,
                                  .kernel = &s->kernel[0],
                                  .sheet = &ws__wave_sheets[0],
                                  .axis = axis,
                                  .nshape = 2,
                                  .config = &config,
                                  .nconfig = 1,
                                  .feasible = always},
        m);
}

static int torture_plain(struct ws_ctx *c, void *user)
{
    struct ws__wave_maker m;

    WS_TRY(make_plain(c, user, &m));
    ws__wave_table_clear(&m);
    return 0;
}

static void defaults(void **state)
{
    static const char *const files[] = {"op.yaml", "kernel.yaml", "k.c"};
    char dir[] = "/tmp/ws_wave_table_XXXXXX", path[100];
    struct ws__wave_maker m;
    struct ws__spec *s;
    const int64_t *c;

    (void)state;
    assert_non_null(mkdtemp(dir));
    write_file(dir, "op.yaml", plain_op);
    write_file(dir, "kernel.yaml", plain_kernel);
    write_file(dir, "k.c", "void f(void) {}\n");
    snprintf(path, sizeof(path), "%s/kernel.yaml", dir);
    assert_int_equal(ws__spec_load(ctx, path, NULL, &s), 0);
    assert_int_equal(make_plain(ctx, s, &m), 0);
    c = m.table.pair[0].coord; /* 7 blocks, twice */
    assert_int_equal(c[WSRT_W_GRID], 14);
    assert_int_equal(c[WSRT_W_STEPS], 14);
    assert_int_equal(c[WSRT_W_LONGEST], 1);
    assert_int_equal(c[WSRT_W_FLOPS], (3 * 6400 + 13) / 14);
    assert_int_equal(c[WSRT_W_UNIQUE], 6 * 6400);
    assert_int_equal(c[WSRT_W_BYTES], (6 * 6400 + 13) / 14);
    assert_int_equal(c[WSRT_W_VECTOR], 0);
    assert_int_equal(c[WSRT_W_AFTER], 0);
    assert_int_equal(m.table.pair[1].coord[WSRT_W_GRID], 6);
    /* No value: slow, and a negative one: nothing. */
    assert_int_equal(c[WSRT_W_SHARED], WSRT_MAX_COORD);
    assert_int_equal(c[WSRT_W_STORE], 60);
    assert_int_equal(m.table.pair[1].coord[WSRT_W_STORE], 0);
    assert_true(m.table.config[0].stages == 0);
    assert_int_equal(m.table.config[0].engine, WS__ENGINE_VECTOR);
    assert_false(m.table.balanced);
    ws__wave_table_clear(&m);
    assert_true(t_torture(torture_plain, s) >= 3);
    ws__spec_free(s);
    for (size_t i = 0; i < WS_COUNT(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_are_those_launched),
        cmocka_unit_test(steps_of_attention),
        cmocka_unit_test(configs_of_gemm),
        cmocka_unit_test(occupancy_comes_later),
        cmocka_unit_test(defaults),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
