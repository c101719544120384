/*
 * cli_opts.c: options, help texts and errors of the command-line tool.
 *
 * One table for each command drives both the parser and --help, so that they
 * cannot disagree. Options may stand before or after the words, as
 * --name VALUE or --name=VALUE.
 */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

int cli_exit_code(int status)
{
    switch (status) {
    case WS_OK:
        return EXIT_DONE;
    case WS_EINVAL:
    case WS_EPARSE:
    case WS_ESPEC:
    case WS_EEXPR:
    case WS_EOVERFLOW:
    case WS_ENOENT:
    case WS_EVERSION:
    case WS_ECORRUPT:
    case WS_ELIMIT:
    case WS_EMISS:
        return EXIT_USAGE;
    case WS_ECANCEL:
    case WS_ETIMEOUT:
    case WS_EFULL:
    case WS_EBUSY:
        return EXIT_EARLY;
    case WS_EBUG:
    case WS_EPROTO:
        return EXIT_BUG;
    default:
        return EXIT_MACHINE;
    }
}

json_t *cli_text(const char *s)
{
    json_t *j = s ? json_string(s) : json_null();
    char *copy;

    if (j)
        return j;
    copy = strdup(s);
    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    j = copy ? json_string(copy) : NULL;
    free(copy);
    return j;
}

json_t *cli_real(double v)
{
    if (isnan(v))
        return json_string("nan");
    if (isinf(v))
        return json_string(v > 0 ? "inf" : "-inf");
    return json_real(v);
}

void cli_put(json_t *obj, const char *key, json_t *value)
{
    json_object_set_new(obj, key, value);
}

static json_t *error_json(const struct ws_error *e)
{
    json_t *j = json_object(), *doc = json_object();

    cli_put(j, "code", cli_text(ws_status_name(e->code)));
    cli_put(j, "status", json_integer(e->code));
    cli_put(j, "text", cli_text(ws_status_text(e->code)));
    cli_put(j, "file", cli_text(e->file));
    cli_put(j, "line", json_integer(e->line));
    cli_put(j, "column", json_integer(e->column));
    cli_put(j, "message", cli_text(e->message));
    cli_put(j, "hint", cli_text(e->hint));
    cli_put(doc, "error", j);
    return doc;
}

/* For a terminal: what a file says may not steer it. */
static void put_words(const char *s)
{
    for (; *s; s++)
        fputc((unsigned char)*s < 0x20 && *s != '\n' && *s != '\t' ? '?' : *s,
              stderr);
}

static void report(struct cli *c, const struct ws_error *e)
{
    fflush(stdout);
    if (c->json) {
        json_t *j = error_json(e);

        json_dumpf(j, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(j);
        return;
    }
    fputs("wavesmith: ", stderr);
    if (e->file[0]) {
        put_words(e->file);
        fputc(':', stderr);
    }
    if (e->line)
        fprintf(stderr, "%u:", e->line);
    if (e->line && e->column)
        fprintf(stderr, "%u:", e->column);
    fputs(e->file[0] || e->line ? " " : "", stderr);
    put_words(e->message);
    if (e->hint[0]) {
        fputs("\n  hint: ", stderr);
        put_words(e->hint);
    }
    fputc('\n', stderr);
}

int cli_error(struct cli *c)
{
    const struct ws_error *e = ws_ctx_error(c->ctx);

    report(c, e);
    return cli_exit_code(e->code);
}

int cli_usage(struct cli *c, const char *hint, const char *fmt, ...)
{
    struct ws_error e = {.code = WS_EINVAL};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(e.message, sizeof(e.message), fmt, ap);
    va_end(ap);
    if (hint)
        snprintf(e.hint, sizeof(e.hint), "%s", hint);
    else
        snprintf(e.hint, sizeof(e.hint), "see 'wavesmith %s --help'",
                 c->command ? c->command : "");
    report(c, &e);
    return EXIT_USAGE;
}

int cli_json(struct cli *c, json_t *doc)
{
    if (!doc) {
        struct ws_error e = {.code = WS_ENOMEM, .message = "out of memory"};

        report(c, &e);
        return EXIT_MACHINE;
    }
    json_dumpf(doc, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(doc);
    return EXIT_DONE;
}

const char *cli_when(uint64_t ns, char out[32])
{
    time_t when = (time_t)(ns / 1000000000u);
    struct tm tm;

    if (!gmtime_r(&when, &tm) || !strftime(out, 32, "%Y-%m-%d %H:%M UTC", &tm))
        snprintf(out, 32, "at an unknown time");
    return out;
}

const char *cli_time(double ns)
{
    static char text[8][32];
    static unsigned at;
    char *t = text[at++ % 8];
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};

    snprintf(t, sizeof(text[0]), "-");
    for (size_t i = 0; ns > 0 && i < 4; i++)
        if (ns >= units[i].unit || i == 3) {
            double v = ns / units[i].unit;

            snprintf(t, sizeof(text[0]), "%.*f %s",
                     v < 10    ? 2
                     : v < 100 ? 1
                               : 0,
                     v, units[i].name);
            break;
        }
    return t;
}

int cli_columns(void)
{
    struct winsize w;

    if (!isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0)
        return 0;
    return w.ws_col ? w.ws_col : 80;
}

static void help_options(const struct cli_opt *o)
{
    for (; o->name; o++) {
        char left[64];

        if (o->kind == CLI_GROUP) {
            printf("\n%s\n", o->name);
            continue;
        }
        snprintf(left, sizeof(left), "--%s%s%s", o->name, o->arg ? " " : "",
                 o->arg ? o->arg : "");
        printf("  %-24s %s\n", left, o->help);
    }
}

static void common_options(struct cli *c, struct cli_opt *o)
{
    const struct cli_opt list[] = {
        {"Common:", NULL, NULL, CLI_GROUP, NULL},
        {"help", NULL, "this text", CLI_FLAG, &c->help},
        {"json", NULL, "results and errors as JSON", CLI_FLAG, &c->json},
        {"timeout", "TIME", "stop after 90s, 5m, 1h... (exit code 4)", CLI_TIME,
         &c->timeout_ns},
        {"verbose", NULL, "say on standard error what is done", CLI_FLAG,
         &c->verbose},
        {NULL, NULL, NULL, CLI_FLAG, NULL},
    };

    memcpy(o, list, sizeof(list));
}

static const struct cli_opt *find(const struct cli_opt *o, const char *name,
                                  size_t n)
{
    for (; o->name; o++)
        if (o->kind != CLI_GROUP && strlen(o->name) == n &&
            !strncmp(o->name, name, n))
            return o;
    return NULL;
}

static bool parse_u64(const char *s, uint64_t *out, const char **end)
{
    char *e;

    if (*s < '0' || *s > '9')
        return false;
    errno = 0;
    *out = strtoull(s, &e, 10);
    *end = e;
    return errno == 0;
}

static bool parse_time(const char *s, uint64_t *ns)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"ms", 1000000u},
                 {"s", 1000000000u},
                 {"m", 60000000000u},
                 {"h", 3600000000000u}};
    uint64_t v;
    const char *end;

    if (!parse_u64(s, &v, &end))
        return false;
    for (size_t i = 0; i < 4; i++)
        if (!strcmp(end, units[i].unit))
            return v && !__builtin_mul_overflow(v, units[i].ns, ns);
    return false;
}

