/*
 * measure_dirt.c: local memory that nobody has cleared.
 *
 * A block's shared memory begins with whatever the block before left there. A
 * kernel that takes it for zeros is right as long as no other kernel ran, and
 * one that keeps results there finds them again. So between the two checked
 * launches a kernel of ours fills all of it, on every unit, with NaN.
 *
 * It is built once a device, when it is first wanted. Where that is not
 * possible the launches are as they were: the log says so, and nobody is
 * judged by it.
 */
#include "measure/measure_int.h"

#include "base/banned.h"

#define THREADS 64
#define BLOCKS_A_UNIT 4 /* so that no unit is left out */
#define BYTES 64        /* of the buffer that is never written to */

static const char opencl_text[] =
    "__kernel void ws_dirt(__local volatile uint *s, uint n,\n"
    "                      __global uint *out)\n"
    "{\n"
    "    for (uint i = get_local_id(0); i < n; i += get_local_size(0))\n"
    "        s[i] = 0xffffffffu;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (s[get_local_id(0) * 7u % n] != 0xffffffffu) out[0] = 1;\n"
    "}\n";
static const char cuda_text[] =
    "extern \"C\" __global__ void ws_dirt(unsigned n, unsigned *out)\n"
    "{\n"
    "    extern __shared__ volatile unsigned s[];\n"
    "    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)\n"
    "        s[i] = 0xffffffffu;\n"
    "    __syncthreads();\n"
    "    if (s[threadIdx.x * 7u % n] != 0xffffffffu) out[0] = 1;\n"
    "}\n";

static const char *text_of(const struct ws__measure *m, enum ws__dialect *d)
{
    bool opencl = !strcmp(m->info.id.family, "opencl");

    if (!opencl && strcmp(m->info.id.family, "cuda") != 0)
        return NULL;
    *d = opencl ? WS__DIALECT_OPENCL : WS__DIALECT_CUDA;
    return opencl ? opencl_text : cuda_text;
}

/* Arguments of a plan: the memory, its words, the buffer. */
static void set_hint(const struct ws__measure *m, struct ws__plan_launch *l)
{
    uint32_t words = (uint32_t)(m->info.id.shared_bytes / 4);

    l->entry = "ws_dirt";
    l->grid[0] = l->grid[1] = l->grid[2] = 1;
    l->block[0] = THREADS;
    l->block[1] = l->block[2] = 1;
    l->narg = 3;
    l->arg[0].kind = WS__ARG_SHARED;
    l->arg[0].bytes = 4 * (uint64_t)words;
    l->arg[1].kind = WS__ARG_VALUE;
    l->arg[1].bytes = sizeof(words);
    memcpy(l->arg[1].value, &words, sizeof(words));
    l->arg[2].kind = WS__ARG_TENSOR;
    l->arg[2].index = 0;
}

static int build(struct ws__measure *m)
{
    static const uint64_t bytes = BYTES;
    static const char *const entry = "ws_dirt";
    struct ws__dirt *d = &m->dirt;
    struct ws__build b = {.entry = &entry,
                          .nentry = 1,
                          .nhint = 1,
                          .rehearse = m->info.id.is_cpu,
                          .tensor_bytes = &bytes,
                          .ntensor = 1};
    struct ws__built built = {0};
    int rc;

    b.source = text_of(m, &b.dialect);
    b.hint = &d->hint;
    set_hint(m, &d->hint);
    ws__measure_limit(m, m->opts.build_limit_ns);
    rc = m->dev.ops->build(m->dev.self, &b, &built);
    ws__measure_limit(m, 0);
    d->module = built.module;
    ws__built_free(m->ctx, &built);
    WS_TRY(rc);
    return m->dev.ops->alloc(m->dev.self, BYTES, 0, 0, &d->buffer);
}

#define LOST 3 /* times, before nobody tries any more */

static int make(struct ws__measure *m)
{
    struct ws__dirt *d = &m->dirt;
    struct ws__dirt fresh = {.gen = m->gen, .skip = d->skip, .lost = d->lost};

    *d = fresh;
    return build(m);
}

/* The candidate that ran before may have broken the device, or it is busy. */
static void note_lost(struct ws__measure *m, struct ws__hash candidate)
{
    struct ws__dirt *d = &m->dirt;

    d->skip = candidate;
    d->none = ++d->lost >= LOST;
    ws__log(m->ctx, WS_LOG_WARN, "local memory is not filled for %s: %s",
            d->none ? "any candidate more" : "one candidate",
            m->ctx->err.message);
}

/* 1: there is a module; 0: none can be had, or not for this candidate;
 * negative: the device is lost. */
static int ready(struct ws__measure *m, struct ws__hash candidate)
{
    struct ws__dirt *d = &m->dirt;
    enum ws__dialect dialect;
    int rc;

    if (m->info.id.shared_bytes < 4 * THREADS || m->ordered ||
        !text_of(m, &dialect) || d->none ||
        (d->lost && ws__hash_eq(d->skip, candidate)))
        return 0;
    if (d->buffer && d->gen == m->gen)
        return 1;
    rc = make(m);
    if (rc >= 0)
        return 1;
    if (ws__measure_kills(rc) && rc != WS_ECANCEL)
        note_lost(m, candidate);
    if (rc == WS_ENOMEM || ws__measure_kills(rc))
        return rc;
    d->none = true;
    ws__log(m->ctx, WS_LOG_DEBUG, "local memory cannot be filled: %s",
            m->ctx->err.message);
    return 0;
}

static void bind(const struct ws__measure *m, struct ws__dev_launch *l,
                 struct ws__dev_arg arg[3])
{
    const struct ws__dirt *d = &m->dirt;
    uint32_t units = m->info.id.units ? m->info.id.units : 1;

    memset(arg, 0, 3 * sizeof(*arg));
    for (size_t i = 0; i < 3; i++) {
        arg[i].kind = d->hint.arg[i].kind;
        arg[i].bytes = (uint32_t)d->hint.arg[i].bytes;
        memcpy(arg[i].value, d->hint.arg[i].value, sizeof(arg[i].value));
    }
    arg[2].buffer = d->buffer;
    l->module = d->module;
    l->entry = d->hint.entry;
    l->grid[0] = BLOCKS_A_UNIT * units;
    l->grid[1] = l->grid[2] = 1;
    memcpy(l->block, d->hint.block, sizeof(l->block));
    l->arg = arg;
    l->narg = 3;
}

int ws__measure_dirty(struct ws__measure *m, struct ws__hash candidate)
{
    struct ws__dev_arg arg[3];
    struct ws__dev_launch launch;
    struct ws__dev_seq seq = {.launch = &launch, .nlaunch = 1};
    struct ws__dev_sample sample;
    int rc = ready(m, candidate);

    if (rc <= 0)
        return rc;
    memset(&launch, 0, sizeof(launch));
    bind(m, &launch, arg);
    rc = ws__measure_once(m, &seq, &sample);
    if (rc >= 0 || rc == WS_ENOMEM || rc == WS_ECANCEL || ws__measure_kills(rc))
        return rc;
    ws__log(m->ctx, WS_LOG_DEBUG, "local memory cannot be filled: %s",
            m->ctx->err.message);
    m->dirt.none = true;
    return 0;
}
