/* cmd_profile.c: what holds a kernel back, with numbers. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON
 * ---------------------------------------------------------------------- */

/* What is missing is null. */
static json_t *number(double v)
{
    return isnan(v) ? json_null() : cli_real(v);
}

static json_t *values(const struct ws_profile_value *v, size_t n)
{
    json_t *j = json_object();

    for (size_t i = 0; i < n; i++)
        cli_put(j, v[i].key, number(v[i].value));
    return j;
}

static json_t *finding(const struct ws_profile_finding *f)
{
    json_t *j = json_object(), *moves = json_array();

    cli_put(j, "rule", cli_text(f->key));
    cli_put(j, "text", cli_text(f->text));
    cli_put(j, "bound", cli_text(f->bound));
    cli_put(j, "evidence", values(f->evidence, f->nevidence));
    for (size_t i = 0; i < f->nmove; i++) {
        json_t *m = json_object();

        cli_put(m, "id", json_integer(f->move[i].id));
        cli_put(m, "transformation", cli_text(f->move[i].name));
        cli_put(m, "metric", cli_text(f->move[i].metric));
        cli_put(m, "direction", cli_text(f->move[i].up ? "up" : "down"));
        json_array_append_new(moves, m);
    }
    cli_put(j, "suggestions", moves);
    return j;
}

static json_t *floor_json(const struct ws_profile *p)
{
    json_t *j = json_object();

    cli_put(j, "bytes", number(p->bytes));
    cli_put(j, "declared_bytes", number(p->declared_bytes));
    cli_put(j, "flops", number(p->flops));
    cli_put(j, "bytes_ns", number(p->bytes_ns));
    cli_put(j, "bytes_ceiling", cli_text(p->bytes_by));
    cli_put(j, "bytes_from", cli_text(p->bytes_from));
    cli_put(j, "flops_ns", number(p->flops_ns));
    cli_put(j, "flops_ceiling", cli_text(p->flops_by));
    cli_put(j, "flops_from", cli_text(p->flops_from));
    cli_put(j, "ns", number(p->floor_ns));
    cli_put(j, "launch_ns", number(p->launch_ns));
    cli_put(j, "partly_known", json_boolean(p->partly));
    cli_put(j, "roof", cli_text(p->roof));
    return j;
}

static json_t *resources_json(const struct ws_profile *p)
{
    json_t *j = json_object();

    cli_put(j, "registers", json_integer(p->registers));
    cli_put(j, "spill_bytes", json_integer(p->spill_bytes));
    cli_put(j, "shared_bytes", json_integer(p->shared_bytes));
    cli_put(j, "private_bytes", json_integer(p->private_bytes));
    cli_put(j, "blocks_per_unit", json_integer(p->blocks_per_unit));
    cli_put(j, "limiter", cli_text(p->limiter));
    cli_put(j, "instructions", p->nmix ? values(p->mix, p->nmix) : json_null());
    cli_put(j, "instructions_missing", cli_text(p->mix_why));
    return j;
}

static json_t *launches_json(const struct ws_profile *p)
{
    json_t *all = json_array();

    for (size_t i = 0; i < p->nlaunch; i++) {
        const struct ws_profile_launch *l = &p->launch[i];
        json_t *j = json_object(), *grid = json_array(), *block = json_array();

        for (int d = 0; d < 3; d++) {
            json_array_append_new(grid, json_integer((json_int_t)l->grid[d]));
            json_array_append_new(block, json_integer(l->block[d]));
        }
        cli_put(j, "entry", cli_text(l->entry));
        cli_put(j, "grid",
                l->grid[0] ? grid : (json_decref(grid), json_null()));
        cli_put(j, "block",
                l->block[0] ? block : (json_decref(block), json_null()));
        cli_put(j, "counters", values(l->counter, l->ncounter));
        json_array_append_new(all, j);
    }
    return all;
}

static json_t *scaled_json(const struct ws_profile *p)
{
    json_t *j;

    if (!p->scaled_axis)
        return json_null();
    j = json_object();
    cli_put(j, "axis", cli_text(p->scaled_axis));
    cli_put(j, "value", json_integer((json_int_t)p->scaled_to));
    cli_put(j, "ns", number(p->scaled_ns));
    cli_put(j, "fixed_ns", number(p->fixed_ns));
    return j;
}

static json_t *blind_json(const struct ws_profile *p)
{
    json_t *all = json_array();

    for (size_t i = 0; i < p->nblind; i++) {
        json_t *j = json_object();

        cli_put(j, "rule", cli_text(p->blind[i].key));
        cli_put(j, "missing", cli_text(p->blind[i].missing));
        json_array_append_new(all, j);
    }
    return all;
}

static void put_subject(json_t *j, const struct ws_profile *p)
{
    cli_put(j, "kernel", cli_text(p->kernel));
    cli_put(j, "config", cli_text(p->config));
    cli_put(j, "config_from", cli_text(p->config_from));
    cli_put(j, "workload", cli_text(p->workload));
    cli_put(j, "device", cli_text(p->device));
    cli_put(j, "verdict", cli_text(p->verdict));
    cli_put(j, "reason", cli_text(p->reason));
    cli_put(j, "candidate", cli_text(p->candidate));
    cli_put(j, "binary", cli_text(p->binary));
    cli_put(j, "cache", cli_text(p->cache));
}

