/*
 * t_device.c: every device member against the contract of device.h.
 *
 * Each test runs on each subject: a member that is isolated behind its
 * worker; one that is not both directly and behind a worker; and each of these
 * through `fault`, while it is recorded, and from that recording, where every
 * crash and time-out must come again. A member brings the same few kernels in
 * its own language (the table below); one without a device on this machine is
 * skipped with the reason. Without a GPU the CUDA member runs on the driver of
 * tests/fakecuda.
 */
#include "base/t_base.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/device.h"
#include "tests/fakecuda/t_fakecuda.h"

#define BYTES 1024u
#define FLOATS (BYTES / 4)
#define GUARD 64u
/* A limit for what must never end; and a bound for noticing it, wide enough
 * for a machine that is busy with other tests. */
#define HANG_LIMIT_NS 500000000u
#define NOTICE_NS 10000000000u

/* The kernels: copy(out, in); touch(out) adds 1 to the first float;
 * store(out, u32); addr(out): its address, 64 bits; oob(out): writes the byte
 * after the end; under(out): the byte before; crash(out); hang(out), on
 * zeroed memory. */
struct language {
    const char *family, *source, *bad_source, *bad_word;
    enum ws__dialect dialect;
    bool first_launch; /* hints are launched by the build */
};

static const struct language languages[] = {
    {
        .family = "null",
        .source = "kernel copy\n copy 0 1\n"
                  "kernel touch\n add 0 1\n"
                  "kernel store\n store 0 1\n"
                  "kernel addr\n addr 0\n"
                  "kernel oob\n oob 0 1024\n"
                  "kernel under\n oob 0 -1\n"
                  "kernel crash\n crash\n"
                  "kernel hang\n hang\n",
        .bad_source = "kernel copy\n frobnicate 1\n",
        .bad_word = "frobnicate",
        .dialect = WS__DIALECT_PORTABLE,
    },
    {
        .family = "opencl",
        .source =
            "__kernel void copy(__global float *out, __global const float *in)"
            "{ size_t i = get_global_id(0); out[i] = in[i]; }\n"
            "__kernel void touch(__global float *out)"
            "{ if (get_global_id(0) == 0) out[0] += 1; }\n"
            "__kernel void store(__global uint *out, uint v)"
            "{ if (get_global_id(0) == 0) out[0] = v; }\n"
            "__kernel void addr(__global ulong *out)"
            "{ if (get_global_id(0) == 0) out[0] = (ulong)out; }\n"
            "__kernel void oob(__global uchar *out)"
            "{ if (get_global_id(0) == 0) out[1024] = 0x11; }\n"
            "__kernel void under(__global uchar *out)"
            "{ if (get_global_id(0) == 0) *(out - 1) = 0x11; }\n"
            "__kernel void crash(__global int *out)"
            "{ *(volatile __global int *)(ulong)(out[0] + 16) = 1; }\n"
            "__kernel void hang(__global int *out)"
            "{ while (((volatile __global int *)out)[0] == 0) ; }\n",
        .bad_source = "__kernel void copy(__global float *out)"
                      "{ out[0] = frobnicate; }\n",
        .bad_word = "frobnicate",
        .dialect = WS__DIALECT_OPENCL,
        .first_launch = true,
    },
    {
        .family = "cuda",
        .source =
            "#define ID (blockIdx.x * blockDim.x + threadIdx.x)\n"
            "extern \"C\" __global__ void copy(float *out, const float *in)"
            "{ out[ID] = in[ID]; }\n"
            "extern \"C\" __global__ void touch(float *out)"
            "{ if (ID == 0) out[0] += 1; }\n"
            "extern \"C\" __global__ void store(unsigned *out, unsigned v)"
            "{ if (ID == 0) out[0] = v; }\n"
            "extern \"C\" __global__ void addr(unsigned long long *out)"
            "{ if (ID == 0) out[0] = (unsigned long long)out; }\n"
            "extern \"C\" __global__ void oob(unsigned char *out)"
            "{ if (ID == 0) out[1024] = 0x11; }\n"
            "extern \"C\" __global__ void under(unsigned char *out)"
            "{ if (ID == 0) *(out - 1) = 0x11; }\n"
            "extern \"C\" __global__ void crash(int *out)"
            "{ *(volatile int *)(unsigned long long)(out[0] + 16) = 1; }\n"
            "extern \"C\" __global__ void hang(int *out)"
            "{ while (((volatile int *)out)[0] == 0) ; }\n",
        .bad_source = "extern \"C\" __global__ void copy(float *out)"
                      "{ out[0] = frobnicate; }\n",
        .bad_word = "frobnicate",
        .dialect = WS__DIALECT_CUDA,
    },
};

/* How a device is opened: %s are the cache folder and its name, %zu is the
 * number of the test. */
static const char *const ways[] = {"plain", "fault", "record", "replay"};
enum way { PLAIN, FAULT, RECORD, REPLAY };

struct subject {
    char name[48], device[40];
    const struct language *language;
    bool worker;
    enum way way;
    size_t test;
};

struct fixture {
    const struct subject *subject;
    struct ws_ctx *ctx;
    struct ws__device dev;
    uint32_t module;
};

static char cache_dir[] = "/tmp/wavesmith-t_device-XXXXXX";

/* --- helpers ------------------------------------------------------------ */

