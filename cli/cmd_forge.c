/*
 * cmd_forge.c: makes a kernel faster and shows how it goes: what holds it back,
 * what is tried, what came of it.
 */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_range(FILE *f, double value, double lo, double hi)
{
    fprintf(f, "%.3fx (%.3f to %.3f)", value, lo, hi);
}

/* A line an event; the state of things first. */
static void on_event(void *user, const struct ws_forge_event *e)
{
    (void)user;
    fprintf(stderr, "[%4.0fs %4llu trials, best %.2fx",
            (double)e->elapsed_ns / 1e9, (unsigned long long)e->trials,
            e->speedup);
    if (e->gap > 0)
        fprintf(stderr, ", %.2f times the floor", e->gap);
    fprintf(stderr, "] ");
    if (!strcmp(e->kind, "diagnosis"))
        fprintf(stderr, "%s%s%s", e->bound, e->finding ? ": " : "",
                e->finding ? e->finding : "");
    else if (!strcmp(e->kind, "try"))
        fprintf(stderr, "round %u: %s, %s, on %s%s; expected %.2fx", e->round,
                e->move, e->words, *e->on ? "top of " : "the original", e->on,
                e->expected);
    else
        fprintf(stderr, "%s", e->kind);
    if (e->lo > 0) {
        fputs(" ", stderr);
        print_range(stderr, e->ratio, e->lo, e->hi);
    } else if (e->ratio > 0) {
        fprintf(stderr, " about %.2fx", e->ratio);
    }
    if (e->config && *e->config)
        fprintf(stderr, "  %s", e->config);
    if (e->verdict && strcmp(e->verdict, "ok"))
        fprintf(stderr, "  %s", e->verdict);
    if (e->why && *e->why)
        fprintf(stderr, ": %.300s", e->why);
    fputs("\n", stderr);
}

/* --- JSON ----------------------------------------------------------------- */

static json_t *move_json(const struct ws_forge_move *m)
{
    json_t *j = json_object();

    cli_put(j, "move", cli_text(m->name));
    cli_put(j, "what", cli_text(m->words));
    cli_put(j, "refused", cli_text(m->refused));
    cli_put(j, "trust", cli_text(m->trust));
    cli_put(j, "rounds", json_boolean(m->rounds));
    cli_put(j, "gates", cli_text(m->gates));
    cli_put(j, "gain", cli_real(m->gain));
    if (!m->end)
        return j;
    cli_put(j, "on", cli_text(m->on));
    cli_put(j, "end", cli_text(m->end));
    cli_put(j, "why", cli_text(m->why));
    cli_put(j, "bound", cli_text(m->bound));
    cli_put(j, "config", cli_text(m->config));
    cli_put(j, "expected", cli_real(m->expected));
    cli_put(j, "ratio", cli_real(m->ratio));
    cli_put(j, "lo", cli_real(m->lo));
    cli_put(j, "hi", cli_real(m->hi));
    cli_put(j, "trial", json_integer((json_int_t)m->trial));
    cli_put(j, "part", json_boolean(m->part));
    return j;
}

static json_t *row_json(const struct ws_forge_row *r)
{
    json_t *j = json_object();

    cli_put(j, "workload", cli_text(r->workload));
    cli_put(j, "name", cli_text(r->name));
    cli_put(j, "original_ns", cli_real(r->original_ns));
    cli_put(j, "best_ns", cli_real(r->best_ns));
    cli_put(j, "speedup", cli_real(r->speedup));
    cli_put(j, "lo", cli_real(r->lo));
    cli_put(j, "hi", cli_real(r->hi));
    cli_put(j, "unchanged", json_boolean(r->unchanged));
    return j;
}

static json_t *result_json(const struct ws_forge_result *r)
{
    json_t *j = json_object(), *rows = json_array(), *moves = json_array();

    for (size_t i = 0; i < r->nrow; i++)
        json_array_append_new(rows, row_json(&r->row[i]));
    for (size_t i = 0; i < r->nmove; i++)
        json_array_append_new(moves, move_json(&r->move[i]));
    cli_put(j, "device", cli_text(r->device));
    cli_put(j, "kernel", cli_text(r->kernel));
    cli_put(j, "config", cli_text(r->config));
    cli_put(j, "verdict", cli_text(r->verdict));
    cli_put(j, "why", cli_text(r->why));
    cli_put(j, "end", cli_text(r->end));
    cli_put(j, "speedup", cli_real(r->speedup));
    cli_put(j, "lo", cli_real(r->lo));
    cli_put(j, "hi", cli_real(r->hi));
    cli_put(j, "gap_before",
            r->gap_before > 0 ? cli_real(r->gap_before) : json_null());
    cli_put(j, "gap_after",
            r->gap_after > 0 ? cli_real(r->gap_after) : json_null());
    cli_put(j, "proven_by", cli_text(r->gates));
    cli_put(j, "trials", json_integer((json_int_t)r->trials));
    cli_put(j, "seconds", cli_real(r->seconds));
    cli_put(j, "device_seconds", cli_real(r->device_seconds));
    cli_put(j, "throughput", cli_throughput(&r->throughput));
    cli_put(j, "tokens", json_integer((json_int_t)r->tokens));
    cli_put(j, "cost", cli_real(r->cost));
    cli_put(j, "workloads", rows);
    cli_put(j, "moves", moves);
    cli_put(j, "source", cli_text(r->source));
    cli_put(j, "kernel_file", cli_text(r->kernel_file));
    cli_put(j, "patch", cli_text(r->patch));
    cli_put(j, "written", cli_text(r->written));
    return j;
}

