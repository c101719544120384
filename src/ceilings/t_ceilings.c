/*
 * t_ceilings.c: ceilings of a device made here, whose kernels are C and whose
 * times are what its rates say: the same rates must come back. A kernel that
 * leaves work out, and every call that fails, makes a ceiling unknown; a device
 * that is gone ends it all; nothing of the device's is left over.
 */
#include "base/t_base.h"

#include <math.h>

#include "ceilings/ceilings_int.h"

#define BYTES_PER_NS 2. /* of every memory; operations: the same number */
#define LAUNCH_NS 1234.

/* Numbers of a sign, an exponent and a mantissa; int8 has no exponent. */
struct format {
    const char *in_source;
    unsigned bytes, exponent, mantissa;
    enum ws__ceiling_of c;
};
static const struct format formats[] = {
    {"f32.f16.f16", 2, 5, 10, WS__ROOF_TENSOR_FP16},
    {"f32.bf16.bf16", 2, 8, 7, WS__ROOF_TENSOR_BF16},
    {"f32.tf32.tf32", 4, 8, 23, WS__ROOF_TENSOR_TF32},
    {"f32.e4m3.e4m3", 1, 4, 3, WS__ROOF_TENSOR_FP8},
    {"s32.s8.s8", 1, 0, 7, WS__ROOF_TENSOR_INT8}};

struct fake {
    struct ws_ctx *ctx;
    struct ws__device_info info;
    struct {
        void *p;
        uint64_t bytes;
    } buffer[8];
    long live, calls;
    long fail_at; /* 1-based; 0: none */
    int fail_with;
    const char *lazy; /* this entry leaves its last piece out */
    uint32_t slowed;
    uint32_t unroll, lanes, words, tile, wide;
    bool wgmma;
    const struct format *format; /* of matrix units' operands */
};

static int call(struct fake *f, const char *what)
{
    if (++f->calls != f->fail_at)
        return 0;
    return ws__fail(f->ctx, f->fail_with, "%s fails", what);
}

static const struct ws__device_info *fake_info(void *dev)
{
    return &((struct fake *)dev)->info;
}

static uint32_t define(const char *source, const char *name, uint32_t or)
{
    char tag[64];
    const char *at;

    snprintf(tag, sizeof(tag), "#define %s ", name);
    at = strstr(source, tag);
    return at ? (uint32_t)strtoul(at + strlen(tag), NULL, 10) : or ;
}

static int fake_build(void *dev, const struct ws__build *b,
                      struct ws__built *out)
{
    struct fake *f = dev;

    memset(out, 0, sizeof(*out));
    WS_TRY(call(f, "build"));
    f->unroll = define(b->source, "ROOF_UNROLL", 0);
    f->lanes = define(b->source, "ROOF_LANES", 0);
    f->words = define(b->source, "ROOF_WORDS", 0);
    f->tile = define(b->source, "ROOF_TILE", 0);
    f->wide = strstr(b->source, "#define ROOF_REAL double") != NULL;
    f->wgmma = strstr(b->source, "wgmma.mma_async") != NULL;
    for (size_t i = 0; i < WS_COUNT(formats); i++)
        if (strstr(b->source, formats[i].in_source))
            f->format = &formats[i];
    out->module = 1;
    f->live++;
    return 0;
}

static void fake_unload(void *dev, uint32_t module)
{
    ((struct fake *)dev)->live -= module == 1;
}

static int fake_alloc(void *dev, uint64_t bytes, uint32_t guard, uint32_t shift,
                      uint32_t *buffer)
{
    struct fake *f = dev;
    uint32_t i = 1;

    (void)guard;
    (void)shift;
    WS_TRY(call(f, "alloc"));
    while (f->buffer[i].p)
        i++;
    assert_true(i < WS_COUNT(f->buffer));
    f->buffer[i].p = calloc(1, bytes);
    f->buffer[i].bytes = bytes;
    f->live++;
    *buffer = i;
    return 0;
}

