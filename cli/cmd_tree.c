/*
 * cmd_tree.c: the tree of a search: looking at it, and steering it.
 */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 32

static const char details[] =
    "  show                    what was tried, what is open, what people "
    "decided\n"
    "  explain NODE            how the belief in it came about\n"
    "  add NODE PARAM=V,V...   an idea to a node (root: the default): the "
    "parameters with\n"
    "                          these values; it is tried next wherever the "
    "node was\n"
    "  pin NODE                it is tried before all else, on every shape\n"
    "  prune NODE              what has all its ideas is never tried (again)\n"
    "  note TEXT               words for who looks\n\n"
    "STORE is a file, or a project's folder. NODE is the beginning of its "
    "name, as show has\nit. What is decided is kept in the store and takes "
    "effect at the next question of a\nsearch that goes on, or when it is run "
    "again with a budget left.";

static int print(struct cli *c, const struct ws_tree_opts *o)
{
    struct ws_tree *t;
    int rc = EXIT_DONE;

    if (ws_tree_read(c->ctx, o, &t) < 0)
        return cli_error(c);
    if (c->json)
        rc = cli_json(c, json_loads(t->json, 0, NULL));
    else
        fputs(t->text, stdout);
    ws_tree_free(c->ctx, t);
    return rc;
}

static int decide(struct cli *c, const struct ws_tree_opts *o,
                  const struct ws_tree_change *change)
{
    uint64_t number;

    if (ws_tree_steer(c->ctx, o, change, &number) < 0)
        return cli_error(c);
    if (c->json) {
        json_t *j = json_object();

        cli_put(j, "number", json_integer((json_int_t)number));
        return cli_json(c, j);
    }
    printf("decision %llu: %s\n", (unsigned long long)number, change->what);
    return EXIT_DONE;
}

/* What comes after the node, if there is one. */
static int act(struct cli *c, struct ws_tree_opts *o, const char *what,
               const char **pos, int npos, double expected)
{
    bool noted = !strcmp(what, "note"), added = !strcmp(what, "add");
    struct ws_tree_change change = {.size = sizeof(change),
                                    .what = what,
                                    .node = noted ? NULL : pos[2],
                                    .word = pos + (noted ? 2 : 3),
                                    .expected = expected};

    if (!strcmp(what, "show"))
        return npos == 2 ? print(c, o)
                         : cli_usage(c, "'explain NODE' tells of one",
                                     "show takes no node");
    if (npos < 3)
        return cli_usage(c, "see 'wavesmith tree --help'", "%s %s?", what,
                         noted ? "what" : "which node");
    if (!strcmp(what, "explain")) {
        o->node = pos[2];
        return npos == 3
                   ? print(c, o)
                   : cli_usage(c, "one at a time", "explain takes one node");
    }
    change.nword = (size_t)npos - (noted ? 2 : 3);
    if (!noted && !added && change.nword)
        return cli_usage(c, "one at a time", "%s takes one node", what);
    return decide(c, o, &change);
}

static int run(struct cli *c, int argc, char **argv)
{
    struct cli_cmd cmd = cli_cmd_tree;
    struct ws_tree_opts o = {.size = sizeof(o)};
    const char *pos[MAX_WORDS], *expected = NULL;
    double factor = 0;
    const struct cli_opt opts[] = {
        {"run", "N", "of the store (default: the latest that has a tree)",
         CLI_U64, &o.run},
        {"expect", "FACTOR", "of an idea that is added (default 1.2)", CLI_TEXT,
         &expected},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    char *end;
    int npos, rc;

    cmd.details = details;
    rc = cli_parse(c, &cmd, opts, argc, argv, pos, 2, MAX_WORDS, &npos);
    if (rc >= 0)
        return rc;
    o.store = pos[0];
    if (expected) {
        factor = strtod(expected, &end);
        if (end == expected || *end || !(factor > 0))
            return cli_usage(c, "1.2 is a fifth faster",
                             "--expect: '%s' is no factor", expected);
    }
    return act(c, &o, pos[1], pos, npos, factor);
}

const struct cli_cmd cli_cmd_tree = {
    "tree", "STORE show|explain|add|pin|prune|note ... [options]",
    "look at the tree of a search, and steer it", NULL, run};
