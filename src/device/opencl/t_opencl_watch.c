/* t_opencl_watch.c: what a watched launch on a processor sees: writes that are
 * taken back, reads beside a buffer, other launches' buffers; and assembly that
 * macros put together. */
#include "device/opencl/t_opencl.h"

#include "base/pages.h"

/* `what`: see cases. x has N elements, all 1. */
static const char source[] =
    "__kernel void k(__global volatile float *x, __global float *y,\n"
    "                __global float *s, int what, long far)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    float v = x[i];\n"
    "    if (what == 1) { x[i] = 2 * v; v = x[i] / 2; x[i] = v; }\n"
    "    if (what == 2) v += 0 * (x[i + 1] == 3);\n"
    "    if (what == 3 && i == 0) v += 0 * (x[far / 4] == 3);\n"
    "    if (what == 4 && i == 0) { float w = x[far / 4]; x[far / 4] = w; }\n"
    "    y[i] = v;\n"
    "    if (s) s[i] = v;\n"
    "}\n";

#define N 64
#define BYTES (N * sizeof(float))

struct place {
    struct ws_ctx *ctx;
    void *dev;
    uint32_t module, x, y, s, other;
    int what;
    int64_t far;
};

static const struct ws__device_ops *ops(void)
{
    return ws__device_find("opencl");
}

static int build(struct place *p, const char *text)
{
    static const char *const entry = "k";
    const struct ws__build b = {.source = text, .entry = &entry, .nentry = 1};
    struct ws__built built;
    int rc = ops()->build(p->dev, &b, &built);

    ws__free(p->ctx, built.log);
    p->module = built.module;
    return rc;
}

static int look(struct place *p, struct ws__dev_touch *out)
{
    struct ws__dev_arg arg[5] = {{.kind = WS__ARG_TENSOR, .buffer = p->x},
                                 {.kind = WS__ARG_TENSOR, .buffer = p->y},
                                 {.kind = WS__ARG_SCRATCH, .buffer = p->s},
                                 {.kind = WS__ARG_VALUE, .bytes = 4},
                                 {.kind = WS__ARG_VALUE, .bytes = 8}};
    const struct ws__dev_launch l = {.module = p->module,
                                     .entry = "k",
                                     .grid = {1, 1, 1},
                                     .block = {N, 1, 1},
                                     .arg = arg,
                                     .narg = 5};
    const struct ws__dev_fill fill = {.buffer = p->y, .pattern = 9};
    const struct ws__dev_seq seq = {.launch = &l,
                                    .nlaunch = 1,
                                    .fill = &fill,
                                    .nfill = 1};

    memcpy(arg[3].value, &p->what, 4);
    memcpy(arg[4].value, &p->far, 8);
    return ops()->watch(p->dev, &seq, &p->x, 1, out);
}

static void open_place(struct place *p)
{
    float one[N];
    int rc;

    memset(p, 0, sizeof(*p));
    p->ctx = t_ctx(NULL);
    rc = ops()->open(p->ctx, 0, NULL, &p->dev);
    if (rc == WS_ENODEVICE || rc == WS_ENODRIVER ||
        (rc == 0 && !ops()->info(p->dev)->id.is_cpu)) {
        ops()->close(p->dev);
        ws_ctx_free(p->ctx);
        SKIP("no OpenCL device on a processor");
    }
    assert_int_equal(rc, 0);
    for (int i = 0; i < N; i++)
        one[i] = 1;
    assert_int_equal(ops()->alloc(p->dev, BYTES, 4096, 0, &p->x), 0);
    assert_int_equal(ops()->alloc(p->dev, BYTES, 4096, 256, &p->y), 0);
    assert_int_equal(ops()->alloc(p->dev, BYTES, 4096, 256, &p->other), 0);
    assert_int_equal(ops()->write(p->dev, p->x, 0, one, BYTES), 0);
}

static void close_place(struct place *p)
{
    ops()->close(p->dev);
    ws_ctx_free(p->ctx);
}

static void expect(struct place *p, int what, enum ws__touch_kind kind,
                   uint32_t buffer, int64_t offset)
{
    struct ws__dev_touch t;
    float got[N];

    p->what = what;
    assert_int_equal(look(p, &t), 0);
    if (t.kind != kind || t.buffer != buffer || t.offset != offset)
        fail_msg("case %d: kind %d of %u at %lld", what, (int)t.kind,
                 (unsigned)t.buffer, (long long)t.offset);
    /* it ran to its end */
    assert_int_equal(ops()->read(p->dev, p->y, 0, got, BYTES), 0);
    for (int i = 0; i < N; i++)
        assert_true(got[i] == 1);
}

