/*
 * ceilings_tensor.c: matrix units of NVIDIA GPUs, by their own instructions.
 *
 * Two forms. Compute capability 9.0: wgmma m64n256, both operands in shared
 * memory, two warpgroups a block, so that one's waiting is the other's work.
 * 8.x and 12.x: mma.sync m16n8 on registers, sixteen independent products a
 * warp. Others have units that neither reaches at full rate: not known.
 *
 * Every instruction of every type takes 32 bytes of K: rows of A and columns
 * of B are 32 bytes here, and one text serves all types. A product is summed
 * up over four such steps with different data, for random data draw the power
 * that real ones do. With small integers every sum is exact and compared with
 * the processor's; the timed runs have random signs, exponents and mantissas.
 */
#include "ceilings/ceilings_int.h"

#include <math.h>

#include "base/banned.h"

#define K_BYTES 32u
#define STEPS 4u
#define PASSES 4u /* over the steps, a turn of the loop */
#define THREADS 256u
#define SEED UINT64_C(0x2545f4914f6cdd1d)

static const struct type {
    const char *wgmma, *mma; /* types of the result and of the operands */
    unsigned bytes;          /* of an operand's element */
    bool is_int, scaled;     /* wgmma: has scale words */
    bool flips;              /* wgmma: has words that transpose */
    unsigned since;          /* mma: major * 10 + minor */
} TYPES[WS__NROOF] = {
    [WS__ROOF_TENSOR_FP16] = {"f32.f16.f16", "m16n8k16.row.col.f32.f16.f16.f32",
                              2, false, true, true, 80},
    [WS__ROOF_TENSOR_BF16] = {"f32.bf16.bf16",
                              "m16n8k16.row.col.f32.bf16.bf16.f32", 2, false,
                              true, true, 80},
    [WS__ROOF_TENSOR_TF32] = {"f32.tf32.tf32",
                              "m16n8k8.row.col.f32.tf32.tf32.f32", 4, false,
                              true, false, 80},
    [WS__ROOF_TENSOR_FP8] = {"f32.e4m3.e4m3",
                             "m16n8k32.row.col.f32.e4m3.e4m3.f32", 1, false,
                             true, false, 89},
    [WS__ROOF_TENSOR_INT8] = {"s32.s8.s8", "m16n8k32.row.col.s32.s8.s8.s32", 1,
                              true, false, false, 80},
};

/* Rows of A and columns of B of one block's product, in both forms. */
struct form {
    bool wgmma;
    unsigned rows, cols; /* of a part: a warpgroup's, or a warp's */
    unsigned parts;      /* of a block */
    unsigned steps;      /* of K_BYTES; mma: 1 */
};

static unsigned k_of(const struct type *t)
{
    return K_BYTES / t->bytes;
}

/* ---- operands ------------------------------------------------------------ */