static json_t *to_json(const struct ws_profile *p)
{
    json_t *j = json_object(), *found = json_array();

    put_subject(j, p);
    cli_put(j, "time_ns", number(p->time_ns));
    cli_put(j, "time_lo_ns", number(p->lo_ns));
    cli_put(j, "time_hi_ns", number(p->hi_ns));
    cli_put(j, "gap", number(p->gap));
    cli_put(j, "floor", floor_json(p));
    cli_put(j, "bound", cli_text(p->bound));
    cli_put(j, "bound_text", cli_text(p->bound_text));
    for (size_t i = 0; i < p->nfinding; i++)
        json_array_append_new(found, finding(&p->finding[i]));
    cli_put(j, "findings", found);
    cli_put(j, "stalls", values(p->stall, p->nstall));
    cli_put(j, "facts", values(p->fact, p->nfact));
    cli_put(j, "not_looked_at", blind_json(p));
    cli_put(j, "resources", resources_json(p));
    cli_put(j, "scaled", scaled_json(p));
    cli_put(j, "counters_from", cli_text(p->counters));
    cli_put(j, "counters_note", cli_text(p->counters_why));
    cli_put(j, "passes", p->passes ? json_integer(p->passes) : json_null());
    cli_put(j, "launches", launches_json(p));
    return j;
}

/* ---- text
 * ------------------------------------------------------------------------ */

static const char *shown(const struct ws_profile_value *v, char out[64])
{
    if (!strcmp(v->unit, "share"))
        snprintf(out, 64, "%.1f %%", 100 * v->value);
    else if (!strcmp(v->unit, "ns"))
        snprintf(out, 64, "%s", cli_time(v->value));
    else
        snprintf(out, 64, "%.3g%s%s", v->value, v->unit[0] ? " " : "", v->unit);
    return out;
}

static void print_ceiling(const char *what, double amount, const char *unit,
                          double ns, const char *by, const char *from)
{
    if (isnan(amount))
        return;
    printf("  %-10s %.4g %s", what, amount, unit);
    if (isnan(ns))
        printf(", no ceiling known (%s)\n", by);
    else
        printf(" take %s at %s (%s)\n", cli_time(ns), by, from);
}

static void print_floor(const struct ws_profile *p)
{
    printf("floor: %s\n", isnan(p->floor_ns) ? "not known: no ceiling of this "
                                               "device is"
                                             : cli_time(p->floor_ns));
    print_ceiling("bytes", p->bytes, "B", p->bytes_ns, p->bytes_by,
                  p->bytes_from);
    if (p->bytes < p->declared_bytes)
        printf("             of %.4g declared: the inputs name rows twice\n",
               p->declared_bytes);
    print_ceiling("operations", p->flops, "flop", p->flops_ns, p->flops_by,
                  p->flops_from);
    if (isnan(p->launch_ns))
        printf("  launches   not in it, and their cost is not known here\n");
    else
        printf("  launches   not in it: %s\n", cli_time(p->launch_ns));
    if (!isnan(p->gap))
        printf("gap: %.3g times the floor\n", p->gap);
}

static void print_finding(const struct ws_profile_finding *f)
{
    char text[64];

    printf("- %s [%s, %s]\n", f->text, f->key, f->bound);
    for (size_t i = 0; i < f->nevidence; i++)
        printf("    %-16s %-12s %s\n", f->evidence[i].key,
               shown(&f->evidence[i], text), f->evidence[i].about);
    for (size_t i = 0; i < f->nmove; i++)
        printf("    try: %s (%u); should %s %s\n", f->move[i].name,
               f->move[i].id, f->move[i].up ? "raise" : "lower",
               f->move[i].metric);
}

static void print_mix(const struct ws_profile *p)
{
    if (p->mix_why)
        printf("instructions: not known: %s\n", p->mix_why);
    if (!p->nmix)
        return;
    printf("instructions of the binary:");
    for (size_t i = 0; i < p->nmix; i++)
        if (p->mix[i].value > 0)
            printf(" %s %.0f", p->mix[i].key, p->mix[i].value);
    printf("\n");
}

static void print_resources(const struct ws_profile *p)
{
    if (p->registers)
        printf("resources: %u registers, %u bytes of local memory a thread, "
               "%u bytes of shared memory a block\n",
               p->registers, p->spill_bytes, p->shared_bytes);
    else
        printf("resources: not told by the device's compiler\n");
    if (p->blocks_per_unit)
        printf("  a unit holds %u block%s; limited by: %s\n",
               p->blocks_per_unit, p->blocks_per_unit == 1 ? "" : "s",
               p->limiter);
    print_mix(p);
    if (p->scaled_axis)
        printf("with %s=%lld: %s; %s of the time would not shrink further\n",
               p->scaled_axis, (long long)p->scaled_to, cli_time(p->scaled_ns),
               cli_time(p->fixed_ns));
}

