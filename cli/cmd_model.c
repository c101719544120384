/* cmd_model.c: wave models: how well they choose and predict, and why. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS_MAX 10000

static json_t *figures_json(const struct ws_model_figures *f)
{
    json_t *j = json_object();

#define WS_X(name) cli_put(j, #name, cli_real(f->name));
    WS_MODEL_FIGURES(WS_X)
#undef WS_X
    cli_put(j, "worst_shape", cli_text(f->worst_shape));
    cli_put(j, "worst_chosen", cli_text(f->worst_chosen));
    cli_put(j, "worst_best", cli_text(f->worst_best));
    cli_put(j, "warning", cli_text(f->warning));
    return j;
}

static json_t *eval_json(const struct ws_model_eval *e)
{
    json_t *j = figures_json(&e->mean), *seeds = json_array();
    json_t *losses = json_array();

    for (size_t i = 0; i < e->nseed; i++) {
        json_t *s = figures_json(&e->seed[i]);

        cli_put(s, "seed", json_integer((json_int_t)e->seed[i].seed));
        json_array_append_new(seeds, s);
    }
    cli_put(j, "seeds", seeds);
    for (size_t i = 0; i < e->nloss; i++) {
        const struct ws_model_choice *l = &e->loss[i];
        json_t *c = json_object();

        cli_put(c, "seed", json_integer((json_int_t)l->seed));
        cli_put(c, "shape", cli_text(l->shape));
        cli_put(c, "chosen", cli_text(l->chosen));
        cli_put(c, "best", cli_text(l->best));
        cli_put(c, "chosen_ns", cli_real(l->chosen_ns));
        cli_put(c, "best_ns", cli_real(l->best_ns));
        json_array_append_new(losses, c);
    }
    cli_put(j, "beyond", losses);
    cli_put(j, "foreign_rows", json_integer((json_int_t)e->foreign));
    return j;
}

static void print_row(const char *name, const struct ws_model_figures *f)
{
    printf("%-6s %7.4f  %7.4f  %6.1f%% %6.1f%% %6.1f%%   %5.1f%%   %5.1f%%   "
           "%6.1f%%  %6.0f  %6.2f s\n",
           name, f->mean_oracle_over_chosen, f->top3_mean_oracle_over_chosen,
           100 * f->regret_mean, 100 * f->regret_p95, 100 * f->regret_worst,
           100 * f->within_5pct, 100 * f->below_default, 100 * f->error_median,
           f->cells, f->seconds);
}

static void print_eval(const struct ws_model_eval *e)
{
    char name[32];

    printf("%.0f shapes to fit on, %.0f held out; best/chosen: 1 is the best\n",
           e->mean.fit_shapes, e->mean.held_shapes);
    if (e->foreign)
        printf("%llu rows of no config of the space are left out\n",
               (unsigned long long)e->foreign);
    printf("seed    choice    top 3   regret     p95   worst  within5  "
           "<default    error   cells\n");
    for (size_t i = 0; i < e->nseed; i++) {
        snprintf(name, sizeof(name), "%llu",
                 (unsigned long long)e->seed[i].seed);
        print_row(name, &e->seed[i]);
    }
    print_row("mean", &e->mean);
    for (size_t i = 0; i < e->nseed; i++)
        printf("worst of seed %llu: %s: %s, best %s\n",
               (unsigned long long)e->seed[i].seed, e->seed[i].worst_shape,
               e->seed[i].worst_chosen, e->seed[i].worst_best);
    for (size_t i = 0; i < e->nloss; i++) {
        const struct ws_model_choice *l = &e->loss[i];

        printf("seed %llu: %.2fx: %s: %s, best %s\n",
               (unsigned long long)l->seed, l->chosen_ns / l->best_ns, l->shape,
               l->chosen, l->best);
    }
    if (e->mean.warning)
        printf("warning: %s\n", e->mean.warning);
}

/* --- explain -------------------------------------------------------------- */

