/* t_wire.c: frames over a socket pair, packing, and what a damaged or dead
 * peer does to them. */
#include "base/t_base.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"

struct pipe_ends {
    struct ws_ctx *ctx;
    int a, b;
};

static struct pipe_ends open_pair(void)
{
    int s[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
    return (struct pipe_ends){t_ctx(NULL), s[0], s[1]};
}

static void close_pair(struct pipe_ends *e)
{
    close(e->a);
    if (e->b >= 0)
        close(e->b);
    ws_ctx_free(e->ctx);
}

static void frames_arrive(void **state)
{
    struct pipe_ends e = open_pair();
    struct ws__buf in;
    uint32_t type = 0;
    int fd = 0;

    (void)state;
    ws__buf_init(&in, e.ctx, WS__WIRE_MAX);
    assert_int_equal(ws__wire_send(e.ctx, e.a, 7, "hello", 5, -1), 0);
    assert_int_equal(ws__wire_send(e.ctx, e.a, 8, NULL, 0, -1), 0);
    assert_int_equal(ws__wire_recv(e.ctx, e.b, &type, &in, &fd, 0), 0);
    assert_int_equal(type, 7);
    assert_int_equal(in.len, 5);
    assert_memory_equal(in.data, "hello", 5);
    assert_int_equal(fd, -1);
    assert_int_equal(ws__wire_recv(e.ctx, e.b, &type, &in, NULL, 0), 0);
    assert_int_equal(type, 8);
    assert_int_equal(in.len, 0);
    ws__buf_free(&in);
    close_pair(&e);
}

static void *send_large(void *user)
{
    struct pipe_ends *e = user;
    struct ws_ctx *ctx = t_ctx(NULL);
    char *p = malloc(3000001);

    memset(p, 'x', 3000001);
    ws__wire_send(ctx, e->a, 9, p, 3000001, -1);
    free(p);
    ws_ctx_free(ctx);
    return NULL;
}

static void large_frames_arrive(void **state)
{
    struct pipe_ends e = open_pair();
    struct ws__buf in;
    pthread_t t;
    uint32_t type;

    (void)state;
    ws__buf_init(&in, e.ctx, WS__WIRE_MAX);
    assert_int_equal(pthread_create(&t, NULL, send_large, &e), 0);
    assert_int_equal(ws__wire_recv(e.ctx, e.b, &type, &in, NULL, 0), 0);
    pthread_join(t, NULL);
    assert_int_equal(in.len, 3000001);
    assert_int_equal(in.data[3000000], 'x');
    ws__buf_free(&in);
    close_pair(&e);
}

static void descriptors_ride_along(void **state)
{
    struct pipe_ends e = open_pair();
    struct ws__buf in;
    struct ws__shm shm, other;
    uint32_t type;
    int fd = -1;

    (void)state;
    ws__buf_init(&in, e.ctx, WS__WIRE_MAX);
    assert_int_equal(ws__shm_new(e.ctx, 100, &shm), 0);
    ((char *)shm.p)[99] = 'z';
    assert_int_equal(ws__wire_send(e.ctx, e.a, 7, "ab", 2, shm.fd), 0);
    assert_int_equal(ws__wire_recv(e.ctx, e.b, &type, &in, &fd, 0), 0);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(ws__shm_map(e.ctx, fd, 100, true, &other), 0);
    assert_int_equal(((char *)other.p)[99], 'z');
    ws__shm_free(&other);
    /* nobody wants it: it is closed, not leaked */
    fd = dup(0);
    close(fd);
    assert_int_equal(ws__wire_send(e.ctx, e.a, 7, "ab", 2, shm.fd), 0);
    assert_int_equal(ws__wire_recv(e.ctx, e.b, &type, &in, NULL, 0), 0);
    assert_int_equal(dup(0), fd);
    close(fd);
    ws__shm_free(&shm);
    ws__buf_free(&in);
    close_pair(&e);
}

static void waiting_ends(void **state)
{
    struct pipe_ends e = open_pair();
    struct ws__buf in;
    uint32_t type;

    (void)state;
    ws__buf_init(&in, e.ctx, WS__WIRE_MAX);
    assert_int_equal(ws__wire_recv(e.ctx, e.b, &type, &in, NULL, 20000000),
                     WS_ETIMEOUT);
    ws_ctx_cancel(e.ctx);
    assert_int_equal(ws__wire_recv(e.ctx, e.b, &type, &in, NULL, 0),
                     WS_ECANCEL);
    assert_int_equal(ws__wire_send(e.ctx, e.a, 1, "x", 1, -1), WS_ECANCEL);
    ws__buf_free(&in);
    close_pair(&e);
}

/* To one that does not listen: what fits is sent, the rest is given up. */
static void sending_ends(void **state)
{
    struct pipe_ends e = open_pair();
    const size_t n = 8 << 20;
    char *text = calloc(1, n);

    (void)state;
    assert_non_null(text);
    assert_int_equal(ws__wire_send_within(e.ctx, e.a, 7, "hello", 5,
                                          1000000000),
                     0);
    assert_int_equal(ws__wire_send_within(e.ctx, e.a, 8, text, n, 50000000),
                     WS_ETIMEOUT);
    free(text);
    close_pair(&e);
}

static void a_dead_peer_is_a_crash(void **state)
{
    static const unsigned char half[9] = {5, 0, 0, 0, 1, 0, 0, 0, 'x'};
    struct pipe_ends e = open_pair();
    struct ws__buf in;
    uint32_t type;

    (void)state;
    ws__buf_init(&in, e.ctx, WS__WIRE_MAX);
    assert_int_equal(write(e.b, half, sizeof(half)), sizeof(half));
    close(e.b);
    e.b = -1;
    assert_int_equal(ws__wire_recv(e.ctx, e.a, &type, &in, NULL, 0), WS_ECRASH);
    assert_int_equal(ws__wire_send(e.ctx, e.a, 1, "x", 1, -1), WS_ECRASH);
    ws__buf_free(&in);
    close_pair(&e);
}

static void lengths_are_checked(void **state)
{
    static const unsigned char head[8] = {0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0};
    struct pipe_ends e = open_pair();
    struct ws__buf in;
    uint32_t type;

    (void)state;
    ws__buf_init(&in, e.ctx, WS__WIRE_MAX);
    assert_int_equal(write(e.b, head, sizeof(head)), sizeof(head));
    assert_int_equal(ws__wire_recv(e.ctx, e.a, &type, &in, NULL, 0), WS_EPROTO);
    assert_int_equal(ws__wire_send(e.ctx, e.a, 1, NULL, WS__WIRE_MAX + 1, -1),
                     WS_ELIMIT);
    ws__buf_free(&in);
    close_pair(&e);
}

static struct ws__reader reader(const struct ws__buf *b)
{
    const unsigned char *p = (const unsigned char *)b->data;

