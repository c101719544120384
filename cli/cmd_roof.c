/* cmd_roof.c: what a device reaches at most, measured and kept. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

/* ---- JSON ---------------------------------------------------------------- */

static json_t *known(double v)
{
    return v > 0 ? cli_real(v) : json_null();
}

static json_t *ceiling_json(const struct ws_ceiling *x)
{
    json_t *j = json_object();

    cli_put(j, "ceiling", cli_text(x->key));
    cli_put(j, "unit", cli_text(x->unit));
    cli_put(j, "about", cli_text(x->about));
    cli_put(j, "value", known(x->value));
    if (!x->known) {
        cli_put(j, "why", cli_text(x->why));
        return j;
    }
    cli_put(j, "lo", cli_real(x->lo));
    cli_put(j, "hi", cli_real(x->hi));
    cli_put(j, "samples", json_integer(x->samples));
    cli_put(j, "mhz", x->mhz ? json_integer(x->mhz) : json_null());
    cli_put(j, "slowed", cli_text(x->slowed));
    cli_put(j, "sustained", known(x->sustained));
    if (x->sustained > 0) {
        cli_put(j, "sustained_mhz",
                x->sustained_mhz ? json_integer(x->sustained_mhz)
                                 : json_null());
        cli_put(j, "sustained_slowed", cli_text(x->sustained_slowed));
    }
    cli_put(j, "sheet", known(x->sheet));
    cli_put(j, "share_of_sheet",
            x->sheet > 0 ? cli_real(x->value / x->sheet) : json_null());
    return j;
}

static json_t *to_json(const struct ws_roof *r)
{
    json_t *j = json_object(), *all = json_array();

    cli_put(j, "device", cli_text(r->device));
    cli_put(j, "driver", cli_text(r->driver));
    cli_put(j, "compiler", cli_text(r->compiler));
    cli_put(j, "hash", cli_text(r->hash));
    cli_put(j, "measured_ns", json_integer((json_int_t)r->measured_ns));
    cli_put(j, "file", r->file[0] ? cli_text(r->file) : json_null());
    cli_put(j, "sheet", r->sheet[0] ? cli_text(r->sheet) : json_null());
    for (size_t i = 0; i < r->n; i++)
        json_array_append_new(all, ceiling_json(&r->ceiling[i]));
    cli_put(j, "ceilings", all);
    return j;
}

/* ---- text ---------------------------------------------------------------- */

/* "4.35 TB/s", "798 Tflop/s", "3.42 us". */
static const char *quantity(const struct ws_ceiling *x, double v, char out[32])
{
    static const char prefix[] = " kMGTP";
    size_t i = 0;

    if (!strcmp(x->unit, "ns"))
        return cli_time(v);
    for (; v >= 1000 && prefix[i + 1]; i++)
        v /= 1000;
    snprintf(out, 32, "%.*f %.*s%s",
             v < 10    ? 2
             : v < 100 ? 1
                       : 0,
             v, i ? 1 : 0, &prefix[i], x->unit);
    return out;
}

static void print_ceiling(const struct ws_ceiling *x)
{
    char value[32], lo[32], hi[32], share[16] = "-", mhz[16] = "-";

    if (!x->known) {
        printf("%-12s %-12s %s\n", x->key, "unknown", x->why);
        return;
    }
    if (x->sheet > 0)
        snprintf(share, sizeof(share), "%.0f%%", 100 * x->value / x->sheet);
    if (x->mhz)
        snprintf(mhz, sizeof(mhz), "%u", x->mhz);
    printf("%-12s %-12s %-12s %-12s %6s %5s  %s\n", x->key,
           quantity(x, x->value, value), quantity(x, x->lo, lo),
           quantity(x, x->hi, hi), share, mhz, x->about);
    if (x->slowed[0])
        printf("%-12s slowed: %s\n", "", x->slowed);
    if (x->sustained > 0)
        printf("%-12s %-12s at full load for a while%s%s%s\n", "",
               quantity(x, x->sustained, value),
               x->sustained_slowed[0] ? ", slowed (" : "", x->sustained_slowed,
               x->sustained_slowed[0] ? ")" : "");
}

static void print(const struct ws_roof *r)
{
    char day[32];

    printf("%s\n%s; %s\nmeasured %s%s%s\n\n", r->device, r->driver, r->compiler,
           cli_when(r->measured_ns, day), r->file[0] ? ", kept in " : "",
           r->file);
    printf("%-12s %-12s %-12s %-12s %6s %5s\n", "ceiling", "value", "from",
           "to", "sheet", "MHz");
    for (size_t i = 0; i < r->n; i++)
        print_ceiling(&r->ceiling[i]);
    if (r->sheet[0])
        printf("\nsheet: share of the data sheet's figure (%s)\n", r->sheet);
}

static void on_progress(void *user, const char *key)
{
    const struct cli *c = user;

    if (c->verbose)
        fprintf(stderr, "wavesmith: measuring %s\n", key);
}

static int run(struct cli *c, int argc, char **argv)
{
    struct ws_roof_opts o = {.size = sizeof(o),
                             .progress = on_progress,
                             .user = c};
    bool quick = false, show = false;
    const struct cli_opt opts[] = {
        {"device", "D", "as 'wavesmith devices' names it; else the first",
         CLI_TEXT, &o.device},
        {"quick", NULL, "fewer samples and ways: seconds, and rougher",
         CLI_FLAG, &quick},
        {"show", NULL, "measure nothing: what was measured before", CLI_FLAG,
         &show},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_roof r;
    int npos,
        rc = cli_parse(c, &cli_cmd_roof, opts, argc, argv, NULL, 0, 0, &npos);

    if (rc >= 0)
        return rc;
    if (quick && show)
        return cli_usage(c, "leave one out",
                         "--quick measures, --show does not");
    o.quick = quick;
    o.show = show;
    if (ws_roof(c->ctx, &o, &r) < 0)
        return cli_error(c);
    if (c->json)
        return cli_json(c, to_json(&r));
    print(&r);
    return EXIT_DONE;
}

const struct cli_cmd cli_cmd_roof = {
    "roof", "[options]", "measure what a device reaches at most",
    "Measures the bandwidth of memory, cache and shared memory, the rates of "
    "vector and\nmatrix units and what a launch costs, with kernels whose "
    "results are checked, and keeps\nthem for the diagnosis ('wavesmith "
    "profile'): in WAVESMITH_DATA, else in the user's data\nfolder, for the "
    "device with its driver and compiler. What the device does not have is\n"
    "unknown, with the reason.",
    run};
