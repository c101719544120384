/*
 * cli.h: what the commands of the command-line tool share.
 *
 * A command is one file cmd_<name>.c with a table of its options and a run
 * function; main.c dispatches. Results go to standard output (with --json as
 * one JSON document), progress and errors to standard error (errors with
 * --json as one object on standard output). Exit codes:
 *   0 done                       1 the answer is negative
 *   2 bad usage or input         3 the machine lacks something
 *   4 stopped early or in use,   5 a bug in wavesmith
 *     run again
 */
#ifndef WS_CLI_H
#define WS_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "wavesmith/wavesmith.h"
#include "wsrt.h"

enum {
    EXIT_DONE,
    EXIT_NEGATIVE,
    EXIT_USAGE,
    EXIT_MACHINE,
    EXIT_EARLY,
    EXIT_BUG
};

enum cli_kind {
    CLI_FLAG,   /* bool */
    CLI_TEXT,   /* const char * */
    CLI_U64,    /* uint64_t */
    CLI_TIME,   /* uint64_t ns, from "90s", "5m", "1h", "250ms" */
    CLI_BUDGET, /* struct cli_budget, from "80" (trials), "2%", or a time */
    CLI_LIST,   /* struct cli_list: each time it is given, one more */
    CLI_KERNEL, /* struct cli_kernels; may be given several times */
    CLI_GROUP   /* a heading in the help */
};

struct cli_budget {
    uint64_t trials, ns;
    double share; /* of what could be tried */
};

struct cli_list {
    const char *item[16];
    size_t n;
};

#define CLI_MAX_KERNELS 64

/* --kernel: what ends in .yaml, .yml or .json or has a '/' is a kernel file,
 * else the name of a kernel. */
struct cli_kernels {
    const char *name; /* or NULL */
    const char *file[CLI_MAX_KERNELS];
    size_t nfile;
};

struct cli_opt {
    const char *name, *arg, *help;
    enum cli_kind kind;
    void *into;
};

/* Rows that mean the same in several commands; x: where the value goes. */
#define CLI_OPT_WORKLOADS(x)                                                   \
    {                                                                          \
        "workloads", "FILE", "the shapes, instead of the op's own", CLI_TEXT,  \
            &(x)                                                               \
    }
#define CLI_OPT_KERNELS(x)                                                     \
    {                                                                          \
        "kernel", "FILE", "a kernel file for the op; may be repeated",         \
            CLI_KERNEL, &(x)                                                   \
    }
#define CLI_OPT_TRUST(x)                                                       \
    {                                                                          \
        "trust-python", NULL, "let the op's reference run if it is Python",    \
            CLI_FLAG, &(x)                                                     \
    }
#define CLI_OPT_DEVICES(x)                                                     \
    {                                                                          \
        "device", "D",                                                         \
            "as 'wavesmith devices' names it; again for more of a model",      \
            CLI_LIST, &(x)                                                     \
    }
#define CLI_OPT_STORE(x)                                                       \
    {                                                                          \
        "store", "FILE",                                                       \
            "default .wavesmith/store.db beside SPEC (a shipped op: here)",    \
            CLI_TEXT, &(x)                                                     \
    }
#define CLI_OPT_CACHE(x)                                                       \
    {                                                                          \
        "cache", "MODE", "cold or warm (default: as the op says)", CLI_TEXT,   \
            &(x)                                                               \
    }
#define CLI_OPT_LAUNCH(x)                                                      \
    {                                                                          \
        "launch", "MODE", "stream, or graph: recorded once, then replayed",    \
            CLI_TEXT, &(x)                                                     \
    }
#define CLI_OPT_RUN_LIMIT(x)                                                   \
    {                                                                          \
        "run-limit", "TIME",                                                   \
            "a launch that takes longer hangs (default: at most 20s)",         \
            CLI_TIME, &(x)                                                     \
    }
/* Of a search and of who takes its questions elsewhere. */
#define CLI_SEARCH_BUDGET 200
#define CLI_OPT_SEARCHER(x)                                                    \
    {                                                                          \
        "strategy", "S", "worldmodel (default), evolve, islands, random, ...", \
            CLI_TEXT, &(x)                                                     \
    }
