/*
 * ceilings.c: the ceilings of memories, vector units and launches.
 *
 * Device memory is read and written in buffers many times as large as the
 * last level of cache, that cache in a buffer of half its size. Loops that
 * compute or read what is near go round often enough that a launch does not
 * show. Words are a known function of their place, so that a sum over all of
 * them says whether every byte was moved.
 */
#include "ceilings/ceilings_int.h"

#include <math.h>

#include "base/banned.h"

#define BLOCK 256u
#define SEED 0x9e3779b9u
#define VEC 16u /* bytes of an access */
#define GIB (UINT64_C(1) << 30)
#define FMA_A (1 - 1. / 16384)
#define FMA_B .25

static uint64_t groups_of(const struct ws__meter *m, uint64_t each)
{
    return each * (m->info->id.units ? m->info->id.units : 1);
}

static double target_ns(const struct ws__meter *m)
{
    return m->info->id.is_cpu ? m->quick ? 2e6 : 1e7 : 1e6;
}

/* 4 MiB where it is not known. */
static uint64_t cache_bytes(const struct ws__meter *m)
{
    return m->info->id.cache_bytes ? m->info->id.cache_bytes
                                   : UINT64_C(4) << 20;
}

/* Of device memory: a power of two, at least four caches (sixteen if there is
 * time), on a GPU no less than fills it; at most an eighth of the memory and
 * what one buffer may have. */
static uint64_t memory_bytes(const struct ws__meter *m)
{
    uint64_t want = cache_bytes(m) * (m->quick ? 4 : 16), bytes = 1 << 20;

    if (!m->info->id.is_cpu && want < GIB / 2)
        want = GIB / 2;
    while (bytes < want && bytes < GIB)
        bytes *= 2;
    while (bytes > 1 << 16 &&
           ((m->info->max_alloc_bytes && bytes > m->info->max_alloc_bytes) ||
            (m->info->id.memory_bytes && bytes > m->info->id.memory_bytes / 8)))
        bytes /= 2;
    return bytes;
}

static int build_text(struct ws__meter *m, const char *defines,
                      const char *text, const char *const *entry, size_t n)
{
    struct ws__buf b;
    int rc;

    ws__buf_init(&b, m->ctx, 1 << 16);
    ws__buf_puts(&b, defines);
    ws__buf_puts(&b, ws__ceilings_head);
    ws__buf_puts(&b, text);
    rc = b.failed ? b.failed : ws__meter_build(m, b.data, entry, n);
    ws__buf_free(&b);
    return rc;
}

/* ---- checks -------------------------------------------------------------- */

/* Sum of the words 0 to n - 1: a multiple of a triangular number. */
static uint32_t sum_of_words(uint64_t n)
{
    uint64_t t = n % 2 ? n * ((n - 1) / 2) : n / 2 * (n - 1);

    return (uint32_t)t * 2654435761u + (uint32_t)n * SEED;
}

/* Adds up n words of a buffer. */
static int sum_of_buffer(struct ws__meter *m, uint32_t buffer, uint64_t n,
                         uint32_t *sum)
{
    uint32_t *word = ws__alloc(m->ctx, n, sizeof(*word));
    int rc;

    *sum = 0;
    if (!word)
        return WS_ENOMEM;
    rc = m->dev->ops->read(m->dev->self, buffer, 0, word, n * sizeof(*word));
    for (uint64_t i = 0; rc == 0 && i < n; i++)
        *sum += word[i];
    ws__free(m->ctx, word);
    return rc;
}

/* The first, the middle and the last words. 0, 1 (wrong), or an error. */
static int check_words(struct ws__meter *m, const char *entry, uint32_t buffer,
                       uint64_t bytes)
{
    uint32_t word[64];
    const uint64_t at[] = {0, bytes / 8 * 4, bytes - sizeof(word)};

    for (size_t k = 0; k < WS_COUNT(at); k++) {
        WS_TRY(
            m->dev->ops->read(m->dev->self, buffer, at[k], word, sizeof(word)));
        for (size_t i = 0; i < WS_COUNT(word); i++)
            if (word[i] != ws__ceilings_word(at[k] / 4 + i, SEED))
                return ws__meter_wrong(m, entry);
    }
    return 0;
}