/* --- text ----------------------------------------------------------------- */

static void print_moves(const struct ws_forge_result *r)
{
    printf("kernel %s: %zu places\n", r->kernel, r->nmove);
    for (size_t i = 0; i < r->nmove; i++) {
        const struct ws_forge_move *m = &r->move[i];

        printf("%-18s %s\n", m->name, m->words);
        if (m->refused)
            printf("%-18s not done: %s\n", "", m->refused);
        else
            printf("%-18s %.2fx is to be expected; needs %s%s%s%s; must pass "
                   "%s\n",
                   "", m->gain, m->needs,
                   m->trust ? "; left to the verdict: " : "",
                   m->trust ? m->trust : "",
                   m->rounds ? "; rounds otherwise" : "", m->gates);
    }
}

static void print_parts(const struct ws_forge_result *r)
{
    for (size_t i = 0; i < r->nmove; i++) {
        const struct ws_forge_move *m = &r->move[i];

        if (!m->part)
            continue;
        printf("  %-18s ", m->name);
        print_range(stdout, m->ratio, m->lo, m->hi);
        printf("  %s\n", m->words);
    }
}

static const char *name_of(const struct ws_forge_row *w)
{
    return *w->name ? w->name : w->workload;
}

static void print_result(const struct ws_forge_result *r)
{
    int width = 8;

    for (size_t i = 0; i < r->nrow; i++)
        if ((int)strlen(name_of(&r->row[i])) > width)
            width = (int)strlen(name_of(&r->row[i]));
    printf("device %s\n", r->device);
    if (strcmp(r->verdict, "ok")) {
        printf("the original is not right: %s: %s\n", r->verdict,
               r->why ? r->why : "");
        return;
    }
    for (size_t i = 0; i < r->nrow; i++) {
        const struct ws_forge_row *w = &r->row[i];

        printf("%-*s %10s", width, name_of(w), cli_time(w->original_ns));
        if (w->unchanged) {
            printf("    unchanged: the original runs here");
        } else if (r->source) { /* else nothing was compared */
            printf(" -> %10s  ", cli_time(w->best_ns));
            print_range(stdout, w->speedup, w->lo, w->hi);
        }
        printf("\n");
    }
    if (r->stopped)
        printf("so far, not confirmed: %.3fx", r->speedup);
    else
        printf("over all workloads ");
    if (!r->stopped)
        print_range(stdout, r->speedup, r->lo, r->hi);
    if (r->gap_before > 0)
        printf("; time over the floor %.2f -> %.2f", r->gap_before,
               r->gap_after);
    printf("\n%zu moves tried in %llu trials, %.0f s (the device was held for "
           "%.0f s); ended: %s\n",
           r->nmove, (unsigned long long)r->trials, r->seconds,
           r->device_seconds, r->end && *r->end ? r->end : "early");
    print_parts(r);
    if (r->source)
        printf("proven by %s\n", r->gates && *r->gates
                                     ? r->gates
                                     : "nothing "
                                       "beyond its own workloads");
    if (r->tokens)
        printf("the model used %llu tokens, cost %.4g\n",
               (unsigned long long)r->tokens, r->cost);
    if (!r->source && !r->stopped)
        printf("nothing was better: the original stays\n");
    if (r->written)
        printf("written to %s\n", r->written);
    else if (r->patch && *r->patch)
        printf("%s", r->patch);
    else if (r->patch)
        printf("the source stays; its kernel file becomes\n%s", r->kernel_file);
}

static int show(struct cli *c, const struct ws_forge_result *r, bool explain)
{
    int rc = EXIT_DONE;

    if (c->json)
        rc = cli_json(c, result_json(r));
    else if (explain)
        print_moves(r);
    else
        print_result(r);
    if (rc != EXIT_DONE || explain)
        return rc;
    if (r->stopped) {
        fprintf(stderr, "wavesmith: stopped early; run the same command again "
                        "to continue\n");
        return cli_exit_code(r->stopped);
    }
    return r->source ? EXIT_DONE : EXIT_NEGATIVE;
}