/* The bytes that lie between two buffers. */
static int64_t between(struct place *p, uint32_t from, uint32_t to)
{
    const struct ws__ocl *d = p->dev;
    const struct ocl_buffer *a = &d->buffer[from - 1], *b = &d->buffer[to - 1];

    return (int64_t)((intptr_t)(b->host + b->lead) -
                     (intptr_t)(a->host + a->lead));
}

static void accesses(void **state)
{
    struct place p;

    (void)state;
    open_place(&p);
    assert_int_equal(build(&p, source), 0);
    expect(&p, 0, WS__TOUCH_NONE, 0, 0);
    expect(&p, 1, WS__TOUCH_INPUT, p.x, 0);
    expect(&p, 2, WS__TOUCH_READ, p.x, BYTES);
    p.far = -4160;
    expect(&p, 3, WS__TOUCH_READ, p.x, -4160);
    p.far = between(&p, p.x, p.other) + 8;
    expect(&p, 3, WS__TOUCH_READ, p.other, 8);
    p.far = (int64_t)BYTES + 64;
    expect(&p, 3, WS__TOUCH_READ, p.x, (int64_t)BYTES + 64);
    p.far = between(&p, p.x, p.y) + 4096;
    expect(&p, 3, WS__TOUCH_READ, p.y, 4096);
    /* what was seen is not seen again, nor kept */
    expect(&p, 0, WS__TOUCH_NONE, 0, 0);
    /* with a scratch buffer it may write to all of */
    assert_int_equal(ops()->alloc(p.dev, BYTES, 4096, 0, &p.s), 0);
    expect(&p, 0, WS__TOUCH_NONE, 0, 0);
    close_place(&p);
}

/* Where content lies: not shifted it ends at a page, shifted it begins near
 * one; guards are whole pages. */
static void places(void **state)
{
    static const uint64_t sizes[] = {1, 4, 128, 4096, 4100, 70000};
    struct place p;
    struct ws__ocl *d;
    uint64_t page = ws__page_bytes();

    (void)state;
    open_place(&p);
    d = p.dev;
    for (size_t i = 0; i < WS_COUNT(sizes); i++)
        for (uint32_t shift = 0; shift <= 512; shift += 256) {
            const struct ocl_buffer *b;
            uint32_t h;
            int64_t at;

            assert_int_equal(ops()->alloc(p.dev, sizes[i], 4096, shift, &h), 0);
            b = &d->buffer[h - 1];
            assert_non_null(b->host);
            assert_int_equal(b->lead % d->align, 0);
            assert_true(b->lead >= 4096 &&
                        b->total - b->lead - b->bytes >= 4096);
            if (shift)
                assert_int_equal(b->lead % page, shift);
            else
                assert_true((b->total - b->lead - b->bytes) % page < d->align);
            assert_int_equal(ops()->guard(p.dev, h, &at), 0);
            ops()->release(p.dev, h);
        }
    close_place(&p);
}

/* A driver that copies what lies in memory of ours gives other memory, which
 * cannot be watched. */
static void copying_driver(void **state)
{
    struct place p;
    struct ws__dev_touch t;

    (void)state;
    open_place(&p);
    assert_int_equal(build(&p, source), 0);
    ops()->release(p.dev, p.x);
    ((struct ws__ocl *)p.dev)->copies = true;
    assert_int_equal(ops()->alloc(p.dev, BYTES, 4096, 0, &p.x), 0);
    assert_int_equal(look(&p, &t), WS_ENOTSUP);
    assert_int_equal(t.kind, WS__TOUCH_NONE);
    close_place(&p);
}

static void no_assembly(void **state)
{
    static const char *const words[] = {"as, m", "__as, m", "__asm, __"};
    struct place p;

    (void)state;
    open_place(&p);
    for (size_t i = 0; i < WS_COUNT(words); i++) {
        char text[300];

        snprintf(text, sizeof(text),
                 "#define W(a, b) a##b\n"
                 "__kernel void k(void) { W(%s)(\"nop\"); }\n",
                 words[i]);
        assert_int_equal(build(&p, text), WS_EBUILD);
        assert_non_null(
            strstr(ws_ctx_error(p.ctx)->message, "assembly_is_refused"));
    }
    close_place(&p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(accesses),
    cmocka_unit_test(places),
    cmocka_unit_test(copying_driver),
    cmocka_unit_test(no_assembly),
};

T_OCL_MAIN(tests)
