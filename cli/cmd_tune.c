/*
 * cmd_tune.c: tunes and shows how it goes.
 *
 * Progress goes to standard error: one line that is rewritten on a terminal,
 * plain lines (at most one every two seconds, and one a stage) elsewhere. The
 * table goes to standard output.
 */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_STEP_NS 2000000000u

struct view {
    int columns;
    uint64_t last_ns;
    char stage[16];
};

static void format_left(char *out, size_t n, uint64_t left_ns)
{
    uint64_t s = left_ns / 1000000000u;

    out[0] = '\0';
    if (s >= 60)
        snprintf(out, n, ", %llum%02llus left", (unsigned long long)(s / 60),
                 (unsigned long long)(s % 60));
    else if (s)
        snprintf(out, n, ", %llus left", (unsigned long long)s);
}

static void on_progress(void *user, const struct ws_tune_progress *p)
{
    struct view *v = user;
    char line[512], planned[24] = "", left[32], best[80] = "";
    bool new_stage = strcmp(v->stage, p->stage) != 0;

    if (!v->columns && !new_stage && p->elapsed_ns < v->last_ns + PLAIN_STEP_NS)
        return;
    v->last_ns = p->elapsed_ns;
    snprintf(v->stage, sizeof(v->stage), "%s", p->stage);
    if (p->planned)
        snprintf(planned, sizeof(planned), "/%llu",
                 (unsigned long long)p->planned);
    if (p->best_ns > 0 && p->default_ns > 0)
        snprintf(best, sizeof(best), ", best %s (default %s)",
                 cli_time(p->best_ns), cli_time(p->default_ns));
    format_left(left, sizeof(left), p->left_ns);
    snprintf(line, sizeof(line),
             "[%s] %llu%s trials, %llu ok, %llu failed%s; %.2fx on average%s; "
             "%s %s",
             p->stage, (unsigned long long)p->done, planned,
             (unsigned long long)p->ok, (unsigned long long)p->failed, best,
             p->geomean_speedup, left, p->workload ? p->workload : "",
             p->verdict ? p->verdict : "");
    if (v->columns)
        fprintf(stderr, "\r\033[K%.*s", v->columns - 1, line);
    else
        fprintf(stderr, "%s\n", line);
    fflush(stderr);
}

static json_t *row_json(const struct ws_tune_row *r)
{
    json_t *v = json_object();

    for (unsigned i = 0; ws_verdict_name(i); i++)
        if (r->verdicts[i])
            json_object_set_new(v, ws_verdict_name(i),
                                json_integer((json_int_t)r->verdicts[i]));
    return json_pack("{s:s, s:s, s:s?, s:s?, s:f, s:f, s:f, s:f, s:f, s:b, "
                     "s:o, s:I, s:I}",
                     "workload", r->workload, "name", r->name, "kernel",
                     r->kernel, "config", r->config, "default_ns",
                     r->default_ns, "best_ns", r->best_ns, "speedup",
                     r->speedup, "speedup_lo", r->speedup_lo, "speedup_hi",
                     r->speedup_hi, "confirmed", r->confirmed, "verdicts", v,
                     "trial", (json_int_t)r->trial, "default_trial",
                     (json_int_t)r->default_trial);
}

static int print_json(struct cli *c, const struct ws_tune_result *r)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < r->nrow; i++)
        json_array_append_new(rows, row_json(&r->row[i]));
    return cli_json(c,
                    json_pack("{s:s, s:s, s:s?, s:I, s:I, s:I, s:f, s:s?, s:o}",
                              "device", r->device, "store", r->store, "pack",
                              r->pack, "trials", (json_int_t)r->trials,
                              "reused", (json_int_t)r->reused, "filtered",
                              (json_int_t)r->filtered, "geomean_speedup",
                              r->geomean_speedup, "stopped",
                              r->stopped ? ws_status_name(r->stopped) : NULL,
                              "workloads", rows));
}

static void print_row(const struct ws_tune_row *r, int width)
{
    char range[40] = "not confirmed";

    if (!r->config)
        snprintf(range, sizeof(range), "nothing right");
    else if (r->speedup_lo == 1 && r->speedup_hi == 1)
        snprintf(range, sizeof(range), "default stays");
    else if (r->confirmed)
        snprintf(range, sizeof(range), "[%.2f, %.2f]", r->speedup_lo,
                 r->speedup_hi);
    printf("%-*s %10s %10s %7.2fx %-15s %4llu %4llu %4llu\n", width,
           r->workload, cli_time(r->default_ns), cli_time(r->best_ns),
           r->speedup, range, (unsigned long long)r->ok,
           (unsigned long long)r->failed, (unsigned long long)r->filtered);
}

static void print_verdicts(const struct ws_tune_result *r)
{
    const char *name;
    bool any = false;

    for (unsigned v = 0; (name = ws_verdict_name(v)); v++) {
        uint64_t n = 0;

        for (size_t i = 0; i < r->nrow; i++)
            n += r->row[i].verdicts[v];
        if (n) {
            printf("%s%s %llu", any ? ", " : "verdicts: ", name,
                   (unsigned long long)n);
            any = true;
        }
    }
    if (any)
        putchar('\n');
}

