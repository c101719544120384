/*
 * cmd_compare.c: strategies beside each other.
 *
 * Every strategy runs with every seed on the same space, the same budget and
 * the same judge, each run with a store of its own, so that none learns from
 * another. A curve is the geometric mean over the workloads of the default's
 * time over the best so far, by the trials that were spent. Printed is the
 * geometric mean of the seeds, and from the least to the most of them.
 */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_STRATEGIES 16
#define COLUMNS 5 /* of the table: parts of the longest curve */
#define DEFAULTS "worldmodel,surrogate,hill,evolve,islands,random"
#define SEEDS 5
#define BUDGET 120

struct curve { /* of one run: [n] after n trials */
    double *gain;
    size_t n, cap;
    bool failed; /* no memory */
    double end;  /* of the choices made */
};

struct compare {
    struct cli *c;
    char names[512];
    const char *strategy[MAX_STRATEGIES];
    size_t nstrategy, nseed;
    struct curve *curve; /* [strategy * nseed + seed] */
    double oracle;       /* the best recorded over the defaults; 0: unknown */
    FILE *curves, *workloads;
    char dir[64]; /* of the stores */
};

/* --- a run ---------------------------------------------------------------- */

static bool extend(struct curve *v, size_t n)
{
    double *more;
    size_t cap = v->cap ? v->cap : 256;

    while (cap <= n)
        cap *= 2;
    if (cap == v->cap)
        return true;
    more = realloc(v->gain, cap * sizeof(*more));
    if (!more) {
        v->failed = true;
        return false;
    }
    v->gain = more;
    v->cap = cap;
    return true;
}

/* Trials come one by one; what was skipped is as it was before. */
static void on_progress(void *user, const struct ws_tune_progress *p)
{
    struct curve *v = user;
    double before = v->n ? v->gain[v->n - 1] : 1;

    if (!strcmp(p->stage, "confirm") || v->failed || !extend(v, p->done))
        return;
    while (v->n <= p->done)
        v->gain[v->n++] = before;
    v->gain[p->done] = p->geomean_speedup;
}

/* The geometric mean over the workloads; 0 unless it is known of all. */
static double oracle_of(const struct ws_tune_result *r)
{
    double sum = 0;

    for (size_t i = 0; i < r->nrow; i++) {
        if (!(r->row[i].oracle_ns > 0) || !(r->row[i].default_ns > 0))
            return 0;
        sum += log(r->row[i].default_ns / r->row[i].oracle_ns);
    }
    return r->nrow ? exp(sum / (double)r->nrow) : 0;
}

static void write_run(struct compare *x, size_t s, size_t seed,
                      const struct ws_tune_result *r)
{
    const struct curve *v = &x->curve[s * x->nseed + seed];

    if (!x->curves)
        return;
    for (size_t i = 0; i < v->n; i++)
        fprintf(x->curves, "%s,%zu,%zu,%.6g\n", x->strategy[s], seed, i,
                v->gain[i]);
    for (size_t i = 0; i < r->nrow; i++) {
        const struct ws_tune_row *w = &r->row[i];

        fprintf(x->workloads, "%s,%zu,", x->strategy[s], seed);
        cli_cell(x->workloads, w->workload);
        fprintf(x->workloads, ",%.9g,%.9g,", w->default_ns,
                w->config ? w->best_ns : 0);
        if (w->oracle_ns > 0)
            fprintf(x->workloads, "%.9g", w->oracle_ns);
        fputc(',', x->workloads);
        if (w->config)
            cli_cell(x->workloads, w->config);
        fputc('\n', x->workloads);
    }
}

static void remove_store(const char *path)
{
    static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
    char name[128];

    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, tails[i]);
        unlink(name);
    }
}

