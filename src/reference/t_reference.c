/*
 * t_reference.c: problems, the worker protocol, and what happens to a worker
 * that crashes, hangs or is spoken to wrongly. The op is built by hand: a
 * GEMM, whose reference is compiled into the library.
 */
#include "base/t_base.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reference/refpriv.h"

#define LIMIT_NS 60000000000u

struct fixture {
    struct ws__op op;
    struct ws__workload work;
    struct ws__instance in;
};

static void set_shape(struct ws__tensor_shape *s, enum ws__dtype t,
                      int64_t rows, int64_t cols)
{
    *s = (struct ws__tensor_shape){
        .ndim = 2,
        .dim = {rows, cols},
        .stride = {cols, 1},
        .dtype = t,
        .elements = (uint64_t)(rows * cols),
        .bytes = (uint64_t)(rows * cols) * ws__dtype_bytes(t),
        .contiguous = true,
    };
}

static void make(struct fixture *f, int64_t m, int64_t n, int64_t k)
{
    memset(f, 0, sizeof(*f));
    f->op.name = f->op.reference = "gemm";
    f->op.naxis = 3;
    f->op.ntensor = 3;
    for (size_t i = 0; i < 3; i++) {
        f->op.tensor[i].role = i < 2 ? WS__INPUT : WS__OUTPUT;
        f->op.tensor[i].align = 16;
        f->op.tensor[i].fill = (struct ws__fill){WS__FILL_NORMAL, 0, 1};
    }
    f->work.axis[0] = m;
    f->work.axis[1] = n;
    f->work.axis[2] = k;
    f->in.op = &f->op;
    f->in.workload = &f->work;
    f->in.reduction = k;
    set_shape(&f->in.shape[0], WS__DT_F32, m, k);
    set_shape(&f->in.shape[1], WS__DT_F32, n, k);
    set_shape(&f->in.shape[2], WS__DT_F32, m, n);
}

/* NULL if the worker of this build is not there. */
static struct ws_ctx *worker_ctx(void)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    char *path = NULL;

    if (ws__worker_path(ctx, &path) < 0) {
        ws_ctx_free(ctx);
        return NULL;
    }
    ws__free(ctx, path);
    return ctx;
}

static void assert_gemm(const struct fixture *f, const struct ws__problem *p)
{
    const int64_t *x = f->work.axis;
    const float *a = p->input[0], *w = p->input[1];

    for (int64_t i = 0; i < x[0]; i++) {
        for (int64_t j = 0; j < x[1]; j++) {
            double s = 0;

            for (int64_t k = 0; k < x[2]; k++)
                s += (double)a[i * x[2] + k] * w[j * x[2] + k];
            assert_true(fabs(s - p->result[2][i * x[1] + j]) < 1e-9);
        }
    }
}

static void test_problem(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__problem *p, *q;
    struct fixture f;

    (void)state;
    make(&f, 37, 53, 2100);
    assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
    assert_int_equal(ws__problem_new(ctx, &f.in, &q), 0);
    assert_null(p->input[2]);
    assert_null(p->result[0]);
    assert_int_equal((uintptr_t)p->input[1] % 64, 0);
    assert_int_equal(ws__problem_fill(p, NULL, 5, 1), 0);
    assert_int_equal(ws__problem_fill(q, NULL, 5, 3), 0);
    assert_int_equal(p->seed, 5);
    assert_memory_equal(p->inputs.p, q->inputs.p, p->inputs.bytes);
    assert_memory_not_equal(p->input[0], p->input[1], 4096);
    assert_int_equal(ws__problem_fill(q, NULL, 6, 2), 0);
    assert_memory_not_equal(p->input[0], q->input[0], f.in.shape[0].bytes);
    ws__problem_free(p);
    ws__problem_free(q);
    ws__problem_free(NULL);

    /* Gaps between rows hold numbers too. */
    f.in.shape[0].stride[0] = 2200;
    f.in.shape[0].bytes = (36 * 2200 + 2100) * sizeof(float);
    f.in.shape[0].contiguous = false;
    assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
    assert_int_equal(ws__problem_fill(p, NULL, 5, 2), 0);
    for (size_t i = 2100; i < 2200; i++)
        assert_true(((float *)p->input[0])[i] != 0);
    ws__problem_free(p);
    ws_ctx_free(ctx);
}