    return (struct ws__reader){p, p + b->len, false};
}

static void packing_is_undone(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__reader r;
    struct ws__buf b;
    size_t n = 0;

    (void)state;
    ws__buf_init(&b, ctx, 1000);
    ws__put_u32(&b, 0xdeadbeef);
    ws__put_u64(&b, 0x0123456789abcdefu);
    ws__put_f64(&b, -0.1);
    ws__put_str(&b, "text");
    ws__put_str(&b, "");
    ws__put_str(&b, NULL);
    ws__put_blob(&b, "\0\1", 2);
    assert_int_equal(b.failed, 0);
    r = reader(&b);
    assert_int_equal(ws__get_u32(&r), 0xdeadbeef);
    assert_true(ws__get_u64(&r) == 0x0123456789abcdefu);
    assert_true(ws__get_f64(&r) == -0.1);
    assert_string_equal(ws__get_str(&r), "text");
    assert_string_equal(ws__get_str(&r), "");
    assert_null(ws__get_str(&r));
    assert_false(r.bad);
    assert_memory_equal(ws__get_blob(&r, &n), "\0\1", 2);
    assert_int_equal(n, 2);
    assert_false(r.bad);
    assert_int_equal(ws__get_u32(&r), 0);
    assert_true(r.bad);
    ws__buf_free(&b);
    ws_ctx_free(ctx);
}

static void reading_stays_inside(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__reader r;
    struct ws__buf b;
    size_t n = 1;

    (void)state;
    ws__buf_init(&b, ctx, 1000);
    ws__put_u64(&b, UINT64_MAX);
    r = reader(&b);
    assert_null(ws__get_blob(&r, &n));
    assert_int_equal(n, 0);
    assert_true(r.bad);
    /* text without its end */
    ws__buf_free(&b);
    ws__put_blob(&b, "ab", 2);
    r = reader(&b);
    assert_null(ws__get_str(&r));
    assert_true(r.bad);
    ws__buf_free(&b);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive),
        cmocka_unit_test(large_frames_arrive),
        cmocka_unit_test(descriptors_ride_along),
        cmocka_unit_test(waiting_ends),
        cmocka_unit_test(sending_ends),
        cmocka_unit_test(a_dead_peer_is_a_crash),
        cmocka_unit_test(lengths_are_checked),
        cmocka_unit_test(packing_is_undone),
        cmocka_unit_test(reading_stays_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