static uint64_t draw(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* The integers -2 to 2, as elements have them. */
static uint32_t small(enum ws__ceiling_of c, int v)
{
    static const uint32_t one[] = {0, 0x3c00, 0x3f80, 0x3f800000, 0x38},
                          two[] = {0, 0x4000, 0x4000, 0x40000000, 0x40},
                          sign[] = {0, 0x8000, 0x8000, 0x80000000, 0x80};
    unsigned at = c == WS__ROOF_TENSOR_FP16   ? 1
                  : c == WS__ROOF_TENSOR_BF16 ? 2
                  : c == WS__ROOF_TENSOR_TF32 ? 3
                                              : 4;
    unsigned size = v < 0 ? (unsigned)-v : (unsigned)v;

    if (c == WS__ROOF_TENSOR_INT8)
        return (uint32_t)v & 0xff;
    return size ? (size == 1 ? one[at] : two[at]) | (v < 0 ? sign[at] : 0) : 0;
}

/* Random bits, but for exponents: values from 1/8 to 2. */
static uint32_t some(enum ws__ceiling_of c, uint64_t r)
{
    uint32_t e = (uint32_t)(r >> 40) & 3, bits = (uint32_t)r;

    switch (c) {
    case WS__ROOF_TENSOR_FP16:
        return (bits & 0x83ff) | (12 + e) << 10;
    case WS__ROOF_TENSOR_BF16:
        return (bits & 0x807f) | (124 + e) << 7;
    case WS__ROOF_TENSOR_TF32:
        return (bits & 0x807fe000) | (124 + e) << 23;
    case WS__ROOF_TENSOR_FP8:
        return (bits & 0x87) | (4 + e) << 3;
    default:
        return bits & 0xff;
    }
}

/* An operand: n rows of steps x K_BYTES, element by element. */
struct operand {
    signed char *v;       /* n x steps x k small integers; NULL: random */
    unsigned char *bytes; /* as the kernel reads them */
    size_t nbyte;
    unsigned n;
};

/* Where byte b of row r of a step lies. wgmma without swizzle: blocks of eight
 * rows of 16 bytes, the two of a row's 32 bytes one after the other. */
static size_t place(const struct form *f, unsigned n, unsigned step, unsigned r,
                    unsigned b)
{
    size_t base = (size_t)step * n * K_BYTES;

    if (!f->wgmma)
        return base + (size_t)r * K_BYTES + b;
    return base + (size_t)(r / 8 * 2 + b / 16) * 128 + r % 8 * 16 + b % 16;
}

static void fill_operand(const struct form *f, enum ws__ceiling_of c,
                         bool is_small, uint64_t seed, struct operand *o)
{
    const struct type *t = &TYPES[c];
    unsigned k = k_of(t);

    for (unsigned s = 0; s < f->steps; s++)
        for (unsigned r = 0; r < o->n; r++)
            for (unsigned i = 0; i < k; i++) {
                uint64_t random = draw(&seed);
                int v = (int)(random >> 33) % 5 - 2;
                uint32_t word = is_small ? small(c, v) : some(c, random);

                o->v[((size_t)s * o->n + r) * k + i] = (signed char)v;
                for (unsigned b = 0; b < t->bytes; b++)
                    o->bytes[place(f, o->n, s, r, i * t->bytes + b)] =
                        (unsigned char)(word >> 8 * b);
            }
}

static int make_operand(struct ws__meter *m, const struct form *f, unsigned n,
                        struct operand *o)
{
    o->n = n;
    o->nbyte = (size_t)f->steps * n * K_BYTES;
    o->v = ws__alloc(m->ctx, o->nbyte, 1);
    o->bytes = ws__alloc(m->ctx, o->nbyte, 1);
    return o->v && o->bytes ? 0 : WS_ENOMEM;
}

static void free_operand(struct ws__meter *m, struct operand *o)
{
    ws__free(m->ctx, o->v);
    ws__free(m->ctx, o->bytes);
}

/* ---- source -------------------------------------------------------------- */

/* "+f"(d[0]), ... for all n. */
static void put_results(struct ws__buf *b, const struct type *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        ws__buf_printf(b, "%s\"+%c\"(d[%u])", i ? ", " : "",
                       t->is_int ? 'r' : 'f', i);
}

/* Descriptors: address, distance of the two halves of a row (128 bytes) and of
 * eight rows (256), each in units of 16 bytes; no swizzle. */
static void put_wgmma(struct ws__buf *b, const struct type *t)
{
    ws__buf_printf(
        b,
        "#define DESC(p) ((u64)(((u32)__cvta_generic_to_shared(p) & 0x3ffff) "
        "\\\n"
        "    >> 4) | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32)\n"
        "static __device__ __forceinline__ void step(%s (&d)[128], u64 a, u64 "
        "b)\n"
        "{\n    asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %%130, 0; \"\n"
        "        \"wgmma.mma_async.sync.aligned.m64n256k%u.%s {",
        t->is_int ? "int" : "float", k_of(t), t->wgmma);
    for (unsigned i = 0; i < 128; i++)
        ws__buf_printf(b, "%s%%%u", i ? ", " : "", i);
    ws__buf_printf(b,
                   "}, %%128, %%129, p%s%s; }\" : ", t->scaled ? ", 1, 1" : "",
                   t->flips ? ", 0, 0" : "");
    put_results(b, t, 128);
    ws__buf_puts(b, " : \"l\"(a), \"l\"(b), \"r\"(1));\n}\n");
    ws__buf_printf(
        b,
        "extern \"C\" __global__ void __launch_bounds__(256, 1)\n"
        "roof_tensor(const vec4 *a, const vec4 *b, %s *out, u32 times)\n"
        "{\n"
        "    __shared__ alignas(128) vec4 sa[2 * 512], sb[2048];\n"
        "    u32 group = threadIdx.x / 128;\n"
        "    u64 da[4], db[4];\n"
        "    %s d[128];\n"
        "    for (u32 i = threadIdx.x; i < 2 * 512; i += 256) sa[i] = a[i];\n"
        "    for (u32 i = threadIdx.x; i < 2048; i += 256) sb[i] = b[i];\n"
        "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
        "    __syncthreads();\n"
        "    for (int i = 0; i < 128; i++) d[i] = 0;\n"
        "    for (int s = 0; s < 4; s++) {\n"
        "        da[s] = DESC(sa + group * 512 + s * 128);\n"
        "        db[s] = DESC(sb + s * 512);\n"
        "    }\n",
        t->is_int ? "int" : "float", t->is_int ? "int" : "float");
    ws__buf_puts(
        b,
        "    for (u32 t = 0; t < times; t++) {\n"
        "        asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
        "        _Pragma(\"unroll\")\n"
        "        for (int i = 0; i < 16; i++) step(d, da[i % 4], db[i % 4]);\n"
        "        asm volatile(\"wgmma.commit_group.sync.aligned;\"\n"
        "            ::: \"memory\");\n"
        "        asm volatile(\"wgmma.wait_group.sync.aligned %0;\"\n"
        "            :: \"n\"(ROOF_AHEAD) : \"memory\");\n"
        "    }\n"
        "    asm volatile(\"wgmma.wait_group.sync.aligned 0;\"\n"
        "        ::: \"memory\");\n"
        "    if (blockIdx.x == 0)\n"
        "        for (int i = 0; i < 128; i++)\n"
        "            out[threadIdx.x * 128 + i] = d[i];\n"
        "}\n");
}

/* A warp has 4 x 4 products of 16 x 8. A turn of the loop is 16 passes. */
static void put_mma(struct ws__buf *b, const struct type *t)
{
    ws__buf_printf(
        b,
        "extern \"C\" __global__ void __launch_bounds__(256)\n"
        "roof_tensor(const u32 *a, const u32 *b, %s *out, u32 times)\n"
        "{\n"
        "    u32 lane = threadIdx.x %% 32, row = lane / 4, word = lane %% 4;\n"
        "    u32 x[4][4], y[4][2];\n"
        "    %s d[64];\n"
        "    for (int i = 0; i < 64; i++) d[i] = 0;\n"
        "    for (int i = 0; i < 4; i++) {\n"
        "        for (int k = 0; k < 4; k++)\n"
        "            x[i][k] = a[(i * 16 + k %% 2 * 8 + row) * 8 + k / 2 * 4 "
        "+\n"
        "                word];\n"
        "        for (int k = 0; k < 2; k++)\n"
        "            y[i][k] = b[(i * 8 + row) * 8 + k * 4 + word];\n"
        "    }\n"
        "    for (u32 t = 0; t < times; t++)\n"
        "        _Pragma(\"unroll\")\n"
        "        for (int n = 0; n < 256; n++) {\n"
        "            const int i = n / 4 %% 4, j = n %% 4, c = (i * 4 + j) * "
        "4;\n"
        "            asm volatile(\"mma.sync.aligned.%s \"\n"
        "                \"{%%0, %%1, %%2, %%3}, {%%4, %%5, %%6, %%7}, \"\n"
        "                \"{%%8, %%9}, {%%0, %%1, %%2, %%3};\"\n"
        "                : ",
        t->is_int ? "int" : "float", t->is_int ? "int" : "float", t->mma);
    for (int i = 0; i < 4; i++)
        ws__buf_printf(b, "%s\"+%c\"(d[c + %d])", i ? ", " : "",
                       t->is_int ? 'r' : 'f', i);
    ws__buf_puts(
        b,
        "\n                : \"r\"(x[i][0]), \"r\"(x[i][1]), \"r\"(x[i][2]),\n"
        "                \"r\"(x[i][3]), \"r\"(y[j][0]), \"r\"(y[j][1]));\n"
        "        }\n"
        "    if (blockIdx.x == 0)\n"
        "        for (int i = 0; i < 64; i++)\n"
        "            out[threadIdx.x * 64 + i] = d[i];\n"
        "}\n");
}

/* ahead: turns of the loop that may be under way; wgmma only. */
static int build_tensor(struct ws__meter *m, const struct type *t,
                        const struct form *f, unsigned ahead)
{
    static const char *const entry = "roof_tensor";
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, m->ctx, 1 << 16);
    ws__buf_printf(&b, "#define ROOF_AHEAD %u\n", ahead);
    ws__buf_puts(&b, ws__ceilings_head);
    (f->wgmma ? put_wgmma : put_mma)(&b, t);
    rc = b.failed ? b.failed : ws__meter_build(m, b.data, &entry, 1);
    ws__buf_free(&b);
    return rc;
}