#define CLI_OPTS_RECORDINGS(o)                                                 \
    {"recordings", "FILE",                                                     \
     "timing matrix (CSV), T4 results, Kernel Tuner cache, or a store",        \
     CLI_TEXT, &(o).recordings},                                               \
        {"where", "COL=VAL,...", "rows of a matrix, as in pass=3", CLI_TEXT,   \
         &(o).where},                                                          \
    {                                                                          \
        "time-column", "COL", "of a matrix (default: the median)", CLI_TEXT,   \
            &(o).time_column                                                   \
    }

struct cli {
    struct ws_ctx *ctx;
    bool json, verbose, help;
    uint64_t timeout_ns;
    const char *command;
};

struct cli_cmd {
    const char *name, *synopsis, *about, *details;
    int (*run)(struct cli *c, int argc, char **argv);
};

extern const struct cli_cmd cli_cmd_devices, cli_cmd_space, cli_cmd_check,
    cli_cmd_tune, cli_cmd_bench, cli_cmd_pick, cli_cmd_trials, cli_cmd_init,
    cli_cmd_compile, cli_cmd_model, cli_cmd_op, cli_cmd_profile, cli_cmd_roof,
    cli_cmd_forge, cli_cmd_score, cli_cmd_compare, cli_cmd_search, cli_cmd_tree,
    cli_cmd_ask, cli_cmd_tell;

/*
 * Parses argv[1..]: options of `opts` (ends with name NULL) and the common
 * ones; what remains goes to pos (at least min, at most max words). Returns
 * -1 to go on, else an exit code (help shown, or an error reported). Sets the
 * time-out of the context.
 */
int cli_parse(struct cli *c, const struct cli_cmd *cmd,
              const struct cli_opt *opts, int argc, char **argv,
              const char **pos, int min, int max, int *npos);

/* Opens SPEC with the kernel files of --kernel; 0 or an exit code, the error
 * reported. */
int cli_open(struct cli *c, const char *path, const char *workloads,
             const struct cli_kernels *kernels, struct ws_spec **out);
/* The same for commands that compile kernels in Triton themselves. */
int cli_open_uncompiled(struct cli *c, const char *path, const char *workloads,
                        const struct cli_kernels *kernels,
                        struct ws_spec **out);
/* Reports the context's error; returns the exit code of its class. */
int cli_error(struct cli *c);
/* A usage error of the tool's own. */
int cli_usage(struct cli *c, const char *hint, const char *fmt, ...)
    WS_PRINTF(3, 4);
int cli_exit_code(int status);
/* Is a word (n bytes) close enough to a known one to suggest it? */
bool cli_alike(const char *word, size_t n, const char *known);
/* Prints a document (takes it), or WS_ENOMEM if NULL. */
int cli_json(struct cli *c, json_t *doc);
/* A document, key by key. Text that is no UTF-8 (a path, say) is shown with
 * '?' for its bytes; numbers that JSON has no word for become strings. */
json_t *cli_text(const char *s); /* NULL: null */
/* The gates that a trial came to: {"build": {"end": "passed", "ns": 5}}. */
json_t *cli_gates(const struct ws_gate *gate);
json_t *cli_real(double v);
json_t *cli_throughput(const struct ws_throughput *t);     /* cmd_tune.c */
void cli_put(json_t *obj, const char *key, json_t *value); /* takes value */
/* A cell of CSV, quoted; a quote inside is written twice. */
void cli_cell(FILE *f, const char *s);
/* "12.3 us", "4.56 ms" into one of a few rotating buffers. */
const char *cli_time(double ns);
/* A time of the wall clock: "2026-01-31 12:00 UTC". */
const char *cli_when(uint64_t ns, char out[32]);
json_t *cli_profile_json(const struct ws_profile *p);
/* Fills axes (WSRT_MEMO_AXES of them) from n words; -1 to go on, else an exit
 * code, the error reported. */
int cli_pack_axes(struct cli *c, const struct wsrt_pack *p, const char **word,
                  int n, int64_t *axes);
/* A shape, and a variant's parameters, by name. */
json_t *cli_axes_json(const struct wsrt_pack *p, const int64_t *axes);
json_t *cli_params_json(const struct wsrt_pack *p, uint32_t variant);
/* Prints the tables of a pack: format "header" or "json"; an exit code. */
int cli_export(struct cli *c, const struct wsrt_pack *p, const char *format);
/* Shows what a tune or a search found, and frees it: an exit code. pack: where
 * one was asked for, or NULL. */
int cli_tuned(struct cli *c, struct ws_tune_result *r, size_t nkernel,
              const char *pack);
/* A terminal's width, or 0 if standard error is none. */
int cli_columns(void);

#endif