static int torture_body(struct ws_ctx *ctx, void *user)
{
    const struct fixture *f = user;
    struct ws__problem *p = NULL;
    struct ws__reference *r = NULL;
    int rc = ws__problem_new(ctx, &f->in, &p);

    if (rc == 0)
        rc = ws__problem_fill(p, NULL, 1, 2);
    if (rc == 0)
        rc = ws__reference_open(ctx, &f->op, 1, LIMIT_NS, &r);
    ws__reference_close(r);
    ws__problem_free(p);
    return rc;
}

static void test_memory(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, 300, 2, 300);
    assert_true(t_torture(torture_body, &f) >= 3);
}

static void test_open(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__reference *r;
    struct fixture f;

    (void)state;
    make(&f, 1, 1, 1);
    f.op.reference = "no such";
    assert_int_equal(ws__reference_open(ctx, &f.op, 0, 0, &r), WS_EREFERENCE);
    assert_null(r);
    f.op.reference = NULL;
    assert_int_equal(ws__reference_open(ctx, &f.op, 0, 0, &r), WS_EREFERENCE);
    assert_true(ws_ctx_error(ctx)->hint[0] != '\0');
    ws__reference_close(NULL);
    ws_ctx_free(ctx);
}

static void test_run(void **state)
{
    struct ws_ctx *ctx = worker_ctx();
    struct ws__reference *r;
    struct ws__problem *p;
    struct fixture f;

    (void)state;
    if (!ctx)
        SKIP("the worker is not built");
    make(&f, 13, 75, 530);
    assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
    assert_int_equal(ws__problem_fill(p, NULL, 1, 1), 0);
    assert_int_equal(ws__reference_open(ctx, &f.op, 2, LIMIT_NS, &r), 0);
    assert_int_equal(ws__reference_run(r, p), 0);
    assert_gemm(&f, p);
    assert_int_equal(ws__problem_fill(p, NULL, 2, 1), 0);
    assert_int_equal(ws__reference_run(r, p), 0);
    assert_gemm(&f, p);
    /* Nothing to generate: refused in words, and the worker lives on. */
    f.op.tensor[0].fill.kind = WS__FILL_NATIVE;
    assert_int_equal(ws__problem_fill(p, NULL, 2, 1), WS_EREFERENCE);
    assert_int_equal(ws__problem_fill(p, r, 2, 1), WS_EREFERENCE);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "generates no inputs"));
    assert_int_equal(ws__reference_run(r, p), 0);
    ws__reference_close(r);
    ws__problem_free(p);
    ws_ctx_free(ctx);
}

/* Every mistake must be found, in every float type. */
static void test_mutants(void **state)
{
    static const enum ws__dtype types[] = {WS__DT_F32, WS__DT_F16, WS__DT_BF16};
    struct ws_ctx *ctx = worker_ctx();

    (void)state;
    if (!ctx)
        SKIP("the worker is not built");
    for (size_t t = 0; t < WS_COUNT(types); t++) {
        struct ws__reference *r;
        struct ws__problem *p;
        struct fixture f;
        double *want;
        size_t applied = 0, n;
        void *got;

        make(&f, 21, 77, 1050);
        for (size_t i = 0; i < 3; i++)
            f.in.shape[i].dtype = types[t];
        n = f.in.shape[2].elements;
        assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
        assert_int_equal(ws__problem_fill(p, NULL, 7, 2), 0);
        assert_int_equal(ws__reference_open(ctx, &f.op, 2, LIMIT_NS, &r), 0);
        assert_int_equal(ws__reference_run(r, p), 0);
        want = malloc(n * sizeof(*want));
        got = malloc(n * sizeof(double));
        assert_non_null(want);
        assert_non_null(got);
        memcpy(want, p->result[2], n * sizeof(*want));
        for (size_t i = 0; i < ws__reference_mutants(r); i++) {
            int rc = ws__reference_mutant(r, p, i);
            struct ws__mismatch m;

            assert_non_null(ws__reference_mutant_name(r, i));
            if (rc == WS_ENOTSUP)
                continue;
            assert_int_equal(rc, 0);
            applied++;
            ws__dtype_store(types[t], p->result[2], got, n);
            assert_int_equal(ws__compare(ctx, &f.in, 2, got, want, 0, ~0u, &m),
                             0);
        }
        assert_true(applied >= 8);
        assert_null(ws__reference_mutant_name(r, 1000));
        assert_int_equal(ws__reference_mutant(r, p, 1000), WS_EREFERENCE);
        free(want);
        free(got);
        ws__reference_close(r);
        ws__problem_free(p);
    }
    ws_ctx_free(ctx);
}