static bool is_file(const char *word)
{
    const char *dot = strrchr(word, '.');

    return strchr(word, '/') ||
           (dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml") ||
                    !strcmp(dot, ".json")));
}

static int add_kernel(struct cli *c, struct cli_kernels *k, const char *word)
{
    if (!is_file(word))
        k->name = word;
    else if (k->nfile < CLI_MAX_KERNELS)
        k->file[k->nfile++] = word;
    else
        return cli_usage(c, NULL, "more than %d kernel files", CLI_MAX_KERNELS);
    return -1;
}

static int open_as(struct cli *c, const char *path, const char *workloads,
                   const struct cli_kernels *kernels, bool uncompiled,
                   struct ws_spec **out)
{
    struct ws_spec_open_opts o = {.size = sizeof(o),
                                  .path = path,
                                  .workloads = workloads,
                                  .kernels = kernels->file,
                                  .nkernels = kernels->nfile,
                                  .uncompiled = uncompiled};

    return ws_spec_open_with(c->ctx, &o, out) < 0 ? cli_error(c) : EXIT_DONE;
}

int cli_open(struct cli *c, const char *path, const char *workloads,
             const struct cli_kernels *kernels, struct ws_spec **out)
{
    return open_as(c, path, workloads, kernels, false, out);
}

int cli_open_uncompiled(struct cli *c, const char *path, const char *workloads,
                        const struct cli_kernels *kernels, struct ws_spec **out)
{
    return open_as(c, path, workloads, kernels, true, out);
}

/* "2%", "0.5%": above 0, at most all. */
static bool parse_percent(const char *v, double *share)
{
    char *end;
    double x;

    if (!isdigit((unsigned char)*v))
        return false;
    x = strtod(v, &end);
    if (strcmp(end, "%") || !(x > 0) || x > 100)
        return false;
    *share = x / 100;
    return true;
}

static int store_value(struct cli *c, const struct cli_opt *o, const char *v)
{
    struct cli_budget *b = o->into;
    struct cli_list *list = o->into;
    const char *end;

    switch (o->kind) {
    case CLI_TEXT:
        *(const char **)o->into = v;
        return -1;
    case CLI_LIST:
        if (list->n < sizeof(list->item) / sizeof(list->item[0])) {
            list->item[list->n++] = v;
            return -1;
        }
        return cli_usage(c, NULL, "--%s is given too often", o->name);
    case CLI_KERNEL:
        return add_kernel(c, o->into, v);
    case CLI_U64:
        if (parse_u64(v, o->into, &end) && !*end)
            return -1;
        return cli_usage(c, "a whole number, 0 or more",
                         "--%s: '%s' is no "
                         "number",
                         o->name, v);
    case CLI_TIME:
        if (parse_time(v, o->into))
            return -1;
        return cli_usage(c, "such as 90s, 5m, 1h, 250ms",
                         "--%s: '%s' is no "
                         "time",
                         o->name, v);
    default:
        if (parse_u64(v, &b->trials, &end) && !*end && b->trials)
            return -1;
        b->trials = 0;
        if (parse_percent(v, &b->share))
            return -1;
        if (parse_time(v, &b->ns))
            return -1;
        return cli_usage(
            c,
            "a number of trials (80), a share of all (2%), or a time (90s, 5m)",
            "--%s: '%s' is no budget", o->name, v);
    }
}

