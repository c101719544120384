/* cmd_devices.c: every device found, and every one not usable and why. */
#include "cli.h"

#include <stdio.h>

static json_t *to_json(const struct ws_device_info *d)
{
    json_t *j = json_object();

    cli_put(j, "name", cli_text(d->name));
    cli_put(j, "family", cli_text(d->family));
    cli_put(j, "usable", json_boolean(d->usable));
    if (!d->usable) {
        cli_put(j, "reason", cli_text(d->reason));
        return j;
    }
    cli_put(j, "device", cli_text(d->device));
    cli_put(j, "driver", cli_text(d->driver));
    cli_put(j, "compiler", cli_text(d->compiler));
    cli_put(j, "units", json_integer(d->units));
    cli_put(j, "max_threads", json_integer(d->max_threads));
    cli_put(j, "vector_bytes", json_integer(d->vector_bytes));
    cli_put(j, "memory_bytes", json_integer((json_int_t)d->memory_bytes));
    cli_put(j, "max_alloc_bytes", json_integer((json_int_t)d->max_alloc_bytes));
    cli_put(j, "cache_bytes", json_integer((json_int_t)d->cache_bytes));
    cli_put(j, "shared_bytes", json_integer((json_int_t)d->shared_bytes));
    cli_put(j, "is_cpu", json_boolean(d->is_cpu));
    cli_put(j, "by_name", json_boolean(d->by_name));
    cli_put(j, "extra", cli_text(d->extra));
    cli_put(j, "place", cli_text(d->place));
    return j;
}

static void print(const struct ws_device_info *d)
{
    if (!d->usable) {
        printf("%-10s not usable: %s\n", d->name[0] ? d->name : d->family,
               d->reason);
        return;
    }
    printf("%-10s %s%s\n", d->name, d->device,
           d->by_name ? " (no real one: only when named)" : "");
    printf("           driver   %s\n           compiler %s\n", d->driver,
           d->compiler);
    printf("           %u units, %u threads a block, %.1f KiB shared a block, "
           "vectors of %u bytes%s\n",
           d->units, d->max_threads, (double)d->shared_bytes / 1024,
           d->vector_bytes, d->is_cpu ? ", shares the CPU" : "");
    printf("           memory %.1f GiB (%.1f GiB a buffer)",
           (double)d->memory_bytes / (1 << 30),
           (double)d->max_alloc_bytes / (1 << 30));
    if (d->cache_bytes)
        printf(", cache %.1f MiB\n", (double)d->cache_bytes / (1 << 20));
    else
        printf(", cache of unknown size\n");
    if (d->extra[0])
        printf("           %s\n", d->extra);
}

static int run(struct cli *c, int argc, char **argv)
{
    const struct cli_opt opts[] = {{NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_device_info *list;
    size_t n, usable = 0;
    json_t *doc;
    int npos, rc = cli_parse(c, &cli_cmd_devices, opts, argc, argv, NULL, 0, 0,
                             &npos);

    if (rc >= 0)
        return rc;
    if (ws_devices_list(c->ctx, &list, &n) < 0)
        return cli_error(c);
    doc = c->json ? json_array() : NULL;
    for (size_t i = 0; i < n; i++) {
        usable += list[i].usable && !list[i].by_name;
        if (c->json)
            json_array_append_new(doc, to_json(&list[i]));
        else if (!i || !list[i].by_name || !list[i - 1].by_name)
            print(&list[i]); /* of those for tests one is enough */
    }
    ws_devices_free(c->ctx, list);
    if (c->json)
        rc = cli_json(c, json_pack("{s:o}", "devices", doc));
    else
        rc = EXIT_DONE;
    return rc ? rc : usable ? EXIT_DONE : EXIT_MACHINE;
}

const struct cli_cmd cli_cmd_devices = {
    "devices", "[options]", "what this machine can tune on",
    "Lists every device and every one that is not usable, with the reason.\n"
    "Exit code 3 if none is usable.\n\n"
    "Two more are used only when they are named: --device record:FILE:DEVICE "
    "writes what\nDEVICE is asked and answers into FILE, --device "
    "replay:FILE answers from it without\nthe device (docs/recordings.md).",
    run};