/* ---- check --------------------------------------------------------------- */

/* Both instructions leave a result's rows and columns with the threads in the
 * same way: a warp has 16 rows, thread t rows t / 4 and eight below, columns
 * by twos. */
static void where(const struct form *f, unsigned thread, unsigned i,
                  unsigned *row, unsigned *col)
{
    unsigned lane = thread % 32;

    *row = lane / 4 + i % 4 / 2 * 8;
    *col = lane % 4 * 2 + i % 2;
    if (f->wgmma) {
        *row += thread / 32 * 16; /* over both warpgroups */
        *col += i / 4 * 8;
    } else {
        *row += i / 16 * 16;
        *col += i / 4 % 4 * 8;
    }
}

static int64_t dot(const struct form *f, unsigned k, const struct operand *a,
                   const struct operand *b, unsigned row, unsigned col)
{
    int64_t sum = 0;
    /* A of wgmma: the steps of the first warpgroup, then of the second. */
    unsigned part = f->wgmma ? row / 64 : 0, n = f->wgmma ? 64 : a->n;

    for (unsigned s = 0; s < f->steps; s++) {
        const signed char *x =
            a[part].v + ((size_t)s * n + (f->wgmma ? row % 64 : row)) * k;
        const signed char *y = b->v + ((size_t)s * b->n + col) * k;

        for (unsigned i = 0; i < k; i++)
            sum += x[i] * y[i];
    }
    return sum;
}

