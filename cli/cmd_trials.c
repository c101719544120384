/*
 * cmd_trials.c: what a store holds: runs, trials, verification; as text and
 * back.
 *
 * Without a filter the runs are shown, for a store may hold very many trials;
 * any filter, or --list, shows trials, the newest last.
 */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct want {
    struct ws_trials_opts o;
    bool list, summary, verify, slowed;
    uint64_t since_ns;
    const char *spec, *workloads, *kernel, *format, *export, *import, *where,
        *time_column, *config, *solution;
};

/* --- trials -------------------------------------------------------------- */

/* A table that is as wide as its texts: kept until the end. */
struct row {
    char *cell[9];
};

struct table {
    struct cli *c;
    json_t *list;
    struct row *row;
    size_t n, cap;
    bool full; /* out of memory */
};

static const char *const heads[] = {"id",      "run",    "workload",
                                    "verdict", "time",   "n",
                                    "device",  "kernel", "config"};
#define NCELLS (sizeof(heads) / sizeof(heads[0]))

static json_t *whole(uint64_t v)
{
    return json_integer((json_int_t)v);
}

/* By launch, an object of those that are known; null: nothing was counted. */
static json_t *counters(const struct ws_trial_info *t)
{
    json_t *list = t->ncounter ? json_array() : json_null();

    for (size_t i = 0; i < t->ncounter; i++) {
        const struct ws_trial_counter *c = &t->counter[i];

        while (json_array_size(list) <= c->launch &&
               !json_array_append_new(list, json_object()))
            continue;
        cli_put(json_array_get(list, c->launch), c->key, cli_real(c->value));
    }
    return list;
}

static json_t *trial_json(const struct ws_trial_info *t)
{
    json_t *j = json_object(), *samples = json_array();
    char text[24];

    cli_put(j, "id", whole(t->id));
    cli_put(j, "run", whole(t->run));
    cli_put(j, "seq", whole(t->seq));
    cli_put(j, "part", whole(t->part));
    cli_put(j, "strategy", cli_text(t->strategy));
    cli_put(j, "specification", cli_text(t->name));
    cli_put(j, "spec_hash", cli_text(t->spec_hash));
    cli_put(j, "device", cli_text(t->device));
    cli_put(j, "device_hash", cli_text(t->device_hash));
    cli_put(j, "driver", cli_text(t->driver));
    cli_put(j, "compiler", cli_text(t->compiler));
    cli_put(j, "tool", cli_text(t->tool));
    cli_put(j, "op", cli_text(t->op));
    cli_put(j, "kernel", cli_text(t->kernel));
    cli_put(j, "config", cli_text(t->config));
    cli_put(j, "workload", cli_text(t->workload));
    cli_put(j, "workload_name", cli_text(t->workload_name));
    cli_put(j, "kernel_index", whole(t->kernel_index));
    cli_put(j, "config_index", cli_text(t->config_index));
    cli_put(j, "workload_index", whole(t->workload_index));
    cli_put(j, "candidate_hash", cli_text(t->candidate_hash));
    cli_put(j, "workload_hash", cli_text(t->workload_hash));
    cli_put(j, "verdict", cli_text(t->verdict));
    cli_put(j, "reason", cli_text(t->reason));
    cli_put(j, "effort", cli_text(t->effort));
    cli_put(j, "cache", cli_text(t->cache));
    cli_put(j, "median_ns", t->nsample ? cli_real(t->median_ns) : json_null());
    cli_put(j, "lo_ns", t->nsample ? cli_real(t->lo_ns) : json_null());
    cli_put(j, "hi_ns", t->nsample ? cli_real(t->hi_ns) : json_null());
    for (size_t i = 0; i < t->nsample; i++)
        json_array_append_new(samples, cli_real(t->sample_ns[i]));
    cli_put(j, "sample_ns", samples);
    cli_put(j, "mhz", t->mhz ? whole(t->mhz) : json_null());
    cli_put(j, "slowed", whole(t->slowed));
    cli_put(j, "kept_slowed", cli_text(t->kept_slowed));
    cli_put(j, "registers", whole(t->registers));
    cli_put(j, "spill_bytes", whole(t->spill_bytes));
    cli_put(j, "blocks_per_unit", whole(t->blocks_per_unit));
    cli_put(j, "gates", cli_gates(t->gate));
    cli_put(j, "counters", counters(t));
    cli_put(j, "spent_ns", whole(t->spent_ns));
    cli_put(j, "begun_ns", whole(t->wall_ns));
    snprintf(text, sizeof(text), "%llu", (unsigned long long)t->input_seed);
    cli_put(j, "input_seed", cli_text(text)); /* 64 bits: more than JSON's */
    return j;
}

