/*
 * t_recordings.c: what recordings answer, what they miss, and what makes two
 * of them different.
 */
#include "base/t_base.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "recordings/recordings.h"
#include "spec/spec.h"

static const char t1[] =
    "{\"General\": {\"BenchmarkName\": \"small\"}, \"ConfigurationSpace\": "
    "{\"TuningParameters\": [{\"Name\": \"B\", \"Values\": [1, 2, 3, 4]}]}}";

static const char op_text[] = "op: gemm\naxes: {M: var}\n"
                              "outputs: {C: {shape: [M], dtype: float32}}\n";
static const char kernel_text[] =
    "kernel: k\nop: gemm\nsource: k.c\nparameters: {B: [1, 2, 3, 4]}\n"
    "launches: [{entry: f, grid: B, block: 1, args: [C]}]\n";

static const char csv[] = "B,time_us,samples_us,status,compile_ms\n"
                          "1,2,2;2.5;1.5,ok,7\n"
                          "2,1,,ok,\n"
                          "3,,,CompilationFailedConfig,1\n";

static struct ws_ctx *ctx;
static struct ws__spec *space, *gemm;
static struct ws__workload work[2];
static char path[] = "/tmp/t_recordings_XXXXXX";

static int setup(void **state)
{
    const char *text = t1, *k = kernel_text, *source = "void f() { B; }";
    int fd = mkstemp(path);

    (void)state;
    if (fd < 0)
        return -1;
    close(fd);
    ctx = t_ctx(NULL);
    if (ws__spec_from_text(ctx, NULL, &text, NULL, 1, &space) < 0 ||
        ws__spec_from_text(ctx, op_text, &k, &source, 1, &gemm) < 0 ||
        ws__spec_workload(gemm, "M=8", &work[0]) < 0 ||
        ws__spec_workload(gemm, "M=9", &work[1]) < 0)
        return -1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    ws__spec_free(space);
    ws__spec_free(gemm);
    ws_ctx_free(ctx);
    return 0;
}

static int open_text(struct ws_ctx *c, const char *text,
                     struct ws__recordings **out)
{
    struct ws__results_report rep;
    int rc;

    WS_TRY(ws__fs_write(c, path, text, strlen(text)));
    WS_TRY(ws__recordings_new(c, space->kernel, 1, NULL, 1, out));
    rc = ws__recordings_add_file(*out, path, NULL, NULL, &rep);
    if (rc < 0) {
        ws__recordings_free(*out);
        *out = NULL;
        return rc;
    }
    ws__recordings_seal(*out, NULL);
    return 0;
}

static struct ws__candidate of(uint16_t at)
{
    struct ws__candidate c = {.config = {.n = 1}};

    c.config.at[0] = at;
    return c;
}

static int ask(struct ws__recordings *r, struct ws__question *q,
               struct ws__trial t[2])
{
    struct ws__evaluator ev = ws__recordings_evaluator(r);

    memset(t, 0, 2 * sizeof(*t));
    return ev.ops->answer(ev.self, q, t);
}

static void drop(struct ws__trial t[2])
{
    ws__trial_clear(ctx, &t[0]);
    ws__trial_clear(ctx, &t[1]);
}

static void answers(void **state)
{
    struct ws__recordings *r;
    struct ws__question q = {.id = 5, .a = of(0)};
    struct ws__trial t[2];
    double ns;

    (void)state;
    assert_int_equal(open_text(ctx, csv, &r), 0);
    assert_int_equal(ws__recordings_count(r), 3);
    assert_int_equal(ask(r, &q, t), 0);
    assert_int_equal(t[0].verdict, WS__V_OK);
    assert_int_equal(t[0].question, 5);
    assert_int_equal(t[0].nsample, 3);
    assert_true(t[0].sample_ns[1] == 2500);
    assert_int_equal(t[0].res.build_ns, 7000000);
    assert_int_equal(t[0].did, 7);
    assert_int_equal(t[0].spent_ns, 0);
    drop(t);
    q.a = of(2);
    assert_int_equal(ask(r, &q, t), 0);
    assert_int_equal(t[0].verdict, WS__V_BUILD);
    assert_string_equal(t[0].reason, "CompilationFailedConfig");
    assert_int_equal(t[0].nsample, 0);
    drop(t);
    q.a = of(3);
    assert_int_equal(ask(r, &q, t), WS_EMISS);
    assert_string_equal(ws_ctx_error(ctx)->message,
                        "no result of 'B=4' is recorded");
    assert_int_equal(ws__recordings_look(r, &q.a, 0, &ns), 0);
    q.a = of(0);
    assert_int_equal(ws__recordings_look(r, &q.a, 0, &ns), 1);
    assert_true(ns == 2000);
    q.a = of(2);
    assert_int_equal(ws__recordings_look(r, &q.a, 0, &ns), 1);
    assert_true(ns <= 0);
    ws__recordings_free(r);
}

