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

/* What is measured while screening is provisional: it is compared anew, in
 * turn with the default, before it is believed. */
static void on_progress(void *user, const struct ws_tune_progress *p)
{
    struct view *v = user;
    char line[512], planned[24] = "", left[32] = "", best[80] = "";
    bool new_stage = strcmp(v->stage, p->stage) != 0;

    if (!v->columns && !new_stage && p->elapsed_ns < v->last_ns + PLAIN_STEP_NS)
        return;
    v->last_ns = p->elapsed_ns;
    snprintf(v->stage, sizeof(v->stage), "%s", p->stage);
    if (p->planned)
        snprintf(planned, sizeof(planned), "/%llu",
                 (unsigned long long)p->planned);
    if (p->best_ns > 0 && p->default_ns > 0)
        snprintf(best, sizeof(best), "best %s (default %s)",
                 cli_time(p->best_ns), cli_time(p->default_ns));
    else
        snprintf(best, sizeof(best), "%s", p->verdict ? p->verdict : "");
    /* The first trials build more than they measure: no promise yet. */
    if (p->done * 8 >= p->planned)
        format_left(left, sizeof(left), p->left_ns);
    snprintf(
        line, sizeof(line),
        "[%s] %llu%s %s, %llu ok, %llu failed; unconfirmed %.2fx%s; %s: %s",
        p->stage, (unsigned long long)p->done, planned,
        strcmp(p->stage, "confirm") ? "trials" : "pairs",
        (unsigned long long)p->ok, (unsigned long long)p->failed,
        p->geomean_speedup, left, p->workload ? p->workload : "", best);
    if (v->columns)
        fprintf(stderr, "\r\033[K%.*s", v->columns - 1, line);
    else
        fprintf(stderr, "%s\n", line);
    fflush(stderr);
}

static json_t *verdicts_json(const struct ws_tune_row *r)
{
    json_t *v = json_object();

    for (unsigned i = 0; ws_verdict_name(i); i++)
        if (r->verdicts[i])
            cli_put(v, ws_verdict_name(i),
                    json_integer((json_int_t)r->verdicts[i]));
    return v;
}

static json_t *row_json(const struct ws_tune_row *r)
{
    json_t *j = json_object();

    cli_put(j, "workload", cli_text(r->workload));
    cli_put(j, "name", cli_text(r->name));
    cli_put(j, "attempted", json_boolean(r->attempted));
    cli_put(j, "kernel", cli_text(r->kernel));
    cli_put(j, "config", cli_text(r->config));
    cli_put(j, "changes", cli_text(r->changes));
    cli_put(j, "default_ns", cli_real(r->default_ns));
    cli_put(j, "best_ns", cli_real(r->best_ns));
    cli_put(j, "speedup", cli_real(r->speedup));
    cli_put(j, "speedup_lo", cli_real(r->speedup_lo));
    cli_put(j, "speedup_hi", cli_real(r->speedup_hi));
    cli_put(j, "confirmed", json_boolean(r->confirmed));
    cli_put(j, "proven_shapes", json_boolean(r->shapes));
    cli_put(j, "proven_values", json_boolean(r->values));
    cli_put(j, "proven_sanitizer", json_boolean(r->sanitizer));
    cli_put(j, "verdicts", verdicts_json(r));
    cli_put(j, "failure", cli_text(r->failure));
    if (r->oracle_ns > 0) {
        cli_put(j, "oracle_ns", cli_real(r->oracle_ns));
        cli_put(j, "regret", r->config ? cli_real(r->regret) : json_null());
    }
    if (r->regime)
        cli_put(j, "regime", cli_text(r->regime));
    if (r->floor_ns > 0)
        cli_put(j, "floor_ns", cli_real(r->floor_ns));
    cli_put(j, "trial", json_integer((json_int_t)r->trial));
    cli_put(j, "default_trial", json_integer((json_int_t)r->default_trial));
    return j;
}

static void put_recordings(json_t *doc, const struct ws_tune_result *r)
{
    json_t *j = json_object();

    cli_put(j, "file", cli_text(r->recordings));
    cli_put(j, "results", json_integer((json_int_t)r->recorded));
    cli_put(j, "foreign", json_integer((json_int_t)r->foreign));
    cli_put(j, "foreign_why", cli_text(r->foreign_why));
    cli_put(j, "geomean_regret", cli_real(r->geomean_regret));
    cli_put(j, "missed", json_integer((json_int_t)r->missed));
    cli_put(j, "unfinished", json_boolean(r->unfinished));
    cli_put(doc, "recordings", j);
}

