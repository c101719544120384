/*
 * cmd_outside.c: ask and tell: a search whose trials another process makes.
 *
 * Both play the run from its store. Ask stops at the first question without an
 * answer and prints it and those that were announced with it; tell gives the
 * answers of a file, as they are asked for. A file that is no list of answers
 * is refused before anything is kept.
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 8
#define MAX_LINE (1 << 20)

#define MOST_NS 1e12 /* of a sample: a quarter of an hour */

struct reply { /* a line of the file */
    json_t *doc;
    uint64_t question;
    unsigned line;
    bool used;
    const char *other; /* what it repeats is another question's */
};

struct outside {
    struct cli *c;
    bool tells;
    struct reply *reply;
    size_t n, used;
    uint64_t printed; /* the highest question that was */
    double *sample[2];
};

/* --- the file of answers -------------------------------------------------- */

static int bad_line(struct outside *x, const char *file, unsigned line,
                    const char *why)
{
    return cli_usage(x->c,
                     "a line is {\"question\": 3, \"verdict\": \"ok\", "
                     "\"samples_ns\": [5200, ...]}, or has \"a\" and \"b\" of "
                     "a pair",
                     "%s: line %u: %s", file, line, why);
}

static bool is_half(const json_t *j)
{
    const json_t *v = json_object_get(j, "verdict");
    const json_t *s = json_object_get(j, "samples_ns"), *one;
    size_t i;

    if (!json_is_string(v) || (s && !json_is_array(s)))
        return false;
    json_array_foreach((json_t *)s, i,
                       one) if (!json_is_number(one)) return false;
    return true;
}

static bool is_timed(const json_t *half)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(half, "samples_ns"), i, one)
    {
        double ns = json_number_value(one);

        if (!(ns > 0 && ns <= MOST_NS))
            return false;
    }
    return true;
}

static const char *flaw_of(const struct outside *x, const json_t *doc)
{
    const json_t *q = json_object_get(doc, "question");
    const json_t *a = json_object_get(doc, "a"), *b = json_object_get(doc, "b");

    if (!json_is_object(doc))
        return "it is no JSON object";
    if (!json_is_integer(q) || json_integer_value(q) < 1)
        return "it has no number of a question";
    for (size_t i = 0; i < x->n; i++)
        if ((uint64_t)json_integer_value(q) == x->reply[i].question)
            return "the question is answered twice";
    if (a || b ? !is_half(a) || !is_half(b) : !is_half(doc))
        return "it has no verdict, or samples that are no numbers";
    if (!is_timed(doc) || !is_timed(a) || !is_timed(b))
        return "a sample is no time: nanoseconds above 0, at most 1e12";
    return NULL;
}

static int take_line(struct outside *x, const char *file, const char *text,
                     unsigned line)
{
    json_t *doc = json_loads(text, 0, NULL);
    const char *why = flaw_of(x, doc);
    struct reply *more;

    if (why) {
        json_decref(doc);
        return bad_line(x, file, line, why);
    }
    more = realloc(x->reply, (x->n + 1) * sizeof(*more));
    if (!more) {
        json_decref(doc);
        return cli_exit_code(WS_ENOMEM);
    }
    x->reply = more;
    x->reply[x->n++] = (struct reply){.doc = doc,
                                      .question = (uint64_t)json_integer_value(
                                          json_object_get(doc, "question")),
                                      .line = line};
    return 0;
}

static int read_answers(struct outside *x, const char *file)
{
    FILE *f = fopen(file, "r");
    char *text = f ? malloc(MAX_LINE) : NULL;
    unsigned line = 0;
    int rc = 0;

    if (!f)
        return cli_usage(x->c, "name a file of answers", "cannot read '%s': %s",
                         file, strerror(errno));
    if (!text)
        rc = cli_exit_code(WS_ENOMEM);
    while (!rc && fgets(text, MAX_LINE, f)) {
        line++;
        if (!strchr(text, '\n') && !feof(f))
            rc = bad_line(x, file, line, "it is too long");
        else if (text[strspn(text, " \t\r\n")])
            rc = take_line(x, file, text, line);
    }
    if (!rc && ferror(f))
        rc = cli_usage(x->c, "name a file of answers", "cannot read '%s': %s",
                       file, strerror(errno));
    free(text);
    fclose(f);
    return rc;
}

/* --- questions ------------------------------------------------------------ */