static void open_device(struct fixture *f)
{
    const struct subject *s = f->subject;
    char name[160];
    int rc;

    snprintf(name, sizeof(name), "%s", s->device);
    if (s->way == FAULT)
        snprintf(name, sizeof(name), "fault:1000000:%s", s->device);
    if (s->way >= RECORD)
        snprintf(name, sizeof(name), "%s:%s/%zu-%s%s%s", ways[s->way],
                 cache_dir, s->test, s->worker ? "w" : "", s->language->family,
                 s->way == RECORD ? ":" : "");
    if (s->way == RECORD)
        strncat(name, s->device, sizeof(name) - strlen(name) - 1);
    rc = ws__device_open(f->ctx, name, &f->dev);
    if (s->way == REPLAY && rc == WS_ENOENT)
        SKIP("%s: was not recorded", s->name);

    if (rc == WS_ENODEVICE || rc == WS_ENODRIVER)
        SKIP("%s: %s", f->subject->name, ws_ctx_error(f->ctx)->message);
    if (rc)
        fail_msg("%s", ws_ctx_error(f->ctx)->message);
}

static int build(struct fixture *f, const char *source, const char *entry,
                 struct ws__built *out)
{
    const struct ws__build b = {
        .source = source,
        .dialect = f->subject->language->dialect,
        .entry = &entry,
        .nentry = 1,
    };

    return f->dev.ops->build(f->dev.self, &b, out);
}

static void build_all(struct fixture *f)
{
    static const char *const entry[] = {"copy", "touch", "store", "addr",
                                        "oob",  "under", "crash", "hang"};
    const struct ws__build b = {
        .source = f->subject->language->source,
        .dialect = f->subject->language->dialect,
        .entry = entry,
        .nentry = WS_COUNT(entry),
    };
    struct ws__built built;

    if (f->dev.ops->build(f->dev.self, &b, &built))
        fail_msg("%s", ws_ctx_error(f->ctx)->message);
    ws__free(f->ctx, built.log);
    f->module = built.module;
}

/* Every test with a device of its own: no test trips over another's. */
static struct fixture *begin(void **state)
{
    struct fixture *f = *state;

    memset(&f->dev, 0, sizeof(f->dev));
    f->module = 0;
    open_device(f);
    return f;
}

static uint32_t alloc(struct fixture *f, uint64_t bytes)
{
    uint32_t b = 0;
    int rc = f->dev.ops->alloc(f->dev.self, bytes, GUARD, 0, &b);

    if (rc)
        fail_msg("%s", ws_ctx_error(f->ctx)->message);
    assert_int_not_equal(b, 0);
    return b;
}

static void write_floats(struct fixture *f, uint32_t b, float first)
{
    float v[FLOATS];

    for (size_t i = 0; i < FLOATS; i++)
        v[i] = first + (float)i;
    assert_int_equal(f->dev.ops->write(f->dev.self, b, 0, v, BYTES), 0);
}

static float read_float(struct fixture *f, uint32_t b)
{
    float v = 0;

    assert_int_equal(f->dev.ops->read(f->dev.self, b, 0, &v, sizeof(v)), 0);
    return v;
}

static uint64_t hash(struct fixture *f, uint32_t b)
{
    uint64_t h = 0;

    assert_int_equal(f->dev.ops->hash(f->dev.self, b, &h), 0);
    return h;
}

struct call {
    struct ws__dev_arg arg[3];
    struct ws__dev_launch launch;
    struct ws__dev_seq seq;
};

static void make_call(struct fixture *f, struct call *c, const char *entry,
                      uint32_t a, uint32_t b)
{
    memset(c, 0, sizeof(*c));
    c->arg[0].buffer = a;
    c->arg[1].buffer = b;
    c->launch = (struct ws__dev_launch){
        .module = f->module,
        .entry = entry,
        .grid = {FLOATS / 64, 1, 1},
        .block = {64, 1, 1},
        .arg = c->arg,
        .narg = b ? 2 : 1,
    };
    c->seq = (struct ws__dev_seq){.launch = &c->launch, .nlaunch = 1};
}

static int run_batch(struct fixture *f, const struct ws__dev_batch *b,
                     struct ws__dev_sample *s, size_t *n)
{
    return f->dev.ops->run(f->dev.self, b, s, n);
}

/* One sample of one call. */
static int run_one(struct fixture *f, const struct ws__dev_seq *seq,
                   uint32_t inner, struct ws__dev_sample *s)
{
    const struct ws__dev_batch b = {
        .prog = seq, .nprog = 1, .nset = 1, .rounds = 1, .inner = inner};
    size_t n;

    return run_batch(f, &b, s, &n);
}

static int run_call(struct fixture *f, const char *entry, uint32_t a,
                    uint32_t b)
{
    struct ws__dev_sample s;
    struct call c;

    make_call(f, &c, entry, a, b);
    return run_one(f, &c.seq, 1, &s);
}

static void must_run(struct fixture *f, const char *entry, uint32_t a,
                     uint32_t b)
{
    if (run_call(f, entry, a, b))
        fail_msg("%s", ws_ctx_error(f->ctx)->message);
}

static void assert_message_has(struct fixture *f, const char *word)
{
    if (!strstr(ws_ctx_error(f->ctx)->message, word))
        fail_msg("'%s' is not in: %s", word, ws_ctx_error(f->ctx)->message);
}

static void must_work(struct fixture *f)
{
    uint32_t a, b;

    build_all(f);
    a = alloc(f, BYTES);
    b = alloc(f, BYTES);
    write_floats(f, b, 5);
    must_run(f, "copy", a, b);
    assert_true(read_float(f, a) == 5);
}

/* --- information and memory --------------------------------------------- */

