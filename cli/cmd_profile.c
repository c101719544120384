/* cmd_profile.c: what holds a kernel back, with numbers, for people. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text -----------------------------------------------------------------
 */

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

/* Where the ceilings are from, and of when. */
static void print_roof(const struct ws_profile *p)
{
    char when[32];

    if (p->roof_ns)
        printf("ceilings: measured %s on %s\n", cli_when(p->roof_ns, when),
               p->roof);
    else
        printf("ceilings: none was measured on this device with this driver "
               "('wavesmith roof' does)\n");
}

static void print_bytes(const struct ws_profile *p)
{
    print_ceiling("bytes", p->bytes, "B", p->bytes_ns, p->bytes_by,
                  p->bytes_from);
    if (p->cached_bytes > 0 && p->cached_bytes < p->bytes)
        printf("             of them %.4g B in the last cache, at l2 (%s)\n",
               p->cached_bytes, p->cached_from);
    if (p->bytes < p->declared_bytes)
        printf("             of %.4g declared: the inputs name rows twice\n",
               p->declared_bytes);
}

static void print_floor(const struct ws_profile *p)
{
    printf("floor: %s%s\n",
           isnan(p->floor_ns) ? "not known: no ceiling of this device is"
                              : cli_time(p->floor_ns),
           !isnan(p->floor_ns) && p->partly
               ? ", and more: some of it has no ceiling here"
               : "");
    print_bytes(p);
    print_ceiling("operations", p->flops, "flop", p->flops_ns, p->flops_by,
                  p->flops_from);
    if (isnan(p->launch_ns))
        printf("  launches   not in it, and their cost is not known here\n");
    else
        printf("  launches   not in it: %s (%s)\n", cli_time(p->launch_ns),
               p->launch_from);
    print_roof(p);
    if (!isnan(p->gap))
        printf("gap: %.3g times the floor%s\n", p->gap,
               p->partly ? " as far as it is known" : "");
    if (!isnan(p->gap) && p->nlaunch == 1 && p->launch_ns > 0)
        printf("     %.3g times floor and launch\n",
               p->time_ns / (p->floor_ns + p->launch_ns));
}

static void print_move(const struct ws_profile_move *m)
{
    char text[64];

    printf("    try: %s; should %s %s", m->name, m->up ? "raise" : "lower",
           m->metric.key);
    if (!isnan(m->metric.value))
        printf(" (now %s)", shown(&m->metric, text));
    if (strchr(m->metric.about, '_')) /* a counter's name */
        printf("\n         %s", m->metric.about);
    printf("\n");
}

static void print_finding(const struct ws_profile_finding *f)
{
    char text[64];

    printf("- %s [%s, %s]\n", f->text, f->key, f->bound);
    for (size_t i = 0; i < f->nevidence; i++)
        printf("    %-16s %-12s %s\n", f->evidence[i].key,
               shown(&f->evidence[i], text), f->evidence[i].about);
    for (size_t i = 0; i < f->nmove; i++)
        print_move(&f->move[i]);
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

static const char *count_of(double v, char out[24])
{
    snprintf(out, 24, isnan(v) ? "-" : "%.0f", v);
    return out;
}

static bool same_launch(const struct ws_profile_launch *a,
                        const struct ws_profile_launch *b)
{
    return !strcmp(a->entry, b->entry) &&
           !memcmp(a->grid, b->grid, sizeof(a->grid)) &&
           !memcmp(a->block, b->block, sizeof(a->block));
}

/* A row for each entry, grid and block; "-": not known. */
static void print_launches(const struct ws_profile *p)
{
    printf("%-24s %9s %6s %9s %8s %7s %6s  %s\n", "launch", "blocks", "regs",
           "shared", "local", "of unit", "waves", "limited by");
    for (size_t i = 0, next; i < p->nlaunch; i = next) {
        const struct ws_profile_launch *l = &p->launch[i];
        double blocks =
            (double)l->grid[0] * (double)l->grid[1] * (double)l->grid[2];
        char name[64], t[5][24];

        for (next = i + 1;
             next < p->nlaunch && same_launch(l, &p->launch[next]); next++)
            ;
        snprintf(name, sizeof(name), next > i + 1 ? "%.40s x %zu" : "%.48s",
                 l->entry, next - i);
        snprintf(t[4], sizeof(t[4]), isnan(l->waves) ? "-" : "%.2f", l->waves);
        printf("%-24s %9.0f %6s %9s %8s %7s %6s  %s\n", name, blocks,
               count_of(l->registers, t[0]), count_of(l->shared_bytes, t[1]),
               count_of(l->local_bytes, t[2]),
               count_of(l->blocks_per_unit, t[3]), t[4], l->limiter);
    }
}

static void print_resources(const struct ws_profile *p)
{
    print_launches(p);
    print_mix(p);
    if (p->scaled_axis)
        printf("with %s=%lld: %s; %.0f %% of the time are fixed, the rest "
               "goes with the work\n",
               p->scaled_axis, (long long)p->scaled_to, cli_time(p->scaled_ns),
               100 * p->fixed_ns / p->time_ns);
}

/* A line for each thing that is missing. */
static void print_blind(const struct ws_profile *p)
{
    for (size_t i = 0; i < p->nblind; i++) {
        const char *needs = p->blind[i].needs;
        bool told = false;

        for (size_t k = 0; k < i; k++)
            told = told || !strcmp(needs, p->blind[k].needs);
        if (told)
            continue;
        printf("not looked at without %s:", needs);
        for (size_t k = i, column = 80; k < p->nblind; k++) {
            size_t n = strlen(p->blind[k].key) + 1;

            if (strcmp(needs, p->blind[k].needs) != 0)
                continue;
            column += n;
            if (column > 79) {
                printf("\n ");
                column = n + 1;
            }
            printf(" %s", p->blind[k].key);
        }
        printf("\n");
    }
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

/* ---- the command ----------------------------------------------------------
 */

static int show(struct cli *c, struct ws_spec *spec,
                const struct ws_profile_opts *o)
{
    struct ws_profile p;
    int rc;

    if (ws_profile(spec, o, &p) < 0)
        return cli_error(c);
    rc = c->json ? cli_json(c, cli_profile_json(&p)) : EXIT_DONE;
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
        CLI_OPT_WORKLOADS(workloads),
        {"kernel", "NAME|FILE", "one of several, or a kernel file for the op",
         CLI_KERNEL, &kernels},
        {"device", "D",
         "as 'wavesmith devices' names it, or record:..., replay:...", CLI_TEXT,
         &o.device},
        {"cache", "MODE", "cold or warm; else as the op says", CLI_TEXT,
         &o.cache},
        CLI_OPT_LAUNCH(o.launch),
        {"set", "SET", "counters: one (pass), full or none; else full",
         CLI_TEXT, &o.set},
        {"ncu", "FILE", "counters from what 'ncu --csv --page raw' wrote",
         CLI_TEXT, &o.ncu},
        {"ncu-cache", "MODE", "its --cache-control: all or none", CLI_TEXT,
         &o.ncu_cache},
        CLI_OPT_RUN_LIMIT(o.run_limit_ns),
        {"seed", "N", "of the inputs", CLI_U64, &o.seed},
        CLI_OPT_TRUST(trust),
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_spec *spec;
    const char *pos[1];
    int npos,
        rc = cli_parse(c, &cli_cmd_profile, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    o.trust_python = trust;
    o.kernel = kernels.name;
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
