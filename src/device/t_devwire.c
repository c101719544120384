/* t_devwire.c: builds and batches survive the wire; damaged ones are refused
 * at every length; the worker's side answers to nonsense. */
#include "base/t_base.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device/devwire.h"

static const uint64_t tensor_bytes[2] = {100, 200};
static const char *const options[] = {"-DA=1", "-O2"};
static const char *const entries[] = {"first", "second"};

static struct ws__plan_launch hint(void)
{
    return (struct ws__plan_launch){
        .entry = "second",
        .grid = {1, 2, 3},
        .block = {4, 5, 6},
        .arg = {{.kind = WS__ARG_SCRATCH, .index = 3}},
        .narg = 1,
    };
}

static void put_example(struct ws__buf *out)
{
    const struct ws__plan_launch h = hint();
    const struct ws__build b = {
        .source = "text",
        .option = options,
        .noption = 2,
        .dialect = WS__DIALECT_CUDA,
        .entry = entries,
        .nentry = 2,
        .hint = &h,
        .nhint = 1,
        .tensor_bytes = tensor_bytes,
        .ntensor = 2,
        .binary = "a\0b",
        .binary_bytes = 3,
    };

    ws__put_build(out, &b);
}

static void builds_travel(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__arena a;
    struct ws__buf b;
    struct ws__reader r;
    struct ws__build got;

    (void)state;
    ws__arena_init(&a, ctx);
    ws__buf_init(&b, ctx, WS__WIRE_MAX);
    put_example(&b);
    r = ws__reader_of(&b);
    assert_int_equal(ws__get_build(&r, &a, &got), 0);
    assert_true(r.p == r.end);
    assert_string_equal(got.source, "text");
    assert_int_equal(got.noption, 2);
    assert_string_equal(got.option[1], "-O2");
    assert_int_equal(got.dialect, WS__DIALECT_CUDA);
    assert_string_equal(got.entry[0], "first");
    assert_int_equal(got.nhint, 1);
    assert_string_equal(got.hint[0].entry, "second");
    assert_int_equal(got.hint[0].block[2], 6);
    assert_int_equal(got.hint[0].arg[0].index, 3);
    assert_int_equal(got.ntensor, 2);
    assert_int_equal(got.tensor_bytes[1], 200);
    assert_int_equal(got.nscratch, 0);
    assert_int_equal(got.binary_bytes, 3);
    assert_memory_equal(got.binary, "a\0b", 3);
    /* cut short anywhere it is refused, not read */
    for (size_t n = 0; n < b.len; n++) {
        struct ws__reader cut = {r.end - b.len, r.end - b.len + n, false};

        assert_int_equal(ws__get_build(&cut, &a, &got), WS_EPROTO);
    }
    ws__arena_free(&a);
    ws__buf_free(&b);
    ws_ctx_free(ctx);
}

static void batches_travel(void **state)
{
    const struct ws__dev_arg arg[2] = {{.kind = WS__ARG_TENSOR, .buffer = 5},
                                       {.kind = WS__ARG_VALUE,
                                        .bytes = 4,
                                        .value = {1, 2, 3, 4}}};
    const struct ws__dev_launch launch = {.module = 2,
                                          .entry = "first",
                                          .grid = {7, 1, 1},
                                          .block = {8, 1, 1},
                                          .arg = arg,
                                          .narg = 2};
    const struct ws__dev_copy restore = {1, 2};
    const struct ws__dev_fill fill = {3, 4, true};
    const uint32_t hash[3] = {7, 8, 9};
    const struct ws__dev_seq seq[2] = {{.launch = &launch, .nlaunch = 1},
                                       {.restore = &restore,
                                        .nrestore = 1,
                                        .fill = &fill,
                                        .nfill = 1,
                                        .hash = hash,
                                        .nhash = 3}};
    const struct ws__dev_batch batch = {.prog = seq,
                                        .nprog = 1,
                                        .nset = 2,
                                        .first_round = 11,
                                        .rounds = 12,
                                        .inner = 13,
                                        .flush_bytes = 14,
                                        .limit_ns = 15};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__arena a;
    struct ws__buf b;
    struct ws__reader r;
    struct ws__dev_batch got;

    (void)state;
    ws__arena_init(&a, ctx);
    ws__buf_init(&b, ctx, WS__WIRE_MAX);
    ws__put_batch(&b, &batch);
    r = ws__reader_of(&b);
    assert_int_equal(ws__get_batch(&r, &a, &got), 0);
    assert_true(r.p == r.end);
    assert_int_equal(got.nset, 2);
    assert_int_equal(got.first_round + got.rounds + got.inner, 36);
    assert_true(got.flush_bytes == 14 && got.limit_ns == 15);
    assert_string_equal(got.prog[0].launch[0].entry, "first");
    assert_memory_equal(got.prog[0].launch[0].arg, arg, sizeof(arg));
    assert_int_equal(got.prog[1].restore[0].from, 2);
    assert_true(got.prog[1].fill[0].timed);
    assert_int_equal(got.prog[1].hash[2], 9);
    for (size_t n = 0; n < b.len; n++) {
        struct ws__reader cut = {r.end - b.len, r.end - b.len + n, false};

        assert_int_equal(ws__get_batch(&cut, &a, &got), WS_EPROTO);
    }
    ws__arena_free(&a);
    ws__buf_free(&b);
    ws_ctx_free(ctx);
}