static void says_what_it_is(void **state)
{
    struct fixture *f = begin(state);
    const struct ws__device_info *i = f->dev.ops->info(f->dev.self);

    assert_true(i->usable);
    assert_non_null(strchr(i->name, ':'));
    assert_string_equal(i->id.family, f->subject->language->family);
    assert_true(i->id.device[0] && i->id.driver[0] && i->id.compiler[0]);
    assert_true(i->id.units > 0 && i->id.max_threads > 0);
    assert_true(i->id.memory_bytes > 0 && i->max_alloc_bytes > 0);
    assert_true(i->id.hash.lo || i->id.hash.hi);
}

static void keeps_bytes(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 63, 64, 1000, 4097};
    struct fixture *f = begin(state);
    const struct ws__device_ops *ops = f->dev.ops;
    unsigned char in[4097], out[4097];

    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t i = 0; i < WS_COUNT(sizes); i++) {
        uint64_t n = sizes[i];
        uint32_t a = alloc(f, n), b = alloc(f, n);
        int64_t at;

        assert_int_equal(ops->write(f->dev.self, a, 0, in, n), 0);
        assert_int_equal(ops->copy(f->dev.self, b, a), 0);
        memset(out, 0, sizeof(out));
        assert_int_equal(ops->read(f->dev.self, b, 0, out, n), 0);
        assert_memory_equal(in, out, n);
        assert_int_equal(ops->read(f->dev.self, b, n - 1, out, 1), 0);
        assert_int_equal(out[0], in[n - 1]);
        assert_int_equal(ops->guard(f->dev.self, a, &at), 0);
        assert_int_equal(ops->guard(f->dev.self, b, &at), 0);
        ops->release(f->dev.self, a);
        ops->release(f->dev.self, b);
    }
}

static void fills_with_a_pattern(void **state)
{
    static const unsigned char want[6] = {4, 3, 2, 1, 4, 3};
    struct fixture *f = begin(state);
    unsigned char got[6] = {0};
    uint32_t a = alloc(f, sizeof(got));
    int64_t at;

    assert_int_equal(f->dev.ops->fill(f->dev.self, a, 0x01020304), 0);
    assert_int_equal(f->dev.ops->read(f->dev.self, a, 0, got, sizeof(got)), 0);
    assert_memory_equal(got, want, sizeof(want));
    assert_int_equal(f->dev.ops->guard(f->dev.self, a, &at), 0);
}

static void moves_more_than_a_bounce(void **state)
{
    const uint64_t n = ((uint64_t)33 << 20) + 3;
    struct fixture *f = begin(state);
    unsigned char *p = malloc(n), *q = malloc(n);
    uint32_t a = alloc(f, n);

    assert_non_null(p);
    assert_non_null(q);
    for (uint64_t i = 0; i < n; i++)
        p[i] = (unsigned char)(i * 2654435761u >> 13);
    assert_int_equal(f->dev.ops->write(f->dev.self, a, 0, p, n), 0);
    assert_int_equal(f->dev.ops->read(f->dev.self, a, 0, q, n), 0);
    assert_memory_equal(p, q, n);
    free(p);
    free(q);
}

static void empty_buffers_are_legal(void **state)
{
    struct fixture *f = begin(state);
    uint32_t a = alloc(f, 0), b = alloc(f, 0);
    char none;
    int64_t at;

    assert_int_equal(f->dev.ops->write(f->dev.self, a, 0, &none, 0), 0);
    assert_int_equal(f->dev.ops->read(f->dev.self, a, 0, &none, 0), 0);
    assert_int_equal(f->dev.ops->fill(f->dev.self, a, 1), 0);
    assert_int_equal(f->dev.ops->copy(f->dev.self, a, b), 0);
    assert_int_equal(hash(f, a), hash(f, b));
    assert_int_equal(f->dev.ops->guard(f->dev.self, a, &at), 0);
}

static void refuses_bad_handles(void **state)
{
    struct fixture *f = begin(state);
    const struct ws__device_ops *ops = f->dev.ops;
    uint32_t a = alloc(f, 16), b = alloc(f, 8);
    char p[32];
    uint64_t h;

    assert_int_equal(ops->read(f->dev.self, 99, 0, p, 1), WS_EINVAL);
    assert_int_equal(ops->read(f->dev.self, 0, 0, p, 1), WS_EINVAL);
    assert_int_equal(ops->read(f->dev.self, a, 16, p, 1), WS_EINVAL);
    assert_int_equal(ops->write(f->dev.self, a, 8, p, 9), WS_EINVAL);
    assert_int_equal(ops->read(f->dev.self, a, UINT64_MAX, p, 2), WS_EINVAL);
    assert_int_equal(ops->copy(f->dev.self, a, b), WS_EINVAL);
    ops->release(f->dev.self, a);
    ops->release(f->dev.self, a);
    ops->release(f->dev.self, 4711);
    assert_int_equal(ops->hash(f->dev.self, a, &h), WS_EINVAL);
    must_work(f);
}

