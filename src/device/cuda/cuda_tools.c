/*
 * cuda_tools.c: kernels of our own: hashing, flushing, looking at guards, and
 * one that waits.
 *
 * The hash is the one of the OpenCL member: a sum of mixed (position, word)
 * pairs modulo 2^64, which does not care about the order.
 *
 * Flushing reads a buffer larger than the cache. Written lines that it drives
 * out go to memory then and there, so what is timed afterwards finds a cache
 * full of clean lines of somebody else: cold, and without write-backs to pay
 * for (a flush by writing leaves them to the timed kernel).
 *
 * The waiting kernel keeps the device busy until the host has queued all of a
 * sample: then everything in it follows without a gap. An idle device would
 * start later and later by microseconds. It gives up by itself, should the
 * host be held up or the queue be full.
 */
#include "device/cuda/cuda.h"

#include "base/banned.h"

#define BLOCK 256u
#define MAX_BLOCKS 4096u
#define HOLD_NS 100000000ull

static const char source[] =
    "typedef unsigned long long u64;\n"
    "__device__ u64 ws_mix(u64 x)\n"
    "{\n"
    "    x ^= x >> 31;\n"
    "    x *= 0x7fb5d329728ea185ull;\n"
    "    x ^= x >> 27;\n"
    "    x *= 0x81dadef4bc2dd44dull;\n"
    "    return x ^ (x >> 33);\n"
    "}\n"
    "__device__ u64 ws_sum(u64 v)\n"
    "{\n"
    "    for (int i = 16; i; i >>= 1)\n"
    "        v += __shfl_xor_sync(0xffffffffu, v, i);\n"
    "    return v;\n"
    "}\n"
    "extern \"C\" __global__ void ws_hash(const unsigned char *p, u64 bytes,\n"
    "                                    u64 *out)\n"
    "{\n"
    "    const unsigned *w = (const unsigned *)p;\n"
    "    u64 id = (u64)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    u64 step = (u64)gridDim.x * blockDim.x, words = bytes / 4, sum = 0;\n"
    "    for (u64 i = id; i < words; i += step)\n"
    "        sum += ws_mix(w[i] + (i + 1) * 0x9e3779b97f4a7c15ull);\n"
    "    if (id == 0 && bytes % 4) {\n"
    "        u64 tail = 0;\n"
    "        for (u64 i = words * 4; i < bytes; i++)\n"
    "            tail = tail << 8 | p[i];\n"
    "        sum += ws_mix(tail + (words + 1) * 0x9e3779b97f4a7c15ull);\n"
    "    }\n"
    "    sum = ws_sum(sum);\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        atomicAdd(out, sum);\n"
    "}\n"
    "extern \"C\" __global__ void ws_flush(const uint4 *p, u64 n, u64 *out)\n"
    "{\n"
    "    u64 id = (u64)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    u64 step = (u64)gridDim.x * blockDim.x;\n"
    "    unsigned sum = 0;\n"
    "    for (u64 i = id; i < n; i += step) {\n"
    "        uint4 v = __ldcg(p + i);\n"
    "        sum |= v.x | v.y | v.z | v.w;\n"
    "    }\n"
    "    if (sum == 0x5eed) /* the buffer holds zeros */\n"
    "        *out = sum;\n"
    "}\n"
    "extern \"C\" __global__ void ws_check(const unsigned *p, u64 from,\n"
    "                                     u64 to, unsigned want, u64 *out)\n"
    "{\n"
    "    u64 step = (u64)gridDim.x * blockDim.x;\n"
    "    for (u64 i = from + (u64)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "         i < to; i += step)\n"
    "        if (p[i] != want)\n"
    "            atomicMin(out, i * 4);\n"
    "}\n"
    "extern \"C\" __global__ void ws_spin(volatile unsigned *flag, u64 ns)\n"
    "{\n"
    "    u64 begin, now;\n"
    "    asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(begin));\n"
    "    do\n"
    "        asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(now));\n"
    "    while (!*flag && now - begin < ns);\n"
    "}\n";

static int load(struct ws__cuda *d)
{
    static const char *const entry[] = {"ws_hash", "ws_flush", "ws_check",
                                        "ws_spin"};
    cu_function *const slot[] = {&d->hash, &d->flush, &d->check, &d->spin};
    const struct ws__build b = {.source = source,
                                .dialect = WS__DIALECT_CUDA,
                                .entry = entry,
                                .nentry = WS_COUNT(entry)};
    struct ws__cuda_target target;
    struct ws__cuda_code code;
    int rc;

    WS_TRY(ws__cuda_target(d->compiler, &b, d->major, d->minor, &target));
    WS_TRY(ws__cuda_compile(d->compiler, &b, &target, &code));
    rc = ws__cuda_load(d, WS_EDEVICE, code.image, &d->tools, NULL);
    for (size_t i = 0; i < WS_COUNT(entry) && rc == 0; i++)
        rc = ws__cuda_check(d, WS_EDEVICE,
                            d->api.ModuleGetFunction(slot[i], d->tools,
                                                     code.symbol[i]),
                            "find a kernel of our own");
    ws__cuda_code_free(d->ctx, &code);
    return rc;
}

