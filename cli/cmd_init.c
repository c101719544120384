/* cmd_init.c: a specification with marked blanks, from a kernel's source. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static json_t *texts(const char *const *list, size_t n)
{
    json_t *j = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(j, cli_text(list[i]));
    return j;
}

static json_t *to_json(const struct ws_init_result *r)
{
    json_t *j = json_object(), *blanks = json_array();

    cli_put(j, "kernel_file", cli_text(r->kernel_path));
    cli_put(j, "op_file", cli_text(r->op_path));
    cli_put(j, "tests_file", cli_text(r->tests_path));
    cli_put(j, "reference_file", cli_text(r->reference_path));
    cli_put(j, "source_file", cli_text(r->source_path));
    cli_put(j, "dialect", cli_text(r->dialect));
    cli_put(j, "read_by", cli_text(r->read_by));
    cli_put(j, "found", texts(r->found, r->nfound));
    cli_put(j, "not_read", texts(r->note, r->nnote));
    for (size_t i = 0; i < r->nblank; i++) {
        json_t *b = json_object();

        cli_put(b, "file", cli_text(r->blank[i].file));
        cli_put(b, "line", json_integer(r->blank[i].line));
        cli_put(b, "column", json_integer(r->blank[i].column));
        cli_put(b, "blank", cli_text(r->blank[i].subject));
        cli_put(b, "wants", cli_text(r->blank[i].wants));
        json_array_append_new(blanks, b);
    }
    cli_put(j, "blanks", blanks);
    cli_put(j, "guesses", texts(r->guess, r->nguess));
    return j;
}

static void print(const struct ws_init_result *r)
{
    printf("read as %s by %s:\n", r->dialect, r->read_by);
    for (size_t i = 0; i < r->nfound; i++)
        printf("  %s\n", r->found[i]);
    for (size_t i = 0; i < r->nnote; i++)
        printf("not read: %s\n", r->note[i]);
    if (!r->kernel_path && !r->op_path) {
        printf("wrote its sources alone\n");
        return;
    }
    printf("wrote %s", r->kernel_path ? r->kernel_path : r->op_path);
    if (r->tests_path)
        printf(" and %s", r->tests_path);
    if (r->kernel_path && r->op_path)
        printf("%s %s", r->reference_path ? "," : " and", r->op_path);
    if (r->reference_path)
        printf(" and %s with its source", r->reference_path);
    if (r->source_path)
        printf(", and %s without the code for the host", r->source_path);
    printf("\n");
    if (r->nguess)
        printf("%zu guess%s to look at:\n", r->nguess,
               r->nguess == 1 ? "" : "es");
    for (size_t i = 0; i < r->nguess; i++)
        printf("  %s\n", r->guess[i]);
    if (r->nblank || !r->reference_path)
        printf("%zu blank%s (\?\?\?) to fill:\n", r->nblank,
               r->nblank == 1 ? "" : "s");
    for (size_t i = 0; i < r->nblank; i++)
        printf("  %s:%u: %s: %s\n", r->blank[i].file, r->blank[i].line,
               r->blank[i].subject, r->blank[i].wants);
    if (r->definition_path)
        printf("then: wavesmith check %s --kernel %s%s --workloads FILE\n",
               r->definition_path, strchr(r->kernel_path, '/') ? "" : "./",
               r->kernel_path);
    else if (r->kernel_path)
        printf("then: wavesmith check %s\n", r->kernel_path);
    else
        printf("then: wavesmith init KERNELFILE --op %s\n", r->op_path);
}

static int run(struct cli *c, int argc, char **argv)
{
    struct ws_init_opts o = {.size = sizeof(o)};
    bool force = false;
    const struct cli_opt opts[] = {
        {"op", "NAME|PATH",
         "the op it computes; without it a new one is "
         "drafted too",
         CLI_TEXT, &o.op},
        {"entry", "NAME,...", "the functions to launch, in order; else all",
         CLI_TEXT, &o.entry},
        {"out", "SPEC.yaml", "the kernel file to write; else beside the source",
         CLI_TEXT, &o.out},
        {"device", "D", "whose driver is asked about OpenCL C", CLI_TEXT,
         &o.device},
        {"force", NULL, "write over files that exist", CLI_FLAG, &force},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    struct ws_init_result *r;
    const char *pos[1];
    int npos,
        rc = cli_parse(c, &cli_cmd_init, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    o.source = pos[0];
    o.force = force;
    if (ws_init(c->ctx, &o, &r) < 0)
        return cli_error(c);
    rc = c->json ? cli_json(c, to_json(r)) : EXIT_DONE;
    if (!c->json)
        print(r);
    ws_init_result_free(c->ctx, r);
    return rc;
}

const struct cli_cmd cli_cmd_init = {
    "init", "KERNELFILE [options]", "draft a specification from a kernel",
    "KERNELFILE is a source in OpenCL C, CUDA C or the portable dialect. "
    "OpenCL C and CUDA C are\nparsed by libclang 19 where it is there: then "
    "shapes, roles, sizes, fills and launches are\ndrafted too, and a "
    "reference, so that `check` and `forge` run on the files as they are. What "
    "is\na guess says so. What cannot be read is left as a blank (\?\?\?) "
    "with a comment; until it is\nfilled every command names it.",
    run};