static void hashes_content(void **state)
{
    struct fixture *f = begin(state);
    const struct ws__device_ops *ops = f->dev.ops;
    uint32_t a = alloc(f, BYTES + 3), b;
    unsigned char v[BYTES + 3], w[4];
    uint64_t h;

    assert_int_equal(ops->alloc(f->dev.self, sizeof(v), 0, 256, &b), 0);
    for (size_t i = 0; i < sizeof(v); i++)
        v[i] = (unsigned char)(i ^ i >> 3);
    assert_int_equal(ops->write(f->dev.self, a, 0, v, sizeof(v)), 0);
    assert_int_equal(ops->write(f->dev.self, b, 0, v, sizeof(v)), 0);
    h = hash(f, a);
    assert_true(h == hash(f, b));
    /* one bit, anywhere; the tail; two words exchanged */
    v[sizeof(v) - 1] ^= 0x80;
    assert_int_equal(ops->write(f->dev.self, b, 0, v, sizeof(v)), 0);
    assert_true(h != hash(f, b));
    v[sizeof(v) - 1] ^= 0x80;
    memcpy(w, v + 8, 4);
    memcpy(v + 8, v + 400, 4);
    memcpy(v + 400, w, 4);
    assert_int_equal(ops->write(f->dev.self, b, 0, v, sizeof(v)), 0);
    assert_true(h != hash(f, b));
}

static void asks_for_too_much(void **state)
{
    struct fixture *f = begin(state);
    uint32_t b = 1;

    assert_int_equal(f->dev.ops->alloc(f->dev.self, (uint64_t)1 << 50, 0, 0,
                                       &b),
                     WS_EDEVMEM);
    assert_int_equal(b, 0);
    assert_int_equal(f->dev.ops->alloc(f->dev.self, UINT64_MAX, GUARD, GUARD,
                                       &b),
                     WS_EDEVMEM);
    must_work(f);
}

/* --- guards and addresses ----------------------------------------------- */

static void sees_damage(void **state)
{
    struct fixture *f = begin(state);
    uint32_t a = alloc(f, BYTES), b = alloc(f, BYTES);
    int64_t at = 0;

    build_all(f);
    must_run(f, "oob", a, 0);
    assert_int_equal(f->dev.ops->guard(f->dev.self, a, &at), 1);
    assert_int_equal(at, BYTES);
    assert_int_equal(f->dev.ops->guard(f->dev.self, b, &at), 0);
    must_run(f, "under", b, 0);
    assert_int_equal(f->dev.ops->guard(f->dev.self, b, &at), 1);
    assert_int_equal(at, -1);
}

static void shift_moves_the_start(void **state)
{
    struct fixture *f = begin(state);
    uint64_t seen[3] = {0};

    build_all(f);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t b;
        int64_t at;

        assert_int_equal(f->dev.ops->alloc(f->dev.self, BYTES, GUARD, i * 256,
                                           &b),
                         0);
        must_run(f, "addr", b, 0);
        assert_int_equal(f->dev.ops->read(f->dev.self, b, 0, &seen[i], 8), 0);
        assert_int_equal(seen[i] % 16, 0);
        assert_int_equal(f->dev.ops->guard(f->dev.self, b, &at), 0);
    }
    assert_true(seen[0] && seen[0] != seen[1] && seen[1] != seen[2]);
}

/* --- builds ------------------------------------------------------------- */

static void builds_and_says_what(void **state)
{
    struct fixture *f = begin(state);
    const char *source = f->subject->language->source;
    struct ws__built a, b;

    assert_int_equal(build(f, source, "copy", &a), 0);
    assert_int_equal(build(f, source, "touch", &b), 0);
    assert_int_not_equal(a.module, 0);
    assert_int_not_equal(a.module, b.module);
    assert_true(ws__hash_eq(a.res.binary, b.res.binary));
    assert_true(a.res.max_threads > 0 && a.res.build_ns > 0);
    ws__free(f->ctx, a.log);
    ws__free(f->ctx, b.log);
    f->dev.ops->unload(f->dev.self, a.module);
    f->dev.ops->unload(f->dev.self, a.module);
    must_work(f);
}

static void build_errors_have_words(void **state)
{
    struct fixture *f = begin(state);
    const struct language *l = f->subject->language;
    struct ws__built built;

    assert_int_equal(build(f, l->bad_source, "copy", &built), WS_EBUILD);
    assert_message_has(f, l->bad_word);
    assert_null(built.log);
    assert_int_equal(build(f, l->source, "nowhere", &built), WS_EBUILD);
    assert_message_has(f, "nowhere");
    must_work(f);
}

static int build_hinted(struct fixture *f, const char *entry,
                        struct ws__built *out)
{
    static const uint64_t bytes[2] = {BYTES, BYTES};
    const struct ws__plan_launch hint = {
        .entry = entry,
        .grid = {FLOATS / 64, 1, 1},
        .block = {64, 1, 1},
        .arg = {{.kind = WS__ARG_TENSOR, .index = 1},
                {.kind = WS__ARG_TENSOR, .index = 0}},
        .narg = strcmp(entry, "copy") ? 1 : 2,
    };
    const struct ws__build b = {
        .source = f->subject->language->source,
        .dialect = f->subject->language->dialect,
        .entry = &entry,
        .nentry = 1,
        .hint = &hint,
        .nhint = 1,
        .tensor_bytes = bytes,
        .ntensor = 2,
        .rehearse = true,
    };

    return f->dev.ops->build(f->dev.self, &b, out);
}

static void rehearses_launches(void **state)
{
    struct fixture *f = begin(state);
    struct ws__built built;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(build_hinted(f, "copy", &built), 0);
        ws__free(f->ctx, built.log);
        f->dev.ops->unload(f->dev.self, built.module);
    }
    /* what it damages is not ours to judge here, and must not stay */
    assert_int_equal(build_hinted(f, "oob", &built), 0);
    ws__free(f->ctx, built.log);
    must_work(f);
}