/* ---- device memory and cache --------------------------------------------- */

/* Buffers: a is written and read, b is copied to, out has a word a thread. */
struct memory {
    uint32_t a, b, out;
    uint64_t bytes;
};

static void free_memory(struct ws__meter *m, struct memory *y)
{
    ws__meter_release(m, &y->a);
    ws__meter_release(m, &y->b);
    ws__meter_release(m, &y->out);
}

static void memory_way(const struct memory *y, enum ws__ceiling_of c,
                       uint64_t groups, struct ws__way *w)
{
    static const char *const entry[] = {[WS__ROOF_COPY] = "roof_copy",
                                        [WS__ROOF_READ] = "roof_read",
                                        [WS__ROOF_WRITE] = "roof_write"};

    *w = (struct ws__way){.entry = entry[c], .grid = groups, .block = BLOCK};
    ws__way_buffer(w, y->a);
    if (c != WS__ROOF_WRITE)
        ws__way_buffer(w, c == WS__ROOF_COPY ? y->b : y->out);
    ws__way_u64(w, y->bytes / VEC);
    if (c == WS__ROOF_WRITE)
        ws__way_u32(w, SEED);
}

/* Runs it once on buffers that do not hold the result. 0, 1 or an error. */
static int check_memory(struct ws__meter *m, const struct memory *y,
                        enum ws__ceiling_of c, const struct ws__way *w)
{
    const struct ws__device_ops *ops = m->dev->ops;
    uint64_t a = 0, b = 1;
    uint32_t sum;

    WS_TRY(ops->fill(m->dev->self,
                     c == WS__ROOF_COPY    ? y->b
                     : c == WS__ROOF_WRITE ? y->a
                                           : y->out,
                     0xdeadbeef));
    WS_TRY(ws__meter_run(m, w, 1, 0));
    if (c == WS__ROOF_COPY) {
        WS_TRY(ops->hash(m->dev->self, y->a, &a));
        WS_TRY(ops->hash(m->dev->self, y->b, &b));
        return a == b ? 0 : ws__meter_wrong(m, w->entry);
    }
    if (c == WS__ROOF_WRITE)
        return check_words(m, w->entry, y->a, y->bytes);
    WS_TRY(sum_of_buffer(m, y->out, w->grid * BLOCK, &sum));
    return sum == sum_of_words(y->bytes / 4) ? 0 : ws__meter_wrong(m, w->entry);
}

static int try_memory(struct ws__meter *m, const struct memory *y,
                      enum ws__ceiling_of c, uint64_t groups)
{
    struct ws__way w;
    int rc;

    memory_way(y, c, groups, &w);
    rc = check_memory(m, y, c, &w);
    if (rc)
        return rc < 0 ? rc : 0;
    return ws__meter_time(m, &w,
                          (double)y->bytes * (c == WS__ROOF_COPY ? 2 : 1));
}

/* A slice of the cache's buffer a group. The sum is that of all, once a time
 * round. */
static int try_cache(struct ws__meter *m, const struct memory *y,
                     uint32_t unroll, uint64_t groups)
{
    uint64_t step = (uint64_t)unroll * BLOCK * VEC;
    uint64_t slice = cache_bytes(m) / 2 / groups / step * step;
    uint32_t sum, times;
    struct ws__way w = {.entry = "roof_cache", .grid = groups, .block = BLOCK};
    double target = target_ns(m);

    if (!slice || slice * groups > y->bytes)
        return 0;
    ws__way_buffer(&w, y->a);
    ws__way_buffer(&w, y->out);
    ws__way_u32(&w, (uint32_t)(slice / VEC));
    ws__way_u32(&w, 1);
    WS_TRY(ws__meter_calibrate(m, &w, 3, target));
    memcpy(&times, w.arg[3].value, sizeof(times));
    WS_TRY(sum_of_buffer(m, y->out, groups * BLOCK, &sum));
    if (sum != times * sum_of_words(slice * groups / 4)) {
        ws__meter_wrong(m, w.entry);
        return 0;
    }
    return ws__meter_time(m, &w, (double)(slice * groups) * times);
}