static int run(struct cli *c, int argc, char **argv)
{
    struct ws_forge_opts o = {.size = sizeof(o)};
    struct cli_budget budget = {0};
    struct cli_kernels kernels = {0};
    struct cli_list argv_list = {0};
    const char *pos[1], *workloads = NULL, *words[17] = {NULL};
    bool explain = false, trust = false, blind = false, forgetful = false,
         single = false;
    struct ws_forge_result *r;
    struct ws_spec *spec;
    int npos, rc;
    const struct cli_opt opts[] = {
        {"device", "NAME", "the device; default: the best there is", CLI_TEXT,
         &o.device},
        {"kernel", "NAME|FILE",
         "what to begin with; a file is one more kernel of the op", CLI_KERNEL,
         &kernels},
        {"config", "K=V,...", "its config; default: its default", CLI_TEXT,
         &o.config},
        {"workloads", "FILE", "shapes to be fast on, instead of the op's",
         CLI_TEXT, &workloads},
        {"budget", "N|TIME", "trials, or a time as 5m; default: 200 trials",
         CLI_BUDGET, &budget},
        {"out", "DIR",
         "write the new source, its kernel file, a patch and the moves there",
         CLI_TEXT, &o.out},
        {"explain", NULL, "list what would be tried and why; runs nothing",
         CLI_FLAG, &explain},
        {"seed", "N", "of inputs and choices", CLI_U64, &o.seed},
        {"store", "FILE",
         "where trials are kept; default: "
         ".wavesmith/store.db beside SPEC",
         CLI_TEXT, &o.store},
        {"cache", "MODE", "cold or warm; default: as the op says", CLI_TEXT,
         &o.cache},
        {"launch", "MODE", "stream or graph", CLI_TEXT, &o.launch},
        {"run-limit", "TIME", "for one launch of a candidate", CLI_TIME,
         &o.run_limit_ns},
        {"trust-python", NULL,
         "a reference in Python, and a kernel in Triton, may run", CLI_FLAG,
         &trust},
        {"A language model beside the transformations:", NULL, NULL, CLI_GROUP,
         NULL},
        {"proposer", "KIND",
         "http, command or replay; default: rules, no model at all", CLI_TEXT,
         &o.proposer},
        {"endpoint", "URL|FILE",
         "of the service, up to .../v1; of replay: the "
         "transcript",
         CLI_TEXT, &o.model_target},
        {"model", "NAME", "as the service calls it", CLI_TEXT, &o.model},
        {"model-command", "PROGRAM", "of command; again for each argument",
         CLI_LIST, &argv_list},
        {"tokens", "N", "of the whole run, at most; default: no limit", CLI_U64,
         &o.model_tokens},
        {"transcript", "FILE", "append every reply to it", CLI_TEXT,
         &o.transcript},
        {"For comparisons:", NULL, NULL, CLI_GROUP, NULL},
        {"no-profile", NULL, "choose moves without a diagnosis", CLI_FLAG,
         &blind},
        {"no-memory", NULL, "without what earlier projects learnt", CLI_FLAG,
         &forgetful},
        {"single", NULL, "no pairs of moves", CLI_FLAG, &single},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};

    rc = cli_parse(c, &cli_cmd_forge, opts, argc, argv, pos, 1, 1, &npos);
    if (rc >= 0)
        return rc;
    rc = cli_open_uncompiled(c, pos[0], workloads, &kernels, &spec);
    if (rc)
        return rc;
    for (size_t i = 0; i < argv_list.n; i++)
        words[i] = argv_list.item[i];
    o.model_argv = argv_list.n ? words : NULL;
    o.model_key = getenv("WAVESMITH_API_KEY");
    o.path = getenv("PATH");
    if (argv_list.n && (!o.proposer || strcmp(o.proposer, "command"))) {
        ws_spec_free(spec);
        return cli_usage(c, "add --proposer command",
                         "--model-command is of the proposer 'command'");
    }
    o.kernel = kernels.name;
    o.budget_trials = budget.trials;
    o.budget_ns = budget.ns;
    o.explain = explain;
    o.trust_python = trust;
    o.blind = blind;
    o.forgetful = forgetful;
    o.single = single;
    o.progress = on_event;
    rc = ws_forge(spec, &o, &r) < 0 ? cli_error(c) : show(c, r, explain);
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_forge = {
    .name = "forge",
    .synopsis = "SPEC [--kernel NAME] [--budget N|TIME] [--out DIR]",
    .about = "make a kernel that somebody wrote faster",
    .details =
        "Profiles the kernel, changes its source by one transformation at a "
        "time, judges\nand times what comes of it beside the best so far, and "
        "keeps it if it is faster\nbeyond doubt on all workloads; else it is "
        "rolled back. Every trial is in the store\nbefore the next one starts: "
        "interrupt at any moment and run again to continue.\nSources in CUDA C "
        "and OpenCL C, which\nneeds libclang 19, and in Triton, which needs "
        "Python: --explain alone without Triton\nand a GPU.",
    .run = run,
};