static void bad_rehearsals_name_the_launch(void **state)
{
    struct fixture *f = *state;
    struct ws__built built;

    if (!f->subject->worker || !f->subject->language->first_launch)
        SKIP("%s: launches nothing when it builds", f->subject->name);
    begin(state);
    build_all(f);
    f->dev.ops->set_limit(f->dev.self, NOTICE_NS);
    assert_int_equal(build_hinted(f, "crash", &built), WS_ECRASH);
    assert_message_has(f, "first launch of 'crash'");
    ws__device_close(&f->dev);
    open_device(f);
    build_all(f);
    f->dev.ops->set_limit(f->dev.self, 3 * (uint64_t)HANG_LIMIT_NS);
    assert_int_equal(build_hinted(f, "hang", &built), WS_ETIMEOUT);
    assert_message_has(f, "first launch of 'hang'");
}

/* --- runs --------------------------------------------------------------- */

static void samples_in_order(void **state)
{
    static const uint32_t order[6][3] = {/* round, set, program */
                                         {3, 1, 1}, {3, 1, 0}, {4, 0, 0},
                                         {4, 0, 1}, {5, 1, 1}, {5, 1, 0}};
    struct fixture *f = begin(state);
    uint32_t in = alloc(f, BYTES), out[4];
    struct ws__dev_sample s[6];
    struct ws__dev_seq prog[4];
    struct call c[4];
    size_t n = 0;

    build_all(f);
    write_floats(f, in, 1);
    for (size_t i = 0; i < 4; i++) {
        out[i] = alloc(f, BYTES);
        write_floats(f, out[i], (float)i * 10);
        make_call(f, &c[i], "copy", out[i], in);
        c[i].seq.hash = &out[i];
        c[i].seq.nhash = 1;
        prog[i] = c[i].seq;
    }
    const struct ws__dev_batch b = {.prog = prog,
                                    .nprog = 2,
                                    .nset = 2,
                                    .first_round = 3,
                                    .rounds = 3,
                                    .inner = 1,
                                    .flush_bytes = 1 << 20};
    assert_int_equal(run_batch(f, &b, s, &n), 0);
    assert_int_equal(n, 6);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(s[i].round, order[i][0]);
        assert_int_equal(s[i].set, order[i][1]);
        assert_int_equal(s[i].prog, order[i][2]);
        assert_true(s[i].ns > 0);
        /* The first round by both clocks, which run alike. */
        if (i < 2)
            assert_true(s[i].host_ns > .9 * s[i].ns);
        assert_true(s[i].hash != 0 && s[i].hash == s[0].hash);
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(hash(f, out[i]) == hash(f, in));
}

static void restores_before_each_sample(void **state)
{
    struct fixture *f = begin(state);
    uint32_t a = alloc(f, BYTES), kept = alloc(f, BYTES);
    const struct ws__dev_copy restore = {.to = a, .from = kept};
    struct ws__dev_sample s[3];
    struct call c;
    size_t n = 0;

    build_all(f);
    write_floats(f, kept, 7);
    make_call(f, &c, "touch", a, 0);
    c.seq.restore = &restore;
    c.seq.nrestore = 1;
    c.seq.hash = &a;
    c.seq.nhash = 1;
    struct ws__dev_batch b = {
        .prog = &c.seq, .nprog = 1, .nset = 1, .rounds = 3, .inner = 1};
    assert_int_equal(run_batch(f, &b, s, &n), 0);
    assert_int_equal(n, 3);
    assert_true(s[0].hash == s[1].hash && s[1].hash == s[2].hash);
    assert_true(read_float(f, a) == 8);
    b.inner = 2;
    assert_int_equal(run_batch(f, &b, s, &n), WS_EINVAL);
    assert_int_equal(n, 0);
    b.inner = 1;
    c.seq.nrestore = 0;
    assert_int_equal(run_batch(f, &b, s, &n), 0);
    assert_true(s[0].hash != s[1].hash && s[1].hash != s[2].hash);
    assert_true(read_float(f, a) == 11);
}

static void repeats_inside_a_sample(void **state)
{
    struct fixture *f = begin(state);
    uint32_t a = alloc(f, BYTES);
    struct ws__dev_fill zero = {.buffer = a, .pattern = 0, .timed = true};
    struct ws__dev_sample s;
    struct call c;

    build_all(f);
    write_floats(f, a, 0);
    make_call(f, &c, "touch", a, 0);
    assert_int_equal(run_one(f, &c.seq, 5, &s), 0);
    assert_true(read_float(f, a) == 5);
    /* a timed fill is part of what is repeated, an untimed one is not */
    c.seq.fill = &zero;
    c.seq.nfill = 1;
    assert_int_equal(run_one(f, &c.seq, 5, &s), 0);
    assert_true(read_float(f, a) == 1);
    zero.timed = false;
    assert_int_equal(run_one(f, &c.seq, 5, &s), 0);
    assert_true(read_float(f, a) == 5);
}

static void passes_values(void **state)
{
    struct fixture *f = begin(state);
    uint32_t a = alloc(f, BYTES), got = 0, v = 0xfeedbeef;
    struct ws__dev_sample s;
    struct call c;

    build_all(f);
    make_call(f, &c, "store", a, a);
    c.arg[1] = (struct ws__dev_arg){.kind = WS__ARG_VALUE, .bytes = 4};
    memcpy(c.arg[1].value, &v, 4);
    if (run_one(f, &c.seq, 1, &s))
        fail_msg("%s", ws_ctx_error(f->ctx)->message);
    assert_int_equal(f->dev.ops->read(f->dev.self, a, 0, &got, 4), 0);
    assert_int_equal(got, v);
}