static void print_blind(const struct ws_profile *p)
{
    if (!p->nblind)
        return;
    printf("not looked at, since this is missing:\n");
    for (size_t i = 0; i < p->nblind; i++)
        printf("  %-20s %s\n", p->blind[i].key, p->blind[i].missing);
}

static void print(const struct ws_profile *p)
{
    char text[64];

    printf("%s  %s (%s)\n  on %s, %s, %s cache\n", p->kernel, p->config,
           p->config_from, p->workload, p->device, p->cache);
    printf("  candidate %s, binary %s\n", p->candidate,
           p->binary ? p->binary : "not known");
    printf("verdict: %s%s%s\n", p->verdict, p->reason ? ": " : "",
           p->reason ? p->reason : "");
    if (strcmp(p->verdict, "ok") != 0)
        return;
    printf("time: %s (95 %%: %s to %s)\n", cli_time(p->time_ns),
           cli_time(p->lo_ns), cli_time(p->hi_ns));
    print_floor(p);
    printf("bound: %s: %s\n", p->bound, p->bound_text);
    for (size_t i = 0; i < p->nfinding; i++)
        print_finding(&p->finding[i]);
    if (p->nstall)
        printf("stalls:");
    for (size_t i = 0; i < p->nstall; i++)
        printf("%s %s %s", i ? "," : "", p->stall[i].key,
               shown(&p->stall[i], text));
    printf("%s", p->nstall ? "\n" : "");
    print_resources(p);
    printf("counters: %s%s%s\n", p->counters, p->counters_why[0] ? ": " : "",
           p->counters_why);
    print_blind(p);
}

/* ---- the command
 * --------------------------------------------------------------------- */

static const char *find_disassembler(char *out, size_t n)
{
    static const char *const names[] = {"cuobjdump", "nvdisasm"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (cli_find_program(names[i], out, n))
            return out;
    return NULL;
}

static int show(struct cli *c, struct ws_spec *spec,
                const struct ws_profile_opts *o)
{
    struct ws_profile p;
    int rc;

    if (ws_profile(spec, o, &p) < 0)
        return cli_error(c);
    rc = c->json ? cli_json(c, to_json(&p)) : EXIT_DONE;
    if (!c->json)
        print(&p);
    return rc == EXIT_DONE && strcmp(p.verdict, "ok") != 0 ? EXIT_NEGATIVE : rc;
}

static int run(struct cli *c, int argc, char **argv)
{
    struct ws_profile_opts o = {.size = sizeof(o)};
    const char *workloads = NULL;
    bool trust = false;
    struct cli_kernels kernels = {0};
    const struct cli_opt opts[] = {
        {"config", "K=V,...",
         "over the default config; else the best that the store knows",
         CLI_TEXT, &o.config},
        {"workload", "AXES", "M=1,N=64,... or a name; else the first", CLI_TEXT,
         &o.workload},
        {"workloads", "FILE", "the shapes, instead of the op's own", CLI_TEXT,
         &workloads},
        {"kernel", "NAME|FILE", "one of several, or a kernel file for the op",
         CLI_KERNEL, &kernels},
        {"device", "D",
         "as 'wavesmith devices' names it, or record:..., replay:...", CLI_TEXT,
         &o.device},
        {"cache", "MODE", "cold or warm; else as the op says", CLI_TEXT,
         &o.cache},
        {"launch", "MODE", "stream, or graph: recorded once, then replayed",
         CLI_TEXT, &o.launch},
        {"set", "SET", "counters: one (pass) or full; else full", CLI_TEXT,
         &o.set},
        {"ncu", "FILE", "counters from what 'ncu --csv --page raw' wrote",
         CLI_TEXT, &o.ncu},
        {"ncu-cache", "MODE", "its --cache-control: all or none", CLI_TEXT,
         &o.ncu_cache},
        {"run-limit", "TIME",
         "a launch that takes longer hangs (default: at most 20s)", CLI_TIME,
         &o.run_limit_ns},
        {"seed", "N", "of the inputs", CLI_U64, &o.seed},
        {"trust-python", NULL, "let the op's reference run if it is Python",
         CLI_FLAG, &trust},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_spec *spec;
    char tool[4096];
    const char *pos[1];
    int npos,
        rc = cli_parse(c, &cli_cmd_profile, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    o.trust_python = trust;
    o.kernel = kernels.name;
    o.disassembler = find_disassembler(tool, sizeof(tool));
    rc = cli_open(c, pos[0], workloads, &kernels, &spec);
    if (rc)
        return rc;
    rc = show(c, spec, &o);
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_profile = {
    "profile", "SPEC [options]", "say what holds one config back",
    "SPEC is a kernel file, an op folder, the name of a shipped op, or a "
    "Definition of\nflashinfer-bench.\n"
    "Judges, times and counts one config on one workload, compares the time "
    "with the least\nthat the op can take on the device, and says what holds "
    "it back, by which numbers, and\nwhat may help. Where there are no "
    "counters it says what could not be looked at. Exit\ncode 1 if the "
    "verdict is not ok.",
    run};