json_t *cli_throughput(const struct ws_throughput *t)
{
    json_t *j = json_object(), *steps = json_object();

    if (!(t->seconds > 0)) {
        json_decref(j);
        json_decref(steps);
        return json_null();
    }
    for (size_t i = 0; i < t->nstep; i++)
        cli_put(steps, t->step[i], cli_real(t->step_share[i]));
    cli_put(j, "seconds", cli_real(t->seconds));
    cli_put(j, "trials", json_integer((json_int_t)t->trials));
    cli_put(j, "trials_a_minute", cli_real(t->trials_a_minute));
    cli_put(j, "run_share", cli_real(t->run_share));
    cli_put(j, "steps", steps);
    cli_put(j, "ahead", json_integer((json_int_t)t->ahead));
    cli_put(j, "slowed", json_integer((json_int_t)t->slowed));
    cli_put(j, "lost_some", json_integer((json_int_t)t->lost_some));
    cli_put(j, "kept_some", json_integer((json_int_t)t->kept_some));
    return j;
}

/* How many binaries a pack that was just written carries. */
static uint32_t pack_binaries(const char *path)
{
    struct wsrt_pack *p;
    uint32_t n;

    if (!path || wsrt_open(path, &p, NULL, 0) != WSRT_OK)
        return 0;
    n = wsrt_image_count(p);
    wsrt_close(p);
    return n;
}

static json_t *ideas_json(const struct ws_tune_result *r)
{
    json_t *all = json_array();

    for (size_t i = 0; i < r->nidea; i++) {
        const struct ws_tune_idea *d = &r->idea[i];
        json_t *j = json_object();

        cli_put(j, "place", cli_text(d->place));
        cli_put(j, "axis", cli_text(d->axis));
        cli_put(j, "choice", cli_text(d->choice));
        cli_put(j, "parent",
                d->parent >= 0 ? json_integer(d->parent) : json_null());
        cli_put(j, "tries", json_integer(d->tries));
        cli_put(j, "expected", cli_real(d->expected));
        cli_put(j, "expected_lo", cli_real(d->lo));
        cli_put(j, "expected_hi", cli_real(d->hi));
        cli_put(j, "factor", d->factor > 0 ? cli_real(d->factor) : json_null());
        cli_put(j, "speedup",
                d->speedup > 0 ? cli_real(d->speedup) : json_null());
        json_array_append_new(all, j);
    }
    return all;
}

static json_t *regimes_json(const struct ws_tune_result *r)
{
    json_t *all = json_array();

    for (size_t i = 0; i < r->nregime; i++) {
        const struct ws_tune_regime *x = &r->regime[i];
        json_t *j = json_object();

        cli_put(j, "regime", cli_text(x->name));
        cli_put(j, "workloads", json_integer((json_int_t)x->workloads));
        cli_put(j, "measured", json_integer((json_int_t)x->measured));
        cli_put(j, "kernel", cli_text(x->kernel));
        cli_put(j, "config", cli_text(x->config));
        cli_put(j, "speedup", cli_real(x->speedup));
        cli_put(j, "file", cli_text(x->file));
        json_array_append_new(all, j);
    }
    return all;
}