static void fake_release(void *dev, uint32_t b)
{
    struct fake *f = dev;

    free(f->buffer[b].p);
    f->buffer[b].p = NULL;
    f->live--;
}

static int fake_write(void *dev, uint32_t b, uint64_t at, const void *p,
                      uint64_t n)
{
    struct fake *f = dev;

    assert_true(at + n <= f->buffer[b].bytes);
    memcpy((char *)f->buffer[b].p + at, p, n);
    return call(f, "write");
}

static int fake_read(void *dev, uint32_t b, uint64_t at, void *p, uint64_t n)
{
    struct fake *f = dev;

    assert_true(at + n <= f->buffer[b].bytes);
    memcpy(p, (char *)f->buffer[b].p + at, n);
    return call(f, "read");
}

static int fake_fill(void *dev, uint32_t b, uint32_t pattern)
{
    struct fake *f = dev;

    for (uint64_t i = 0; i < f->buffer[b].bytes / 4; i++)
        ((uint32_t *)f->buffer[b].p)[i] = pattern;
    return call(f, "fill");
}

static int fake_hash(void *dev, uint32_t b, uint64_t *out)
{
    struct fake *f = dev;

    *out = 1469598103934665603u;
    for (uint64_t i = 0; i < f->buffer[b].bytes / 4; i++)
        *out = (*out ^ ((uint32_t *)f->buffer[b].p)[i]) * 1099511628211u;
    return call(f, "hash");
}

/* ---- the kernels: each returns its work ---------------------------------- */

static uint32_t *words_of(struct fake *f, const struct ws__dev_launch *l,
                          size_t arg)
{
    return f->buffer[l->arg[arg].buffer].p;
}

static uint64_t number(const struct ws__dev_launch *l, size_t arg)
{
    uint64_t v = 0;

    memcpy(&v, l->arg[arg].value, l->arg[arg].bytes);
    return v;
}

/* Sums may lie anywhere in `out`: one word has it, the others are 0. */
static void put_sum(struct fake *f, const struct ws__dev_launch *l, size_t arg,
                    uint32_t sum)
{
    memset(words_of(f, l, arg), 0, l->grid[0] * l->block[0] * 4);
    words_of(f, l, arg)[l->grid[0] * l->block[0] - 1] = sum;
}

static double do_memory(struct fake *f, const struct ws__dev_launch *l,
                        bool lazy)
{
    uint64_t n;
    uint32_t *a = words_of(f, l, 0), sum = 0;

    if (!strcmp(l->entry, "roof_cache")) {
        n = number(l, 2) * 4 * l->grid[0];
        for (uint64_t i = 0; i < n - lazy; i++)
            sum += a[i];
        put_sum(f, l, 1, sum * (uint32_t)number(l, 3));
        return (double)n * 4 * (double)number(l, 3);
    }
    n = number(l, strcmp(l->entry, "roof_write") ? 2 : 1) * 4;
    for (uint64_t i = 0; i < n - lazy; i++)
        if (!strcmp(l->entry, "roof_write"))
            a[i] = ws__ceilings_word(i, (uint32_t)number(l, 2));
        else if (!strcmp(l->entry, "roof_copy"))
            words_of(f, l, 1)[i] = a[i];
        else
            sum += a[i];
    if (!strcmp(l->entry, "roof_read"))
        put_sum(f, l, 1, sum);
    return (double)n * 4 * (strcmp(l->entry, "roof_copy") ? 1 : 2);
}

