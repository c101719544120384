/*
 * cmd_ask.c: the next questions of a search that others measure, as JSON, one a
 * line.
 */
#include "cli.h"

static int run(struct cli *c, int argc, char **argv)
{
    return cli_outside(c, &cli_cmd_ask, false, argc, argv);
}

const struct cli_cmd cli_cmd_ask = {
    "ask", "SPEC --device NAME [options]",
    "the next questions of a search that others measure",
    "Prints the next questions of a search, one a line: a workload, and a "
    "kernel with a\nconfig (or two, to be timed in turn, sample by sample). "
    "'wavesmith tell' takes what\ncame of them. Both need the same options. "
    "Exit code 1: nothing is left to ask.",
    run};