static void print_table(const struct ws_tune_result *r)
{
    int width = 8;

    for (size_t i = 0; i < r->nrow; i++)
        if ((int)strlen(r->row[i].workload) > width)
            width = (int)strlen(r->row[i].workload);
    printf("%-*s %10s %10s %8s %-15s %4s %4s %4s\n", width, "workload",
           "default", "tuned", "speed-up", "95% interval", "ok", "bad", "filt");
    for (size_t i = 0; i < r->nrow; i++)
        print_row(&r->row[i], width);
    printf("\nchoices:\n");
    for (size_t i = 0; i < r->nrow; i++)
        printf("  %-*s %s%s%s\n", width, r->row[i].workload,
               r->row[i].config ? r->row[i].kernel : "nothing was right",
               r->row[i].config ? "  " : "",
               r->row[i].config ? r->row[i].config : "");
    printf("\n");
    print_verdicts(r);
    printf("geometric mean of the speed-up: %.2fx over %zu workloads\n",
           r->geomean_speedup, r->nrow);
    printf("%llu trials (%llu from the store, %llu filtered without "
           "building) on %s\n",
           (unsigned long long)r->trials, (unsigned long long)r->reused,
           (unsigned long long)r->filtered, r->device);
    printf("store: %s\n", r->store);
    if (r->pack)
        printf("pack:  %s\n", r->pack);
}

static bool any_right(const struct ws_tune_result *r)
{
    for (size_t i = 0; i < r->nrow; i++)
        if (r->row[i].config)
            return true;
    return false;
}

static void explain_stop(struct cli *c, const struct ws_tune_result *r)
{
    const struct ws_error *e = ws_ctx_error(c->ctx);

    fprintf(stderr, "wavesmith: stopped early: %s\n",
            e->code == r->stopped && e->message[0]
                ? e->message
                : ws_status_text(r->stopped));
    if (e->code == r->stopped && e->hint[0])
        fprintf(stderr, "  hint: %s\n", e->hint);
    fprintf(stderr, "  results so far are kept; run the same command again "
                    "to continue\n");
}

static int finish(struct cli *c, struct ws_tune_result *r)
{
    int rc = EXIT_DONE;

    if (c->json)
        rc = print_json(c, r);
    else
        print_table(r);
    if (rc == EXIT_DONE && r->stopped) {
        explain_stop(c, r);
        rc = cli_exit_code(r->stopped);
    } else if (rc == EXIT_DONE && !any_right(r)) {
        rc = EXIT_NEGATIVE;
    }
    ws_tune_result_free(c->ctx, r);
    return rc;
}

static void strategies(char *out, size_t n)
{
    const char *about, *name;
    size_t used;

    snprintf(out, n,
             "Measures the default of every workload, searches within the "
             "budget, and confirms\nthe finalists in interleaved runs against "
             "the default. Every trial is in the store\nbefore the next one "
             "starts: interrupt at any moment and run again to continue.\n\n"
             "Strategies:");
    for (unsigned i = 0; (name = ws_strategy_name(i, &about)); i++) {
        used = strlen(out);
        snprintf(out + used, n - used, "\n  %-10s %s", name, about);
    }
}

static int run(struct cli *c, int argc, char **argv)
{
    static char details[2048];
    struct cli_cmd cmd = cli_cmd_tune;
    struct cli_budget budget = {0};
    struct view view = {.columns = cli_columns()};
    struct ws_tune_opts o = {.size = sizeof(o),
                             .progress = on_progress,
                             .user = &view};
    struct ws_tune_result *r = NULL;
    const char *workloads = NULL, *pos[1];
    uint64_t builders = 0;
    const struct cli_opt opts[] = {
        {"device", "D", "as 'wavesmith devices' names it", CLI_TEXT, &o.device},
        {"strategy", "S", "hill, random, grid (default hill)", CLI_TEXT,
         &o.strategy},
        {"budget", "N|TIME", "trials (default 100) or a time such as 90s",
         CLI_BUDGET, &budget},
        {"workloads", "FILE", "the shapes, instead of the op's own", CLI_TEXT,
         &workloads},
        {"seed", "N", "of questions and inputs (default 0)", CLI_U64, &o.seed},
        {"store", "FILE", "default .wavesmith/store.db beside SPEC", CLI_TEXT,
         &o.store},
        {"out", "PACK", "write the choices for the runtime", CLI_TEXT, &o.pack},
        {"cache", "MODE", "cold or warm (default: as the op says)", CLI_TEXT,
         &o.cache},
        {"builders", "N", "workers that build (default: processors)", CLI_U64,
         &builders},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_spec *spec;
    int npos, rc;

    strategies(details, sizeof(details));
    cmd.details = details;
    rc = cli_parse(c, &cmd, opts, argc, argv, pos, 1, 1, &npos);
    if (rc >= 0)
        return rc;
    o.budget_trials = budget.trials;
    o.budget_ns = budget.ns;
    o.builders = (unsigned)builders;
    if (ws_spec_open(c->ctx, pos[0], workloads, &spec) < 0)
        return cli_error(c);
    rc = ws_tune(spec, &o, &r);
    if (view.columns && view.last_ns)
        fputc('\n', stderr);
    rc = rc < 0 ? cli_error(c) : finish(c, r);
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_tune = {"tune", "SPEC [options]",
                                     "find the fastest verified config a shape",
                                     NULL, run};