/* Ways to spread it over the device: groups a unit; 0: as many as give each
 * thread one turn of its loop. */
static int try_spread(struct ws__meter *m, const struct memory *y,
                      enum ws__ceiling_of c, uint32_t unroll, uint64_t each)
{
    uint64_t groups = groups_of(m, each);

    if (!each) {
        /* Sums would be as many as words, and stretches are not loops. */
        if (c == WS__ROOF_READ || c == WS__ROOF_L2 || m->info->id.is_cpu)
            return 0;
        groups = y->bytes / VEC / BLOCK / unroll;
    }
    if (c == WS__ROOF_L2)
        return try_cache(m, y, unroll, groups);
    return try_memory(m, y, c, groups);
}

static int build_memory(struct ws__meter *m, enum ws__ceiling_of c,
                        uint32_t unroll)
{
    static const char *const entry[] = {"roof_write", "roof_copy", "roof_read",
                                        "roof_cache"};
    const bool far = c == WS__ROOF_L2 && !strcmp(m->info->id.family, "cuda");
    char defines[128];

    /* In step all groups read all slices, whatever the stride. */
    snprintf(defines, sizeof(defines),
             "#define ROOF_UNROLL %u\n#define ROOF_STRIDE 17\n%s%s",
             (unsigned)unroll,
             m->info->id.is_cpu ? "#define ROOF_STRETCH\n" : "",
             far ? "#define ROOF_FAR\n" : "");
    return build_text(m, defines, ws__ceilings_memory, entry, WS_COUNT(entry));
}

static int alloc_memory(struct ws__meter *m, enum ws__ceiling_of c,
                        uint64_t most, struct memory *y)
{
    uint64_t cache = cache_bytes(m) / 2;

    y->bytes = memory_bytes(m);
    if (c == WS__ROOF_L2)
        y->bytes = cache > VEC ? cache / VEC * VEC : VEC;
    WS_TRY(ws__meter_alloc(m, y->bytes, &y->a));
    if (c == WS__ROOF_COPY)
        WS_TRY(ws__meter_alloc(m, y->bytes, &y->b));
    return ws__meter_alloc(m, most * BLOCK * 4, &y->out);
}

/* The words, by the kernel that writes them. */
static int make_words(struct ws__meter *m, const struct memory *y)
{
    struct ws__way w;

    memory_way(y, WS__ROOF_WRITE, groups_of(m, 4), &w);
    return ws__meter_run(m, &w, 1, 0);
}

static int measure_memory(struct ws__meter *m, enum ws__ceiling_of c)
{
    static const uint32_t unroll[] = {4, 1, 2, 8};
    static const uint64_t each[] = {8, 2, 0, 16, 32, 128};
    const size_t nunroll = m->quick ? 1 : WS_COUNT(unroll);
    const size_t neach = m->quick ? 3 : WS_COUNT(each);
    struct memory y = {0};
    int rc;

    if (c == WS__ROOF_L2 && !m->info->id.cache_bytes)
        return ws__fail(m->ctx, WS_ENOTSUP,
                        "the size of the device's cache is not known");
    WS_TRY_DONE(alloc_memory(m, c, groups_of(m, 128), &y));
    for (size_t u = 0; u < nunroll; u++) {
        WS_TRY_DONE(build_memory(m, c, unroll[u]));
        if (!u)
            WS_TRY_DONE(make_words(m, &y));
        for (size_t g = 0; g < neach; g++)
            WS_TRY_DONE(try_spread(m, &y, c, unroll[u], each[g]));
    }
done:
    if (!ws__meter_over(rc))
        free_memory(m, &y);
    return rc;
}