static double do_shared(struct fake *f, const struct ws__dev_launch *l,
                        bool lazy)
{
    uint32_t seed = (uint32_t)number(l, 1), times = (uint32_t)number(l, 2);

    for (uint64_t g = 0; g < l->grid[0]; g++)
        for (uint32_t id = 0; id < l->block[0]; id++) {
            uint32_t sum = 0;

            for (uint32_t t = 0; t < times - lazy; t++)
                for (uint32_t k = 0; k < 4 * f->words; k++)
                    sum +=
                        ws__ceilings_word((((id + t * 8) & (f->tile / 2 - 1)) +
                                           f->tile / 8 * (k / f->words)) *
                                                  f->words +
                                              k % f->words,
                                          seed);
            words_of(f, l, 0)[g * l->block[0] + id] = sum;
        }
    return (double)l->grid[0] * l->block[0] * times * 16 * f->words;
}

/* Only the first and the last thread are looked at. */
static double do_fma(struct fake *f, const struct ws__dev_launch *l, bool lazy)
{
    uint64_t n = l->grid[0] * l->block[0], times = number(l, 4) * 16;
    double a, b;

    memcpy(&a, l->arg[2].value, 8);
    memcpy(&b, l->arg[3].value, 8);
    for (uint64_t i = 0; i < n; i += n - 1) {
        double sum = 0;

        for (uint32_t u = 0; u < f->unroll; u++)
            for (uint32_t k = 0; k < f->lanes; k++) {
                double x = f->wide ? ((double *)words_of(f, l, 0))[k]
                                   : (double)((float *)words_of(f, l, 0))[k];

                x += u + (double)(i % l->block[0] % 8);
                for (uint64_t t = 0; f->wide && t < times; t++)
                    x = fma(x, a, b);
                for (uint64_t t = 0; !f->wide && t < times; t++)
                    x = (double)fmaf((float)x, 1 - 1.f / 16384, .25f);
                sum += lazy ? x * .99 : x;
            }
        if (f->wide)
            ((double *)words_of(f, l, 1))[i] = sum;
        else
            ((float *)words_of(f, l, 1))[i] = (float)sum;
    }
    return (double)n * (double)times * f->unroll * f->lanes * 2;
}

static double element(const struct format *t, const unsigned char *p)
{
    uint32_t v = 0, e, m;
    double x;

    memcpy(&v, p, t->bytes);
    if (!t->exponent)
        return (int8_t)v;
    e = v >> t->mantissa & ((1u << t->exponent) - 1);
    m = v & ((1u << t->mantissa) - 1);
    x = e ? ldexp(1 + m * ldexp(1, -(int)t->mantissa),
                  (int)e - ((1 << (t->exponent - 1)) - 1))
          : 0;
    return v >> (t->exponent + t->mantissa) & 1 ? -x : x;
}

/* Byte `b` of row `r` in operands as the instructions want them: eight rows of
 * 16 bytes in a block of 128 bytes, or row by row. */
static size_t at_byte(const struct fake *f, unsigned r, unsigned b)
{
    return f->wgmma ? r / 8 * 256 + b / 16 * 128 + r % 8 * 16 + b % 16
                    : r * 32 + b;
}

static double product(const struct fake *f, const unsigned char *a,
                      const unsigned char *b, unsigned row, unsigned col)
{
    unsigned steps = f->wgmma ? 4 : 1;
    double sum = 0;

    for (unsigned s = 0; s < steps; s++)
        for (unsigned k = 0; k < 32; k += f->format->bytes)
            sum += element(f->format, a + s * 2048 + at_byte(f, row, k)) *
                   element(f->format, b + s * 8192 + at_byte(f, col, k));
    return sum * (f->wgmma ? 4 : 16);
}

