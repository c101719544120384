/* cmd_check.c: one verdict: builds, runs, compares, says where it is wrong. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static json_t *errors_json(const struct ws_check_result *r)
{
    json_t *j = json_object();

    cli_put(j, "tensor", cli_text(r->tensor));
    cli_put(j, "elements", json_integer((json_int_t)r->elements));
    cli_put(j, "bad", json_integer((json_int_t)r->bad));
    cli_put(j, "nan", json_integer((json_int_t)r->nan));
    cli_put(j, "unwritten", json_integer((json_int_t)r->unwritten));
    cli_put(j, "max_abs", cli_real(r->max_abs));
    cli_put(j, "max_rel", cli_real(r->max_rel));
    cli_put(j, "rms_error", cli_real(r->rms_err));
    cli_put(j, "rms_reference", cli_real(r->rms_ref));
    cli_put(j, "worst_at", cli_text(r->worst_at));
    cli_put(j, "worst_got", cli_real(r->worst_got));
    cli_put(j, "worst_want", cli_real(r->worst_want));
    cli_put(j, "worst_allowed", cli_real(r->allowed));
    if (!r->bad)
        return j;
    cli_put(j, "first_at", cli_text(r->first_at));
    cli_put(j, "first_got", cli_real(r->first_got));
    cli_put(j, "first_want", cli_real(r->first_want));
    return j;
}

static json_t *to_json(const struct ws_check_result *r)
{
    json_t *j = json_object();

    cli_put(j, "kernel", cli_text(r->kernel));
    cli_put(j, "config", cli_text(r->config));
    cli_put(j, "workload", cli_text(r->workload));
    cli_put(j, "device", cli_text(r->device));
    cli_put(j, "verdict", cli_text(r->verdict));
    cli_put(j, "reason", cli_text(r->reason));
    cli_put(j, "elsewhere",
            r->elsewhere[0] ? cli_text(r->elsewhere) : json_null());
    cli_put(j, "build_ns", json_integer((json_int_t)r->build_ns));
    cli_put(j, "input_seed", json_integer((json_int_t)r->input_seed));
    cli_put(j, "gates", cli_gates(r->gate));
    if (r->judged)
        cli_put(j, "errors", errors_json(r));
    return j;
}

static void print_gates(const struct ws_gate *g)
{
    for (int i = 0; i < WS_GATES; i++) {
        if (!strcmp(g[i].end, "passed") || !strcmp(g[i].end, "failed"))
            printf("  %-9s %-7s %9s  %s\n", g[i].name, g[i].end,
                   cli_time((double)g[i].ns), g[i].about);
        else if (g[i].why[0])
            printf("  %-9s %-7s %9s  %s\n", g[i].name, g[i].end, "", g[i].why);
        else
            printf("  %-9s %s\n", g[i].name,
                   g[i].end[0] ? g[i].end : "not come to");
    }
}

static void print(const struct ws_check_result *r)
{
    printf("%s  %s\n  on %s, %s\n", r->kernel, r->config, r->workload,
           r->device);
    printf("verdict: %s%s%s\n", r->verdict, r->reason[0] ? ": " : "",
           r->reason);
    print_gates(r->gate);
    if (!r->judged)
        return;
    printf("  %s: %llu elements, %llu outside the tolerance", r->tensor,
           (unsigned long long)r->elements, (unsigned long long)r->bad);
    if (r->nan)
        printf(", %llu NaN or infinite", (unsigned long long)r->nan);
    if (r->unwritten)
        printf(", %llu never written", (unsigned long long)r->unwritten);
    printf("\n  largest error: %.3g absolute, %.3g relative; rms error %.3g "
           "of rms %.3g\n",
           r->max_abs, r->max_rel, r->rms_err, r->rms_ref);
    printf("  worst at %s: got %.9g, want %.9g (allowed error %.3g)\n",
           r->worst_at, r->worst_got, r->worst_want, r->allowed);
    if (r->bad)
        printf("  first at %s: got %.9g, want %.9g\n", r->first_at,
               r->first_got, r->first_want);
}

/* --- how to see a failure again ---------------------------------------------
 */