/* ---- shared memory ------------------------------------------------------- */

struct tile {
    uint32_t words, n; /* of a vector; vectors */
};

/* What a thread of roof_shared adds up. */
static uint32_t shared_sum(const struct tile *y, uint32_t local, uint32_t times)
{
    uint32_t sum = 0;

    for (uint32_t t = 0; t < times; t++)
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t at = ((local + t * 8) & (y->n / 2 - 1)) + y->n / 8 * k;

            for (uint32_t w = 0; w < y->words; w++)
                sum += ws__ceilings_word(y->words * at + w, SEED);
        }
    return sum;
}

static int try_shared(struct ws__meter *m, const struct tile *y, uint32_t out,
                      uint64_t groups)
{
    static const uint32_t local[] = {0, 1, 77, BLOCK - 1};
    struct ws__way w = {.entry = "roof_shared", .grid = groups, .block = BLOCK};
    uint32_t times;

    ws__way_buffer(&w, out);
    ws__way_u32(&w, SEED);
    ws__way_u32(&w, 1);
    WS_TRY(ws__meter_calibrate(m, &w, 2, target_ns(m)));
    memcpy(&times, w.arg[2].value, sizeof(times));
    for (size_t i = 0; i < WS_COUNT(local); i++) {
        uint64_t at = (i % 2 ? groups - 1 : 0) * BLOCK + local[i];
        uint32_t got;

        WS_TRY(m->dev->ops->read(m->dev->self, out, at * 4, &got, 4));
        if (got != shared_sum(y, local[i], times)) {
            ws__meter_wrong(m, w.entry);
            return 0;
        }
    }
    return ws__meter_time(m, &w,
                          (double)groups * BLOCK * times * 16. * y->words);
}

static int measure_shared(struct ws__meter *m)
{
    static const char *const entry = "roof_shared";
    static const uint64_t each[] = {4, 7, 1, 28};
    const size_t n = m->quick ? 1 : WS_COUNT(each);
    const bool wide = m->info->id.is_cpu && m->info->id.vector_bytes >= 32;
    const struct tile y = {wide ? 16 : 4, wide ? 256 : 2048};
    uint32_t out = 0;
    char defines[96];
    int rc;

    snprintf(defines, sizeof(defines),
             "#define ROOF_WORDS %u\n#define ROOF_TILE %u\n", (unsigned)y.words,
             (unsigned)y.n);
    WS_TRY_DONE(build_text(m, defines, ws__ceilings_shared, &entry, 1));
    WS_TRY_DONE(ws__meter_alloc(m, groups_of(m, 28) * BLOCK * 4, &out));
    for (size_t i = 0; i < n; i++)
        WS_TRY_DONE(try_shared(m, &y, out, groups_of(m, each[i])));
done:
    if (!ws__meter_over(rc))
        ws__meter_release(m, &out);
    return rc;
}

/* ---- vector units -------------------------------------------------------- */

struct vector {
    bool wide, fused;
    uint32_t unroll, lanes;
    uint32_t start, out;
};

static double start_of(uint32_t lane)
{
    return .5 + lane / 32.;
}

static double fma_sum(const struct vector *v, uint32_t local, uint32_t times)
{
    double sum = 0;

    for (uint32_t u = 0; u < v->unroll; u++)
        for (uint32_t l = 0; l < v->lanes; l++) {
            double x = start_of(l) + u + local % 8;
            float f = (float)x;

            for (uint64_t t = 0; v->wide && t < times * UINT64_C(16); t++)
                x = fma(x, FMA_A, FMA_B);
            for (uint64_t t = 0; !v->wide && t < times * UINT64_C(16); t++)
                f = fmaf(f, (float)FMA_A, (float)FMA_B);
            sum += v->wide ? x : (double)f;
        }
    return sum;
}

