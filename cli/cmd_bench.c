/*
 * cmd_bench.c: interleaved comparison of two configs, or of every choice of a
 * pack with the kernel's default.
 */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wsrt.h"

static json_t *side_json(const char *kernel, const char *config,
                         const char *verdict, double ns, double lo, double hi)
{
    json_t *j = json_object();

    cli_put(j, "kernel", cli_text(kernel));
    cli_put(j, "config", cli_text(config));
    cli_put(j, "verdict", cli_text(verdict));
    cli_put(j, "median_ns", cli_real(ns));
    cli_put(j, "lo_ns", cli_real(lo));
    cli_put(j, "hi_ns", cli_real(hi));
    return j;
}

static json_t *row_json(const struct ws_bench_row *r)
{
    json_t *j = json_object();

    cli_put(j, "workload", cli_text(r->workload));
    cli_put(j, "a",
            side_json(r->kernel_a, r->config_a, r->verdict_a, r->a_ns,
                      r->a_lo_ns, r->a_hi_ns));
    cli_put(j, "b",
            side_json(r->kernel_b, r->config_b, r->verdict_b, r->b_ns,
                      r->b_lo_ns, r->b_hi_ns));
    cli_put(j, "ratio", cli_real(r->ratio));
    cli_put(j, "ratio_lo", cli_real(r->ratio_lo));
    cli_put(j, "ratio_hi", cli_real(r->ratio_hi));
    cli_put(j, "samples", json_integer((json_int_t)r->samples));
    cli_put(j, "a_mhz", json_integer(r->a_mhz));
    cli_put(j, "b_mhz", json_integer(r->b_mhz));
    cli_put(j, "slowed", json_integer(r->slowed));
    cli_put(j, "kept_slowed", cli_text(r->kept_slowed));
    cli_put(j, "reason", cli_text(r->reason));
    return j;
}

static void print_side(const char *name, const char *config,
                       const char *verdict, double ns, double lo, double hi)
{
    printf("  %s  %10s  [%s, %s]  %s  %s\n", name, cli_time(ns), cli_time(lo),
           cli_time(hi), verdict, config);
}

static void print_row(const struct ws_bench_row *r)
{
    printf("%s\n", r->workload);
    print_side("A", r->config_a, r->verdict_a, r->a_ns, r->a_lo_ns, r->a_hi_ns);
    print_side("B", r->config_b, r->verdict_b, r->b_ns, r->b_lo_ns, r->b_hi_ns);
    if (r->reason[0])
        printf("  %s\n", r->reason);
    if (r->ratio > 0)
        printf("  A/B %.3f  95%% interval [%.3f, %.3f], %zu samples each: %s\n",
               r->ratio, r->ratio_lo, r->ratio_hi, r->samples,
               r->ratio_lo > 1   ? "B is faster"
               : r->ratio_hi < 1 ? "A is faster"
                                 : "no difference that can be told");
    if (r->slowed)
        printf("  %u rounds were thrown away: the device was slowed\n",
               r->slowed);
    if (r->kept_slowed[0])
        printf("  the device was slowed all the time (%s): samples are of "
               "that\n",
               r->kept_slowed);
}

/* One comparison; *negative is set if there is none or B does not win. */
static int one(struct cli *c, struct ws_spec *spec, const struct ws_run_opts *o,
               const char *against, json_t *rows, bool *negative)
{
    struct ws_bench_row r;

    if (ws_bench(spec, o, against, &r) < 0)
        return cli_error(c);
    if (r.ratio <= 0)
        *negative = true;
    if (c->json)
        json_array_append_new(rows, row_json(&r));
    else
        print_row(&r);
    return EXIT_DONE;
}

/* "K=V,..." of a variant into out (cut if it is longer). */
static void config_text(const struct wsrt_pack *p, uint32_t variant, char *out,
                        size_t n)
{
    uint32_t k = wsrt_variant_kernel(p, variant);
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < wsrt_param_count(p, k) && used < n; i++) {
        snprintf(out + used, n - used, "%s%s=%s", i ? "," : "",
                 wsrt_param_name(p, k, i), wsrt_param_text(p, variant, i));
        used = strlen(out);
    }
}

static int pack_entry(struct cli *c, struct ws_spec *spec,
                      const struct wsrt_pack *p, const struct wsrt_pick *pick,
                      const char *workload, struct ws_run_opts o,
                      const char *against, json_t *rows, bool *negative)
{
    char chosen[1024];
    uint32_t k = wsrt_variant_kernel(p, pick->variant);

    config_text(p, pick->variant, chosen, sizeof(chosen));
    o.kernel = wsrt_kernel_name(p, k);
    o.workload = workload;
    o.config = against; /* A; NULL: the default */
    return one(c, spec, &o, chosen, rows, negative);
}

/* A shape as "M=1,N=64,T=float32", as specifications read it. */
static void shape_text(const struct wsrt_pack *p, const int64_t *v, char *out,
                       size_t n)
{
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < wsrt_axis_count(p) && used < n; i++) {
        const char *t = wsrt_axis_value_text(p, i, v[i]);

        snprintf(out + used, n - used, t ? "%s%s=%s" : "%s%s=%.0s%lld",
                 i ? "," : "", wsrt_axis_name(p, i), t ? t : "",
                 (long long)v[i]);
        used = strlen(out);
    }
}

