/*
 * t_plan_wave.c: the models of a pack, from the answers of a run that is made
 * up: confirmed times count, what screened better by luck does not.
 */
#include "base/t_base.h"

#include <math.h>
#include <unistd.h>

#include "plan/plan_tune.h"

#define NSHAPE 8
#define NCONFIG 4

static char dir[] = "/tmp/ws_plan_wave_XXXXXX", path[64];

static const char *const files[][2] = {
    {"op.yaml", "op: o\naxes: {M: var}\n"
                "outputs: {C: {shape: [M], dtype: float32}}\n"
                "workloads:\n- {M: 64}\n- {M: 500}\n- {M: 1000}\n- {M: 2000}\n"
                "- {M: 3000}\n- {M: 8000}\n- {M: 20000}\n- {M: 90000}\n"},
    {"kernel.yaml", "kernel: k\nop: ./op.yaml\nsource: k.c\n"
                    "parameters: {B: {values: [16, 32, 64, 128], "
                    "default: 16}}\n"
                    "launches: [{entry: f, grid: \"ceil_div(M, B)\", block: 1, "
                    "args: [C]}]\n"
                    "wave: {tile: [B], flops: 1000 * B, bytes: 4 * B}\n"},
    {"k.c", "int f(void) { return B; }\n"}};

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    for (size_t i = 0; i < WS_COUNT(files); i++) {
        char name[100];
        FILE *f;

        snprintf(name, sizeof(name), "%s/%s", dir, files[i][0]);
        f = fopen(name, "w");
        if (!f)
            return -1;
        fputs(files[i][1], f);
        fclose(f);
    }
    snprintf(path, sizeof(path), "%s/kernel.yaml", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(files); i++) {
        char name[100];

        snprintf(name, sizeof(name), "%s/%s", dir, files[i][0]);
        unlink(name);
    }
    return rmdir(dir);
}

/* --- a run ---------------------------------------------------------------- */

struct run {
    double lucky; /* what the last config screened at on the largest shape, as a
                     part of its time */
    bool confirmed, again; /* it and the default in a pair; screened anew then
                            */
};

static double time_of(const struct ws__spec *s, size_t shape, uint16_t config)
{
    double b = (double)s->kernel[0].param[0].value[config].u.i;
    double waves = ceil((double)s->workload[shape].axis[0] / b / 16);

    return 2000 + waves * (300 + 9 * b);
}

static const struct ws__spec *spec_of_run;

static int tell(uint32_t shape, uint16_t config, double part, bool pair,
                int (*fn)(void *user, const struct ws__question *q,
                          const struct ws__trial *t, size_t n),
                void *user)
{
    struct ws__question q = {.pair = pair,
                             .workload = shape,
                             .effort = pair ? WS__CONFIRM : WS__SCREEN};
    double ns[2] = {time_of(spec_of_run, shape, 0),
                    part * time_of(spec_of_run, shape, config)};
    struct ws__trial t[2] = {{0}};

    for (int i = 0; i < 2; i++) {
        t[i].workload = shape;
        t[i].verdict = WS__V_OK;
        t[i].candidate.config.n = 1;
        t[i].candidate.config.at[0] = i ? config : 0;
        t[i].sample_ns = &ns[i];
        t[i].nsample = 1;
    }
    return pair ? fn(user, &q, t, 2) : fn(user, &q, &t[1], 1);
}

static int replay(void *self, const struct ws__run *run,
                  int (*fn)(void *user, const struct ws__question *q,
                            const struct ws__trial *t, size_t n),
                  void *user)
{
    const struct run *r = self;
    int rc = 0;

    (void)run;
    for (uint32_t i = 0; i < NSHAPE; i++)
        for (uint16_t c = 0; c < NCONFIG; c++) {
            bool last = i == NSHAPE - 1 && c == NCONFIG - 1;

            rc |= tell(i, c, last ? r->lucky : 1, false, fn, user);
        }
    if (r->confirmed)
        rc |= tell(NSHAPE - 1, NCONFIG - 1, 1, true, fn, user);
    if (r->again)
        rc |= tell(NSHAPE - 1, NCONFIG - 1, r->lucky, false, fn, user);
    return rc;
}

static const struct ws__journal_ops journal = {.abi = 1,
                                               .name = "made up",
                                               .replay = replay};

/* What the pack would say of the configs. */
static void forms_of(struct run r, struct wsrt_wave_form form[NCONFIG])
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws_spec *spec;
    struct ws__identity id = {.units = 16, .is_cpu = false};
    struct ws__run run = {.seed = 1};
    struct ws__pack_content c = {0};
    struct ws__arena a;

    assert_int_equal(ws_spec_open(ctx, path, NULL, &spec), 0);
    spec_of_run = spec->s;
    ws__arena_init(&a, ctx);
    c.op = spec->s->op;
    c.kernel = spec->s->kernel;
    c.nkernel = 1;
    assert_int_equal(ws__plan_waves(spec, &(struct ws__journal){&journal, &r},
                                    &run, &id, &a, &c),
                     0);
    assert_int_equal(c.nmodel, 1);
    assert_int_equal(c.model[0].nform, NCONFIG);
    for (size_t i = 0; i < NCONFIG; i++)
        form[c.model[0].form[i].candidate.config.at[0]] =
            c.model[0].form[i].form;
    ws__arena_free(&a);
    ws_spec_free(spec);
    ws_ctx_free(ctx);
}

static bool same(struct run a, struct run b)
{
    static struct wsrt_wave_form x[NCONFIG], y[NCONFIG];

    forms_of(a, x);
    forms_of(b, y);
    return !memcmp(x, y, sizeof(x));
}

static void confirmed_counts(void **state)
{
    const struct run plain = {.lucky = 1}, lucky = {.lucky = .6};
    const struct run mended = {.lucky = .6, .confirmed = true};
    const struct run again = {.lucky = .6, .confirmed = true, .again = true};

    (void)state;
    assert_false(same(plain, lucky));
    assert_true(same(plain, mended));
    assert_true(same(plain, again));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(confirmed_counts)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