static char *cell(const char *fmt, ...) WS_PRINTF(1, 2);

/* For a terminal: what a store says may not steer it. */
static char *cell(const char *fmt, ...)
{
    char *text;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return NULL;
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    return text;
}

static void fill(struct row *r, const struct ws_trial_info *t)
{
    r->cell[0] = cell("%llu", (unsigned long long)t->id);
    r->cell[1] = cell("%s/%llu", t->strategy, (unsigned long long)t->run);
    r->cell[2] = t->workload ? cell("%s", t->workload)
                             : cell("#%u %.8s", (unsigned)t->workload_index,
                                    t->workload_hash);
    r->cell[3] = cell("%s%s%s", t->verdict, t->part ? " pair" : "",
                      t->kept_slowed[0] ? " slowed" : "");
    r->cell[4] = cell("%s", cli_time(t->median_ns));
    r->cell[5] = cell("%zu", t->nsample);
    r->cell[6] =
        t->device[0] ? cell("%.24s", t->device) : cell("%.8s", t->device_hash);
    r->cell[7] = t->kernel ? cell("%s", t->kernel)
                           : cell("#%u", (unsigned)t->kernel_index);
    r->cell[8] =
        t->config ? cell("%s", t->config) : cell("[%s]", t->config_index);
}

static int take_trial(void *user, const struct ws_trial_info *t)
{
    struct table *tab = user;

    if (tab->c->json)
        return json_array_append_new(tab->list, trial_json(t));
    if (tab->n == tab->cap) {
        size_t cap = tab->cap ? tab->cap * 2 : 64;
        struct row *row = realloc(tab->row, cap * sizeof(*row));

        tab->full = !row;
        if (!row)
            return 1;
        tab->row = row;
        tab->cap = cap;
    }
    memset(&tab->row[tab->n], 0, sizeof(tab->row[0]));
    fill(&tab->row[tab->n++], t);
    for (size_t i = 0; i < NCELLS; i++)
        tab->full = tab->full || !tab->row[tab->n - 1].cell[i];
    return tab->full;
}

