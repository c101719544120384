/*
 * device.c: finding and opening devices. See device.h.
 *
 * Nothing here names a member: families come from the generated table,
 * hardware ones are reached through a worker, and the default device is
 * chosen by what the probes say.
 */
#include "device/device.h"

#include "base/clock.h"
#include "base/names.h"
#include "device/devwire.h"
#include "device/shim.h"
#include "base/banned.h"

#define ISOLATE_PREFIX "isolate:"

const struct ws__device_ops *ws__device_find(const char *family)
{
    for (const struct ws__device_ops *const *m = ws__device_table; *m; m++)
        if (!strcmp((*m)->name, family))
            return *m;
    return NULL;
}

void ws__built_free(struct ws_ctx *ctx, struct ws__built *b)
{
    ws__free(ctx, b->log);
    ws__free(ctx, b->image);
    ws__free(ctx, b->symbol);
    memset(b, 0, sizeof(*b));
}

int ws__device_list_add(struct ws_ctx *ctx, struct ws__device_list *list,
                        const struct ws__device_info *info)
{
    struct ws__device_info *p =
        ws__resize(ctx, list->item, list->n + 1, sizeof(*p));

    if (!p)
        return WS_ENOMEM;
    list->item = p;
    p[list->n++] = *info;
    return 0;
}

/* --- probing ------------------------------------------------------------ */

/* A probe that fails is an entry that says so; what concerns the whole call
 * (memory, cancellation) is an error. */
static int probe_family(struct ws_ctx *ctx, const struct ws__device_ops *ops,
                        struct ws__device_list *out)
{
    struct ws__device_info info;
    size_t before = out->n;
    int rc =
        ops->isolated ? ws__isolate_probe(ctx, ops, out) : ops->probe(ctx, out);

    if (rc == 0)
        return 0;
    if (rc == WS_ENOMEM || rc == WS_ECANCEL || ws__check_stop(ctx) < 0)
        return ctx->err.code;
    out->n = before;
    memset(&info, 0, sizeof(info));
    snprintf(info.name, sizeof(info.name), "%s", ops->name);
    snprintf(info.reason, sizeof(info.reason), "%.330s%s%.170s",
             ws_ctx_error(ctx)->message, ctx->err.hint[0] ? "; " : "",
             ctx->err.hint);
    ws__error_clear(ctx);
    return ws__device_list_add(ctx, out, &info);
}

int ws__device_probe_all(struct ws_ctx *ctx, struct ws__device_list *out)
{
    int rc = 0;

    memset(out, 0, sizeof(*out));
    for (int last = 0; last < 2 && rc == 0; last++)
        for (const struct ws__device_ops *const *m = ws__device_table;
             *m && rc == 0; m++)
            if ((*m)->by_name == (last == 1))
                rc = probe_family(ctx, *m, out);
    if (rc < 0) {
        ws__free(ctx, out->item);
        memset(out, 0, sizeof(*out));
    }
    return rc;
}

/* --- opening ------------------------------------------------------------ */

struct wanted {
    const struct ws__device_ops *family;
    uint32_t index;
    bool isolate;
};

/* "a:0 (what it is); b: not usable" into the hint of the error just set. */
static int hint_found(struct ws_ctx *ctx)
{
    struct ws_error kept = ctx->err;
    struct ws__device_list list;
    char text[sizeof(kept.hint)] = "";
    size_t used = 0;

    if (kept.hint[0])
        return kept.code;
    if (ws__device_probe_all(ctx, &list) < 0) {
        ctx->err = kept;
        return kept.code;
    }
    for (size_t i = 0; i < list.n && used < sizeof(text); i++) {
        const struct ws__device_info *d = &list.item[i];
        int n = snprintf(text + used, sizeof(text) - used, "%s%s (%s)",
                         used ? "; " : "", d->name,
                         d->usable ? d->id.device : d->reason);

        used += n > 0 ? (size_t)n : 0;
    }
    ws__free(ctx, list.item);
    ctx->err = kept;
    return ws__hint(ctx, "found: %s", text);
}

static int no_family(struct ws_ctx *ctx, const char *name)
{
    struct ws__nearest n;

    ws__nearest_begin(&n, name);
    for (const struct ws__device_ops *const *m = ws__device_table; *m; m++)
        ws__nearest_see(&n, (*m)->name);
    ws__fail(ctx, WS_ENODEVICE, "no device '%s'", name);
    if (ws__nearest_name(&n))
        return ws__hint(ctx, "did you mean '%s'?", ws__nearest_name(&n));
    return hint_found(ctx);
}

