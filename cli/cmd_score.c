/* cmd_score.c: published scores of a solution, from traces. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_P 32

/* --- JSON ----------------------------------------------------------------- */

static json_t *fast_json(const struct ws_score *s, const double *share)
{
    json_t *all = json_array();

    for (size_t i = 0; i < s->np; i++) {
        json_t *j = json_object();

        cli_put(j, "p", cli_real(s->p[i]));
        cli_put(j, "share", cli_real(share[i]));
        json_array_append_new(all, j);
    }
    return all;
}

static json_t *sum_json(const struct ws_score *s, const struct ws_score_sum *x)
{
    bool all = x->right == x->workloads;
    json_t *j = json_object();

    cli_put(j, "definition", cli_text(x->definition));
    cli_put(j, "workloads", json_integer((json_int_t)x->workloads));
    cli_put(j, "right", json_integer((json_int_t)x->right));
    cli_put(j, "ksearch_score", all ? cli_real(x->mean_x100) : json_null());
    cli_put(j, "mean_x100_failures_0", cli_real(x->mean_x100));
    cli_put(j, "geomean_failures_1", cli_real(x->geomean));
    cli_put(j, "geomean_right",
            x->right ? cli_real(x->geomean_right) : json_null());
    cli_put(j, "fast_p", fast_json(s, x->fast));
    return j;
}

static json_t *to_json(const struct ws_score *s)
{
    json_t *j = json_object(), *list = json_array(), *sums = json_array();

    for (size_t i = 0; i < s->nworkload; i++) {
        const struct ws_score_workload *w = &s->workload[i];
        json_t *x = json_object();

        cli_put(x, "definition", cli_text(w->definition));
        cli_put(x, "workload", cli_text(w->workload));
        cli_put(x, "status", *w->status ? cli_text(w->status) : json_null());
        cli_put(x, "baseline_ms",
                w->baseline_ms > 0 ? cli_real(w->baseline_ms) : json_null());
        cli_put(x, "candidate_ms",
                w->candidate_ms > 0 ? cli_real(w->candidate_ms) : json_null());
        cli_put(x, "ratio", w->ratio > 0 ? cli_real(w->ratio) : json_null());
        json_array_append_new(list, x);
    }
    for (size_t i = 0; i < s->nsum; i++)
        json_array_append_new(sums, sum_json(s, &s->sum[i]));
    cli_put(j, "workloads", list);
    cli_put(j, "scores", sums);
    cli_put(j, "left_out", json_integer((json_int_t)s->left));
    return j;
}

/* --- CSV ------------------------------------------------------------------ */

static void put_known(double v)
{
    if (v > 0)
        printf(",%.9g", v);
    else
        putchar(',');
}

static void print_csv(const struct ws_score *s)
{
    printf("definition,workload,status,baseline_ms,candidate_ms,ratio\n");
    for (size_t i = 0; i < s->nworkload; i++) {
        const struct ws_score_workload *w = &s->workload[i];

        cli_cell(stdout, w->definition);
        putchar(',');
        cli_cell(stdout, w->workload);
        printf(",%s", w->status);
        put_known(w->baseline_ms);
        put_known(w->candidate_ms);
        put_known(w->ratio);
        putchar('\n');
    }
}

/* --- text ----------------------------------------------------------------- */