static json_t *constants_json(const struct ws_model_explain *e)
{
    json_t *list = json_array();

    for (size_t i = 0; i < e->nconstant; i++) {
        const struct ws_model_constant *c = &e->constant[i];
        json_t *j = json_object();

        cli_put(j, "name", cli_text(c->name));
        cli_put(j, "unit", cli_text(c->unit));
        cli_put(j, "prior", cli_real(c->prior));
        cli_put(j, "prior_deviation", cli_real(c->prior_deviation));
        cli_put(j, "fitted", cli_real(c->fitted));
        cli_put(j, "deviation", cli_real(c->deviation));
        cli_put(j, "of_logarithm", json_boolean(c->is_log));
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *buckets_json(const struct ws_model_explain *e)
{
    json_t *list = json_array();

    for (size_t i = 0; i < e->nbucket; i++) {
        const struct ws_model_bucket *b = &e->bucket[i];
        json_t *j = json_object();

        cli_put(j, "macro", cli_text(b->macro));
        cli_put(j, "waves", json_integer((json_int_t)b->waves));
        cli_put(j, "samples", cli_real(b->samples));
        cli_put(j, "a", cli_real(b->a));
        cli_put(j, "b", cli_real(b->b));
        cli_put(j, "c", cli_real(b->c));
        cli_put(j, "d", cli_real(b->d));
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *prediction_json(const struct ws_model_explain *e)
{
    json_t *j = json_object(), *list = json_array();

    cli_put(j, "shape", cli_text(e->shape));
    cli_put(j, "config", cli_text(e->config));
    cli_put(j, "chosen", cli_text(e->chosen));
    cli_put(j, "micro", cli_text(e->micro));
    cli_put(j, "predicted_ns", cli_real(e->predicted_ns));
    cli_put(j, "deviation", cli_real(e->deviation));
    cli_put(j, "measured_ns",
            e->measured_ns > 0 ? cli_real(e->measured_ns) : json_null());
    for (size_t i = 0; i < e->nterm; i++) {
        json_t *t = json_object();

        cli_put(t, "group", cli_text(e->term[i].group));
        cli_put(t, "name", cli_text(e->term[i].name));
        cli_put(t, "unit", cli_text(e->term[i].unit));
        cli_put(t, "value", cli_real(e->term[i].value));
        json_array_append_new(list, t);
    }
    cli_put(j, "terms", list);
    return j;
}

static json_t *explain_json(const struct ws_model_explain *e)
{
    json_t *j = json_object();

    cli_put(j, "cells", cli_real(e->cells));
    cli_put(j, "failed", cli_real(e->failed));
    cli_put(j, "outliers", cli_real(e->outliers));
    cli_put(j, "formula_rms", cli_real(e->formula_rms));
    cli_put(j, "left_out_rms", cli_real(e->left_out_rms));
    cli_put(j, "process", cli_real(e->process));
    cli_put(j, "warning", cli_text(e->warning));
    cli_put(j, "constants", constants_json(e));
    cli_put(j, "buckets", buckets_json(e));
    cli_put(j, "prediction", e->shape ? prediction_json(e) : json_null());
    return j;
}

/* "+- 25%" of a deviation of a logarithm, or the deviation itself. */
static void print_spread(double deviation, int is_log)
{
    if (is_log)
        printf(" +-%4.0f%%", 100 * (exp(deviation) - 1));
    else
        printf(" +-%5.3f", deviation);
}

static void print_constants(const struct ws_model_explain *e)
{
    if (!e->nconstant)
        return;
    printf("%-14s %21s %20s  unit\n", "constant", "prior", "fitted");
    for (size_t i = 0; i < e->nconstant; i++) {
        const struct ws_model_constant *c = &e->constant[i];

        printf("%-14s %12.5g", c->name, c->prior);
        print_spread(c->prior_deviation, c->is_log);
        printf(" %12.5g", c->fitted);
        print_spread(c->deviation, c->is_log);
        printf("  %s\n", c->unit);
    }
    printf("%.0f times, %.0f failed, %.0f far off; the formula leaves %.1f%%, "
           "with the process %.1f%% (left out); process %.2f\n",
           e->cells, e->failed, e->outliers, 100 * e->formula_rms,
           100 * e->left_out_rms, e->process);
}

static void print_buckets(const struct ws_model_explain *e)
{
    if (!e->nbucket)
        return;
    printf("table A: ns = a G L + b G + c L + d\n");
    printf("waves samples            a            b            c            d  "
           "macro config of\n");
    for (size_t i = 0; i < e->nbucket; i++) {
        const struct ws_model_bucket *b = &e->bucket[i];

        printf("%5u %7.0f %12.5g %12.5g %12.5g %12.5g  %s\n", b->waves,
               b->samples, b->a, b->b, b->c, b->d, b->macro);
    }
}

static void print_prediction(const struct ws_model_explain *e)
{
    const char *group = "";

    printf("\n%s: %s\n", e->shape, e->config);
    if (strcmp(e->config, e->chosen))
        printf("(chosen would be %s)\n", e->chosen);
    for (size_t i = 0; i < e->nterm; i++) {
        const struct ws_model_term *t = &e->term[i];

        printf("%-12s %-34s %14.6g %s\n",
               strcmp(group, t->group) ? t->group : "", t->name, t->value,
               t->unit);
        group = t->group;
    }
    if (e->micro)
        printf("table B: %s\n", e->micro);
    if (e->deviation > 0)
        printf("%-12s %-34s %14.3g %%\n", "", "deviation",
               100 * (exp(e->deviation) - 1));
    if (e->measured_ns > 0)
        printf("%-12s %-34s %14.6g ns\n", "", "measured", e->measured_ns);
}

static void print_explain(const struct ws_model_explain *e)
{
    print_constants(e);
    print_buckets(e);
    if (e->shape)
        print_prediction(e);
    if (e->warning)
        printf("warning: %s\n", e->warning);
}

/* "1,2" */
static int read_passes(struct cli *c, const char *text, int64_t *pass,
                       size_t max, size_t *n)
{
    char *end;

    for (*n = 0; text && *text; text = *end ? end + 1 : end) {
        int64_t v = strtoll(text, &end, 10);

        if (*n == max)
            return cli_usage(c, "a matrix has 16 at most",
                             "'%s' is one pass "
                             "too many",
                             text);
        if (end == text || (*end && *end != ','))
            return cli_usage(c, "write their numbers, as 1,2",
                             "'%s' names no passes", text);
        pass[(*n)++] = v;
    }
    return -1;
}

struct want {
    const char *space, *fit_pass, *shape, *config, *beyond, *margin;
    uint64_t truth_pass, seeds;
    struct ws_model_eval_opts o;
    struct ws_model_transfer_opts t;
};

static int eval(struct cli *c, const struct want *w)
{
    const struct cli_kernels none = {0};
    struct ws_model_eval result;
    struct ws_spec *spec;
    int rc = cli_open(c, w->space, NULL, &none, &spec);

    if (rc)
        return rc;
    if (ws_model_eval(spec, &w->o, &result))
        rc = cli_error(c);
    else if (c->json)
        rc = cli_json(c, eval_json(&result));
    else
        print_eval(&result);
    ws_spec_free(spec);
    return rc;
}

static int explain(struct cli *c, const struct want *w)
{
    const struct cli_kernels none = {0};
    struct ws_model_explain_opts o = {.size = sizeof(o),
                                      .data = w->o.data,
                                      .budget = w->o.budget,
                                      .method = w->o.method,
                                      .sheet = w->o.sheet,
                                      .fit_pass = w->o.fit_pass,
                                      .nfit_pass = w->o.nfit_pass,
                                      .truth_pass = w->o.truth_pass,
                                      .seed = w->o.seed,
                                      .shape = w->shape,
                                      .config = w->config};
    struct ws_model_explain result;
    struct ws_spec *spec;
    int rc = cli_open(c, w->space, NULL, &none, &spec);

    if (rc)
        return rc;
    if (ws_model_explain(spec, &o, &result))
        rc = cli_error(c);
    else if (c->json)
        rc = cli_json(c, explain_json(&result));
    else
        print_explain(&result);
    ws_spec_free(spec);
    return rc;
}

/* --- transfer ------------------------------------------------------------- */

static json_t *transfer_figures(const struct ws_transfer_figures *f)
{
    json_t *j = json_object();

#define WS_X(name) cli_put(j, #name, cli_real(f->name));
    WS_TRANSFER_FIGURES(WS_X)
#undef WS_X
    return j;
}

static json_t *transfer_side(const struct ws_transfer_figures *mean,
                             const struct ws_transfer_figures *seed, size_t n)
{
    json_t *j = transfer_figures(mean), *seeds = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *s = transfer_figures(&seed[i]);

        cli_put(s, "seed", json_integer((json_int_t)seed[i].seed));
        json_array_append_new(seeds, s);
    }
    cli_put(j, "seeds", seeds);
    return j;
}

static json_t *transfer_json(const struct ws_model_transfer *t)
{
    json_t *j = json_object();

    cli_put(j, "source_cells", cli_real(t->source_cells));
    cli_put(j, "source_rms", cli_real(t->source_rms));
    cli_put(j, "transfer", transfer_side(&t->mean, t->seed, t->nseed));
    cli_put(j, "neutral",
            transfer_side(&t->neutral, t->neutral_seed, t->nseed));
    return j;
}

static void print_side(const char *name, const struct ws_transfer_figures *f)
{
    printf("%-9s %6.1f%%  %6.1f%%  %6.2f  %6.0f  %7.0f", name,
           100 * f->error_median, 100 * f->error_p95, f->bias, f->cells,
           f->pairs);
    if (f->choices > 0)
        printf("  %7.4f  %6.1f%%  %6.1f%%", f->mean_oracle_over_chosen,
               100 * f->regret_mean, 100 * f->regret_p95);
    printf("\n");
}

static void print_transfer(const struct ws_model_transfer *t)
{
    printf("fitted to %.0f times of the first device, off by %.1f%% (root mean "
           "square); %zu seed%s\n",
           t->source_cells, 100 * t->source_rms, t->nseed,
           t->nseed == 1 ? "" : "s");
    printf("prior       error      p95    bias   cells    pairs%s\n",
           t->mean.choices > 0 ? "   choice   regret      p95" : "");
    print_side("transfer", &t->mean);
    print_side("neutral", &t->neutral);
}

static int transfer(struct cli *c, const struct want *w)
{
    const struct cli_kernels none = {0};
    struct ws_model_transfer result;
    struct ws_spec *spec;
    int rc = cli_open(c, w->space, NULL, &none, &spec);

    if (rc)
        return rc;
    if (ws_model_transfer(spec, &w->t, &result))
        rc = cli_error(c);
    else if (c->json)
        rc = cli_json(c, transfer_json(&result));
    else
        print_transfer(&result);
    ws_spec_free(spec);
    return rc;
}

/* --- the command ---------------------------------------------------------- */

/* A number in an option: -1 to go on, else an exit code. */
static int read_number(struct cli *c, const char *text, double least,
                       const char *what, const char *hint, double *out)
{
    char *end;

    if (!text)
        return -1;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= least) || !isfinite(*out))
        return cli_usage(c, hint, "'%s' is no %s", text, what);
    return -1;
}

static int run_transfer(struct cli *c, struct want *w)
{
    if (!w->t.to_data)
        return cli_usage(c,
                         "wavesmith model transfer --space SPEC --data FILE "
                         "--sheet A --to-data FILE --to-sheet B",
                         "'model transfer' needs --to-data");
    w->t.data = w->o.data;
    w->t.sheet = w->o.sheet;
    w->t.budget = w->o.budget;
    w->t.seed = w->o.seed;
    w->t.seeds = (unsigned)w->seeds;
    return transfer(c, w);
}

/* What eval and explain share. */
static int run_here(struct cli *c, struct want *w, bool is_eval)
{
    int64_t pass[16];
    int rc = read_passes(c, w->fit_pass, pass, 16, &w->o.nfit_pass);

    if (rc < 0)
        rc = read_number(c, w->beyond, 1, "ratio",
                         "write a ratio from 1 on, as 1.15", &w->o.beyond);
    if (rc < 0)
        rc = read_number(c, w->margin, 0, "margin",
                         "a number of deviations, as 2", &w->o.margin);
    if (rc >= 0)
        return rc;
    w->o.fit_pass = pass;
    w->o.truth_pass = (int64_t)w->truth_pass;
    w->o.seeds = (unsigned)w->seeds;
    return is_eval ? eval(c, w) : explain(c, w);
}

/* Is an option given that `what` does not have? */
static bool foreign(const struct want *w, const char *what)
{
    bool of_eval =
        w->o.fit_shapes || w->o.holdout || w->o.full || w->beyond || w->margin;
    bool of_explain = w->shape || w->config;
    bool of_transfer = w->t.to_data || w->t.to_sheet || w->t.cells;

    if (!strcmp(what, "eval"))
        return of_explain || of_transfer;
    if (!strcmp(what, "explain"))
        return of_eval || of_transfer || w->seeds;
    return of_eval || of_explain || w->o.method || w->fit_pass || w->truth_pass;
}

static int dispatch(struct cli *c, struct want *w, const char *what)
{
    if (strcmp(what, "eval") && strcmp(what, "explain") &&
        strcmp(what, "transfer"))
        return cli_usage(c,
                         "'model eval', 'model explain' and 'model "
                         "transfer' are known",
                         "no command 'model %s'", what);
    if (!w->space || !w->o.data)
        return cli_usage(c, "wavesmith model eval --space SPEC --data FILE",
                         "'model %s' needs --space and --data", what);
    if (w->seeds > SEEDS_MAX)
        return cli_usage(c, "five show how much figures vary",
                         "--seeds: at most %d", SEEDS_MAX);
    if (foreign(w, what))
        return cli_usage(c, "'wavesmith model --help' says what each takes",
                         "an option that 'model %s' does not know", what);
    if (w->config && !w->shape)
        return cli_usage(c, "add --shape", "--config needs a shape");
    return !strcmp(what, "transfer") ? run_transfer(c, w)
                                     : run_here(c, w, !strcmp(what, "eval"));
}

static int run(struct cli *c, int argc, char **argv)
{
    struct want w = {.o = {.size = sizeof(w.o)}, .t = {.size = sizeof(w.t)}};
    bool full = false;
    const char *pos[1];
    int rc, npos;
    const struct cli_opt opts[] = {
        {"space", "SPEC", "kernel file with the parameters and its op",
         CLI_TEXT, &w.space},
        {"data", "FILE", "timing matrix: CSV, also gzipped", CLI_TEXT,
         &w.o.data},
        {"budget", "B",
         "what is fitted on: a share of the pairs, as 2%, or cells (transfer: "
         "all)",
         CLI_TEXT, &w.o.budget},
        {"sheet", "NAME", "device sheet, or a file NAME.yaml (default h200)",
         CLI_TEXT, &w.o.sheet},
        {"seeds", "N", "how many (default 5)", CLI_U64, &w.seeds},
        {"seed", "N", "the first (default 1)", CLI_U64, &w.o.seed},
        {"method", "M",
         "wave (default), bilinear; eval: nearest, single, random", CLI_TEXT,
         &w.o.method},
        {"fit-pass", "N,N", "passes that are fitted on (default 1,2)", CLI_TEXT,
         &w.fit_pass},
        {"truth-pass", "N", "pass that is judged on (default 3)", CLI_U64,
         &w.truth_pass},
        {"fit-shapes", "FILE",
         "eval: names of the shapes to fit on, one a line", CLI_TEXT,
         &w.o.fit_shapes},
        {"holdout", "FILE", "eval: timing matrix of the shapes to judge on",
         CLI_TEXT, &w.o.holdout},
        {"beyond", "R", "eval: list choices slower than the best times R",
         CLI_TEXT, &w.beyond},
        {"margin", "Q",
         "eval: leave the default only for what is predicted faster by Q "
         "deviations",
         CLI_TEXT, &w.margin},
        {"process", NULL,
         "eval: ask the fitted process itself, not the weights "
         "that a pack carries",
         CLI_FLAG, &full},
        {"shape", "S", "explain: the shape, as M=64,N=4096 or a name", CLI_TEXT,
         &w.shape},
        {"config", "C", "explain: the config, as bm=64 (default: the chosen)",
         CLI_TEXT, &w.config},
        {"to-data", "FILE", "transfer: timing matrix of the other device",
         CLI_TEXT, &w.t.to_data},
        {"to-sheet", "NAME", "transfer: its sheet", CLI_TEXT, &w.t.to_sheet},
        {"cells", "N", "transfer: times of it that are used (default 0)",
         CLI_U64, &w.t.cells},
        {0}};

    rc = cli_parse(c, &cli_cmd_model, opts, argc, argv, pos, 1, 1, &npos);
    if (rc >= 0)
        return rc;
    w.o.full = full;
    return dispatch(c, &w, pos[0]);
}

const struct cli_cmd cli_cmd_model = {
    "model", "eval|explain|transfer --space SPEC --data FILE [options]",
    "wave models: how well they choose and predict, and why",
    "eval: a method spends a budget of timings on a part of the shapes, then "
    "chooses\na config for each of the others. The matrix has all times, so "
    "the best is known.\nexplain: the constants of a model that is fitted on "
    "all shapes, and one prediction\nterm by term (--shape, --config). "
    "Methods wave and bilinear.\ntransfer: a model of one device predicts "
    "another one, from both their sheets.",
    run};