static void pairs(void **state)
{
    struct ws__recordings *r;
    struct ws__question q = {.id = 1, .a = of(0), .b = of(1), .pair = true};
    struct ws__trial t[2], again[2];

    (void)state;
    assert_int_equal(open_text(ctx, csv, &r), 0);
    assert_int_equal(ask(r, &q, t), 0);
    assert_int_equal(t[1].candidate.config.at[0], 1);
    assert_true(t[0].block && t[0].block == t[1].block);
    q.id = 77;
    assert_int_equal(ask(r, &q, again), 0);
    assert_true(again[1].block == t[1].block);
    assert_memory_equal(again[0].sample_ns, t[0].sample_ns, 3 * sizeof(double));
    drop(again);
    q.b = of(2);
    assert_int_equal(ask(r, &q, again), 0);
    assert_int_equal(again[1].verdict, WS__V_BUILD);
    assert_true(again[1].block != t[1].block);
    drop(again);
    drop(t);
    q.b = of(3);
    assert_int_equal(ask(r, &q, t), WS_EMISS);
    drop(t);
    ws__recordings_free(r);
}

static struct ws__hash identity_of(const char *text, char *device)
{
    struct ws__recordings *r;
    struct ws__evaluator ev;
    struct ws__identity id;

    assert_int_equal(open_text(ctx, text, &r), 0);
    ev = ws__recordings_evaluator(r);
    id = *ev.ops->identity(ev.self);
    assert_string_equal(id.family, "recordings");
    snprintf(device, 128, "%s", id.device);
    ws__recordings_free(r);
    return id.hash;
}

static void identities(void **state)
{
    char device[128];
    struct ws__hash a = identity_of(csv, device);

    (void)state;
    assert_string_equal(device, ws__path_base(path));
    assert_true(ws__hash_eq(a, identity_of(csv, device)));
    /* A column that does not matter; another time, verdict, config. */
    assert_true(ws__hash_eq(
        a, identity_of("x,B,time_us,samples_us,status\n1,1,2,2;2.5;1.5,ok\n"
                       "1,2,1,,ok\n1,3,,,CompilationFailedConfig\n",
                       device)));
    assert_false(ws__hash_eq(
        a, identity_of("B,time_us,samples_us,status\n1,2,2;2.5;1.5,ok\n"
                       "2,1.1,,ok\n3,,,CompilationFailedConfig\n",
                       device)));
    assert_false(ws__hash_eq(
        a, identity_of("B,time_us,samples_us,status\n1,2,2;2.5;1.5,ok\n"
                       "2,1,,ok\n3,,,RuntimeFailedConfig\n",
                       device)));
    identity_of("{\"device_name\": \"GPU X\", \"cache\": {\"1\": {\"B\": 1, "
                "\"time\": 2}}}",
                device);
    assert_string_equal(device, "GPU X");
}

static void twice(void **state)
{
    struct ws__recordings *r;

    (void)state;
    assert_int_equal(open_text(ctx, "B,time_us\n1,2\n2,3\n1,2\n", &r),
                     WS_ESPEC);
    assert_null(r);
    assert_string_equal(ws_ctx_error(ctx)->message, "a second result of 'B=1'");
    assert_int_equal(ws_ctx_error(ctx)->line, 4);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "line 2"));
    assert_int_equal(open_text(ctx,
                               "{\"cache\": {\"1,a\": {\"B\": 1, "
                               "\"time\": 2}, \"1,b\": {\"B\": 1, "
                               "\"time\": 2}}}",
                               &r),
                     WS_ESPEC);
}

/* A trial as a store has it: hashes, no indices that hold here. */
static struct ws__trial stored(uint16_t at, size_t w, enum ws__effort effort,
                               double *ns)
{
    struct ws__candidate c = of(at);
    struct ws__trial t = {.effort = effort,
                          .verdict = WS__V_OK,
                          .sample_ns = ns,
                          .nsample = 1};
    struct ws__instance in;
    char *text;

    assert_int_equal(ws__instance_make(ctx, gemm->op, &work[w], &in), 0);
    assert_int_equal(ws__kernel_source(ctx, gemm->kernel, &c.config, &in,
                                       &text),
                     0);
    t.candidate_hash = ws__candidate_hash(gemm->kernel, &c.config, text);
    t.workload_hash = ws__workload_hash(gemm->op, &work[w]);
    ws__free(ctx, text);
    return t;
}