/* What a file says may not steer a terminal. */
static void put_clean(const char *s, int width)
{
    int n = 0;

    for (; *s; s++, n++)
        putchar((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
    printf("%*s", n < width ? width - n : 0, "");
}

static void print_workload(const struct ws_score_workload *w)
{
    bool base = w->baseline_ms > 0;

    put_clean(w->workload, 37);
    printf("%12s ", base ? cli_time(w->baseline_ms * 1e6) : "-");
    if (w->ratio > 0)
        printf("%12s %8.3fx\n", cli_time(w->candidate_ms * 1e6), w->ratio);
    else
        printf("%12s %9s\n", "-", *w->status ? w->status : "not run");
}

static void print_sum(const struct ws_score *s, const struct ws_score_sum *x)
{
    size_t bad = x->workloads - x->right;

    printf("\n");
    put_clean(x->definition ? x->definition : "over all", 0);
    printf(": %zu workload%s, %zu right\n", x->workloads,
           x->workloads == 1 ? "" : "s", x->right);
    if (bad)
        printf("  K-Search's score            none: %zu failed\n"
               "  mean ratio x 100            %.1f (failures count 0)\n",
               bad, x->mean_x100);
    else
        printf("  K-Search's score            %.1f (mean ratio x 100)\n",
               x->mean_x100);
    printf("  geometric mean of ratios    %.3f%s\n", x->geomean,
           bad ? " (failures count 1)" : "");
    if (bad && x->right)
        printf("  ... of those that passed    %.3f\n", x->geomean_right);
    for (size_t i = 0; i < s->np; i++)
        printf("  fast_%-22g %.1f%%\n", s->p[i], 100 * x->fast[i]);
}

static void print(const struct ws_score *s)
{
    const char *of = "";

    printf("%-37s%12s %12s %9s\n", "workload", "baseline", "candidate",
           "ratio");
    for (size_t i = 0; i < s->nworkload; i++) {
        if (s->nsum > 1 && strcmp(of, s->workload[i].definition) != 0) {
            put_clean(s->workload[i].definition, 0);
            putchar('\n');
        }
        of = s->workload[i].definition;
        print_workload(&s->workload[i]);
    }
    if (s->left)
        printf("%zu left out: no time of the baseline\n", s->left);
    for (size_t i = 0; i < s->nsum; i++)
        print_sum(s, &s->sum[i]);
}

/* --- the command ---------------------------------------------------------- */

/* "0,0.8,1": -1 to go on, else an exit code. */
static int read_p(struct cli *c, const char *text, double *p, size_t *n)
{
    *n = 0;
    for (const char *s = text;;) {
        char *end;
        double v = strtod(s, &end);

        if (end == s || (*end && *end != ',') || !isfinite(v) || v < 0 ||
            *n == MAX_P)
            return cli_usage(c, "as in --fast 0,0.8,1,1.5,2",
                             "'%s' is no list of ratios", text);
        p[(*n)++] = v;
        if (!*end)
            return -1;
        s = end + 1;
    }
}

static int run(struct cli *c, int argc, char **argv)
{
    struct ws_score_opts o = {.size = sizeof(o)};
    const char *fast = NULL;
    bool csv = false;
    const struct cli_opt opts[] = {
        {"baseline", "FILE",
         "traces to compare with; else the reference's "
         "times in CANDIDATE",
         CLI_TEXT, &o.baseline},
        {"solution", "NAME", "of CANDIDATE, where it has several", CLI_TEXT,
         &o.solution},
        {"baseline-solution", "NAME", "of the baseline's file, likewise",
         CLI_TEXT, &o.baseline_solution},
        {"fast", "P,...", "the p of fast_p (default 0,0.8,1,1.5,2)", CLI_TEXT,
         &fast},
        {"csv", NULL, "a line for each workload as CSV", CLI_FLAG, &csv},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    double p[MAX_P];
    struct ws_score *s;
    const char *pos[1];
    int npos,
        rc = cli_parse(c, &cli_cmd_score, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    if (csv && c->json)
        return cli_usage(c, NULL, "--csv or --json, not both");
    if (o.baseline_solution && !o.baseline)
        return cli_usage(c, NULL, "--baseline-solution goes with --baseline");
    if (fast && (rc = read_p(c, fast, p, &o.np)) >= 0)
        return rc;
    o.p = fast ? p : NULL;
    o.candidate = pos[0];
    if (ws_score(c->ctx, &o, &s) < 0)
        return cli_error(c);
    rc = c->json ? cli_json(c, to_json(s)) : EXIT_DONE;
    if (csv)
        print_csv(s);
    else if (!c->json)
        print(s);
    ws_score_free(c->ctx, s);
    return rc;
}

const struct cli_cmd cli_cmd_score = {
    "score", "CANDIDATE [options]", "published scores of a solution's traces",
    "CANDIDATE is a file of traces of flashinfer-bench (JSON lines), such as "
    "'wavesmith trials\n--export' writes. Each workload that the baseline "
    "passed counts; on one that the\ncandidate failed or was not run on, it "
    "failed. Of several runs the last line counts.",
    run};
