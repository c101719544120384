/*
 * main.c: the wavesmith command: contexts, signals, dispatch.
 *
 * The first SIGINT or SIGTERM asks the running call to stop and keep what it
 * has; a later one ends the process at once (nothing durable is lost by that).
 * What follows at once is the same one: `timeout` and terminals send it to the
 * process and to its group.
 */
#include "cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct cli_cmd *const commands[] = {
    &cli_cmd_devices, &cli_cmd_init,  &cli_cmd_compile, &cli_cmd_space,
    &cli_cmd_check,   &cli_cmd_tune,  &cli_cmd_bench,   &cli_cmd_pick,
    &cli_cmd_trials,  &cli_cmd_model, &cli_cmd_op,      &cli_cmd_profile,
    &cli_cmd_roof,    &cli_cmd_forge, &cli_cmd_score,   &cli_cmd_compare,
    &cli_cmd_search,  &cli_cmd_tree,  &cli_cmd_ask,     &cli_cmd_tell,
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static struct cli cli;

#define SAME_SIGNAL_MS 500

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void on_signal(int sig)
{
    static volatile int64_t first;
    int64_t now = now_ms();

    if (!first) {
        first = now;
        ws_ctx_cancel(cli.ctx);
    } else if (now - first >= SAME_SIGNAL_MS) {
        signal(sig, SIG_DFL);
        raise(sig);
    }
}

/* Calls that wait are interrupted (no SA_RESTART). A file limit is an error, no
 * death. */
static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = on_signal};

    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* A caller may have closed 0, 1 or 2: nothing else may get these numbers. What
 * is written there fails, as it would have. */
static int open_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    return fd < 0 ? -1 : close(fd);
}

/* Was something not written? A reader of a pipe may go away. */
static bool lost_output(void)
{
    struct stat st;

    return ferror(stdout) &&
           !(!fstat(STDOUT_FILENO, &st) && S_ISFIFO(st.st_mode));
}

static void on_log(void *user, enum ws_log_level level, const char *text)
{
    const struct cli *c = user;

    if (c->verbose || level == WS_LOG_WARN)
        fprintf(stderr, "wavesmith: %s%s\n",
                level == WS_LOG_WARN ? "warning: " : "", text);
}

static void usage(FILE *to)
{
    fputs("usage: wavesmith COMMAND ...\n\n"
          "Makes GPU kernels fast and keeps them fast: tunes a kernel for the "
          "shapes you run,\nproves each choice right, and ships a pack that "
          "answers for any shape.\n\nCommands:\n",
          to);
    for (size_t i = 0; i < NCOMMANDS; i++)
        fprintf(to, "  %-8s %s\n", commands[i]->name, commands[i]->about);
    fputs("\n'wavesmith COMMAND --help' has the options. Exit codes: 0 done, "
          "1 the answer is\nnegative, 2 bad usage or input, 3 the machine "
          "lacks something, 4 stopped early\nor in use by another run (run "
          "again to continue), 5 a bug in wavesmith.\n",
          to);
}

static const struct cli_cmd *find_command(const char *name)
{
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    char hint[128] = "see 'wavesmith --help'";

    for (size_t i = 0; i < NCOMMANDS; i++)
        if (cli_alike(name, strlen(name), commands[i]->name))
            snprintf(hint, sizeof(hint), "did you mean '%s'?",
                     commands[i]->name);
    return cli_usage(&cli, hint, "unknown command '%s'", name);
}

static int dispatch(int argc, char **argv)
{
    const struct cli_cmd *cmd;

    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
        !strcmp(argv[1], "help")) {
        usage(stdout);
        return EXIT_DONE;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("wavesmith " WS_VERSION);
        return EXIT_DONE;
    }
    cmd = find_command(argv[1]);
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--json"))
            cli.json = true;
    if (!cmd)
        return unknown_command(argv[1]);
    cli.command = cmd->name;
    return cmd->run(&cli, argc - 1, argv + 1);
}

/* Where what is known of devices is kept: WAVESMITH_DATA, else the user's data
 * folder; NULL: there is none. */
static const char *data_dir(char *room, size_t n)
{
    const char *own = getenv("WAVESMITH_DATA"), *xdg = getenv("XDG_DATA_HOME"),
               *home = getenv("HOME");
    int len = -1;

    if (own && own[0])
        return own;
    if (xdg && xdg[0] == '/') /* others are to be ignored, says its standard */
        len = snprintf(room, n, "%s/wavesmith", xdg);
    else if (home && home[0])
        len = snprintf(room, n, "%s/.local/share/wavesmith", home);
    return len >= 0 && (size_t)len < n ? room : NULL;
}

int main(int argc, char **argv)
{
    char room[4096];
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .log = on_log,
                            .log_user = &cli,
                            .worker_path = getenv("WAVESMITH_WORKER"),
                            .share_dir = getenv("WAVESMITH_SHARE"),
                            .cache_dir = getenv("WAVESMITH_CACHE"),
                            .turn_dir = getenv("WAVESMITH_TURNS"),
                            .python = getenv("WAVESMITH_PYTHON"),
                            .data_dir = data_dir(room, sizeof(room)),
                            .tools = getenv("PATH")};
    int rc;

    if (open_standard_files() < 0)
        return EXIT_MACHINE;
    setenv("LIBCLANG_NOTHREADS", "1", 0); /* see ws_forge */
    cli.ctx = ws_ctx_new(&o);
    if (!cli.ctx) {
        fputs("wavesmith: out of memory\n", stderr);
        return EXIT_MACHINE;
    }
    catch_signals();
    rc = dispatch(argc, argv);
    ws_ctx_free(cli.ctx);
    if ((fflush(stdout) != 0 || lost_output()) && rc == EXIT_DONE) {
        fputs("wavesmith: cannot write to standard output\n", stderr);
        rc = EXIT_EARLY;
    }
    return rc;
}