/* Only what is looked at is computed: the results of one block. */
static double do_tensor(struct fake *f, const struct ws__dev_launch *l,
                        bool lazy)
{
    const unsigned char *a = f->buffer[l->arg[0].buffer].p,
                        *b = f->buffer[l->arg[1].buffer].p;
    unsigned n = f->wgmma ? 128 : 64, k = 32 / f->format->bytes;
    double times = (double)number(l, 3);

    for (unsigned t = 0; l->grid[0] == 1 && times < 4 && t < 256; t++)
        for (unsigned i = 0; i < n; i++) {
            unsigned row = t % 32 / 4 + i / 2 % 2 * 8, col = t % 4 * 2 + i % 2;
            double v;

            row += f->wgmma ? t / 32 % 4 * 16 : i / 16 * 16;
            col += f->wgmma ? i / 4 * 8 : i / 4 % 4 * 8;
            v = product(f, a + (f->wgmma ? t / 128 * 8192 : 0), b, row, col);
            v = v * times + (lazy && t == 255 && i == n - 1);
            if (f->format->exponent)
                ((float *)words_of(f, l, 2))[t * n + i] = (float)v;
            else
                ((int32_t *)words_of(f, l, 2))[t * n + i] = (int32_t)v;
        }
    return (double)l->grid[0] * times * 2 * k *
           (f->wgmma ? 2 * 64 * 256 * 16 : 8 * 64 * 32 * 16);
}

static double execute(struct fake *f, const struct ws__dev_launch *l)
{
    bool lazy = f->lazy && !strcmp(f->lazy, l->entry);

    if (!strcmp(l->entry, "roof_launch")) {
        words_of(f, l, 0)[0] = lazy ? 0 : (uint32_t)number(l, 1);
        return LAUNCH_NS * BYTES_PER_NS;
    }
    if (!strcmp(l->entry, "roof_shared"))
        return do_shared(f, l, lazy);
    if (!strcmp(l->entry, "roof_tensor"))
        return do_tensor(f, l, lazy);
    if (!strcmp(l->entry, "roof_fma"))
        return do_fma(f, l, lazy);
    return do_memory(f, l, lazy);
}

static int fake_run(void *dev, const struct ws__dev_batch *b,
                    struct ws__dev_sample *s, size_t *n)
{
    struct fake *f = dev;
    double work = 0;

    *n = 0;
    WS_TRY(call(f, "run"));
    work = execute(f, b->prog->launch);
    for (uint32_t i = 0; i < b->rounds; i++)
        s[i] = (struct ws__dev_sample){.ns = work / BYTES_PER_NS,
                                       .round = i,
                                       .mhz = 1000 + i % 3,
                                       .slowed = f->slowed};
    *n = b->rounds;
    return 0;
}

static const struct ws__device_ops OPS = {.abi = WS__DEVICE_ABI,
                                          .name = "fake",
                                          .info = fake_info,
                                          .build = fake_build,
                                          .unload = fake_unload,
                                          .alloc = fake_alloc,
                                          .release = fake_release,
                                          .write = fake_write,
                                          .read = fake_read,
                                          .fill = fake_fill,
                                          .hash = fake_hash,
                                          .run = fake_run};

static void fake_begin(struct fake *f, struct ws_ctx *ctx)
{
    memset(f, 0, sizeof(*f));
    f->ctx = ctx;
    snprintf(f->info.id.device, sizeof(f->info.id.device), "a fake");
    snprintf(f->info.id.family, sizeof(f->info.id.family), "fake");
    f->info.id.units = 1;
    f->info.id.cache_bytes = 65536;
    f->info.id.memory_bytes = 8 << 20;
    f->info.id.vector_bytes = 16;
    f->info.id.is_cpu = true;
}

/* What is left over; 0. */
static long fake_end(struct fake *f)
{
    for (size_t i = 0; i < WS_COUNT(f->buffer); i++)
        free(f->buffer[i].p);
    return f->live;
}

static int measure(struct fake *f, struct ws__roof *roof,
                   struct ws__ceilings_why *why)
{
    const struct ws__ceilings_opts o = {.quick = true};
    const struct ws__device d = {&OPS, f};

    return ws__ceilings_measure(f->ctx, &d, &o, roof, why);
}

/* ---- tests --------------------------------------------------------------- */

static const enum ws__ceiling_of rates[] = {WS__ROOF_COPY,   WS__ROOF_READ,
                                            WS__ROOF_WRITE,  WS__ROOF_L2,
                                            WS__ROOF_SHARED, WS__ROOF_FP32,
                                            WS__ROOF_FP64};