/* 0, or 1: wrong. `times` turns on small integers, which 24 bits hold. */
static int check_results(struct ws__meter *m, const struct form *f,
                         const struct type *t, const struct operand *a,
                         const struct operand *b, uint32_t times,
                         const uint32_t *out)
{
    unsigned each = f->rows * f->cols / (THREADS / f->parts);
    int64_t turn = f->wgmma ? PASSES : 16;

    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < each; i++) {
            unsigned row, col;
            double want, got;
            float real;
            int32_t whole;

            where(f, thread, i, &row, &col);
            want = (double)(dot(f, k_of(t), a, b, row, col) * turn * times);
            memcpy(&real, &out[thread * each + i], sizeof(real));
            memcpy(&whole, &out[thread * each + i], sizeof(whole));
            got = t->is_int ? (double)whole : (double)real;
            if (!(fabs(got - want) <= 1e-3 * fabs(want)))
                return ws__meter_wrong(m, "roof_tensor");
        }
    return 0;
}

/* ---- measuring ----------------------------------------------------------- */

struct tensor {
    const struct type *t;
    enum ws__ceiling_of c;
    struct form f;
    struct operand a[2], b; /* a[1]: wgmma's second warpgroup */
    uint32_t da, db, out;
    size_t nout;
    unsigned ahead, best_ahead;
    struct ws__way best; /* grid 0: none yet */
    double best_work;
};

static int upload(struct ws__meter *m, struct tensor *x, bool is_small)
{
    const struct ws__device_ops *ops = m->dev->ops;

    for (unsigned i = 0; i < (x->f.wgmma ? 2 : 1); i++) {
        fill_operand(&x->f, x->c, is_small, SEED + i, &x->a[i]);
        WS_TRY(ops->write(m->dev->self, x->da, i * x->a[i].nbyte, x->a[i].bytes,
                          x->a[i].nbyte));
    }
    fill_operand(&x->f, x->c, is_small, ~SEED, &x->b);
    return ops->write(m->dev->self, x->db, 0, x->b.bytes, x->b.nbyte);
}

static void make_way(const struct tensor *x, uint64_t groups, uint32_t times,
                     struct ws__way *w)
{
    *w = (struct ws__way){.entry = "roof_tensor",
                          .grid = groups,
                          .block = THREADS};
    ws__way_buffer(w, x->da);
    ws__way_buffer(w, x->db);
    ws__way_buffer(w, x->out);
    ws__way_u32(w, times);
}

/* 0, 1 (wrong) or an error. */
static int check(struct ws__meter *m, struct tensor *x)
{
    const uint32_t times = 3;
    uint32_t *out = ws__alloc(m->ctx, x->nout, sizeof(*out));
    struct ws__way w;
    int rc = out ? 0 : WS_ENOMEM;

    WS_TRY_DONE(rc);
    make_way(x, 1, times, &w);
    WS_TRY_DONE(upload(m, x, true));
    WS_TRY_DONE(m->dev->ops->fill(m->dev->self, x->out, 0x7fc00000));
    WS_TRY_DONE(ws__meter_run(m, &w, 1, 0));
    WS_TRY_DONE(m->dev->ops->read(m->dev->self, x->out, 0, out,
                                  x->nout * sizeof(*out)));
    rc = check_results(m, &x->f, x->t, x->a, &x->b, times, out);
done:
    ws__free(m->ctx, out);
    return rc;
}