static const char *const metric[] = {"gpu__time_duration.sum", "absent__x.sum",
                                     "sm__cycles_elapsed.max"};
#define METRICS WS_COUNT(metric)

/* Two launches of a kernel that changes its buffer, restored before each
 * pass. */
static int count(struct fixture *f, uint32_t a, uint32_t b, uint64_t flush,
                 double v[2 * METRICS], uint32_t *passes)
{
    const struct ws__dev_copy restore = {a, b};
    struct ws__dev_launch two[2];
    struct call c;

    make_call(f, &c, "touch", a, 0);
    two[0] = two[1] = c.launch;
    c.seq.launch = two;
    c.seq.nlaunch = 2;
    c.seq.restore = &restore;
    c.seq.nrestore = 1;
    for (size_t i = 0; i < 2 * METRICS; i++)
        v[i] = 7;
    *passes = 99;
    return f->dev.ops->count(f->dev.self, &c.seq, flush, metric, METRICS, v,
                             passes);
}

static void no_counts(struct fixture *f, int rc, const double v[2 * METRICS],
                      uint32_t passes)
{
    assert_int_equal(rc, WS_ENOTSUP);
    assert_true(ws_ctx_error(f->ctx)->message[0]);
    assert_int_equal(passes, 0);
    for (size_t i = 0; i < 2 * METRICS; i++)
        assert_true(isnan(v[i]));
}

/* Or says that it has none, and goes on working. */
static void counts_each_launch(void **state)
{
    static double recorded[2 * METRICS];
    struct fixture *f = begin(state);
    double v[2 * METRICS];
    uint32_t a, b, passes;
    int rc = 0;

    if (!f->dev.ops->count)
        return;
    build_all(f);
    a = alloc(f, BYTES);
    b = alloc(f, BYTES);
    write_floats(f, b, 5);
    for (int i = 0; i < 2 && rc == 0; i++) {
        rc = count(f, a, b, i ? 1 << 20 : 0, v, &passes);
        if (rc) {
            no_counts(f, rc, v, passes);
            break;
        }
        assert_true(passes >= 1);
        for (size_t k = 0; k < 2; k++) {
            assert_true(v[k * METRICS] > 0 && v[k * METRICS + 2] > 0);
            assert_true(isnan(v[k * METRICS + 1]));
        }
        assert_true(read_float(f, a) == 7);
    }
    if (f->subject->way == RECORD)
        memcpy(recorded, v, sizeof(v));
    if (f->subject->way == REPLAY)
        assert_memory_equal(recorded, v, sizeof(v));
    must_work(f);
}

/* The watch of one launch of `entry` on a and b, with one input; what it ran
 * left its result. WS_ENOTSUP says why. */
static int watch(struct fixture *f, const char *entry, uint32_t a, uint32_t b,
                 uint32_t input, struct ws__dev_touch *out)
{
    struct call c;
    int rc;

    make_call(f, &c, entry, a, b);
    rc = f->dev.ops->watch(f->dev.self, &c.seq, &input, 1, out);
    if (rc < 0) {
        assert_int_equal(rc, WS_ENOTSUP);
        assert_true(ws_ctx_error(f->ctx)->message[0]);
        assert_int_equal(out->kind, WS__TOUCH_NONE);
    }
    return rc;
}

static void watches_launches(void **state)
{
    struct fixture *f = begin(state);
    struct ws__dev_touch t;
    uint32_t a, b;

    if (!f->dev.ops->watch)
        return;
    build_all(f);
    a = alloc(f, BYTES);
    b = alloc(f, BYTES);
    write_floats(f, a, 0);
    write_floats(f, b, 5);
    if (watch(f, "copy", a, b, b, &t) < 0) {
        must_work(f);
        return;
    }
    assert_int_equal(t.kind, WS__TOUCH_NONE);
    assert_true(read_float(f, a) == 5);
    assert_int_equal(watch(f, "touch", a, 0, b, &t), 0);
    assert_int_equal(t.kind, WS__TOUCH_NONE);
    assert_true(read_float(f, a) == 6);
    /* the same where it may only read: last, for the device may go with it */
    assert_int_equal(watch(f, "touch", a, 0, a, &t), 0);
    assert_int_equal(t.kind, WS__TOUCH_INPUT);
    assert_int_equal(t.buffer, a);
}

static void stops_at_its_limit(void **state)
{
    struct fixture *f = begin(state);
    uint32_t a = alloc(f, BYTES);
    struct ws__dev_sample s[50];
    struct call c;
    size_t n = 0;

    build_all(f);
    make_call(f, &c, "touch", a, 0);
    const struct ws__dev_batch b = {.prog = &c.seq,
                                    .nprog = 1,
                                    .nset = 1,
                                    .rounds = 50,
                                    .inner = 1,
                                    .limit_ns = 1};
    assert_int_equal(run_batch(f, &b, s, &n), 0);
    assert_int_equal(n, 1);
}

static void refuses_bad_launches(void **state)
{
    struct fixture *f = begin(state);
    uint32_t a = alloc(f, BYTES);
    struct ws__dev_sample s;
    struct call c;

    build_all(f);
    make_call(f, &c, "touch", a, 0);
    c.launch.block[0] = 1 << 20;
    assert_int_equal(run_one(f, &c.seq, 1, &s), WS_ELAUNCH);
    make_call(f, &c, "copy", a, 0);
    assert_int_equal(run_one(f, &c.seq, 1, &s), WS_ELAUNCH);
    make_call(f, &c, "nowhere", a, 0);
    assert_int_equal(run_one(f, &c.seq, 1, &s), WS_ELAUNCH);
    make_call(f, &c, "touch", 99, 0);
    assert_int_equal(run_one(f, &c.seq, 1, &s), WS_EINVAL);
    must_work(f);
}

