/*
 * shim.c: from operations to one structure and back. See shim.h.
 *
 * Void operations go through the hook as well, whose result is dropped: a
 * wrapper that has to say something about them says it at the next one.
 */
#include "device/shim.h"

#include <math.h>

#include "base/banned.h"

const char *ws__call_name(enum ws__call_op op)
{
    static const char *const names[WS__CALL_END] = {
#define WS_X(code, NAME, name, args) [WS__CALL_##NAME] = (name),
        WS__CALL_MAP(WS_X)
#undef WS_X
    };

    return op < WS__CALL_END && names[op] ? names[op] : "?";
}

const char *ws__shim_split(struct ws_ctx *ctx, const char *what,
                           const char *text, char *out, size_t n)
{
    const char *colon = strchr(text, ':');

    if (colon && colon > text && colon[1] && (size_t)(colon - text) < n) {
        memcpy(out, text, (size_t)(colon - text));
        out[colon - text] = '\0';
        return colon + 1;
    }
    ws__fail(ctx, WS_EINVAL, "bad device name: '%s' after '%s:'", text, what);
    return NULL;
}

/* ---- from the structure ------------------------------------------------- */

static int do_alloc(const struct ws__device *d, struct ws__call *c)
{
    uint32_t buffer = 0;
    int rc = d->ops->alloc(d->self, c->arg[0], (uint32_t)c->arg[1],
                           (uint32_t)c->arg[2], &buffer);

    c->result = buffer;
    return rc;
}

static int do_guard(const struct ws__device *d, struct ws__call *c)
{
    int64_t offset = 0;
    int rc = d->ops->guard(d->self, (uint32_t)c->arg[0], &offset);

    c->result = (uint64_t)offset;
    return rc;
}

static int do_count(const struct ws__device *d, struct ws__call *c,
                    struct ws_ctx *ctx)
{
    uint32_t passes = 0;
    int rc;

    if (!d->ops->count)
        return ws__fail(ctx, WS_ENOTSUP, "devices of '%s' have no counters",
                        d->ops->name);
    rc = d->ops->count(d->self, c->seq, c->arg[0], c->metric, (size_t)c->arg[1],
                       c->value, &passes);
    c->result = passes;
    return rc;
}

int ws__call_do(struct ws_ctx *ctx, const struct ws__device *d,
                struct ws__call *c)
{
    const struct ws__device_ops *ops = d->ops;
    uint32_t a = (uint32_t)c->arg[0], b = (uint32_t)c->arg[1];

    switch (c->op) {
    case WS__CALL_BUILD:
        return ops->build(d->self, c->build, c->built);
    case WS__CALL_UNLOAD:
        ops->unload(d->self, a);
        return 0;
    case WS__CALL_ALLOC:
        return do_alloc(d, c);
    case WS__CALL_RELEASE:
        ops->release(d->self, a);
        return 0;
    case WS__CALL_WRITE:
        return ops->write(d->self, a, c->arg[1], c->in, c->arg[2]);
    case WS__CALL_READ:
        return ops->read(d->self, a, c->arg[1], c->out, c->arg[2]);
    case WS__CALL_FILL:
        return ops->fill(d->self, a, b);
    case WS__CALL_COPY:
        return ops->copy(d->self, a, b);
    case WS__CALL_HASH:
        return ops->hash(d->self, a, &c->result);
    case WS__CALL_GUARD:
        return do_guard(d, c);
    case WS__CALL_RUN:
        return ops->run(d->self, c->batch, c->sample, &c->n);
    case WS__CALL_COUNT:
        return do_count(d, c, ctx);
    case WS__CALL_CLOCK:
        c->result = ws__device_clock(d);
        return 0;
    default:
        return WS_EBUG;
    }
}

/* ---- to the structure --------------------------------------------------- */

static int hand(void *dev, struct ws__call *c)
{
    struct ws__shim *s = dev;

    return s->hook(s, c);
}

static int shim_probe(struct ws_ctx *ctx, struct ws__device_list *out)
{
    (void)out;
    return ws__fail(ctx, WS_ENOTSUP, "a wrapper wraps another device");
}

static int shim_plain_open(struct ws_ctx *ctx, uint32_t index,
                           const char *cache_dir, void **dev)
{
    (void)index;
    (void)cache_dir;
    *dev = NULL;
    return ws__fail(ctx, WS_ENOTSUP, "a wrapper wraps another device");
}

static void shim_close(void *dev)
{
    struct ws__shim *s = dev;

    if (s)
        s->end(s);
}

static const struct ws__device_info *shim_info(void *dev)
{
    return ((struct ws__shim *)dev)->info;
}