static void rates_come_back(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__ceilings_why why;
    struct ws__roof r;
    struct fake f;
    (void)state;

    fake_begin(&f, ctx);
    f.slowed = WS__SLOW_POWER;
    assert_int_equal(measure(&f, &r, &why), 0);
    for (size_t i = 0; i < WS_COUNT(rates); i++) {
        const struct ws__ceiling *c = &r.ceiling[rates[i]];

        if (!c->known || fabs(c->value / (BYTES_PER_NS * 1e9) - 1) > 1e-9)
            fail_msg("%s: %g (%s)", ws__roof_key(rates[i]), c->value,
                     why.text[rates[i]]);
        assert_int_equal(c->from, WS__ROOF_MEASURED);
        assert_true(c->lo <= c->value && c->value <= c->hi && c->nsample == 7);
        assert_int_equal(c->mhz, 1001);
        assert_int_equal(c->slowed, WS__SLOW_POWER);
        assert_string_equal(why.text[rates[i]], "");
    }
    assert_true(fabs(r.ceiling[WS__ROOF_LAUNCH].value - LAUNCH_NS) < 1e-9);
    assert_false(r.ceiling[WS__ROOF_TENSOR_FP16].known);
    assert_non_null(strstr(why.text[WS__ROOF_TENSOR_FP16], "CUDA"));
    assert_string_equal(r.device, "a fake");
    assert_int_equal(fake_end(&f), 0);
    ws_ctx_free(ctx);
}

/* Which matrix units a GPU has, and that results are looked at. */
static void matrix_units(void **state)
{
    static const struct {
        const char *capability;
        bool known[5]; /* as in formats */
        const char *lazy;
    } gpu[] = {{"7.5", {false, false, false, false, false}, NULL},
               {"8.0", {true, true, true, false, true}, NULL},
               {"8.9", {true, true, true, true, true}, NULL},
               {"9.0", {true, true, true, true, true}, NULL},
               {"9.0", {false, false, false, false, false}, "roof_tensor"},
               {"8.9", {false, false, false, false, false}, "roof_tensor"},
               {"10.0", {false, false, false, false, false}, NULL}};
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    for (size_t i = 0; i < WS_COUNT(gpu); i++) {
        struct ws__ceilings_why why;
        struct ws__roof r;
        struct fake f;

        fake_begin(&f, ctx);
        f.lazy = gpu[i].lazy;
        snprintf(f.info.id.family, sizeof(f.info.id.family), "cuda");
        snprintf(f.info.extra, sizeof(f.info.extra),
                 "x: 1; compute capability: %s; y: 2", gpu[i].capability);
        assert_int_equal(measure(&f, &r, &why), 0);
        for (size_t k = 0; k < WS_COUNT(formats); k++) {
            const struct ws__ceiling *c = &r.ceiling[formats[k].c];

            if (c->known != gpu[i].known[k] ||
                (c->known && fabs(c->value / (BYTES_PER_NS * 1e9) - 1) > 1e-9))
                fail_msg("%s on %s: %g (%s)", formats[k].in_source,
                         gpu[i].capability, c->value, why.text[formats[k].c]);
            assert_true(c->known == !why.text[formats[k].c][0]);
        }
        assert_int_equal(fake_end(&f), 0);
    }
    ws_ctx_free(ctx);
}

