/* plan_devices.c: the list of devices at the public interface. */
#include "plan/plan.h"

#include "base/banned.h"

static void copy_text(char *to, size_t n, const char *from)
{
    snprintf(to, n, "%s", from);
}

static void convert(const struct ws__device_info *d, struct ws_device_info *o)
{
    const struct ws__device_ops *ops;

    copy_text(o->name, sizeof(o->name), d->name);
    copy_text(o->family, sizeof(o->family), d->id.family);
    copy_text(o->reason, sizeof(o->reason), d->reason);
    copy_text(o->device, sizeof(o->device), d->id.device);
    copy_text(o->driver, sizeof(o->driver), d->id.driver);
    copy_text(o->compiler, sizeof(o->compiler), d->id.compiler);
    copy_text(o->extra, sizeof(o->extra), d->extra);
    copy_text(o->place, sizeof(o->place), d->place);
    ops = ws__device_find(d->id.family);
    o->by_name = ops && ops->by_name;
    o->usable = d->usable;
    o->units = d->id.units;
    o->max_threads = d->id.max_threads;
    o->vector_bytes = d->id.vector_bytes;
    o->memory_bytes = d->id.memory_bytes;
    o->max_alloc_bytes = d->max_alloc_bytes;
    o->cache_bytes = d->id.cache_bytes;
    o->shared_bytes = d->id.shared_bytes;
    o->is_cpu = d->id.is_cpu;
}

bool ws__plan_capability(const struct ws__device_info *d, int *major,
                         int *minor)
{
    const char *at = strstr(d->extra, "compute capability: ");

    return at && sscanf(at, "compute capability: %d.%d", major, minor) == 2;
}

int ws_devices_list(struct ws_ctx *ctx, struct ws_device_info **list, size_t *n)
{
    struct ws__device_list found = {0};

    *list = NULL;
    *n = 0;
    WS_TRY(ws__device_probe_all(ctx, &found));
    *list = ws__alloc(ctx, found.n ? found.n : 1, sizeof(**list));
    if (*list) {
        *n = found.n;
        for (size_t i = 0; i < found.n; i++)
            convert(&found.item[i], &(*list)[i]);
    }
    ws__free(ctx, found.item);
    return *list ? 0 : WS_ENOMEM;
}

void ws_devices_free(struct ws_ctx *ctx, struct ws_device_info *list)
{
    ws__free(ctx, list);
}