/* Edits between two words; words are short. */
static size_t distance(const char *a, size_t n, const char *b)
{
    size_t m = strlen(b), row[33];

    if (n > 32 || m > 32)
        return 99;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t left = row[0];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = left + (a[i - 1] != b[j - 1]);

            left = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

bool cli_alike(const char *word, size_t n, const char *known)
{
    size_t d = distance(word, n, known);

    return d <= 2 && d < n;
}

static int unknown_option(struct cli *c, const struct cli_opt *const *lists,
                          const char *name, size_t n)
{
    char hint[128];

    for (; *lists; lists++)
        for (const struct cli_opt *o = *lists; o->name; o++)
            if (o->kind != CLI_GROUP && cli_alike(name, n, o->name)) {
                snprintf(hint, sizeof(hint), "did you mean '--%s'?", o->name);
                return cli_usage(c, hint, "unknown option '--%.*s'", (int)n,
                                 name);
            }
    return cli_usage(c, NULL, "unknown option '--%.*s'", (int)n, name);
}

static int take_option(struct cli *c, const struct cli_opt *opts,
                       const struct cli_opt *common, int argc, char **argv,
                       int *i)
{
    const char *name = argv[*i] + 2, *eq = strchr(name, '=');
    size_t n = eq ? (size_t)(eq - name) : strlen(name);
    const struct cli_opt *o = find(opts, name, n);

    if (!o)
        o = find(common, name, n);
    if (!o) {
        const struct cli_opt *const lists[] = {opts, common, NULL};

        return unknown_option(c, lists, name, n);
    }
    if (o->kind == CLI_FLAG) {
        if (eq)
            return cli_usage(c, NULL, "option '--%s' takes no value", o->name);
        *(bool *)o->into = true;
        return -1;
    }
    if (eq)
        return store_value(c, o, eq + 1);
    if (*i + 1 >= argc)
        return cli_usage(c, NULL, "option '--%s' needs a value: %s", o->name,
                         o->arg);
    return store_value(c, o, argv[++*i]);
}

static int show_help(const struct cli_cmd *cmd, const struct cli_opt *opts,
                     const struct cli_opt *common)
{
    printf("usage: wavesmith %s %s\n\n%s\n", cmd->name, cmd->synopsis,
           cmd->about);
    if (cmd->details)
        printf("\n%s\n", cmd->details);
    if (opts[0].name)
        printf("\nOptions:\n");
    help_options(opts);
    help_options(common);
    return EXIT_DONE;
}

int cli_parse(struct cli *c, const struct cli_cmd *cmd,
              const struct cli_opt *opts, int argc, char **argv,
              const char **pos, int min, int max, int *npos)
{
    struct cli_opt common[8];
    bool only_words = false;
    int n = 0, rc;

    common_options(c, common);
    /* --json first, so that an error before it is JSON too. */
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--json"))
            c->json = true;
    for (int i = 1; i < argc; i++) {
        if (!only_words && !strcmp(argv[i], "--")) {
            only_words = true;
        } else if (!only_words && !strcmp(argv[i], "-h")) {
            c->help = true;
        } else if (!only_words && !strncmp(argv[i], "--", 2)) {
            rc = take_option(c, opts, common, argc, argv, &i);
            if (rc >= 0)
                return rc;
        } else if (n == max && !c->help) {
            return cli_usage(c, NULL, "unexpected word '%s'", argv[i]);
        } else if (n < max) {
            pos[n++] = argv[i];
        }
    }
    if (c->help)
        return show_help(cmd, opts, common);
    if (n < min)
        return cli_usage(c, NULL, "too few words: wavesmith %s %s", cmd->name,
                         cmd->synopsis);
    *npos = n;
    ws_ctx_set_timeout(c->ctx, c->timeout_ns);
    return -1;
}

json_t *cli_gates(const struct ws_gate *gate)
{
    json_t *j = json_object();

    for (int i = 0; i < WS_GATES; i++) {
        json_t *g;

        if (!gate[i].end[0])
            continue;
        g = json_object();
        cli_put(g, "end", cli_text(gate[i].end));
        cli_put(g, "ns", json_integer((json_int_t)gate[i].ns));
        if (gate[i].why[0])
            cli_put(g, "why", cli_text(gate[i].why));
        cli_put(j, gate[i].name, g);
    }
    return j;
}

void cli_cell(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"')
            fputc('"', f);
        fputc((unsigned char)*s < 0x20 ? ' ' : *s, f);
    }
    fputc('"', f);
}