/* --- what takes a worker down ------------------------------------------- */

static struct fixture *begin_worker(void **state)
{
    struct fixture *f = *state;

    if (!f->subject->worker)
        SKIP("%s: runs in this process", f->subject->name);
    begin(state);
    build_all(f);
    return f;
}

static void is_gone_until_reopened(struct fixture *f)
{
    uint32_t b;

    assert_int_equal(f->dev.ops->alloc(f->dev.self, 16, 0, 0, &b), WS_ECRASH);
    f->dev.ops->release(f->dev.self, 1);
    ws__device_close(&f->dev);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    open_device(f);
    must_work(f);
}

static void a_crash_is_a_result(void **state)
{
    struct fixture *f = begin_worker(state);
    uint32_t a = alloc(f, BYTES);

    assert_int_equal(f->dev.ops->fill(f->dev.self, a, 0), 0);
    assert_int_equal(run_call(f, "crash", a, 0), WS_ECRASH);
    assert_message_has(f, "running 'crash'");
    is_gone_until_reopened(f);
}

static void a_hang_is_a_result(void **state)
{
    struct fixture *f = begin_worker(state);
    uint32_t a = alloc(f, BYTES);
    uint64_t t = ws__now_ns();

    assert_int_equal(f->dev.ops->fill(f->dev.self, a, 0), 0);
    f->dev.ops->set_limit(f->dev.self, HANG_LIMIT_NS);
    assert_int_equal(run_call(f, "hang", a, 0), WS_ETIMEOUT);
    assert_message_has(f, "running 'hang'");
    assert_true(ws__now_ns() - t < NOTICE_NS);
    is_gone_until_reopened(f);
}

static void *cancel_soon(void *ctx)
{
    ws__sleep_ns(200000000);
    ws_ctx_cancel(ctx);
    return NULL;
}

static void a_hang_can_be_cancelled(void **state)
{
    struct fixture *f = begin_worker(state);
    uint32_t a = alloc(f, BYTES);
    uint64_t t = ws__now_ns();
    pthread_t thread;

    assert_int_equal(f->dev.ops->fill(f->dev.self, a, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, f->ctx), 0);
    assert_int_equal(run_call(f, "hang", a, 0), WS_ECANCEL);
    pthread_join(thread, NULL);
    assert_true(ws__now_ns() - t < NOTICE_NS);
    ws__device_close(&f->dev);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* --- finding devices (once, not for each subject) ----------------------- */

static void lists_every_family(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device_list list;

    (void)state;
    assert_int_equal(ws__device_probe_all(ctx, &list), 0);
    for (const struct ws__device_ops *const *m = ws__device_table; *m; m++) {
        size_t n = 0;

        for (size_t i = 0; i < list.n; i++)
            n += !strncmp(list.item[i].name, (*m)->name, strlen((*m)->name));
        assert_true(n > 0);
    }
    for (size_t i = 0; i < list.n; i++)
        assert_true(list.item[i].usable || list.item[i].reason[0]);
    ws__free(ctx, list.item);
    ws_ctx_free(ctx);
}

static void says_what_to_install(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device_list list;
    bool seen = false, any = false;

    (void)state;
    if (!ws__device_find("opencl"))
        SKIP("no member 'opencl'");
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    assert_int_equal(ws__device_probe_all(ctx, &list), 0);
    for (size_t i = 0; i < list.n; i++)
        if (!strcmp(list.item[i].name, "opencl")) {
            assert_false(list.item[i].usable);
            assert_non_null(strstr(list.item[i].reason, "pocl-opencl-icd"));
            seen = true;
        } else if (!strncmp(list.item[i].name, "opencl:", 7)) {
            any = true;
        }
    unsetenv("OCL_ICD_VENDORS");
    ws__free(ctx, list.item);
    ws_ctx_free(ctx);
    if (any)
        SKIP("the loader finds OpenCL drivers in other ways, too");
    assert_true(seen);
}

static void a_worker_that_dies_is_an_entry(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o), .worker_path = "/bin/false"};
    struct ws_ctx *ctx = ws_ctx_new(&o);
    struct ws__device_list list;
    struct ws__device dev;

    (void)state;
    assert_int_equal(ws__device_probe_all(ctx, &list), 0);
    for (size_t i = 0; i < list.n; i++)
        if (ws__device_find(list.item[i].name))
            assert_non_null(strstr(list.item[i].reason, "exit status 1"));
    ws__free(ctx, list.item);
    assert_int_equal(ws__device_open(ctx, "isolate:null", &dev), WS_ECRASH);
    assert_null(dev.ops);
    ws_ctx_free(ctx);
}

