/*
 * cmd_search.c: from an operator to its best kernels.
 *
 * It is a tune in which every kernel of the op and every structural parameter
 * is in play, steered by a tree of ideas, and which leaves kernel files. What
 * differs here is what is shown meanwhile: beside the figures of a tune what is
 * tried and why, the best path of the tree, and what is open.
 */
#include "cli.h"

#include <stdio.h>
#include <string.h>

#define PLAIN_STEP_NS 2000000000u

struct view {
    int columns;
    unsigned lines; /* on the terminal, to be replaced */
    uint64_t last_ns;
    char stage[16];
    char tree[4096]; /* the latest */
};

/* Lines of a text, none longer than the terminal is wide. */
static void put_lines(struct view *v, const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");

        fprintf(stderr, "%.*s\n",
                v->columns && n >= v->columns ? v->columns - 1 : n, text);
        v->lines++;
        text += n + (text[n] == '\n');
    }
}

static void put_head(struct view *v, const struct ws_tune_progress *p)
{
    char line[700], planned[24] = "", floor[48] = "";

    if (p->planned)
        snprintf(planned, sizeof(planned), "/%llu",
                 (unsigned long long)p->planned);
    if (p->floor_ns > 0 && p->best_ns > 0)
        snprintf(floor, sizeof(floor), ", %.2fx the floor",
                 p->best_ns / p->floor_ns);
    snprintf(line, sizeof(line),
             "[%s] %llu%s %s, %llu ok, %llu failed; unconfirmed %.2fx over the "
             "defaults\n  last   %s: %.200s: %s%s%s",
             p->stage, (unsigned long long)p->done, planned,
             strcmp(p->stage, "confirm") ? "trials" : "pairs",
             (unsigned long long)p->ok, (unsigned long long)p->failed,
             p->geomean_speedup, p->workload ? p->workload : "",
             p->config ? p->config : "", p->verdict ? p->verdict : "",
             p->time_ns > 0 ? ", " : "",
             p->time_ns > 0 ? cli_time(p->time_ns) : "");
    put_lines(v, line);
    if (p->best_ns > 0 && p->default_ns > 0) {
        snprintf(line, sizeof(line), "  so far %s (default %s%s)",
                 cli_time(p->best_ns), cli_time(p->default_ns), floor);
        put_lines(v, line);
    }
}

/* A new tree is always shown. */
static void on_progress(void *user, const struct ws_tune_progress *p)
{
    struct view *v = user;

    if (p->tree)
        snprintf(v->tree, sizeof(v->tree), "%s", p->tree);
    if (!v->columns && !p->tree && !strcmp(v->stage, p->stage) &&
        p->elapsed_ns < v->last_ns + PLAIN_STEP_NS)
        return;
    v->last_ns = p->elapsed_ns;
    snprintf(v->stage, sizeof(v->stage), "%s", p->stage);
    if (v->columns && v->lines)
        fprintf(stderr, "\033[%uA\033[J", v->lines);
    v->lines = 0;
    put_head(v, p);
    if (!strcmp(p->stage, "search") && (v->columns || p->tree))
        put_lines(v, v->tree);
    fflush(stderr);
}

static const char details[] =
    "SPEC is an op folder or the name of a shipped op (all its kernels), a "
    "kernel file,\nor a Definition of flashinfer-bench; with --recordings also "
    "a T1 file.\n"
    "Searches kernels, how they are made, and their parameters, steered by the "
    "ideas of\nthe op's strategies.yaml, and confirms the best of every "
    "workload against its default.\nWith --out a folder has: for each regime "
    "the best kernel, a file that tune and check\ntake; tree.txt and "
    "tree.json; best.csv and attempts.csv. Interrupt at any moment and run\n"
    "again to continue.";

static void set_budget(struct ws_tune_opts *o, const struct cli_budget *b)
{
    o->budget_trials = b->trials;
    o->budget_ns = b->ns;
    o->budget_share = b->share;
    if (!b->trials && !b->ns && !(b->share > 0))
        o->budget_trials = CLI_SEARCH_BUDGET;
}

static int run(struct cli *c, int argc, char **argv)
{
    struct cli_cmd cmd = cli_cmd_search;
    struct cli_budget budget = {0};
    struct cli_list devices = {0};
    struct view view = {.columns = cli_columns()};
    struct ws_tune_opts o = {.size = sizeof(o),
                             .strategy = "worldmodel",
                             .search = 1,
                             .progress = on_progress,
                             .user = &view};
    struct ws_tune_result *r = NULL;
    const char *workloads = NULL, *pos[1];
    struct cli_kernels kernels = {0};
    bool trust = false;
    const struct cli_opt opts[] = {
        CLI_OPT_DEVICES(devices),
        CLI_OPT_SEARCHER(o.strategy),
        {"budget", "N|N%|TIME",
         "trials (default 200), a share of all, or a time such as 90s",
         CLI_BUDGET, &budget},
        CLI_OPT_WORKLOADS(workloads),
        CLI_OPT_KERNELS(kernels),
        {"seed", "N", "of questions and inputs (default 0)", CLI_U64, &o.seed},
        CLI_OPT_TRUST(trust),
        CLI_OPT_STORE(o.store),
        {"out", "DIR", "write kernel files, the tree, and all attempts",
         CLI_TEXT, &o.dir},
        {"pack", "PACK", "write the choices for the runtime", CLI_TEXT,
         &o.pack},
        CLI_OPT_CACHE(o.cache),
        CLI_OPT_LAUNCH(o.launch),
        CLI_OPT_RUN_LIMIT(o.run_limit_ns),
        {"Results on record instead of a device:", NULL, NULL, CLI_GROUP, NULL},
        CLI_OPTS_RECORDINGS(o),
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_spec *spec;
    int npos, rc;

    cmd.details = details;
    rc = cli_parse(c, &cmd, opts, argc, argv, pos, 1, 1, &npos);
    if (rc >= 0)
        return rc;
    set_budget(&o, &budget);
    o.devices = devices.item;
    o.ndevice = devices.n;
    o.trust_python = trust;
    if (kernels.name)
        return cli_usage(c, "name a file, such as kernels/x.yaml",
                         "--kernel: '%s' is no kernel file", kernels.name);
    rc = cli_open(c, pos[0], workloads, &kernels, &spec);
    if (rc)
        return rc;
    rc = ws_tune(spec, &o, &r);
    rc = rc < 0 ? cli_error(c)
                : cli_tuned(c, r, ws_spec_kernel_count(spec), o.pack);
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_search = {"search", "SPEC [options]",
                                       "from an operator to its best kernels",
                                       NULL, run};