static int shim_build(void *dev, const struct ws__build *b,
                      struct ws__built *out)
{
    struct ws__call c = {.op = WS__CALL_BUILD, .build = b, .built = out};

    memset(out, 0, sizeof(*out));
    return hand(dev, &c);
}

static void shim_unload(void *dev, uint32_t module)
{
    struct ws__call c = {.op = WS__CALL_UNLOAD, .arg = {module}};

    hand(dev, &c);
}

static int shim_alloc(void *dev, uint64_t bytes, uint32_t guard, uint32_t shift,
                      uint32_t *buffer)
{
    struct ws__call c = {.op = WS__CALL_ALLOC, .arg = {bytes, guard, shift}};
    int rc = hand(dev, &c);

    *buffer = rc < 0 ? 0 : (uint32_t)c.result;
    return rc;
}

static void shim_release(void *dev, uint32_t buffer)
{
    struct ws__call c = {.op = WS__CALL_RELEASE, .arg = {buffer}};

    hand(dev, &c);
}

static int shim_write(void *dev, uint32_t buffer, uint64_t offset,
                      const void *p, uint64_t bytes)
{
    struct ws__call c = {.op = WS__CALL_WRITE,
                         .arg = {buffer, offset, bytes},
                         .in = p};

    return hand(dev, &c);
}

static int shim_read(void *dev, uint32_t buffer, uint64_t offset, void *p,
                     uint64_t bytes)
{
    struct ws__call c = {.op = WS__CALL_READ,
                         .arg = {buffer, offset, bytes},
                         .out = p};

    return hand(dev, &c);
}

static int shim_fill(void *dev, uint32_t buffer, uint32_t pattern)
{
    struct ws__call c = {.op = WS__CALL_FILL, .arg = {buffer, pattern}};

    return hand(dev, &c);
}

static int shim_copy(void *dev, uint32_t to, uint32_t from)
{
    struct ws__call c = {.op = WS__CALL_COPY, .arg = {to, from}};

    return hand(dev, &c);
}

static int shim_hash(void *dev, uint32_t buffer, uint64_t *out)
{
    struct ws__call c = {.op = WS__CALL_HASH, .arg = {buffer}};
    int rc = hand(dev, &c);

    *out = c.result;
    return rc;
}

static int shim_guard(void *dev, uint32_t buffer, int64_t *offset)
{
    struct ws__call c = {.op = WS__CALL_GUARD, .arg = {buffer}};
    int rc = hand(dev, &c);

    *offset = (int64_t)c.result;
    return rc;
}

static int shim_run(void *dev, const struct ws__dev_batch *b,
                    struct ws__dev_sample *samples, size_t *n)
{
    struct ws__call c = {.op = WS__CALL_RUN,
                         .arg = {b->nprog, b->nset, b->first_round, b->rounds},
                         .batch = b,
                         .sample = samples};
    int rc = hand(dev, &c);

    *n = rc < 0 ? 0 : c.n;
    return rc;
}

static int shim_count(void *dev, const struct ws__dev_seq *seq,
                      uint64_t flush_bytes, const char *const *metric, size_t n,
                      double *value, uint32_t *passes)
{
    struct ws__call c = {.op = WS__CALL_COUNT,
                         .arg = {flush_bytes, n, seq->nlaunch},
                         .seq = seq,
                         .metric = metric,
                         .value = value};
    int rc;

    for (size_t i = 0; i < n * seq->nlaunch; i++)
        value[i] = NAN;
    rc = hand(dev, &c);
    *passes = rc < 0 ? 0 : (uint32_t)c.result;
    return rc;
}

static void shim_set_limit(void *dev, uint64_t ns)
{
    struct ws__shim *s = dev;

    if (s->inner.ops && s->inner.ops->set_limit)
        s->inner.ops->set_limit(s->inner.self, ns);
}

static uint64_t shim_clock(void *dev)
{
    struct ws__call c = {.op = WS__CALL_CLOCK};

    hand(dev, &c);
    return c.result;
}

const struct ws__device_ops ws__device_shim = {
    .abi = WS__DEVICE_ABI,
    .name = "shim",
    .about = "another device, looked at",
    .probe = shim_probe,
    .open = shim_plain_open,
    .close = shim_close,
    .info = shim_info,
    .build = shim_build,
    .unload = shim_unload,
    .alloc = shim_alloc,
    .release = shim_release,
    .write = shim_write,
    .read = shim_read,
    .fill = shim_fill,
    .copy = shim_copy,
    .hash = shim_hash,
    .guard = shim_guard,
    .run = shim_run,
    .count = shim_count,
    .set_limit = shim_set_limit,
    .clock = shim_clock,
    .ordered = true,
};
