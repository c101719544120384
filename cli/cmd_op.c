/* cmd_op.c: operators: is the checker of one fit to judge by? */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is(const struct ws_audit_line *l, const char *kind)
{
    return !strcmp(l->kind, kind);
}

/* A line that names a mistake, which rules may or may not reject. */
static bool is_mistake(const struct ws_audit_line *l)
{
    return !is(l, "reference") && !is(l, "values");
}

static json_t *line_json(const struct ws_audit_line *l)
{
    static const char *const ends[] = {"none", "refused", "fine"};
    json_t *j = json_object();

    cli_put(j, "workload", cli_text(l->workload));
    cli_put(j, "kind", cli_text(l->kind));
    cli_put(j, "name", cli_text(l->name));
    cli_put(j, "output", cli_text(*l->tensor ? l->tensor : NULL));
    cli_put(j, "end", cli_text(ends[l->end + 1]));
    if (*l->why)
        cli_put(j, "why", cli_text(l->why));
    if (is_mistake(l) && l->end >= 0) {
        cli_put(j, "rejected", json_boolean(l->end > 0));
        cli_put(j, "error_over_allowed", cli_real(l->share));
        cli_put(j, "rejected_by_flashinfer_bench",
                json_boolean(l->flashinfer_bench));
        cli_put(j, "rejected_by_gpu_mode", json_boolean(l->gpu_mode));
    }
    if (is(l, "values") && l->end > 0 && !*l->why) {
        cli_put(j, "mistakes", json_integer(l->tried));
        cli_put(j, "rejected", json_integer(l->caught));
    }
    return j;
}

static json_t *to_json(const struct ws_audit_report *r)
{
    json_t *j = json_object(), *lines = json_array();

    cli_put(j, "op", cli_text(r->op));
    cli_put(j, "rule", cli_text(r->rule));
    cli_put(j, "reference", cli_text(r->reference));
    cli_put(j, "seed", json_integer((json_int_t)r->seed));
    cli_put(j, "left_out", json_integer((json_int_t)r->left_out));
    cli_put(j, "verdict", cli_text(r->refused ? "refused" : "fit"));
    if (r->reason)
        cli_put(j, "reason", cli_text(r->reason));
    for (size_t i = 0; i < r->nline; i++)
        json_array_append_new(lines, line_json(&r->line[i]));
    cli_put(j, "lines", lines);
    return j;
}

static const char *what(const struct ws_audit_line *l, char out[160])
{
    if (is(l, "input"))
        snprintf(out, 160, "input '%s' of another seed", l->name);
    else if (*l->tensor)
        snprintf(out, 160, "%s: %s", l->tensor, l->name);
    else
        snprintf(out, 160, "%s", l->name);
    return out;
}

static void print_mistake(const struct ws_audit_line *l)
{
    char text[160], share[32];

    if (l->end < 0) {
        printf("  %-50.50s  no mistake here: %s\n", what(l, text), l->why);
        return;
    }
    if (isfinite(l->share))
        snprintf(share, sizeof(share), "%.3g", l->share);
    else
        snprintf(share, sizeof(share), "no number");
    printf("  %-50.50s  %-8s  %13s  %-16s  %s\n", what(l, text),
           l->end ? "yes" : "NO", share, l->flashinfer_bench ? "yes" : "NO",
           l->gpu_mode ? "yes" : "NO");
}

static void print_line(const struct ws_audit_line *l)
{
    if (is_mistake(l))
        print_mistake(l);
    else if (is(l, "reference"))
        printf("  %s%s%s\n", l->end ? l->name : l->tensor, l->end ? "" : ": ",
               l->end ? "" : l->why);
    else if (l->end < 0)
        printf("  values %-9s not taken: %s\n", l->name, l->why);
    else if (!l->end)
        printf("  values %-9s REFUSED: %s\n", l->name, l->why);
    else if (*l->why)
        printf("  values %-9s results must be numbers, no more: %s\n", l->name,
               l->why);
    else
        printf("  values %-9s %u of %u mistakes rejected\n", l->name, l->caught,
               l->tried);
}

static void print(const struct ws_audit_report *r)
{
    const char *workload = "";

    printf("%s: judged by the %s rule, reference: %s, seed %llu\n", r->op,
           r->rule, r->reference, (unsigned long long)r->seed);
    if (r->left_out)
        printf("left out as too large for dozens of runs of the reference: "
               "%llu of its workloads\n",
               (unsigned long long)r->left_out);
    for (size_t i = 0; i < r->nline; i++) {
        const struct ws_audit_line *l = &r->line[i];

        if (strcmp(workload, l->workload) != 0) {
            workload = l->workload;
            printf("\n%s\n  %-50s  %-8s  %13s  %-16s  %s\n", workload,
                   "a result that is", "rejected", "error/allowed",
                   "flashinfer-bench", "gpu-mode");
        }
        print_line(l);
    }
    if (r->refused)
        printf("\nverdict: refused (%zu): %s\n", r->refused, r->reason);
    else
        printf("\nverdict: fit to judge by\n");
}

static int audit(struct cli *c, struct ws_spec *spec,
                 const struct ws_audit_opts *o)
{
    struct ws_audit_report r;
    int rc;

    if (ws_op_audit(spec, o, &r) < 0)
        return cli_error(c);
    rc = c->json ? cli_json(c, to_json(&r)) : EXIT_DONE;
    if (!c->json)
        print(&r);
    return rc == EXIT_DONE && r.refused ? EXIT_NEGATIVE : rc;
}

static int run(struct cli *c, int argc, char **argv)
{
    struct ws_audit_opts o = {.size = sizeof(o)};
    const char *workloads = NULL;
    struct cli_kernels none = {0};
    bool trust = false;
    const struct cli_opt opts[] = {
        {"workload", "AXES",
         "M=1,N=64,... or a name; else quick ones of the op's own", CLI_TEXT,
         &o.workload},
        CLI_OPT_WORKLOADS(workloads),
        {"device", "D", "where a trusted kernel runs", CLI_TEXT, &o.device},
        {"seed", "N", "of the inputs", CLI_U64, &o.seed},
        CLI_OPT_TRUST(trust),
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_spec *spec;
    const char *pos[2];
    int npos,
        rc = cli_parse(c, &cli_cmd_op, opts, argc, argv, pos, 2, 2, &npos);

    if (rc >= 0)
        return rc;
    if (strcmp(pos[0], "audit") != 0)
        return cli_usage(c, "there is 'wavesmith op audit SPEC'",
                         "unknown word '%s'", pos[0]);
    o.trust_python = trust;
    rc = cli_open(c, pos[1], workloads, &none, &spec);
    if (rc)
        return rc;
    rc = audit(c, spec, &o);
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_op = {
    "op", "audit SPEC [options]", "is the checker of an op fit to judge by?",
    "Makes results with the mistakes of kernels and judges each as a kernel's "
    "would be: all\nmust be rejected under the op's tolerance. Each input must "
    "matter, the reference must be\nof numbers. Exit code 1 if the op is "
    "refused.",
    run};