static int parse_index(const char *s, uint32_t *out)
{
    char *end;
    unsigned long v;

    if (*s < '0' || *s > '9' || strlen(s) > 6)
        return WS_EINVAL;
    v = strtoul(s, &end, 10);
    *out = (uint32_t)v;
    return *end ? WS_EINVAL : 0;
}

static int parse_name(struct ws_ctx *ctx, const char *name, struct wanted *w)
{
    char family[32];
    const char *rest = name, *colon;

    memset(w, 0, sizeof(*w));
    if (!strncmp(name, ISOLATE_PREFIX, strlen(ISOLATE_PREFIX))) {
        w->isolate = true;
        rest += strlen(ISOLATE_PREFIX);
    }
    colon = strchr(rest, ':');
    if (colon && parse_index(colon + 1, &w->index) < 0) {
        ws__fail(ctx, WS_EINVAL, "bad device name '%s'", name);
        return ws__hint(ctx, "a name is a family and a number: 'opencl:0'");
    }
    snprintf(family, sizeof(family), "%.*s",
             colon ? (int)(colon - rest) : (int)strlen(rest), rest);
    w->family = ws__device_find(family);
    if (!w->family)
        return no_family(ctx, family);
    w->isolate = w->isolate || w->family->isolated;
    return 0;
}

static bool is_default(const struct ws__device_info *d, bool cpu)
{
    const struct ws__device_ops *ops = ws__device_find(d->id.family);

    return d->usable && d->id.is_cpu == cpu && ops && !ops->by_name;
}

static int choose(struct ws_ctx *ctx, struct wanted *w)
{
    const struct ws__device_info *best = NULL;
    struct ws__device_list list;
    int rc;

    WS_TRY(ws__device_probe_all(ctx, &list));
    for (int cpu = 0; cpu < 2 && !best; cpu++)
        for (size_t i = 0; i < list.n && !best; i++)
            if (is_default(&list.item[i], cpu == 1))
                best = &list.item[i];
    if (best)
        rc = parse_name(ctx, best->name, w);
    else {
        ws__fail(ctx, WS_ENODEVICE, "no usable device");
        rc = hint_found(ctx);
    }
    ws__free(ctx, list.item);
    return rc;
}

static const struct {
    const char *prefix;
    int (*open)(struct ws_ctx *ctx, const char *rest, struct ws__device *out);
} wrappers[] = {
    {"record:", ws__record_open},
    {"replay:", ws__replay_open},
    {"fault:", ws__fault_open},
};

int ws__device_open(struct ws_ctx *ctx, const char *name,
                    struct ws__device *out)
{
    struct wanted w;
    int rc;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; name && i < WS_COUNT(wrappers); i++) {
        size_t n = strlen(wrappers[i].prefix);

        if (!strncmp(name, wrappers[i].prefix, n))
            return wrappers[i].open(ctx, name + n, out);
    }
    WS_TRY(name ? parse_name(ctx, name, &w) : choose(ctx, &w));
    if (w.isolate)
        rc = ws__isolate_open(ctx, w.family, w.index, ctx->cache_dir,
                              &out->self);
    else
        rc = w.family->open(ctx, w.index, ctx->cache_dir, &out->self);
    if (rc == WS_ENODEVICE || rc == WS_ENODRIVER)
        return hint_found(ctx);
    if (rc == 0)
        out->ops = w.isolate ? &ws__device_isolate : w.family;
    return rc;
}

void ws__device_close(struct ws__device *d)
{
    if (d->ops)
        d->ops->close(d->self);
    memset(d, 0, sizeof(*d));
}

void ws__device_turn(struct ws_ctx *ctx, const struct ws__device_info *info,
                     struct ws__turn *turn)
{
    const struct ws__device_ops *ops = ws__device_find(info->id.family);

    *turn = WS__TURN_NONE;
    if (ops && !ops->by_name)
        ws__turn_open(ctx, ctx->turn_dir,
                      info->place[0] ? info->place : info->name, turn);
}

void ws__slow_text(uint32_t slowed, char out[32])
{
    static const char *const name[] = {"power", "thermal", "hardware"};

    out[0] = '\0';
    for (size_t i = 0; i < WS_COUNT(name); i++)
        if (slowed & (1u << i)) {
            size_t n = strlen(out);

            snprintf(out + n, 32 - n, "%s%s", n ? ", " : "", name[i]);
        }
}

uint64_t ws__device_clock(const struct ws__device *d)
{
    return d->ops && d->ops->clock ? d->ops->clock(d->self) : ws__now_ns();
}