/* Letters of UTF-8, which is near enough to columns for names. */
static int letters(const char *s)
{
    int n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void put_cell(const char *text, int width, bool right, bool last)
{
    int pad = width - letters(text);

    printf("%*s%s", right && pad > 0 ? pad : 0, "", text);
    if (last)
        putchar('\n');
    else
        printf("%*s", (right || pad < 0 ? 0 : pad) + 2, "");
}

static void print_table(const struct table *tab)
{
    static const bool right[NCELLS] = {[0] = true, [4] = true, [5] = true};
    int width[NCELLS];

    for (size_t i = 0; i < NCELLS; i++) {
        width[i] = letters(heads[i]);
        for (size_t k = 0; k < tab->n; k++)
            if (letters(tab->row[k].cell[i]) > width[i])
                width[i] = letters(tab->row[k].cell[i]);
    }
    for (size_t i = 0; tab->n && i < NCELLS; i++)
        put_cell(heads[i], width[i], right[i], i + 1 == NCELLS);
    for (size_t k = 0; k < tab->n; k++)
        for (size_t i = 0; i < NCELLS; i++)
            put_cell(tab->row[k].cell[i], width[i], right[i], i + 1 == NCELLS);
}

static void clear_table(struct table *tab)
{
    for (size_t k = 0; k < tab->n; k++)
        for (size_t i = 0; i < NCELLS; i++)
            free(tab->row[k].cell[i]);
    free(tab->row);
}

static int show_trials(struct cli *c, const struct want *w)
{
    struct table tab = {.c = c, .list = c->json ? json_array() : NULL};
    int rc = ws_trials_each(c->ctx, &w->o, take_trial, &tab);

    if (rc > 0) {
        clear_table(&tab);
        json_decref(tab.list);
        return cli_json(c, NULL);
    }
    if (rc < 0) {
        clear_table(&tab);
        json_decref(tab.list);
        return cli_error(c);
    }
    if (c->json)
        return cli_json(c, json_pack("{s:o}", "trials", tab.list));
    print_table(&tab);
    if (!tab.n)
        printf("no trials\n");
    clear_table(&tab);
    return EXIT_DONE;
}

/* --- runs ---------------------------------------------------------------- */

struct runs {
    struct cli *c;
    json_t *list;
    uint64_t runs, trials, spent_ns, verdicts[16];
};

static const char *date(uint64_t ns, char out[32])
{
    time_t t = (time_t)(ns / 1000000000u);
    struct tm tm;

    if (!ns || !gmtime_r(&t, &tm) ||
        !strftime(out, 32, "%Y-%m-%d %H:%M:%S UTC", &tm))
        snprintf(out, 32, "-");
    return out;
}

static json_t *verdicts_json(const uint64_t *v)
{
    json_t *j = json_object();

    for (unsigned i = 0; ws_verdict_name(i); i++)
        if (v[i])
            cli_put(j, ws_verdict_name(i), whole(v[i]));
    return j;
}

static json_t *run_json(const struct ws_run_info *r)
{
    json_t *j = json_object();
    char text[24];

    cli_put(j, "run", whole(r->id));
    cli_put(j, "specification", cli_text(r->name));
    cli_put(j, "op", cli_text(r->op));
    cli_put(j, "spec_hash", cli_text(r->spec_hash));
    cli_put(j, "device", cli_text(r->device));
    cli_put(j, "device_hash", cli_text(r->device_hash));
    cli_put(j, "protocol", cli_text(r->protocol));
    cli_put(j, "strategy", cli_text(r->strategy));
    snprintf(text, sizeof(text), "%llu", (unsigned long long)r->seed);
    cli_put(j, "seed", cli_text(text));
    cli_put(j, "begun_ns", whole(r->begun_ns));
    cli_put(j, "last_ns", whole(r->last_ns));
    cli_put(j, "trials", whole(r->trials));
    cli_put(j, "samples", whole(r->samples));
    cli_put(j, "spent_ns", whole(r->spent_ns));
    cli_put(j, "verdicts", verdicts_json(r->verdicts));
    cli_put(j, "pid", r->measuring ? whole((uint64_t)r->pid) : json_null());
    return j;
}

static void put_verdicts(const uint64_t *v)
{
    for (unsigned i = 0; ws_verdict_name(i); i++)
        if (v[i])
            printf(", %llu %s", (unsigned long long)v[i], ws_verdict_name(i));
}

static void put_clean(const char *s)
{
    for (; *s; s++)
        putchar((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
}

static void print_run(const struct ws_run_info *r)
{
    char begun[32], last[32];

    printf("run %llu  ", (unsigned long long)r->id);
    put_clean(r->name);
    printf("\n  %s, seed %llu", r->strategy, (unsigned long long)r->seed);
    if (r->op[0]) {
        printf(", op ");
        put_clean(r->op);
    }
    printf("\n  on ");
    put_clean(r->device[0] ? r->device : r->device_hash);
    if (r->protocol[0]) {
        printf(" (");
        put_clean(r->protocol);
        printf(")");
    }
    printf("\n  begun %s, last trial %s\n  %llu trials",
           date(r->begun_ns, begun), date(r->last_ns, last),
           (unsigned long long)r->trials);
    put_verdicts(r->verdicts);
    printf("; %llu samples, %s spent\n", (unsigned long long)r->samples,
           cli_time((double)r->spent_ns));
    if (r->measuring)
        printf("  being measured by process %lld\n", (long long)r->pid);
}

static int take_run(void *user, const struct ws_run_info *r)
{
    struct runs *all = user;

    all->runs++;
    all->trials += r->trials;
    all->spent_ns += r->spent_ns;
    for (unsigned i = 0; i < 16; i++)
        all->verdicts[i] += r->verdicts[i];
    if (all->c->json)
        return json_array_append_new(all->list, run_json(r));
    print_run(r);
    return 0;
}

static int show_runs(struct cli *c, const struct want *w)
{
    struct runs all = {.c = c, .list = c->json ? json_array() : NULL};

    if (ws_trials_runs(c->ctx, &w->o, take_run, &all) < 0) {
        json_decref(all.list);
        return cli_error(c);
    }
    if (c->json) {
        json_t *doc = json_object();

        cli_put(doc, "runs", all.list);
        cli_put(doc, "trials", whole(all.trials));
        cli_put(doc, "spent_ns", whole(all.spent_ns));
        cli_put(doc, "verdicts", verdicts_json(all.verdicts));
        return cli_json(c, doc);
    }
    printf("%llu runs, %llu trials", (unsigned long long)all.runs,
           (unsigned long long)all.trials);
    put_verdicts(all.verdicts);
    printf("; %s spent\n", cli_time((double)all.spent_ns));
    return EXIT_DONE;
}

/* --- the file ------------------------------------------------------------ */

/* A finding is an answer: exit code 1. */
static int verify(struct cli *c, const struct want *w)
{
    uint64_t trials, runs;
    int rc = ws_trials_verify(c->ctx, w->o.store, &trials, &runs);

    if (rc == WS_ECORRUPT) {
        cli_error(c);
        return EXIT_NEGATIVE;
    }
    if (rc < 0)
        return cli_error(c);
    if (c->json)
        return cli_json(c, json_pack("{s:s, s:I, s:I}", "verify", "ok",
                                     "trials", (json_int_t)trials, "runs",
                                     (json_int_t)runs));
    printf("ok: %llu trials of %llu runs are what was written\n",
           (unsigned long long)trials, (unsigned long long)runs);
    return EXIT_DONE;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

/* By the option, else by the file's name. */
static const char *format_of(const struct want *w)
{
    if (w->format)
        return w->format;
    if (ends_with(w->export, ".t4.json"))
        return "t4";
    return ends_with(w->export, ".csv") ? "csv" : "jsonl";
}

static int export(struct cli *c, const struct want *w)
{
    const char *format = format_of(w);
    bool own = !strcmp(format, "jsonl");
    struct ws_trials_export_opts o = {
        .size = sizeof(o),
        .store = w->o.store,
        .file = w->export,
        .format = format,
        .spec = w->o.spec,
        .run = w->o.run,
        .device = w->o.device,
        .kernel = w->kernel,
        .workload = w->o.workload,
        .config = w->config,
        .solution = w->solution,
    };
    bool theirs = !strcmp(format, "trace") || !strcmp(format, "solution");
    bool traces = !strcmp(format, "trace");
    uint64_t records;

    if (w->o.verdict || w->since_ns || w->o.limit || w->slowed)
        return cli_usage(c, "--run and --device choose runs",
                         "an export takes whole runs: it cannot be filtered "
                         "by verdict, time, number or what slowed it");
    if (own && (w->o.workload || w->kernel))
        return cli_usage(c, "--run and --device choose runs",
                         "an export takes whole runs: it cannot be filtered "
                         "by workload or kernel");
    if ((w->config || w->solution) && !theirs)
        return cli_usage(c, NULL,
                         "--config and --solution go with --format "
                         "trace or solution");
    if (ws_trials_export(c->ctx, &o, &records) < 0)
        return cli_error(c);
    if (c->json)
        return cli_json(c, json_pack("{s:s, s:s, s:I}", "file", w->export,
                                     "format", format, "records",
                                     (json_int_t)records));
    printf("%llu %s in '%s'\n", (unsigned long long)records,
           own      ? "records"
           : traces ? "traces"
           : theirs ? "choices"
                    : "results",
           w->export);
    return EXIT_DONE;
}

static int import(struct cli *c, const struct want *w)
{
    struct ws_trials_import_opts o = {
        .size = sizeof(o),
        .store = w->o.store,
        .file = w->import,
        .spec = w->o.spec,
        .kernel = w->kernel,
        .workload = w->o.workload,
        .device = w->o.device,
        .where = w->where,
        .time_column = w->time_column,
    };
    struct ws_trials_imported r;

    if (w->o.verdict || w->since_ns || w->o.limit || w->o.run || w->format ||
        w->slowed)
        return cli_usage(c, NULL, "an import takes the whole file");
    if (!w->spec && (w->kernel || w->o.workload || w->o.device || w->where ||
                     w->time_column))
        return cli_usage(c, "they say what results of another tool are about",
                         "--kernel, --workload, --device, --where and "
                         "--time-column go with --spec");
    if (ws_trials_import(c->ctx, &o, &r) < 0)
        return cli_error(c);
    if (c->json)
        return cli_json(
            c, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:b}",
                         "records", (json_int_t)r.records, "trials",
                         (json_int_t)r.trials, "runs", (json_int_t)r.runs,
                         "specifications", (json_int_t)r.specs, "values",
                         (json_int_t)r.values, "matched", (json_int_t)r.matched,
                         "foreign", (json_int_t)r.foreign, "foreign_why",
                         r.foreign_why, "unfinished", r.unfinished));
    printf("%llu records: %llu new trials, %llu new runs; %llu were there "
           "already\n",
           (unsigned long long)r.records, (unsigned long long)r.trials,
           (unsigned long long)r.runs, (unsigned long long)r.matched);
    if (r.unfinished)
        printf("the file breaks off; what is whole of it was taken\n");
    if (r.foreign)
        printf("%llu results are not of this space and were left out: %s\n",
               (unsigned long long)r.foreign, r.foreign_why);
    return EXIT_DONE;
}

/* --- the command --------------------------------------------------------- */

static int open_spec(struct cli *c, struct want *w,
                     const struct cli_kernels *kernels)
{
    int rc;

    if (!w->spec)
        return w->workloads || kernels->nfile
                   ? cli_usage(c, NULL,
                               "--workloads and kernel files go with --spec")
                   : -1;
    rc = cli_open(c, w->spec, w->workloads, kernels, &w->o.spec);
    return rc ? rc : -1;
}

static void since(struct want *w)
{
    struct timespec now;
    uint64_t ns;

    if (!w->since_ns)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    w->o.since_ns = ns > w->since_ns ? ns - w->since_ns : 1;
}

static int act(struct cli *c, struct want *w)
{
    bool filter =
        w->o.verdict || w->o.workload || w->since_ns || w->o.limit || w->slowed;

    if (w->verify + (w->export != NULL) + (w->import != NULL) + w->summary +
            w->list >
        1)
        return cli_usage(c, NULL,
                         "one of --list, --summary, --verify, --export and "
                         "--import at a time");
    since(w);
    w->o.slowed = w->slowed;
    if ((w->where || w->time_column) && !w->import)
        return cli_usage(c, NULL, "--where and --time-column go with --import");
    if ((w->config || w->solution) && !w->export)
        return cli_usage(c, NULL, "--config and --solution go with --export");
    if (w->verify)
        return verify(c, w);
    if (w->export)
        return export(c, w);
    if (w->import)
        return import(c, w);
    if (w->kernel || w->format)
        return cli_usage(c, NULL,
                         "--kernel and --format go with --export "
                         "or --import");
    if (w->summary && filter)
        return cli_usage(c, "--run and --device choose runs",
                         "--summary is of whole runs");
    if (w->summary || (!filter && !w->list && !w->o.run && !w->o.device))
        return show_runs(c, w);
    return show_trials(c, w);
}

static int run(struct cli *c, int argc, char **argv)
{
    struct want w = {.o = {.size = sizeof(w.o)}};
    struct cli_kernels kernels = {0};
    const struct cli_opt opts[] = {
        {"list", NULL, "all trials (default with a filter)", CLI_FLAG, &w.list},
        {"summary", NULL, "the runs (default without a filter)", CLI_FLAG,
         &w.summary},
        {"verify", NULL, "check the file and every row; exit code 1: damaged",
         CLI_FLAG, &w.verify},
        {"spec", "SPEC", "names for a store that has none", CLI_TEXT, &w.spec},
        {"workloads", "FILE", "with --spec: the shapes that were tuned",
         CLI_TEXT, &w.workloads},
        {"Filters:", NULL, NULL, CLI_GROUP, NULL},
        {"verdict", "V", "ok, wrong, build, ...", CLI_TEXT, &w.o.verdict},
        {"workload", "W", "a name, some axes (M=16), or a hash", CLI_TEXT,
         &w.o.workload},
        {"device", "D", "a part of its name, or a hash", CLI_TEXT, &w.o.device},
        {"run", "N", "of this number", CLI_U64, &w.o.run},
        {"since", "TIME", "begun in the last 90s, 5m, 1h", CLI_TIME,
         &w.since_ns},
        {"limit", "N", "the newest N", CLI_U64, &w.o.limit},
        {"slowed", NULL, "while something slowed the device", CLI_FLAG,
         &w.slowed},
        {"Files:", NULL, NULL, CLI_GROUP, NULL},
        {"export", "FILE", "write the runs as text", CLI_TEXT, &w.export},
        {"import", "FILE", "add what such a file holds, or nothing", CLI_TEXT,
         &w.import},
        {"format", "F", "of --export: jsonl, t4, cache, csv, trace or solution",
         CLI_TEXT, &w.format},
        {"config", "K=V,...",
         "of a trace or solution: else each workload's best", CLI_TEXT,
         &w.config},
        {"solution", "NAME", "what it is called; else after the kernel",
         CLI_TEXT, &w.solution},
        {"kernel", "NAME|FILE",
         "of --spec: what results are about; or one of its kernel files",
         CLI_KERNEL, &kernels},
        {"where", "C=V,...", "of a CSV: only rows with these cells", CLI_TEXT,
         &w.where},
        {"time-column", "C", "of a CSV: the column of the time", CLI_TEXT,
         &w.time_column},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    const char *pos[1];
    int npos,
        rc = cli_parse(c, &cli_cmd_trials, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    w.o.store = pos[0];
    w.kernel = kernels.name;
    rc = open_spec(c, &w, &kernels);
    if (rc < 0)
        rc = act(c, &w);
    ws_spec_free(w.o.spec);
    return rc;
}

const struct cli_cmd cli_cmd_trials = {
    "trials", "STORE [options]", "what a store holds; text out and in",
    "STORE is a file, or a project (a folder .wavesmith or the one it lies "
    "in).\n"
    "Shows the runs, or with a filter the trials, the newest last; a number "
    "with\n"
    "'#' stands where no name is known. Looking works while a tune runs.\n\n"
    "--export writes one record a line, exact and complete: imported into "
    "another\n"
    "store (made if it is missing) the same tune goes on there. With --spec,\n"
    "--export writes and --import reads results of other tools: T4, cache "
    "files of\n"
    "Kernel Tuner, timing matrices (CSV); --export also writes traces and "
    "solutions of flashinfer-bench.\nAn import is all or nothing.",
    run};
