/* Memory that is watched: who came near it is known, and nothing else shows. */
#include "base/pages.h"

#include <signal.h>
#include <sys/mman.h>

#include "base/t_base.h"

static char *map(struct ws_ctx *ctx, size_t pages)
{
    char *at;

    assert_int_equal(ws__pages_map(ctx, pages * ws__page_bytes(), &at), 0);
    return at;
}

static void nothing(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    size_t page = ws__page_bytes();
    char *at = map(ctx, 3);
    struct ws__watched w[2] = {{at, page, true}, {at + 2 * page, page, false}};
    struct ws__intrusion in;
    volatile char *p = at;

    (void)state;
    at[5] = 7;
    assert_int_equal(ws__watch_begin(ctx, w, 2), 0);
    p[page] = p[5]; /* reads what may be read, writes between */
    assert_int_equal(ws__watch_end(ctx, &in), 0);
    assert_false(in.seen);
    assert_int_equal(at[page], 7);
    at[0] = at[2 * page] = 1; /* open again */
    ws__pages_unmap(at, 3 * page);
    ws__pages_unmap(NULL, 0);
    ws_ctx_free(ctx);
}

/* The first one is kept, and every access goes through. */
static void accesses(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    size_t page = ws__page_bytes();
    char *at = map(ctx, 3);
    struct ws__watched w[2] = {{at, page, true}, {at + 2 * page, page, false}};
    struct ws__intrusion in;
    volatile char *p = at;

    (void)state;
    at[2 * page + 9] = 3;
    assert_int_equal(ws__watch_begin(ctx, w, 2), 0);
    p[1] = p[2 * page + 9];
    assert_int_equal(ws__watch_end(ctx, &in), 0);
    assert_true(in.seen);
    assert_int_equal(in.index, 1);
    assert_ptr_equal(in.at, at + 2 * page + 9);
    assert_false(in.write);
    assert_int_equal(at[1], 3);

    assert_int_equal(ws__watch_begin(ctx, w, 2), 0);
    p[11] = 4;
    assert_int_equal(ws__watch_end(ctx, &in), 0);
    assert_true(in.seen && in.write);
    assert_int_equal(in.index, 0);
    assert_ptr_equal(in.at, at + 11);
    assert_int_equal(at[11], 4);
    ws__pages_unmap(at, 3 * page);
    ws_ctx_free(ctx);
}

static sigjmp_buf back;
static void elsewhere(int sig)
{
    siglongjmp(back, sig);
}

/* A fault that is none of its pages', or a signal that was sent, is handed on
 * to the handler of before. */
static void others(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    size_t page = ws__page_bytes();
    char *volatile at = map(ctx, 2);
    struct ws__watched w = {at, page, false};
    struct ws__intrusion in;
    struct sigaction mine = {.sa_handler = elsewhere, .sa_flags = SA_NODEFER},
                     old;

    (void)state;
    assert_int_equal(mprotect(at + page, page, PROT_NONE), 0);
    assert_int_equal(sigaction(SIGSEGV, &mine, &old), 0);
    for (volatile int sent = 0; sent < 2; sent++) {
        assert_int_equal(ws__watch_begin(ctx, &w, 1), 0);
        if (sigsetjmp(back, 1) == 0) {
            if (sent)
                raise(SIGSEGV);
            else
                *(volatile char *)(at + page) = 1;
            fail();
        }
        assert_int_equal(ws__watch_end(ctx, &in), 0);
        assert_false(in.seen);
    }
    assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
    ws__pages_unmap(at, 2 * page);
    ws_ctx_free(ctx);
}

static void refused(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    size_t page = ws__page_bytes();
    char *at = map(ctx, 2), *none;
    struct ws__watched w[2] = {{at, page, true}, {at + page, page, false}};
    struct ws__intrusion in;

    (void)state;
    assert_int_equal(ws__watch_begin(ctx, w, 1), 0);
    assert_int_equal(ws__watch_begin(ctx, w, 1), WS_EINVAL);
    assert_int_equal(ws__watch_end(ctx, &in), 0);

    /* one of the pages is gone: the other one is opened again */
    assert_int_equal(munmap(at + page, page), 0);
    assert_int_equal(ws__watch_begin(ctx, w, 2), WS_ENOTSUP);
    at[0] = 1;
    assert_int_equal(ws__watch_begin(ctx, w, 1), 0); /* nothing is held */
    w[0].at = at + page; /* as if they had gone while it lasted */
    assert_int_equal(ws__watch_end(ctx, &in), WS_EDEVICE);
    assert_int_equal(mprotect(at, page, PROT_READ | PROT_WRITE), 0);

    assert_int_equal(ws__pages_map(ctx, SIZE_MAX / 2 / page * page, &none),
                     WS_ENOMEM);
    assert_null(none);
    ws__pages_unmap(at, page);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(accesses),
        cmocka_unit_test(others),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