static int print_question(struct outside *x, const struct ws_question *q)
{
    json_t *j;
    char *text;

    if (q->number <= x->printed)
        return 0;
    j = json_object();
    x->printed = q->number;
    cli_put(j, "question", json_integer((json_int_t)q->number));
    cli_put(j, "workload", cli_text(q->workload));
    cli_put(j, "name", cli_text(q->workload_name));
    cli_put(j, "kernel", cli_text(q->kernel));
    cli_put(j, "config", cli_text(q->config));
    if (q->kernel_b) {
        cli_put(j, "kernel_b", cli_text(q->kernel_b));
        cli_put(j, "config_b", cli_text(q->config_b));
    }
    cli_put(j, "effort", cli_text(q->effort));
    text = json_dumps(j, JSON_PRESERVE_ORDER);
    json_decref(j);
    if (!text)
        return WS_ENOMEM;
    puts(text);
    free(text);
    return 0;
}

static int fill(struct outside *x, int part, const json_t *j,
                struct ws_answer *a)
{
    const json_t *s = json_object_get(j, "samples_ns");
    size_t n = json_array_size(s);
    double *room = realloc(x->sample[part], (n + 1) * sizeof(*room));

    if (!room)
        return WS_ENOMEM;
    x->sample[part] = room;
    for (size_t i = 0; i < n; i++)
        room[i] = json_number_value(json_array_get(s, i));
    *a = (struct ws_answer){.verdict = json_string_value(
                                json_object_get(j, "verdict")),
                            .reason =
                                json_string_value(json_object_get(j, "reason")),
                            .sample_ns = room,
                            .nsample = n};
    return 0;
}

/* The first key of the question that the line repeats with another value. */
static const char *other_question(const struct ws_question *q,
                                  const json_t *doc)
{
    const struct {
        const char *key, *value;
    } part[] = {{"workload", q->workload}, {"kernel", q->kernel},
                {"config", q->config},     {"kernel_b", q->kernel_b},
                {"config_b", q->config_b}, {"effort", q->effort}};

    for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
        const json_t *j = json_object_get(doc, part[i].key);
        const char *text = json_string_value(j);

        if (j && (!text || !part[i].value || strcmp(text, part[i].value) != 0))
            return part[i].key;
    }
    return NULL;
}

static int give(struct outside *x, const struct ws_question *q, struct reply *r,
                struct ws_answer *a)
{
    const json_t *first = json_object_get(r->doc, "a");
    int rc;

    if (!q->kernel_b != !first) /* the other half is missing, or too much */
        return WS_ECANCEL;
    r->other = other_question(q, r->doc);
    if (r->other)
        return WS_ECANCEL;
    x->used += !r->used;
    r->used = true;
    if (!first)
        return fill(x, 0, r->doc, &a[0]);
    rc = fill(x, 0, first, &a[0]);
    return rc ? rc : fill(x, 1, json_object_get(r->doc, "b"), &a[1]);
}

static int on_question(void *user, const struct ws_question *q,
                       struct ws_answer *a)
{
    struct outside *x = user;

    if (!x->tells)
        return print_question(x, q) ? WS_ENOMEM : a ? WS_ECANCEL : 0;
    for (size_t i = 0; a && i < x->n; i++)
        if (x->reply[i].question == q->number)
            return give(x, q, &x->reply[i], a);
    return a ? WS_ECANCEL : 0;
}

/* --- the commands --------------------------------------------------------- */

static int end_ask(struct outside *x, struct ws_tune_result *r)
{
    bool more = x->printed > 0;

    ws_tune_result_free(x->c->ctx, r);
    if (more)
        return EXIT_DONE;
    fputs("wavesmith: nothing is left to ask; 'wavesmith tell' with an empty "
          "file shows what was found\n",
          stderr);
    return EXIT_NEGATIVE;
}

static int end_tell(struct outside *x, struct ws_tune_result *r, size_t nkernel)
{
    bool none = x->n && !x->used;

    fprintf(stderr, "%zu of %zu answers were taken\n", x->used, x->n);
    for (size_t i = 0; i < x->n; i++)
        if (x->reply[i].other)
            fprintf(stderr,
                    "  line %u: its '%s' is not that of question %llu: it is "
                    "of another run\n",
                    x->reply[i].line, x->reply[i].other,
                    (unsigned long long)x->reply[i].question);
        else if (!x->reply[i].used)
            fprintf(stderr,
                    "  line %u: question %llu is not open now, or is no %s\n",
                    x->reply[i].line, (unsigned long long)x->reply[i].question,
                    json_object_get(x->reply[i].doc, "a") ? "pair"
                                                          : "single one");
    if (!r->stopped)
        return cli_tuned(x->c, r, nkernel, NULL);
    if (r->stopped != WS_ECANCEL) {
        int rc = cli_error(x->c);

        ws_tune_result_free(x->c->ctx, r);
        return rc;
    }
    ws_tune_result_free(x->c->ctx, r);
    fputs("it goes on: 'wavesmith ask' has the next questions\n", stderr);
    return none ? EXIT_NEGATIVE : EXIT_DONE;
}