static int print_json(struct cli *c, const struct ws_tune_result *r)
{
    json_t *rows = json_array(), *j = json_object();

    for (size_t i = 0; i < r->nrow; i++)
        json_array_append_new(rows, row_json(&r->row[i]));
    cli_put(j, "device", cli_text(r->device));
    cli_put(j, "store", cli_text(r->store));
    cli_put(j, "pack", cli_text(r->pack));
    cli_put(j, "pack_binaries", json_integer(pack_binaries(r->pack)));
    cli_put(j, "trials", json_integer((json_int_t)r->trials));
    cli_put(j, "reused", json_integer((json_int_t)r->reused));
    cli_put(j, "filtered", json_integer((json_int_t)r->filtered));
    cli_put(j, "unfit", json_integer((json_int_t)r->unfit));
    cli_put(j, "unfit_why", cli_text(r->unfit_why));
    cli_put(j, "geomean_speedup", cli_real(r->geomean_speedup));
    cli_put(j, "stopped",
            cli_text(r->stopped ? ws_status_name(r->stopped) : NULL));
    if (r->recordings)
        put_recordings(j, r);
    else
        cli_put(j, "throughput", cli_throughput(&r->throughput));
    cli_put(j, "workloads", rows);
    if (r->nidea)
        cli_put(j, "ideas", ideas_json(r));
    if (r->nregime)
        cli_put(j, "regimes", regimes_json(r));
    if (r->tree_json)
        cli_put(j, "tree", json_loads(r->tree_json, 0, NULL));
    if (r->written)
        cli_put(j, "written", cli_text(r->written));
    return cli_json(c, j);
}

static const char *label(const struct ws_tune_row *r)
{
    return r->name[0] ? r->name : r->workload;
}

static void print_pack(const char *path)
{
    unsigned n = pack_binaries(path);

    printf("pack:  %s", path);
    if (n)
        printf(" (%u %s)", n, n == 1 ? "binary" : "binaries");
    printf("\n");
}

static void print_row(const struct ws_tune_row *r, int width, bool recorded)
{
    char range[40] = "not confirmed";

    if (!r->attempted)
        snprintf(range, sizeof(range), recorded ? "not asked" : "not measured");
    else if (!r->config)
        snprintf(range, sizeof(range),
                 r->ok ? "none confirmed" : "nothing right");
    else if (!(r->default_ns > 0))
        snprintf(range, sizeof(range),
                 recorded ? "no default" : "default failed");
    else if (!(r->ok + r->failed + r->filtered))
        snprintf(range, sizeof(range), "nothing tried");
    else if (r->speedup_lo == 1 && r->speedup_hi == 1)
        snprintf(range, sizeof(range), "default stays");
    else if (r->confirmed || recorded)
        snprintf(range, sizeof(range), "[%.2f, %.2f]", r->speedup_lo,
                 r->speedup_hi);
    printf("%-*s %10s %10s ", width, label(r), cli_time(r->default_ns),
           cli_time(r->best_ns));
    if (r->config && r->default_ns > 0)
        printf("%7.2fx ", r->speedup);
    else
        printf("%8s ", "-");
    printf("%-15s %4llu %4llu %4llu\n", range, (unsigned long long)r->ok,
           (unsigned long long)r->failed, (unsigned long long)r->filtered);
}

static void print_choice(const struct ws_tune_row *r, size_t nkernel,
                         bool recorded)
{
    printf("  %s\n      ", r->workload);
    if (!r->config) {
        puts(!r->attempted ? (recorded ? "not asked" : "not measured")
             : r->ok       ? "what was right at first failed when it was "
                             "confirmed or proven"
                           : "nothing was right");
        return;
    }
    if (nkernel > 1)
        printf("%s  ", r->kernel);
    /* Without a default to compare with, all of it is news. */
    if (recorded && !(r->default_ns > 0))
        puts(r->config);
    else
        puts(r->changes[0] ? r->changes : "the default");
    if (r->oracle_ns > 0)
        printf("      %.2f%% over the best recorded, %s\n", r->regret * 100,
               cli_time(r->oracle_ns));
}