/* 0 or an exit code. */
static int run_one(struct compare *x, struct ws_spec *spec,
                   const struct ws_tune_opts *opts, size_t s, size_t seed)
{
    struct curve *v = &x->curve[s * x->nseed + seed];
    struct ws_tune_opts o = *opts;
    struct ws_tune_result *r = NULL;
    char store[80];
    int rc;

    snprintf(store, sizeof(store), "%s/run.db", x->dir);
    o.strategy = x->strategy[s];
    o.seed = opts->seed + seed;
    o.store = store;
    o.progress = on_progress;
    o.user = v;
    rc = ws_tune(spec, &o, &r);
    if (rc >= 0 && r->stopped)
        rc = r->stopped;
    if (rc >= 0) {
        double oracle = oracle_of(r);

        v->end = r->geomean_speedup;
        x->oracle = oracle > 0 ? oracle : x->oracle;
        write_run(x, s, seed, r);
        fprintf(stderr, "%s, seed %llu: %.3fx after %zu trials\n",
                x->strategy[s], (unsigned long long)o.seed, v->end,
                v->n ? v->n - 1 : 0);
    }
    ws_tune_result_free(x->c->ctx, r);
    remove_store(store);
    if (v->failed)
        return cli_exit_code(WS_ENOMEM);
    return rc < 0 ? cli_error(x->c) : 0;
}

static int run_all(struct compare *x, struct ws_spec *spec,
                   const struct ws_tune_opts *o)
{
    for (size_t seed = 0; seed < x->nseed; seed++)
        for (size_t s = 0; s < x->nstrategy; s++) {
            int rc = run_one(x, spec, o, s, seed);

            if (rc)
                return rc;
        }
    return 0;
}

/* --- the table ------------------------------------------------------------ */

struct band {
    double mean, lo, hi;
};

/* Over the seeds, after n trials; a shorter curve stays where it ended. */
static struct band band_at(const struct compare *x, size_t s, size_t n)
{
    struct band b = {0, INFINITY, 0};

    for (size_t i = 0; i < x->nseed; i++) {
        const struct curve *v = &x->curve[s * x->nseed + i];
        double g = !v->n ? 1 : v->gain[n < v->n ? n : v->n - 1];

        b.mean += log(g);
        b.lo = fmin(b.lo, g);
        b.hi = fmax(b.hi, g);
    }
    b.mean = exp(b.mean / (double)x->nseed);
    return b;
}

static size_t longest(const struct compare *x)
{
    size_t n = 1;

    for (size_t i = 0; i < x->nstrategy * x->nseed; i++)
        if (x->curve[i].n > n)
            n = x->curve[i].n;
    return n - 1;
}

/* One eighth, a quarter, half, three quarters and all of the trials. */
static size_t column(size_t trials, size_t i)
{
    static const unsigned eighths[COLUMNS] = {1, 2, 4, 6, 8};

    return trials * eighths[i] / 8;
}

static int width(const struct compare *x)
{
    size_t n = 8;

    for (size_t s = 0; s < x->nstrategy; s++)
        if (strlen(x->strategy[s]) > n)
            n = strlen(x->strategy[s]);
    return (int)n;
}

/* Is the first ahead of all others at the end, whatever the seeds? */
static void print_verdict(const struct compare *x, size_t trials)
{
    struct band first = band_at(x, 0, trials);

    for (size_t s = 1; s < x->nstrategy; s++) {
        struct band b = band_at(x, s, trials);
        const char *how = b.hi < first.lo   ? "behind, bands apart"
                          : first.hi < b.lo ? "ahead, bands apart"
                          : b.mean < first.mean
                              ? "behind on average, bands overlap"
                              : "not behind on average, bands overlap";

        printf("%s beside %s: %s\n", x->strategy[s], x->strategy[0], how);
    }
}

static void print_table(const struct compare *x)
{
    size_t trials = longest(x);
    double unit = x->oracle > 0 ? x->oracle / 100 : 1;
    int w = width(x);

    if (x->oracle > 0)
        printf("%% of the best recorded (%.3fx over the defaults), geometric "
               "mean of %zu seeds (least, most)\n",
               x->oracle, x->nseed);
    else
        printf("speed-up over the defaults, geometric mean of %zu seeds "
               "(least, most)\n",
               x->nseed);
    printf("%-*s", w, "trials");
    for (size_t i = 0; i < COLUMNS; i++)
        printf("  %-20zu", column(trials, i));
    printf("\n");
    for (size_t s = 0; s < x->nstrategy; s++) {
        printf("%-*s", w, x->strategy[s]);
        for (size_t i = 0; i < COLUMNS; i++) {
            struct band b = band_at(x, s, column(trials, i));
            char cell[64];

            snprintf(cell, sizeof(cell),
                     x->oracle > 0 ? "%.1f (%.1f, %.1f)" : "%.3f (%.3f, %.3f)",
                     b.mean / unit, b.lo / unit, b.hi / unit);
            printf("  %-20s", cell);
        }
        printf("\n");
    }
    print_verdict(x, trials);
}