/* 0, 1 or an error. */
static int check_fma(struct ws__meter *m, const struct vector *v,
                     uint64_t groups, uint32_t times)
{
    const uint64_t at[] = {0, groups * BLOCK - 1};

    for (size_t i = 0; i < WS_COUNT(at); i++) {
        double got, want = fma_sum(v, (uint32_t)(at[i] % BLOCK), times);
        uint32_t bytes = v->wide ? 8 : 4;
        float f;

        WS_TRY(m->dev->ops->read(m->dev->self, v->out, at[i] * bytes,
                                 v->wide ? (void *)&got : (void *)&f, bytes));
        got = v->wide ? got : (double)f;
        if (!(fabs(got - want) <= 1e-3 * fabs(want)))
            return ws__meter_wrong(m, "roof_fma");
    }
    return 0;
}

static int try_fma(struct ws__meter *m, const struct vector *v, uint64_t groups)
{
    struct ws__way w = {.entry = "roof_fma", .grid = groups, .block = BLOCK};
    uint32_t times;
    int rc;

    ws__way_buffer(&w, v->start);
    ws__way_buffer(&w, v->out);
    ws__way_real(&w, FMA_A, v->wide);
    ws__way_real(&w, FMA_B, v->wide);
    ws__way_u32(&w, 1);
    WS_TRY(ws__meter_calibrate(m, &w, 4, target_ns(m)));
    memcpy(&times, w.arg[4].value, sizeof(times));
    rc = check_fma(m, v, groups, times);
    if (rc)
        return rc < 0 ? rc : 0;
    return ws__meter_time(m, &w,
                          (double)groups * BLOCK * times * 16. * v->unroll *
                              v->lanes * 2);
}

static int write_start(struct ws__meter *m, const struct vector *v)
{
    double wide[16];
    float narrow[16];

    for (uint32_t l = 0; l < 16; l++) {
        wide[l] = start_of(l);
        narrow[l] = (float)wide[l];
    }
    return m->dev->ops->write(m->dev->self, v->start, 0,
                              v->wide ? (void *)wide : (void *)narrow,
                              v->wide ? sizeof(wide) : sizeof(narrow));
}

static int build_fma(struct ws__meter *m, const struct vector *v)
{
    static const char *const entry = "roof_fma";
    char defines[160];

    snprintf(defines, sizeof(defines),
             "#define ROOF_REAL %s\n%s%s#define ROOF_UNROLL %u\n"
             "#define ROOF_LANES %u\n",
             v->wide ? "double" : "float", v->wide ? "#define ROOF_WIDE\n" : "",
             v->fused ? "#define ROOF_FUSED\n" : "", (unsigned)v->unroll,
             (unsigned)v->lanes);
    return build_text(m, defines, ws__ceilings_fma, &entry, 1);
}

/* Some processors have no fused operation and would call a function for it:
 * the text then also takes what is fastest there. */
static int try_forms(struct ws__meter *m, struct vector *v)
{
    static const uint32_t unroll[] = {8, 16, 4};
    static const uint64_t each[] = {8, 32, 4};
    const int forms = m->info->id.is_cpu ? 2 : 1;

    for (int f = 0; f < forms; f++)
        for (size_t u = 0; u < (m->quick ? 1 : WS_COUNT(unroll)); u++) {
            v->fused = !f;
            v->unroll = unroll[u];
            WS_TRY(build_fma(m, v));
            for (size_t g = 0; g < (m->quick ? 1 : WS_COUNT(each)); g++)
                WS_TRY(try_fma(m, v, groups_of(m, each[g])));
        }
    return 0;
}

static int measure_fma(struct ws__meter *m, bool wide)
{
    const uint32_t vector = m->info->id.vector_bytes;
    struct vector v = {.wide = wide, .lanes = 1};
    int rc;

    if (m->info->id.is_cpu && vector >= 8)
        v.lanes = vector / (wide ? 8 : 4);
    v.lanes = v.lanes > 16 ? 16 : v.lanes;
    WS_TRY_DONE(ws__meter_alloc(m, 16 * 8, &v.start));
    WS_TRY_DONE(ws__meter_alloc(m, groups_of(m, 32) * BLOCK * 8, &v.out));
    WS_TRY_DONE(write_start(m, &v));
    rc = try_forms(m, &v);
done:
    if (!ws__meter_over(rc)) {
        ws__meter_release(m, &v.start);
        ws__meter_release(m, &v.out);
    }
    return rc;
}

