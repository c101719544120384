/* cmd_compile.c: compiles kernels in Triton ahead, into the folder beside
 * them. */
#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct progress {
    bool line; /* one that is written over */
};

static void on_progress(void *user, const struct ws_compile_progress *p)
{
    const struct progress *show = user;

    if (show->line)
        fprintf(stderr, "\r\033[K");
    if (p->failure)
        fprintf(stderr, "%.300s: %.600s\n", p->key, p->failure);
    if (show->line)
        fprintf(stderr, "%s: %zu of %zu compiled", p->kernel, p->done,
                p->planned);
    if (show->line && p->done == p->planned)
        fprintf(stderr, "\n");
}

static json_t *to_json(const struct ws_compile_result *r)
{
    json_t *j = json_object();

    cli_put(j, "triton", cli_text(r->triton));
    cli_put(j, "target", cli_text(r->target));
    cli_put(j, "folder", cli_text(r->folder));
    cli_put(j, "kernels", json_integer((json_int_t)r->kernels));
    cli_put(j, "files", json_integer((json_int_t)r->files));
    cli_put(j, "compiled", json_integer((json_int_t)r->compiled));
    cli_put(j, "kept", json_integer((json_int_t)r->kept));
    cli_put(j, "failed", json_integer((json_int_t)r->failed));
    if (r->failed)
        cli_put(j, "failure", cli_text(r->failure));
    return j;
}

static int print(struct cli *c, const struct ws_compile_result *r)
{
    if (c->json)
        return cli_json(c, to_json(r));
    printf("%zu files for %s, Triton %s: %zu compiled, %zu there already",
           r->files, r->target, r->triton, r->compiled, r->kept);
    if (r->failed)
        printf("; %zu fail: %s", r->failed, r->failure);
    printf("\n%s\n", r->folder);
    return EXIT_DONE;
}

static int run(struct cli *c, int argc, char **argv)
{
    struct progress show = {.line = !c->json && isatty(STDERR_FILENO)};
    struct ws_compile_opts o = {.size = sizeof(o),
                                .progress = on_progress,
                                .user = &show};
    const char *workloads = NULL;
    struct cli_kernels kernels = {0};
    struct ws_compile_result r;
    struct ws_spec *spec;
    uint64_t jobs = 0;
    bool trust = false;
    const struct cli_opt opts[] = {
        {"target", "sm_NN",
         "what to compile for; else what the kernel file "
         "says, or sm_90",
         CLI_TEXT, &o.target},
        CLI_OPT_WORKLOADS(workloads),
        {"kernel", "NAME|FILE", "one of several, or a kernel file for the op",
         CLI_KERNEL, &kernels},
        {"config", "K=V,...",
         "this config alone, the rest of it at its default; else every valid "
         "one",
         CLI_TEXT, &o.config},
        {"jobs", "N", "so many at the same time; else one a processor", CLI_U64,
         &jobs},
        {"trust-python", NULL, "let the kernels' source run: it is code",
         CLI_FLAG, &trust},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    const char *pos[1];
    int npos,
        rc = cli_parse(c, &cli_cmd_compile, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    o.kernel = kernels.name;
    o.trust_python = trust;
    o.jobs = jobs > 1024 ? 1024 : (unsigned)jobs;
    rc = cli_open_uncompiled(c, pos[0], workloads, &kernels, &spec);
    if (rc)
        return rc;
    rc = ws_compile(spec, &o, &r) < 0 ? cli_error(c) : print(c, &r);
    if (rc == EXIT_DONE && r.failed && r.failed == r.files)
        rc = EXIT_NEGATIVE;
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_compile = {
    "compile", "SPEC [options]", "compile a kernel in Triton ahead",
    "SPEC is a kernel file or an op folder with kernels in Triton. Each valid "
    "config is\ncompiled for the workloads, without a GPU, into the folder "
    "KERNEL.triton/TARGET beside\nthe kernel file; all other commands read "
    "that and never run Python. What is there\nand still right is kept. The "
    "interpreter is WAVESMITH_PYTHON, else python3; it needs\nthe package "
    "triton, and no torch. Exit code 1 if nothing compiles.",
    run};