static void close_all(struct outside *x)
{
    for (size_t i = 0; i < x->n; i++)
        json_decref(x->reply[i].doc);
    free(x->reply);
    free(x->sample[0]);
    free(x->sample[1]);
}

static int outside(struct cli *c, const struct cli_cmd *which, bool tells,
                   int argc, char **argv)
{
    struct cli_cmd cmd = *which;
    struct outside x = {.c = c, .tells = tells};
    struct cli_budget budget = {0};
    struct cli_kernels kernels = {0};
    struct ws_tune_opts o = {.size = sizeof(o),
                             .strategy = "worldmodel",
                             .search = 1,
                             .answer = on_question,
                             .answer_user = &x};
    struct ws_tune_result *r = NULL;
    const char *workloads = NULL, *pos[2];
    uint64_t count = COUNT;
    const struct cli_opt opts[] = {
        {"device", "NAME", "what the device that measures is called", CLI_TEXT,
         &o.device},
        CLI_OPT_SEARCHER(o.strategy),
        {"budget", "N", "trials (default 200)", CLI_BUDGET, &budget},
        {"count", "N", "questions at a time (default 8): always the same",
         CLI_U64, &count},
        CLI_OPT_WORKLOADS(workloads),
        CLI_OPT_KERNELS(kernels),
        {"seed", "N", "of questions (default 0)", CLI_U64, &o.seed},
        CLI_OPT_STORE(o.store),
        {"out", "DIR", "as that of search", CLI_TEXT, &o.dir},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_spec *spec;
    size_t nkernel;
    int npos, rc;

    rc = cli_parse(c, &cmd, opts, argc, argv, pos, tells ? 2 : 1, tells ? 2 : 1,
                   &npos);
    if (rc >= 0)
        return rc;
    if (budget.ns || budget.share > 0)
        return cli_usage(c, "write a number of trials",
                         "--budget: who measures elsewhere has no clock here");
    if (kernels.name)
        return cli_usage(c, "name a file, such as kernels/x.yaml",
                         "--kernel: '%s' is no kernel file", kernels.name);
    if (!count || count > 1000)
        return cli_usage(c, "1 to 1000", "--count: %llu",
                         (unsigned long long)count);
    o.budget_trials = budget.trials ? budget.trials : CLI_SEARCH_BUDGET;
    o.parallel = (unsigned)count;
    rc = tells ? read_answers(&x, pos[1]) : 0;
    if (!rc)
        rc = cli_open(c, pos[0], workloads, &kernels, &spec);
    if (rc) {
        close_all(&x);
        return rc;
    }
    nkernel = ws_spec_kernel_count(spec);
    rc = ws_tune(spec, &o, &r);
    if (rc < 0 && x.used > 1)
        fprintf(stderr, "%zu answers before it were taken\n", x.used - 1);
    if (rc < 0)
        rc = cli_error(c);
    else
        rc = tells ? end_tell(&x, r, nkernel) : end_ask(&x, r);
    ws_spec_free(spec);
    close_all(&x);
    return rc;
}

static int run_ask(struct cli *c, int argc, char **argv)
{
    return outside(c, &cli_cmd_ask, false, argc, argv);
}

const struct cli_cmd cli_cmd_ask = {
    "ask", "SPEC --device NAME [options]",
    "the next questions of a search that others measure",
    "Prints the next questions of a search, one a line: a workload, and a "
    "kernel with a\nconfig (or two, to be timed in turn, sample by sample). "
    "'wavesmith tell' takes what\ncame of them. Both need the same options. "
    "Exit code 1: nothing is left to ask.",
    run_ask};

static int run_tell(struct cli *c, int argc, char **argv)
{
    return outside(c, &cli_cmd_tell, true, argc, argv);
}

const struct cli_cmd cli_cmd_tell = {
    "tell", "SPEC FILE --device NAME [options]",
    "what others measured for a search",
    "FILE has an answer a line, as in {\"question\": 3, \"verdict\": \"ok\",\n"
    "\"samples_ns\": [5210, 5195]}; of a pair an object \"a\" and one \"b\" "
    "instead of\nverdict and samples. A verdict that is not ok may have a "
    "\"reason\". What was told is\nbelieved: nothing here can check it.",
    run_tell};