/* ---- launch -------------------------------------------------------------- */

static int measure_launch(struct ws__meter *m)
{
    static const char *const entry = "roof_launch";
    struct ws__way w = {.entry = entry, .grid = 1, .block = 32};
    uint32_t out = 0, word = 0;
    int rc;

    WS_TRY_DONE(build_text(m, "", ws__ceilings_launch, &entry, 1));
    WS_TRY_DONE(ws__meter_alloc(m, 64, &out));
    ws__way_buffer(&w, out);
    ws__way_u32(&w, SEED);
    WS_TRY_DONE(ws__meter_time(m, &w, 0));
    WS_TRY_DONE(m->dev->ops->read(m->dev->self, out, 0, &word, sizeof(word)));
    if (word != SEED) {
        memset(m->into, 0, sizeof(*m->into));
        ws__meter_wrong(m, entry);
    }
done:
    if (!ws__meter_over(rc))
        ws__meter_release(m, &out);
    return rc;
}

/* ---- all ----------------------------------------------------------------- */

static int measure(struct ws__meter *m, enum ws__ceiling_of c)
{
    switch (c) {
    case WS__ROOF_COPY:
    case WS__ROOF_READ:
    case WS__ROOF_WRITE:
    case WS__ROOF_L2:
        return measure_memory(m, c);
    case WS__ROOF_SHARED:
        return measure_shared(m);
    case WS__ROOF_FP32:
    case WS__ROOF_FP64:
        return measure_fma(m, c == WS__ROOF_FP64);
    case WS__ROOF_LAUNCH:
        return measure_launch(m);
    default:
        return ws__ceilings_tensor(m, c);
    }
}

static int measure_into(struct ws__meter *m,
                        const struct ws__ceilings_opts *opts,
                        enum ws__ceiling_of c, struct ws__roof *out,
                        struct ws__ceilings_why *why)
{
    int rc;

    m->into = &out->ceiling[c];
    m->why = why->text[c];
    if (opts->progress)
        opts->progress(opts->user, c);
    rc = measure(m, c);
    if (rc < 0) { /* what came before may be too low */
        memset(m->into, 0, sizeof(*m->into));
        rc = ws__meter_failed(m, rc);
    }
    if (rc == 0)
        ws__meter_unload(m);
    if (m->into->known)
        m->why[0] = '\0';
    return rc;
}

/* The launch comes first: matrix units bring a device to its power limit. */
int ws__ceilings_measure(struct ws_ctx *ctx, const struct ws__device *dev,
                         const struct ws__ceilings_opts *opts,
                         struct ws__roof *out, struct ws__ceilings_why *why)
{
    struct ws__meter *m = ws__alloc(ctx, 1, sizeof(*m));
    int rc;

    if (!m)
        return WS_ENOMEM;
    m->ctx = ctx;
    m->dev = dev;
    m->info = dev->ops->info(dev->self);
    m->quick = opts->quick;
    memset(out, 0, sizeof(*out));
    memset(why, 0, sizeof(*why));
    snprintf(out->device, sizeof(out->device), "%s", m->info->id.device);
    out->cache_bytes = (double)m->info->id.cache_bytes;
    out->hash = ws__roof_identity(&m->info->id);
    rc = measure_into(m, opts, WS__ROOF_LAUNCH, out, why);
    for (unsigned c = 0; c < WS__NROOF && rc == 0; c++)
        if (c != WS__ROOF_LAUNCH)
            rc = measure_into(m, opts, (enum ws__ceiling_of)c, out, why);
    ws__free(ctx, m);
    return rc;
}