static void stored_trials(void **state)
{
    struct ws__recordings *r;
    struct ws__question q = {.id = 1, .a = of(1), .workload = 1};
    struct ws__trial t[2], s;
    double ns[4] = {10, 20, 30, 40}, none = -1;

    (void)state;
    assert_int_equal(ws__recordings_new(ctx, gemm->kernel, 1, work, 2, &r), 0);
    s = stored(1, 1, WS__NORMAL, &ns[0]);
    assert_int_equal(ws__recordings_add_trial(r, &s), 0);
    s = stored(1, 1, WS__SCREEN, &ns[1]); /* of less effort */
    assert_int_equal(ws__recordings_add_trial(r, &s), 0);
    s = stored(1, 1, WS__CONFIRM, &ns[1]); /* of a pair */
    s.block = 9;
    assert_int_equal(ws__recordings_add_trial(r, &s), 0);
    s = stored(1, 1, WS__CONFIRM, &none); /* of no time */
    assert_int_equal(ws__recordings_add_trial(r, &s), 0);
    s = stored(2, 0, WS__SCREEN, &ns[2]);
    assert_int_equal(ws__recordings_add_trial(r, &s), 0);
    s = stored(2, 0, WS__SCREEN, &ns[3]); /* the last of equals */
    assert_int_equal(ws__recordings_add_trial(r, &s), 0);
    ws__recordings_seal(r, "somewhere");
    assert_int_equal(ws__recordings_count(r), 2);
    assert_int_equal(ask(r, &q, t), 0);
    assert_true(t[0].sample_ns[0] == 10);
    drop(t);
    q.a = of(2);
    assert_int_equal(ask(r, &q, t), WS_EMISS);
    assert_string_equal(ws_ctx_error(ctx)->message,
                        "no result of 'B=3' on 'M=9' is recorded");
    q.workload = 0;
    assert_int_equal(ask(r, &q, t), 0);
    assert_true(t[0].sample_ns[0] == 40);
    drop(t);
    ws__recordings_free(r);
}

/* All of a big one: every answer is that of its row. The time is printed. */
static void many(void **state)
{
    static char text[1 << 21];
    const char *params =
        "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"B\", "
        "\"Values\": \"[i for i in range(300)]\"}, {\"Name\": \"C\", "
        "\"Values\": \"[i for i in range(300)]\"}]}}";
    struct ws__spec *big, *was = space;
    struct ws__recordings *r;
    size_t at = 0;
    uint64_t begun;

    (void)state;
    at += (size_t)snprintf(text, sizeof(text), "B,C,time_ns\n");
    for (int i = 0; i < 90000; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%d,%d,%d\n",
                               i / 300, i % 300, i + 1);
    assert_int_equal(ws__spec_from_text(ctx, NULL, &params, NULL, 1, &big), 0);
    space = big;
    assert_int_equal(open_text(ctx, text, &r), 0);
    begun = ws__now_ns();
    for (int i = 0; i < 90000; i++) {
        struct ws__question q = {.id = 1, .a = {.config = {.n = 2}}};
        struct ws__trial t[2];

        q.a.config.at[0] = (uint16_t)(i / 300);
        q.a.config.at[1] = (uint16_t)(i % 300);
        assert_int_equal(ask(r, &q, t), 0);
        assert_true(t[0].sample_ns[0] == i + 1);
        drop(t);
    }
    printf("# %.0f answers a second\n",
           90000 / ((double)(ws__now_ns() - begun) / 1e9));
    ws__recordings_free(r);
    space = was;
    ws__spec_free(big);
}

static int torture_body(struct ws_ctx *c, void *user)
{
    struct ws__recordings *r;
    struct ws__question q = {.id = 1, .a = of(0), .b = of(2), .pair = true};
    struct ws__trial t[2];
    int rc;

    (void)user;
    WS_TRY(open_text(c, csv, &r));
    rc = ask(r, &q, t);
    ws__trial_clear(c, &t[0]);
    ws__trial_clear(c, &t[1]);
    q.a = of(3);
    if (rc >= 0) {
        rc = ask(r, &q, t);
        rc = rc == WS_EMISS ? 0 : rc;
    }
    ws__recordings_free(r);
    return rc;
}

static void torture(void **state)
{
    (void)state;
    assert_true(t_torture(torture_body, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),       cmocka_unit_test(pairs),
        cmocka_unit_test(identities),    cmocka_unit_test(twice),
        cmocka_unit_test(stored_trials), cmocka_unit_test(many),
        cmocka_unit_test(torture),
    };

    return cmocka_run_group_tests_name("recordings", tests, setup, teardown);
}