static void work_left_out_is_no_ceiling(void **state)
{
    static const struct {
        const char *entry;
        enum ws__ceiling_of c;
    } lazy[] = {
        {"roof_copy", WS__ROOF_COPY},     {"roof_read", WS__ROOF_READ},
        {"roof_write", WS__ROOF_WRITE},   {"roof_cache", WS__ROOF_L2},
        {"roof_shared", WS__ROOF_SHARED}, {"roof_fma", WS__ROOF_FP32},
        {"roof_fma", WS__ROOF_FP64},      {"roof_launch", WS__ROOF_LAUNCH}};
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    for (size_t i = 0; i < WS_COUNT(lazy); i++) {
        struct ws__ceilings_why why;
        struct ws__roof r;
        struct fake f;

        fake_begin(&f, ctx);
        f.lazy = lazy[i].entry;
        assert_int_equal(measure(&f, &r, &why), 0);
        if (r.ceiling[lazy[i].c].known ||
            !strstr(why.text[lazy[i].c], "computes something else"))
            fail_msg("%s passes", lazy[i].entry);
        assert_true(r.ceiling[lazy[i].c].value == 0);
        assert_int_equal(fake_end(&f), 0);
    }
    ws_ctx_free(ctx);
}

/* Each call fails once: one ceiling at most is lost, with the reason. */
static void failures_cost_one_ceiling(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    long n = 0;
    (void)state;

    for (long at = 1; at <= n || at == 1; at++) {
        struct ws__ceilings_why why;
        struct ws__roof r;
        struct fake f;
        int lost = 0;

        fake_begin(&f, ctx);
        f.fail_at = at;
        f.fail_with = WS_EDEVICE;
        assert_int_equal(measure(&f, &r, &why), 0);
        for (size_t i = 0; i < WS_COUNT(rates); i++)
            if (!r.ceiling[rates[i]].known) {
                lost++;
                assert_non_null(strstr(why.text[rates[i]], "fails"));
            }
        assert_true(lost <= 1);
        assert_int_equal(fake_end(&f), 0);
        n = at == 1 ? f.calls : n;
        n = n > 150 ? 150 : n;
    }
    assert_true(n > 50);
    ws_ctx_free(ctx);
}

static void a_device_that_is_gone_ends_it(void **state)
{
    static const int code[] = {WS_ECRASH, WS_ETIMEOUT, WS_EPROTO};
    struct ws_ctx *ctx = t_ctx(NULL);
    (void)state;

    for (size_t i = 0; i < WS_COUNT(code); i++) {
        struct ws__ceilings_why why;
        struct ws__roof r;
        struct fake f;

        fake_begin(&f, ctx);
        f.fail_at = 20;
        f.fail_with = code[i];
        assert_int_equal(measure(&f, &r, &why), code[i]);
        assert_int_equal(f.calls, 20); /* and nobody talks to it any more */
        fake_end(&f);
    }
    ws_ctx_free(ctx);
}

static int with_memory(struct ws_ctx *ctx, void *user)
{
    struct ws__ceilings_why why;
    struct ws__roof r;
    struct fake f;
    int rc;
    (void)user;

    fake_begin(&f, ctx);
    f.info.id.memory_bytes = 1 << 20;
    rc = measure(&f, &r, &why);
    fake_end(&f);
    return rc;
}

static void survives_without_memory(void **state)
{
    (void)state;
    assert_true(t_torture(with_memory, NULL) > 10);
}

/* The null device knows none of the kernels: nothing is known, and why. */
static void what_is_not_built_is_unknown(void **state)
{
    const struct ws__ceilings_opts o = {.quick = true};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__ceilings_why why;
    struct ws__device d;
    struct ws__roof r;
    (void)state;

    assert_int_equal(ws__device_open(ctx, "null", &d), 0);
    assert_int_equal(ws__ceilings_measure(ctx, &d, &o, &r, &why), 0);
    for (unsigned c = 0; c < WS__NROOF; c++) {
        assert_false(r.ceiling[c].known);
        assert_true(why.text[c][0] != '\0');
    }
    ws__device_close(&d);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_come_back),
        cmocka_unit_test(matrix_units),
        cmocka_unit_test(work_left_out_is_no_ceiling),
        cmocka_unit_test(failures_cost_one_ceiling),
        cmocka_unit_test(a_device_that_is_gone_ends_it),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(what_is_not_built_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