static json_t *to_json(const struct compare *x)
{
    json_t *doc = json_object(), *all = json_array();
    size_t trials = longest(x);

    for (size_t s = 0; s < x->nstrategy; s++) {
        json_t *j = json_object(), *at = json_array();

        for (size_t i = 0; i < COLUMNS; i++) {
            struct band b = band_at(x, s, column(trials, i));
            json_t *cell = json_object();

            cli_put(cell, "trials",
                    json_integer((json_int_t)column(trials, i)));
            cli_put(cell, "speedup", cli_real(b.mean));
            cli_put(cell, "least", cli_real(b.lo));
            cli_put(cell, "most", cli_real(b.hi));
            json_array_append_new(at, cell);
        }
        cli_put(j, "strategy", cli_text(x->strategy[s]));
        cli_put(j, "at", at);
        json_array_append_new(all, j);
    }
    cli_put(doc, "seeds", json_integer((json_int_t)x->nseed));
    cli_put(doc, "oracle_speedup",
            x->oracle > 0 ? cli_real(x->oracle) : json_null());
    cli_put(doc, "strategies", all);
    return doc;
}

/* --- the command ---------------------------------------------------------- */

static bool is_strategy(const char *name)
{
    const char *known;

    for (unsigned i = 0; (known = ws_strategy_name(i, NULL)) != NULL; i++)
        if (!strcmp(known, name))
            return true;
    return false;
}

static int read_strategies(struct compare *x, const char *list)
{
    char *rest = NULL;

    if (strlen(list) >= sizeof(x->names))
        return cli_usage(x->c, "name some of them", "--strategies is too long");
    snprintf(x->names, sizeof(x->names), "%s", list);
    for (char *s = strtok_r(x->names, ",", &rest); s;
         s = strtok_r(NULL, ",", &rest)) {
        if (!is_strategy(s))
            return cli_usage(x->c, "'wavesmith tune --help' lists them",
                             "strategy '%s' is not known", s);
        if (x->nstrategy == MAX_STRATEGIES)
            return cli_usage(x->c, "name fewer", "more than %d strategies",
                             MAX_STRATEGIES);
        for (size_t i = 0; i < x->nstrategy; i++)
            if (!strcmp(x->strategy[i], s))
                return cli_usage(x->c, "name each once",
                                 "strategy '%s' is there twice", s);
        x->strategy[x->nstrategy++] = s;
    }
    return x->nstrategy ? 0
                        : cli_usage(x->c, "as in worldmodel,random",
                                    "--strategies names none");
}

static FILE *open_csv(struct compare *x, const char *dir, const char *name,
                      const char *head)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    if (f)
        fprintf(f, "%s\n", head);
    else
        cli_usage(x->c, "check the folder of --out", "cannot write '%s': %s",
                  path, strerror(errno));
    return f;
}

static int open_out(struct compare *x, const char *dir)
{
    if (!dir)
        return 0;
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return cli_usage(x->c, "name a folder that can be made",
                         "cannot make '%s': %s", dir, strerror(errno));
    x->curves = open_csv(x, dir, "curves.csv", "strategy,seed,trials,speedup");
    x->workloads = x->curves
                       ? open_csv(x, dir, "workloads.csv",
                                  "strategy,seed,workload,default_ns,best_ns,"
                                  "best_recorded_ns,config")
                       : NULL;
    return x->workloads ? 0 : EXIT_USAGE;
}

static int close_csv(struct compare *x, FILE *f, const char *name)
{
    bool bad;

    if (!f)
        return 0;
    bad = ferror(f) != 0;
    bad = fclose(f) != 0 || bad;
    return bad ? cli_usage(x->c, "is the disk full?", "cannot write %s", name)
               : 0;
}