/* One that takes too long is killed; the next call gets a new worker. */
static void test_hang(void **state)
{
    struct ws_ctx *ctx = worker_ctx();
    struct ws__reference *r;
    struct ws__problem *large, *small;
    struct fixture f, g;

    (void)state;
    if (!ctx)
        SKIP("the worker is not built");
    make(&f, 8192, 8192, 8192);
    make(&g, 2, 3, 4);
    assert_int_equal(ws__problem_new(ctx, &f.in, &large), 0);
    assert_int_equal(ws__problem_new(ctx, &g.in, &small), 0);
    assert_int_equal(ws__problem_fill(small, NULL, 7, 1), 0);
    assert_int_equal(ws__reference_open(ctx, &f.op, 2, 2000000000u, &r), 0);
    assert_int_equal(ws__reference_run(r, large), WS_EREFERENCE);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "did not end"));
    assert_int_equal(ws__reference_run(r, small), 0);
    assert_gemm(&g, small);
    ws_ctx_cancel(ctx);
    assert_int_equal(ws__reference_run(r, small), WS_ECANCEL);
    ws__reference_close(r);
    ws__problem_free(large);
    ws__problem_free(small);
    ws_ctx_free(ctx);
}

static void test_crash(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o), .worker_path = "/bin/false"};
    struct ws_ctx *ctx = ws_ctx_new(&o);
    struct ws__reference *r;
    struct ws__problem *p;
    struct fixture f;

    (void)state;
    make(&f, 2, 3, 4);
    assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
    assert_int_equal(ws__reference_open(ctx, &f.op, 2, LIMIT_NS, &r), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ws__reference_run(r, p), WS_EREFERENCE);
        assert_non_null(
            strstr(ws_ctx_error(ctx)->message, "crashed: exit status 1"));
    }
    ws__reference_close(r);
    ws__problem_free(p);
    ws_ctx_free(ctx);
}

/* Kills the worker that this process has, if it can be found. */
static bool kill_worker(void)
{
    char path[64], list[128] = "";
    long pid;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "r");
    if (!f)
        return false;
    if (!fgets(list, sizeof(list), f))
        list[0] = '\0';
    fclose(f);
    pid = strtol(list, NULL, 10);
    return pid > 0 && kill((pid_t)pid, SIGKILL) == 0;
}

/* Something else on the machine ends the worker: the call is repeated. */
static void test_killed(void **state)
{
    struct ws_ctx *ctx = worker_ctx();
    struct ws__reference *r;
    struct ws__problem *p;
    struct fixture f;

    (void)state;
    if (!ctx)
        SKIP("no worker");
    make(&f, 2, 3, 4);
    assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
    assert_int_equal(ws__reference_open(ctx, &f.op, 2, LIMIT_NS, &r), 0);
    for (int i = 0; i < 3; i++) {
        if (ws__reference_run(r, p) < 0)
            fail_msg("%s", ws_ctx_error(ctx)->message);
        kill_worker();
    }
    ws__reference_close(r);
    ws__problem_free(p);
    ws_ctx_free(ctx);
}

/* The worker's side in a thread, so that its words can be checked. */
static void *serve(void *user)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    int *sock = user;

    *sock = ws__reference_serve(ctx, *sock);
    ws_ctx_free(ctx);
    return NULL;
}

static void test_protocol(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__problem *p;
    struct ws__ref_request q = {.what = WS__REF_RUN};
    struct fixture f;
    struct ws__buf b, in;
    struct ws__reader rd;
    uint32_t type;
    pthread_t thread;
    int pair[2];

    (void)state;
    make(&f, 2, 3, 4);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, &pair[1]), 0);
    assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
    ws__ref_request_fill(p, &q);
    ws__buf_init(&b, ctx, 1 << 16);
    ws__buf_init(&in, ctx, 1 << 16);
    ws__ref_request_put(&b, &q);
    /* No areas yet: every tensor reaches outside. */
    assert_int_equal(ws__wire_send(ctx, pair[0], WS__REF_CALL, b.data, b.len,
                                   -1),
                     0);
    assert_int_equal(ws__wire_recv(ctx, pair[0], &type, &in, NULL, LIMIT_NS),
                     0);
    rd = ws__reader_of(&in);
    assert_int_equal(type, WS__REF_DONE);
    assert_int_equal(ws__get_u32(&rd), -WS_EPROTO);
    /* An unknown message ends it. */
    assert_int_equal(ws__wire_send(ctx, pair[0], 9999, "", 1, -1), 0);
    pthread_join(thread, NULL);
    assert_int_equal(pair[1], WS_EPROTO);
    close(pair[0]);
    ws__buf_free(&b);
    ws__buf_free(&in);
    ws__problem_free(p);
    ws_ctx_free(ctx);
}