static void names_are_checked(void **state)
{
    static const struct {
        const char *name;
        int code;
    } bad[] = {{"nul", WS_ENODEVICE},
               {"null:7", WS_ENODEVICE},
               {"null:", WS_EINVAL},
               {"null:x", WS_EINVAL},
               {"isolate:xyz", WS_ENODEVICE},
               {"", WS_ENODEVICE},
               {"isolate:null:4", WS_ENODEVICE},
               {"fault:null", WS_EINVAL},
               {"fault:x:null", WS_EINVAL},
               {"fault:0:null", WS_EINVAL},
               {"fault:1=ENONE:null", WS_EINVAL},
               {"fault:jump@1:null", WS_EINVAL},
               {"fault:1=EDEVMEM:null", WS_EDEVMEM},
               {"fault:2:xyz", WS_ENODEVICE},
               {"record:null", WS_EINVAL},
               {"record:/tmp/none.wsrec:xyz", WS_ENODEVICE},
               {"record:/nonexistent/x:null", WS_ENOENT},
               {"replay:", WS_EINVAL},
               {"replay:/nonexistent", WS_ENOENT},
               {"replay:/dev/null", WS_EINVAL}};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device dev;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        assert_int_equal(ws__device_open(ctx, bad[i].name, &dev), bad[i].code);
        assert_null(dev.ops);
        assert_true(ws_ctx_error(ctx)->hint[0] != '\0');
    }
    ws__device_close(&dev);
    ws_ctx_free(ctx);
}

static void the_default_is_real(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__device dev;
    int rc = ws__device_open(ctx, NULL, &dev);

    (void)state;
    if (rc) {
        assert_int_equal(rc, WS_ENODEVICE);
        ws_ctx_free(ctx);
        SKIP("no device on this machine");
    }
    assert_string_not_equal(dev.ops->info(dev.self)->id.family, "null");
    ws__device_close(&dev);
    ws_ctx_free(ctx);
}

/* --- subjects ----------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct ws_ctx_opts o = {.size = sizeof(o), .cache_dir = cache_dir};

    f->subject = *state;
    ((struct subject *)*state)->test++;
    f->ctx = ws_ctx_new(&o);
    *state = f;
    return f->ctx ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ws__device_close(&f->dev);
    ws_ctx_free(f->ctx);
    free(f);
    return 0;
}

static const struct {
    const char *name;
    CMUnitTestFunction fn;
} each[] = {
#define EACH(fn)                                                               \
    {                                                                          \
#fn, fn                                                                \
    }
    EACH(says_what_it_is),
    EACH(keeps_bytes),
    EACH(fills_with_a_pattern),
    EACH(moves_more_than_a_bounce),
    EACH(empty_buffers_are_legal),
    EACH(refuses_bad_handles),
    EACH(hashes_content),
    EACH(asks_for_too_much),
    EACH(sees_damage),
    EACH(shift_moves_the_start),
    EACH(builds_and_says_what),
    EACH(build_errors_have_words),
    EACH(rehearses_launches),
    EACH(bad_rehearsals_name_the_launch),
    EACH(samples_in_order),
    EACH(restores_before_each_sample),
    EACH(repeats_inside_a_sample),
    EACH(passes_values),
    EACH(counts_each_launch),
    EACH(watches_launches),
    EACH(stops_at_its_limit),
    EACH(refuses_bad_launches),
    EACH(a_crash_is_a_result),
    EACH(a_hang_is_a_result),
    EACH(a_hang_can_be_cancelled),
};

#define MAX_SUBJECTS 32

static struct subject subjects[MAX_SUBJECTS];
static char names[MAX_SUBJECTS * WS_COUNT(each)][96];
static struct CMUnitTest tests[MAX_SUBJECTS * WS_COUNT(each)];

static const struct language *find_language(const char *family)
{
    for (size_t i = 0; i < WS_COUNT(languages); i++)
        if (!strcmp(languages[i].family, family))
            return &languages[i];
    return NULL;
}

static size_t add_subject(size_t n, const struct language *l, bool worker)
{
    for (size_t w = 0; w < WS_COUNT(ways); w++) {
        struct subject *s = &subjects[n++];

        s->language = l;
        s->worker = worker;
        s->way = (enum way)w;
        snprintf(s->device, sizeof(s->device), "%s%.20s",
                 worker ? "isolate:" : "", l->family);
        snprintf(s->name, sizeof(s->name), "%s%s%.30s", w ? ways[w] : "",
                 w ? ":" : "", s->device);
    }
    return n;
}

static size_t list_subjects(void)
{
    size_t n = 0;

    for (const struct ws__device_ops *const *m = ws__device_table; *m; m++) {
        const struct language *l = find_language((*m)->name);

        if (!l) {
            fprintf(stderr, "no kernels here for member '%s'\n", (*m)->name);
            exit(1);
        }
        if (!(*m)->isolated)
            n = add_subject(n, l, false);
        n = add_subject(n, l, true);
    }
    return n;
}

int main(void)
{
    const struct CMUnitTest finding[] = {
        cmocka_unit_test(lists_every_family),
        cmocka_unit_test(says_what_to_install),
        cmocka_unit_test(a_worker_that_dies_is_an_entry),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(the_default_is_real),
    };
    size_t nsubject = list_subjects(), n = 0;
    int failed;

    if (t_fakecuda_if_none())
        printf("# no CUDA device: the CUDA member runs on a fake driver\n");

    if (!mkdtemp(cache_dir))
        return 1;
    for (size_t s = 0; s < nsubject; s++)
        for (size_t t = 0; t < WS_COUNT(each); t++, n++) {
            snprintf(names[n], sizeof(names[n]), "%.47s %.47s",
                     subjects[s].name, each[t].name);
            tests[n] = (struct CMUnitTest){names[n], each[t].fn, set_up,
                                           tear_down, &subjects[s]};
        }
    failed = _cmocka_run_group_tests("devices", tests, n, NULL, NULL);
    failed += cmocka_run_group_tests_name("finding", finding, NULL, NULL);
    nftw(cache_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return failed ? 1 : 0;
}