static int open_stores(struct compare *x)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(x->dir, sizeof(x->dir), "%s/wavesmith-compare-XXXXXX",
             tmp && *tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    if (mkdtemp(x->dir))
        return 0;
    x->dir[0] = '\0';
    return cli_usage(x->c, "set TMPDIR to a folder with room",
                     "cannot make a folder for stores: %s", strerror(errno));
}

static void compare_end(struct compare *x)
{
    for (size_t i = 0; x->curve && i < x->nstrategy * x->nseed; i++)
        free(x->curve[i].gain);
    free(x->curve);
    if (x->dir[0])
        rmdir(x->dir);
}

static int compare(struct compare *x, struct ws_spec *spec,
                   const struct ws_tune_opts *o, const char *out)
{
    int rc, closed;

    x->curve = calloc(x->nstrategy * x->nseed, sizeof(*x->curve));
    if (!x->curve)
        return cli_exit_code(WS_ENOMEM);
    rc = open_stores(x);
    if (!rc)
        rc = open_out(x, out);
    if (!rc)
        rc = run_all(x, spec, o);
    closed = close_csv(x, x->curves, "curves.csv");
    closed = close_csv(x, x->workloads, "workloads.csv") || closed ? EXIT_USAGE
                                                                   : EXIT_DONE;
    if (rc || closed)
        return rc ? rc : closed;
    if (x->c->json)
        return cli_json(x->c, to_json(x));
    print_table(x);
    return EXIT_DONE;
}

static int run(struct cli *c, int argc, char **argv)
{
    struct compare x = {.c = c};
    struct cli_budget budget = {.trials = BUDGET};
    struct ws_tune_opts o = {.size = sizeof(o)};
    struct cli_kernels kernels = {0};
    const char *workloads = NULL, *list = DEFAULTS, *out = NULL, *pos[1];
    uint64_t seeds = SEEDS;
    bool trust = false;
    const struct cli_opt opts[] = {
        {"strategies", "A,B,...", "default " DEFAULTS, CLI_TEXT, &list},
        {"seeds", "N", "runs of each (default 5)", CLI_U64, &seeds},
        {"seed", "N", "the first of them (default 0)", CLI_U64, &o.seed},
        {"budget", "N|N%|TIME",
         "of a run: trials (default 120), a share of all, or a time",
         CLI_BUDGET, &budget},
        {"out", "DIR", "writes curves.csv and workloads.csv there", CLI_TEXT,
         &out},
        CLI_OPT_WORKLOADS(workloads),
        CLI_OPT_KERNELS(kernels),
        {"device", "D", "as 'wavesmith devices' names it", CLI_TEXT, &o.device},
        CLI_OPT_TRUST(trust),
        {"Results on record instead of a device:", NULL, NULL, CLI_GROUP, NULL},
        CLI_OPTS_RECORDINGS(o),
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_spec *spec;
    int npos, rc;

    rc = cli_parse(c, &cli_cmd_compare, opts, argc, argv, pos, 1, 1, &npos);
    if (rc >= 0)
        return rc;
    if (!seeds || seeds > 1000)
        return cli_usage(c, "1 to 1000", "--seeds: %llu",
                         (unsigned long long)seeds);
    if (kernels.name)
        return cli_usage(c, "name a file, such as kernels/x.yaml",
                         "--kernel: '%s' is no kernel file", kernels.name);
    x.nseed = (size_t)seeds;
    rc = read_strategies(&x, list);
    if (rc)
        return rc;
    o.budget_trials = budget.trials;
    o.budget_ns = budget.ns;
    o.budget_share = budget.share;
    o.trust_python = trust;
    rc = cli_open(c, pos[0], workloads, &kernels, &spec);
    if (rc)
        return rc;
    rc = compare(&x, spec, &o, out);
    compare_end(&x);
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_compare = {
    "compare", "SPEC [options]", "strategies beside each other",
    "SPEC as for 'wavesmith tune'. Every strategy runs with every seed on the\n"
    "same space with the same budget, each run with a store of its own. The\n"
    "table has the geometric mean over the workloads of the default's time "
    "over\n"
    "the best so far; on recordings that hold every config, as a part of the\n"
    "best recorded. The first strategy is compared with the others.\n",
    run};
