/*
 * cmd_tell.c: what others measured, into the store of a search.
 */
#include "cli.h"

static int run(struct cli *c, int argc, char **argv)
{
    return cli_outside(c, &cli_cmd_tell, true, argc, argv);
}

const struct cli_cmd cli_cmd_tell = {
    "tell", "SPEC FILE --device NAME [options]",
    "what others measured for a search",
    "FILE has an answer a line, as in {\"question\": 3, \"verdict\": \"ok\",\n"
    "\"samples_ns\": [5210, 5195]}; of a pair an object \"a\" and one \"b\" "
    "instead of\nverdict and samples. A verdict that is not ok may have a "
    "\"reason\". What was told is\nbelieved: nothing here can check it.",
    run};