/* Quoted where a shell would not take it as it is. */
static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                                "UVWXYZ0123456789-_=,./:+%@";

    if (*word && strspn(word, plain) == strlen(word)) {
        printf(" %s", word);
        return;
    }
    printf(" '");
    for (; *word; word++)
        if (*word == '\'')
            printf("'\\''");
        else
            putchar(*word);
    putchar('\'');
}

/* How many words of argv an option takes that the hint says itself; 0: the
 * word stays. */
static int replaced(const char *word)
{
    static const char *const ours[] = {"--workload", "--config"};

    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
        size_t n = strlen(ours[i]);

        if (!strncmp(word, ours[i], n) && (!word[n] || word[n] == '='))
            return word[n] ? 1 : 2;
    }
    return !strcmp(word, "--all-gates") ? 1 : 0;
}

/* The same command for the shape that nobody asked for. */
static void print_again(const struct ws_check_result *r, int argc, char **argv)
{
    if (!r->elsewhere[0])
        return;
    printf("to see it there:\n  wavesmith check");
    for (int i = 1; i < argc; i++) {
        int skip = replaced(argv[i]);

        if (skip)
            i += skip - 1;
        else
            print_word(argv[i]);
    }
    printf(" --config");
    print_word(r->config);
    printf(" --workload");
    print_word(r->elsewhere);
    putchar('\n');
}

static int run(struct cli *c, int argc, char **argv)
{
    struct ws_run_opts o = {.size = sizeof(o)};
    const char *workloads = NULL;
    bool trust = false, proof = false;
    struct cli_kernels kernels = {0};
    const struct cli_opt opts[] = {
        {"config", "K=V,...", "over the default config", CLI_TEXT, &o.config},
        {"workload", "AXES", "M=1,N=64,... or a name; else the first", CLI_TEXT,
         &o.workload},
        CLI_OPT_WORKLOADS(workloads),
        {"kernel", "NAME|FILE", "one of several, or a kernel file for the op",
         CLI_KERNEL, &kernels},
        {"device", "D",
         "as 'wavesmith devices' names it, or record:..., replay:...", CLI_TEXT,
         &o.device},
        CLI_OPT_LAUNCH(o.launch),
        CLI_OPT_RUN_LIMIT(o.run_limit_ns),
        {"all-gates", NULL,
         "as for what a tune chooses: timed, hidden shapes, other values",
         CLI_FLAG, &proof},
        {"seed", "N", "of the inputs", CLI_U64, &o.seed},
        CLI_OPT_TRUST(trust),
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_check_result r;
    struct ws_spec *spec;
    const char *pos[1];
    int npos,
        rc = cli_parse(c, &cli_cmd_check, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    o.trust_python = trust;
    o.proof = proof;
    o.kernel = kernels.name;
    rc = cli_open(c, pos[0], workloads, &kernels, &spec);
    if (rc)
        return rc;
    if (ws_check(spec, &o, &r) < 0) {
        rc = cli_error(c);
    } else {
        rc = c->json ? cli_json(c, to_json(&r)) : EXIT_DONE;
        if (!c->json) {
            print(&r);
            print_again(&r, argc, argv);
        }
        if (rc == EXIT_DONE && strcmp(r.verdict, "ok") != 0)
            rc = EXIT_NEGATIVE;
    }
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_check = {
    "check", "SPEC [options]", "build, run and judge one config",
    "SPEC is a kernel file, an op folder, the name of a shipped op, or a "
    "Definition of\nflashinfer-bench.\n"
    "Compares every output with the reference in double precision. Exit code "
    "0 if the\nverdict is ok, 1 if it is not. A gate that is absent was not "
    "asked for, or\ndoes not apply.",
    run};