int ws__cuda_tools(struct ws__cuda *d)
{
    int rc;

    WS_TRY(ws__cuda_ready(d));
    if (d->spin) /* the last one found */
        return 0;
    if (d->tools && !d->dead)
        d->api.ModuleUnload(d->tools);
    d->tools = NULL;
    rc = load(d);
    if (rc == WS_EBUILD || rc == WS_EDEVMEM) { /* no candidate is to blame */
        ws__error_prefix(d->ctx, "our own kernels");
        d->ctx->err.code = rc = WS_EDEVICE;
    }
    return rc;
}

static int start(struct ws__cuda *d, cu_function f, uint64_t threads,
                 void **arg)
{
    uint64_t blocks = (threads + BLOCK - 1) / BLOCK;

    if (!blocks)
        blocks = 1;
    if (blocks > MAX_BLOCKS)
        blocks = MAX_BLOCKS;
    return ws__cuda_check(d, WS_EDEVICE,
                          d->api.LaunchKernel(f, (unsigned)blocks, 1, 1, BLOCK,
                                              1, 1, 0, d->stream, arg, NULL),
                          "run a kernel of our own");
}

/* The device's word, for kernels that add to it. */
static int set_word(struct ws__cuda *d, uint32_t pattern)
{
    return ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemsetD32Async(d->word, pattern, 2, d->stream),
                          "fill memory of the device");
}

static int get_word(struct ws__cuda *d, const char *what, uint64_t *out)
{
    WS_TRY(ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemcpyDtoHAsync(d->host, d->word, sizeof(*out),
                                                 d->stream),
                          what));
    WS_TRY(ws__cuda_sync(d, WS_EDEVICE, what));
    *out = *d->host;
    return 0;
}

/* Once more over the sum, with the length: lengths are part of the content,
 * and the result of no bytes is not 0. */
static uint64_t finish_hash(uint64_t sum, uint64_t bytes)
{
    struct ws__hash h = {sum, bytes};

    return ws__hash_u64(h, bytes).lo;
}

int ws__cuda_hash(void *dev, uint32_t handle, uint64_t *out)
{
    struct ws__cuda *d = dev;
    struct cu_buffer *b = ws__cuda_buffer(d, handle);
    uint64_t sum = 0;
    cu_ptr at;
    void *arg[3];

    if (!b)
        return WS_EINVAL;
    WS_TRY(ws__cuda_tools(d));
    at = b->mem + b->lead;
    arg[0] = &at;
    arg[1] = &b->bytes;
    arg[2] = &d->word;
    if (b->bytes) {
        WS_TRY(set_word(d, 0));
        WS_TRY(start(d, d->hash, b->bytes / 4, arg));
        WS_TRY(get_word(d, "read a hash", &sum));
    }
    *out = finish_hash(sum, b->bytes);
    return 0;
}

int ws__cuda_scan(struct ws__cuda *d, cu_ptr mem, uint64_t from, uint64_t to,
                  uint64_t *at)
{
    uint32_t want = WS__GUARD_PATTERN;
    void *arg[] = {&mem, &from, &to, &want, &d->word};

    *at = UINT64_MAX;
    if (from >= to)
        return 0;
    WS_TRY(ws__cuda_tools(d));
    from /= 4;
    to /= 4;
    WS_TRY(set_word(d, UINT32_MAX));
    WS_TRY(start(d, d->check, to - from, arg));
    return get_word(d, "look at a guard zone", at);
}

static int take_flush(struct ws__cuda *d, uint64_t bytes)
{
    if (d->flush_mem && d->flush_bytes >= bytes)
        return 0;
    if (d->flush_mem)
        d->api.MemFree(d->flush_mem);
    d->flush_mem = 0;
    WS_TRY(ws__cuda_take(d, bytes, &d->flush_mem));
    d->flush_bytes = bytes;
    return ws__cuda_check(d, WS_EDEVICE,
                          d->api.MemsetD32Async(d->flush_mem, 0, bytes / 4,
                                                d->stream),
                          "fill memory of the device");
}

int ws__cuda_flush(void *dev, uint64_t bytes)
{
    struct ws__cuda *d = dev;
    uint64_t n = bytes / 16;
    void *arg[] = {&d->flush_mem, &n, &d->word};

    WS_TRY(ws__cuda_tools(d));
    WS_TRY(take_flush(d, bytes));
    return start(d, d->flush, n, arg);
}

int ws__cuda_hold(struct ws__cuda *d)
{
    uint64_t ns = HOLD_NS;
    void *arg[] = {&d->flag_ptr, &ns};

    WS_TRY(ws__cuda_tools(d));
    __atomic_store_n(d->flag, 0, __ATOMIC_SEQ_CST);
    return ws__cuda_check(d, WS_EDEVICE,
                          d->api.LaunchKernel(d->spin, 1, 1, 1, 1, 1, 1, 0,
                                              d->stream, arg, NULL),
                          "run a kernel of our own");
}

void ws__cuda_go(struct ws__cuda *d)
{
    __atomic_store_n(d->flag, 1, __ATOMIC_SEQ_CST);
}