static int read_example(struct ws_ctx *ctx, void *user)
{
    struct ws__arena a;
    struct ws__buf b;
    struct ws__reader r;
    struct ws__build got;
    int rc;

    (void)user;
    ws__arena_init(&a, ctx);
    ws__buf_init(&b, ctx, WS__WIRE_MAX);
    put_example(&b);
    rc = b.failed;
    r = ws__reader_of(&b);
    if (rc == 0)
        rc = ws__get_build(&r, &a, &got);
    ws__arena_free(&a);
    ws__buf_free(&b);
    return rc;
}

static void survives_without_memory(void **state)
{
    (void)state;
    assert_true(t_torture(read_example, NULL) > 1);
}

/* --- the worker's side, in a thread ------------------------------------- */

struct serving {
    int sock, rc;
    struct t_alloc alloc;
};

static void *serve(void *user)
{
    struct serving *s = user;
    struct ws_ctx *ctx = t_ctx(&s->alloc);

    s->rc = ws__device_serve(ctx, s->sock);
    ws_ctx_free(ctx);
    close(s->sock);
    return NULL;
}

static int32_t ask(struct ws_ctx *ctx, int sock, uint32_t type,
                   const struct ws__buf *out)
{
    struct ws__reader r;
    struct ws__buf in;
    uint32_t answer = 0;
    int32_t status;

    ws__buf_init(&in, ctx, WS__WIRE_MAX);
    assert_int_equal(ws__wire_send(ctx, sock, type, out->data, out->len, -1),
                     0);
    assert_int_equal(ws__wire_recv(ctx, sock, &answer, &in, NULL, 0), 0);
    assert_int_equal(answer, type);
    r = ws__reader_of(&in);
    status = (int32_t)ws__get_u32(&r);
    ws__buf_free(&in);
    return status;
}

static void answers_nonsense(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct serving s;
    pthread_t thread;
    struct ws__buf none, b;
    int pair[2];

    (void)state;
    memset(&s, 0, sizeof(s));
    ws__buf_init(&none, ctx, 10);
    ws__buf_init(&b, ctx, 1000);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    s.sock = pair[1];
    assert_int_equal(pthread_create(&thread, NULL, serve, &s), 0);
    assert_int_equal(ask(ctx, pair[0], 0, &none), WS_EPROTO);
    assert_int_equal(ask(ctx, pair[0], 4711, &none), WS_EPROTO);
    assert_int_equal(ask(ctx, pair[0], WS__DEV_RUN, &none), WS_EPROTO);
    assert_int_equal(ask(ctx, pair[0], WS__DEV_PROBE, &none), WS_ENODEVICE);
    ws__put_str(&b, "null");
    assert_int_equal(ask(ctx, pair[0], WS__DEV_PROBE, &b), 0);
    /* open without the shared area */
    assert_int_equal(ask(ctx, pair[0], WS__DEV_OPEN, &b), WS_EPROTO);
    close(pair[0]);
    pthread_join(thread, NULL);
    assert_int_equal(s.rc, 0);
    assert_int_equal(s.alloc.live, 0);
    ws__buf_free(&b);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_travel),
        cmocka_unit_test(batches_travel),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(answers_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