/* The pack's answer for one shape, tuned or not. */
static int bench_shape(struct cli *c, struct ws_spec *spec,
                       const struct wsrt_pack *p, const struct ws_run_opts *o,
                       const char *against, json_t *rows, bool *negative)
{
    int64_t axes[WSRT_MEMO_AXES] = {0};
    const char *word = o->workload;
    struct wsrt_pick pick;
    char text[1024];
    int rc = cli_pack_axes(c, p, &word, 1, axes);

    if (rc >= 0)
        return rc;
    rc = wsrt_pick(p, axes, &pick);
    if (rc != WSRT_OK)
        return cli_usage(c, NULL, "the pack has no choice for '%s': %s",
                         o->workload, wsrt_status_text(rc));
    shape_text(p, axes, text, sizeof(text));
    return pack_entry(c, spec, p, &pick, text, *o, against, rows, negative);
}

static int bench_entries(struct cli *c, struct ws_spec *spec,
                         const struct wsrt_pack *p, const struct ws_run_opts *o,
                         const char *against, json_t *rows, bool *negative)
{
    int rc = EXIT_DONE;

    for (uint32_t e = 0; e < wsrt_entry_count(p) && rc == EXIT_DONE; e++) {
        struct wsrt_pick pick;
        char text[1024];

        wsrt_entry(p, e, &pick);
        shape_text(p, wsrt_entry_axes(p, e), text, sizeof(text));
        rc = pack_entry(c, spec, p, &pick, text, *o, against, rows, negative);
    }
    return rc;
}

static int bench_pack(struct cli *c, const char *path,
                      const struct ws_run_opts *o, const char *against,
                      json_t *rows, bool *negative)
{
    struct wsrt_pack *p = NULL;
    struct ws_spec *spec = NULL;
    char reason[256];
    int rc;

    if (ws_spec_from_pack(c->ctx, path, &spec) < 0)
        return cli_error(c);
    if (wsrt_open(path, &p, reason, sizeof(reason)) != WSRT_OK)
        rc = cli_usage(c, NULL, "cannot use '%s': %s", path, reason);
    else if (o->workload)
        rc = bench_shape(c, spec, p, o, against, rows, negative);
    else
        rc = bench_entries(c, spec, p, o, against, rows, negative);
    wsrt_close(p);
    ws_spec_free(spec);
    return rc;
}

static int bench_spec(struct cli *c, const char *path, const char *workloads,
                      const struct cli_kernels *kernels,
                      const struct ws_run_opts *o, const char *against,
                      json_t *rows, bool *negative)
{
    struct ws_run_opts a = *o;
    struct ws_spec *spec;
    int rc;

    rc = cli_open(c, path, workloads, kernels, &spec);
    if (rc)
        return rc;
    a.config = against;
    rc = one(c, spec, &a, o->config, rows, negative);
    ws_spec_free(spec);
    return rc;
}

static bool is_pack(const char *path)
{
    size_t n = strlen(path);

    return n > 7 && !strcmp(path + n - 7, ".wspack");
}

static int run(struct cli *c, int argc, char **argv)
{
    struct ws_run_opts o = {.size = sizeof(o)};
    const char *against = NULL, *workloads = NULL, *pos[1];
    bool trust = false;
    struct cli_kernels kernels = {0};
    const struct cli_opt opts[] = {
        {"against", "K=V,...", "A: the config compared with; else the default",
         CLI_TEXT, &against},
        {"config", "K=V,...", "B: over the default (a pack: its choice)",
         CLI_TEXT, &o.config},
        {"workload", "AXES",
         "M=1,N=64,... or a name; else the first (a pack: "
         "all)",
         CLI_TEXT, &o.workload},
        CLI_OPT_WORKLOADS(workloads),
        {"kernel", "NAME|FILE", "one of several, or a kernel file for the op",
         CLI_KERNEL, &kernels},
        {"device", "D", "as 'wavesmith devices' names it", CLI_TEXT, &o.device},
        CLI_OPT_CACHE(o.cache),
        CLI_OPT_LAUNCH(o.launch),
        CLI_OPT_RUN_LIMIT(o.run_limit_ns),
        {"seed", "N", "of the inputs", CLI_U64, &o.seed},
        CLI_OPT_TRUST(trust),
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    bool negative = false;
    json_t *rows;
    int npos,
        rc = cli_parse(c, &cli_cmd_bench, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    o.trust_python = trust;
    if (is_pack(pos[0]) && kernels.nfile)
        return cli_usage(c, "a pack carries its kernels",
                         "'%s' cannot take a kernel file", pos[0]);
    o.kernel = kernels.name;
    rows = c->json ? json_array() : NULL;
    rc = is_pack(pos[0]) ? bench_pack(c, pos[0], &o, against, rows, &negative)
                         : bench_spec(c, pos[0], workloads, &kernels, &o,
                                      against, rows, &negative);
    if (rc == EXIT_DONE && c->json) {
        json_t *doc = json_object();

        cli_put(doc, "rows", rows);
        rc = cli_json(c, doc);
        return rc ? rc : negative ? EXIT_NEGATIVE : EXIT_DONE;
    }
    json_decref(rows);
    return rc ? rc : negative ? EXIT_NEGATIVE : EXIT_DONE;
}

const struct cli_cmd cli_cmd_bench = {
    "bench", "SPEC|PACK [options]", "compare two configs, interleaved",
    "SPEC is a kernel file, an op folder, the name of a shipped op, or a "
    "Definition of\nflashinfer-bench.\n"
    "A and B are judged, then timed in turn (A B B A); the ratio of their "
    "medians comes\nwith a bootstrap interval. A pack compares each of its "
    "choices with the default.\nExit code 1 if one of the two is not right.",
    run};