/* What is to be generated must have a place. */
static void test_request(void **state)
{
    struct ws__ref_request q = {.what = WS__REF_GENERATE}, got;
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__problem *p;
    struct fixture f;
    struct ws__buf b;

    (void)state;
    make(&f, 2, 3, 4);
    assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
    ws__ref_request_fill(p, &q);
    ws__buf_init(&b, ctx, 1 << 16);
    for (int bad = 0; bad < 2; bad++) {
        q.generate[bad ? 2 : 0] = true; /* 2 is an output */
        ws__buf_free(&b);
        ws__ref_request_put(&b, &q);
        assert_int_equal(ws__ref_request_get(ctx, b.data, b.len,
                                             p->inputs.bytes, p->results.bytes,
                                             &got),
                         bad ? WS_EPROTO : 0);
    }
    ws__buf_free(&b);
    ws__problem_free(p);
    ws_ctx_free(ctx);
}

/* Constants travel by name; a reference that misses one says which. */
static void test_constants(void **state)
{
    static const struct ws__constant sent[] = {
        {.name = "EPS", .value = {.type = WS__FLOAT, .u.f = 1e-5}},
        {.name = "LANES", .value = {.type = WS__INT, .u.i = -3}},
    };
    struct ws__ref_request q = {.what = WS__REF_RUN}, got;
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__ref_call call = {.ctx = ctx};
    struct ws__problem *p;
    struct fixture f;
    struct ws__buf b;
    double v = 0;

    (void)state;
    make(&f, 2, 3, 4);
    f.op.nconstant = WS_COUNT(sent);
    memcpy(f.op.constant, sent, sizeof(sent));
    assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
    ws__ref_request_fill(p, &q);
    ws__buf_init(&b, ctx, 1 << 16);
    ws__ref_request_put(&b, &q);
    assert_int_equal(ws__ref_request_get(ctx, b.data, b.len, p->inputs.bytes,
                                         p->results.bytes, &got),
                     0);
    call.constant = got.constant;
    call.nconstant = got.nconstant;
    assert_int_equal(ws__ref_constant(&call, "EPS", &v), 0);
    assert_true(v == 1e-5);
    assert_int_equal(ws__ref_constant(&call, "LANES", &v), 0);
    assert_true(v == -3);
    assert_int_equal(ws__ref_constant(&call, "EPSILON", &v), WS_EREFERENCE);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "'EPSILON'"));
    for (size_t n = 1; n < 24; n++)
        assert_int_equal(ws__ref_request_get(ctx, b.data, b.len - n,
                                             p->inputs.bytes, p->results.bytes,
                                             &got),
                         WS_EPROTO);
    ws__buf_free(&b);
    ws__problem_free(p);
    ws_ctx_free(ctx);
}

static int count_slices(void *user, uint64_t begin, uint64_t end)
{
    unsigned char *seen = user;

    for (uint64_t i = begin; i < end; i++)
        seen[i]++;
    return begin <= 70 && 70 < end ? WS_EDONE : 0;
}

static void test_parallel(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (unsigned threads = 1; threads < 9; threads++) {
        unsigned char seen[101] = {0};

        assert_int_equal(ws__parallel_for(ctx, threads, 101, count_slices,
                                          seen),
                         WS_EDONE);
        for (size_t i = 0; i < sizeof(seen); i++)
            assert_int_equal(seen[i], 1);
        assert_int_equal(ws__parallel_for(ctx, threads, 0, count_slices, seen),
                         0);
        assert_int_equal(ws__parallel_for(ctx, threads, 1, count_slices, seen),
                         0);
    }
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problem),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_open),     cmocka_unit_test(test_run),
        cmocka_unit_test(test_mutants),  cmocka_unit_test(test_hang),
        cmocka_unit_test(test_crash),    cmocka_unit_test(test_protocol),
        cmocka_unit_test(test_killed),   cmocka_unit_test(test_request),
        cmocka_unit_test(test_parallel), cmocka_unit_test(test_constants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