/* Equal failures are told once. */
static void print_failures(const struct ws_tune_result *r)
{
    bool any = false;
    size_t same = 0;

    for (size_t i = 0; i < r->nrow; i += 1 + same) {
        const char *why = r->row[i].failure;

        same = 0;
        if (!why)
            continue;
        if (!any)
            printf("\nfailures (the first of each workload%s):\n",
                   r->recordings ? "" : "; 'wavesmith check' has the details");
        any = true;
        while (i + same + 1 < r->nrow && r->row[i + same + 1].failure &&
               !strcmp(why, r->row[i + same + 1].failure))
            same++;
        printf("  %s", r->row[i].workload);
        if (same)
            printf(" and the %zu workloads after it", same);
        printf("\n      %s\n", why);
    }
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

/* Nothing was measured, and the words say so. */
static void print_recordings(const struct ws_tune_result *r)
{
    size_t known = 0;

    for (size_t i = 0; i < r->nrow; i++)
        known += r->row[i].oracle_ns > 0 && r->row[i].config;
    if (known)
        printf("choices over the best recorded: %.2f%% (geometric mean over "
               "%zu workloads)\n",
               r->geomean_regret * 100, known);
    printf("%llu questions answered from recordings, defaults and pairs "
           "included (%llu by the store); nothing was measured\n",
           (unsigned long long)r->trials, (unsigned long long)r->reused);
    printf("recordings: %s: %llu results%s (%s)\n", r->recordings,
           (unsigned long long)r->recorded,
           r->unfinished ? " of an unfinished file" : "", r->device);
    if (r->foreign)
        printf("  %llu results do not belong to the space; the first: %s\n",
               (unsigned long long)r->foreign, r->foreign_why);
    if (r->missed)
        printf("  %llu configs were asked for that are not recorded\n",
               (unsigned long long)r->missed);
}

static void print_throughput(const struct ws_throughput *t)
{
    const char *mark = " (";

    if (!t->trials)
        return;
    printf("throughput: %.3g trials a minute; %.0f%% of the time in launches",
           t->trials_a_minute, t->run_share * 100);
    for (size_t i = 0; i < t->nstep; i++)
        if (t->step_share[i] >= 0.01) {
            printf("%s%s %.0f%%", mark, t->step[i], t->step_share[i] * 100);
            mark = ", ";
        }
    printf("%s\n", mark[0] == ',' ? ")" : "");
    if (t->slowed || t->kept_some)
        printf("the device was slowed: %llu samples of %llu trials were "
               "thrown away, %llu trials have slowed ones\n",
               (unsigned long long)t->slowed, (unsigned long long)t->lost_some,
               (unsigned long long)t->kept_some);
}

static bool any_default(const struct ws_tune_result *r)
{
    for (size_t i = 0; i < r->nrow; i++)
        if (r->row[i].default_ns > 0)
            return true;
    return false;
}

static bool any_unconfirmed(const struct ws_tune_result *r)
{
    for (size_t i = 0; i < r->nrow; i++)
        if (r->row[i].config && r->row[i].speedup > 1 && !r->row[i].confirmed)
            return true;
    return false;
}

/* What is known of the choices beside the shapes that were asked for. */
static void print_proof(const struct ws_tune_result *r)
{
    size_t n = 0, shapes = 0, values = 0, sanitizer = 0;

    for (size_t i = 0; i < r->nrow; i++) {
        n += r->row[i].config != NULL;
        shapes += r->row[i].shapes != 0;
        values += r->row[i].values != 0;
        sanitizer += r->row[i].sanitizer != 0;
    }
    if (!n || r->recordings)
        return;
    if (r->few_gates) {
        puts("proven: nothing (--gates few)");
        return;
    }
    printf("proven, of %zu choices: %zu on hidden shapes, %zu on families of "
           "values, ",
           n, shapes, values);
    if (sanitizer)
        printf("%zu under a sanitizer\n", sanitizer);
    else
        printf("none under a sanitizer\n");
}

static void print_idea(const struct ws_tune_idea *d)
{
    char name[160], found[16] = "nothing", all[16] = "";

    snprintf(name, sizeof(name), "%*s%s: %s", (int)(2 * d->depth), "", d->axis,
             d->choice);
    if (d->factor > 0)
        snprintf(found, sizeof(found), "%.2fx", d->factor);
    else if (d->speedup > 0)
        snprintf(found, sizeof(found), "open");
    if (d->speedup > 0)
        snprintf(all, sizeof(all), "%.2fx", d->speedup);
    printf("%-44s %7.2fx %8s %8s %5u\n", name, d->expected, found, all,
           d->tries);
}

static void print_children(const struct ws_tune_result *r, int32_t parent,
                           const char *place)
{
    for (size_t i = 0; i < r->nidea; i++) {
        const struct ws_tune_idea *d = &r->idea[i];

        if (d->parent != parent || strcmp(d->place, place) != 0)
            continue;
        print_idea(d);
        print_children(r, (int32_t)i, place);
    }
}

/* Place by place, as they come. */
static void print_ideas(const struct ws_tune_result *r)
{
    printf("\n%-44s %8s %8s %8s %5s\n", "ideas", "expected", "found", "in all",
           "tried");
    for (size_t i = 0; i < r->nidea; i++) {
        const char *place = r->idea[i].place;

        if (i && !strcmp(place, r->idea[i - 1].place))
            continue;
        printf("%s\n", place);
        print_children(r, -1, place);
    }
}

/* The best of each regime, and how far it is from the floor. */
static void print_regimes(const struct ws_tune_result *r, size_t nkernel)
{
    puts("\nbest of each regime (by single looks, not confirmed):");
    for (size_t i = 0; i < r->nregime; i++) {
        const struct ws_tune_regime *x = &r->regime[i];

        printf("  %s: ", x->name);
        if (!x->kernel) {
            puts("nothing was right");
            continue;
        }
        printf("%.2fx over the default, measured on %zu of %zu workloads\n",
               x->speedup, x->measured, x->workloads);
        printf("      %s%s%s\n", nkernel > 1 ? x->kernel : "",
               nkernel > 1 ? ": " : "",
               x->changes[0] ? x->changes : "the default");
        if (x->file)
            printf("      %s\n", x->file);
    }
}

static void print_floors(const struct ws_tune_result *r)
{
    bool any = false;

    for (size_t i = 0; i < r->nrow; i++) {
        const struct ws_tune_row *w = &r->row[i];

        if (!(w->floor_ns > 0) || !w->config)
            continue;
        if (!any)
            puts("\nover the floor (what the device's ceilings allow):");
        any = true;
        printf("  %s: default %.2fx, tuned %.2fx of %s\n", label(w),
               w->default_ns / w->floor_ns, w->best_ns / w->floor_ns,
               cli_time(w->floor_ns));
    }
}

static void warn_few(void)
{
    fputs(
        "wavesmith: warning: --gates few: nothing is proven; the choices, and "
        "a pack or\n  a store of them, were not tried on other shapes or "
        "values and not searched for\n  cheats. Tune with all gates before "
        "they are used\n",
        stderr);
}

/* pack: where one was asked for, or NULL. */
static void print_table(const struct ws_tune_result *r, size_t nkernel,
                        const char *pack)
{
    int width = 8;
    size_t attempted = 0, wrong = 0;

    for (size_t i = 0; i < r->nrow; i++) {
        if ((int)strlen(label(&r->row[i])) > width)
            width = (int)strlen(label(&r->row[i]));
        attempted += r->row[i].attempted != 0;
        wrong += r->row[i].attempted && !r->row[i].config;
    }
    printf("%-*s %10s %10s %8s %-15s %4s %4s %4s\n", width, "workload",
           "default", "tuned", "speed-up", "95% interval", "ok", "bad", "filt");
    for (size_t i = 0; i < r->nrow; i++)
        print_row(&r->row[i], width, r->recordings != NULL);
    printf("\nchoices (what differs from the default):\n");
    for (size_t i = 0; i < r->nrow; i++)
        print_choice(&r->row[i], nkernel, r->recordings != NULL);
    print_failures(r);
    if (r->nidea)
        print_ideas(r);
    if (r->nregime)
        print_regimes(r, nkernel);
    print_floors(r);
    printf("\n");
    print_verdicts(r);
    if (r->unfit)
        printf("removed by the resource filter before building: %llu (the "
               "first: %s)\n",
               (unsigned long long)r->unfit, r->unfit_why);
    if (attempted > wrong && (!r->recordings || any_default(r)))
        printf("geometric mean of the speed-up: %.2fx over %zu workloads%s%s\n",
               r->geomean_speedup, attempted,
               wrong ? " (1.00 where nothing was right)" : "",
               any_unconfirmed(r) ? "; not confirmed where the table says so"
                                  : "");
    if (r->recordings)
        print_recordings(r);
    else
        printf("%llu questions answered, defaults and pairs included (%llu "
               "from the store), on %s\n",
               (unsigned long long)r->trials, (unsigned long long)r->reused,
               r->device);
    print_proof(r);
    print_throughput(&r->throughput);
    printf("store: %s\n", r->store);
    if (r->written)
        printf("files: %s\n", r->written);
    if (r->pack)
        print_pack(r->pack);
    else if (pack && !r->pack_status)
        printf("pack:  %s is not written: there is no choice to put into it\n",
               pack);
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
    if (r->stopped != WS_EIO)
        fprintf(stderr, "  results so far are kept; run the same command "
                        "again to continue\n");
}

int cli_tuned(struct cli *c, struct ws_tune_result *r, size_t nkernel,
              const char *pack)
{
    int rc = EXIT_DONE;

    if (c->json)
        rc = print_json(c, r);
    else
        print_table(r, nkernel, pack);
    if (fflush(stdout) != 0 && rc == EXIT_DONE) {
        fputs("wavesmith: cannot write to standard output\n", stderr);
        rc = EXIT_EARLY;
    }
    if (rc == EXIT_DONE && r->stopped) {
        explain_stop(c, r);
        rc = cli_exit_code(r->stopped);
    } else if (rc == EXIT_DONE && (r->pack_status || r->files_status)) {
        rc = cli_error(c);
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

    snprintf(
        out, n,
        "SPEC is a kernel file, an op folder (all its kernels), the name of a "
        "shipped op,\nor a Definition of flashinfer-bench; with --recordings "
        "also a T1 file.\n"
        "Measures the default of every workload, searches within the "
        "budget, and confirms\nthe finalists in interleaved runs against "
        "the default (which takes\na while after the budget). Every trial is "
        "in the store before the next one starts:\ninterrupt at any moment and "
        "run again to continue.\n\n"
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
    struct cli_list devices = {0};
    struct view view = {.columns = cli_columns()};
    struct ws_tune_opts o = {.size = sizeof(o),
                             .progress = on_progress,
                             .user = &view};
    struct ws_tune_result *r = NULL;
    const char *workloads = NULL, *pos[1];
    uint64_t builders = 0;
    bool trust = false;
    const char *gates = NULL;
    struct cli_kernels kernels = {0};
    const struct cli_opt opts[] = {
        CLI_OPT_DEVICES(devices),
        {"strategy", "S",
         "hill, wave, surrogate, worldmodel, ...: see below (default hill)",
         CLI_TEXT, &o.strategy},
        {"budget", "N|N%|TIME",
         "trials (default 100), a share of all, or a time such as 90s",
         CLI_BUDGET, &budget},
        CLI_OPT_WORKLOADS(workloads),
        CLI_OPT_KERNELS(kernels),
        {"seed", "N", "of questions and inputs (default 0)", CLI_U64, &o.seed},
        CLI_OPT_TRUST(trust),
        CLI_OPT_STORE(o.store),
        {"out", "PACK", "write the choices for the runtime", CLI_TEXT, &o.pack},
        CLI_OPT_CACHE(o.cache),
        CLI_OPT_LAUNCH(o.launch),
        CLI_OPT_RUN_LIMIT(o.run_limit_ns),
        {"gates", "WHICH",
         "all, or few: no proof, no search for cheats (to see what they cost)",
         CLI_TEXT, &gates},
        {"counters", NULL,
         "keep what hardware counts of each candidate, where it does", CLI_FLAG,
         &o.counters},
        {"builders", "N", "workers that build (default: processors)", CLI_U64,
         &builders},
        {"Results on record instead of a device:", NULL, NULL, CLI_GROUP, NULL},
        CLI_OPTS_RECORDINGS(o),
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
    o.budget_share = budget.share;
    o.devices = devices.item;
    o.ndevice = devices.n;
    o.builders = (unsigned)builders;
    o.trust_python = trust;
    o.few_gates = gates && !strcmp(gates, "few");
    if (gates && !o.few_gates && strcmp(gates, "all"))
        return cli_usage(c, "write all or few", "--gates: '%s'", gates);
    if (kernels.name)
        return cli_usage(c, "name a file, such as kernels/x.yaml",
                         "--kernel: '%s' is no kernel file", kernels.name);
    rc = cli_open(c, pos[0], workloads, &kernels, &spec);
    if (rc)
        return rc;
    if (o.few_gates)
        warn_few();
    rc = ws_tune(spec, &o, &r);
    if (view.columns && view.last_ns)
        fputc('\n', stderr);
    rc = rc < 0 ? cli_error(c)

                : cli_tuned(c, r, ws_spec_kernel_count(spec), o.pack);
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_tune = {"tune", "SPEC [options]",
                                     "find the fastest verified config a shape",
                                     NULL, run};