static int time_ways(struct ws__meter *m, struct tensor *x)
{
    static const uint64_t each[] = {1, 2, 4};
    const size_t n = m->quick ? 1 : WS_COUNT(each);
    const double turn = 2. * x->f.rows * x->f.cols * x->f.parts * k_of(x->t) *
                        (x->f.wgmma ? PASSES * STEPS : 16);
    struct ws__way w;

    WS_TRY(upload(m, x, false));
    for (size_t i = 0; i < n; i++) {
        uint64_t groups = each[i] * (m->info->id.units ? m->info->id.units : 1);
        double work, before = m->into->value;
        uint32_t times;

        make_way(x, groups, 1, &w);
        WS_TRY(ws__meter_calibrate(m, &w, 3, 1e6));
        memcpy(&times, w.arg[3].value, sizeof(times));
        work = turn * (double)groups * times;
        WS_TRY(ws__meter_time(m, &w, work));
        if (m->into->value > before) {
            x->best = w;
            x->best_work = work;
            x->best_ahead = x->ahead;
        }
    }
    return 0;
}

static int make_buffers(struct ws__meter *m, struct tensor *x)
{
    const struct form *f = &x->f;

    for (unsigned i = 0; i < (f->wgmma ? 2 : 1); i++)
        WS_TRY(make_operand(m, f, f->rows, &x->a[i]));
    WS_TRY(make_operand(m, f, f->cols, &x->b));
    x->nout = (size_t)f->rows * f->cols * f->parts;
    WS_TRY(ws__meter_alloc(m, 2 * x->a[0].nbyte, &x->da));
    WS_TRY(ws__meter_alloc(m, x->b.nbyte, &x->db));
    return ws__meter_alloc(m, x->nout * 4, &x->out);
}

/* At full load the device gets hot and comes to its power limit; what other
 * ways made of it does not count: this is the last that is measured. */
static int sustain(struct ws__meter *m, struct tensor *x)
{
    if (m->quick || !x->best.grid)
        return 0;
    if (x->ahead != x->best_ahead)
        WS_TRY(build_tensor(m, x->t, &x->f, x->best_ahead));
    return ws__meter_sustain(m, &x->best, x->best_work);
}

static int run(struct ws__meter *m, struct tensor *x)
{
    const unsigned most = x->f.wgmma && !m->quick ? 1 : 0;

    WS_TRY(make_buffers(m, x));
    for (x->ahead = 0;; x->ahead++) {
        int rc;

        WS_TRY(build_tensor(m, x->t, &x->f, x->ahead));
        rc = check(m, x);
        if (rc < 0)
            return rc;
        if (rc == 0)
            WS_TRY(time_ways(m, x));
        if (x->ahead == most)
            break;
    }
    return sustain(m, x);
}

/* Which instruction; WS_ENOTSUP with the reason. */
static int choose(struct ws__meter *m, const struct type *t, struct form *f)
{
    static const char tag[] = "compute capability: ";
    const char *at = strstr(m->info->extra, tag);
    unsigned major, minor, cc;

    if (strcmp(m->info->id.family, "cuda") || !at ||
        sscanf(at + sizeof(tag) - 1, "%u.%u", &major, &minor) != 2)
        return ws__fail(m->ctx, WS_ENOTSUP,
                        "matrix units are reached through CUDA only");
    cc = major * 10 + minor;
    if (cc < t->since)
        return ws__fail(m->ctx, WS_ENOTSUP,
                        "a device of compute capability %u.%u has no such unit",
                        major, minor);
    if (major == 9 && minor == 0)
        *f = (struct form){true, 64, 256, 2, STEPS};
    else if (major == 8 || major == 12)
        *f = (struct form){false, 64, 32, THREADS / 32, 1};
    else
        return ws__fail(m->ctx, WS_ENOTSUP,
                        "no kernel here reaches the matrix units of compute "
                        "capability %u.%u at full rate",
                        major, minor);
    return 0;
}

int ws__ceilings_tensor(struct ws__meter *m, enum ws__ceiling_of c)
{
    struct tensor x = {.t = &TYPES[c], .c = c};
    int rc;

    WS_TRY(choose(m, x.t, &x.f));
    rc = run(m, &x);
    if (!ws__meter_over(rc)) {
        ws__meter_release(m, &x.da);
        ws__meter_release(m, &x.db);
        ws__meter_release(m, &x.out);
    }
    free_operand(m, &x.a[0]);
    free_operand(m, &x.a[1]);
    free_operand(m, &x.b);
    return rc;
}
