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
#define BUDGET 200

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
        o->budget_trials = BUDGET;
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
        {"device", "D",
         "as 'wavesmith devices' names it; again for more of a model", CLI_LIST,
         &devices},
        {"strategy", "S", "worldmodel (default), evolve, islands, random, ...",
         CLI_TEXT, &o.strategy},
        {"budget", "N|N%|TIME",
         "trials (default 200), a share of all, or a time such as 90s",
         CLI_BUDGET, &budget},
        {"workloads", "FILE", "the shapes, instead of the op's own", CLI_TEXT,
         &workloads},
        {"kernel", "FILE", "a kernel file for the op; may be repeated",
         CLI_KERNEL, &kernels},
        {"seed", "N", "of questions and inputs (default 0)", CLI_U64, &o.seed},
        {"trust-python", NULL, "let the op's reference run if it is Python",
         CLI_FLAG, &trust},
        {"store", "FILE",
         "default .wavesmith/store.db beside SPEC (a shipped op: here)",
         CLI_TEXT, &o.store},
        {"out", "DIR", "write kernel files, the tree, and all attempts",
         CLI_TEXT, &o.dir},
        {"pack", "PACK", "write the choices for the runtime", CLI_TEXT,
         &o.pack},
        {"cache", "MODE", "cold or warm (default: as the op says)", CLI_TEXT,
         &o.cache},
        {"launch", "MODE", "stream, or graph: recorded once, then replayed",
         CLI_TEXT, &o.launch},
        {"run-limit", "TIME",
         "a launch that takes longer hangs (default: at most 20s)", CLI_TIME,
         &o.run_limit_ns},
        {"Results on record instead of a device:", NULL, NULL, CLI_GROUP, NULL},
        {"recordings", "FILE",
         "timing matrix (CSV), T4 results, Kernel Tuner cache, or a store",
         CLI_TEXT, &o.recordings},
        {"where", "COL=VAL,...", "rows of a matrix, as in pass=3", CLI_TEXT,
         &o.where},
        {"time-column", "COL", "of a matrix (default: the median)", CLI_TEXT,
         &o.time_column},
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
