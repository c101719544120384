/* cmd_space.c: the space of a kernel: size, valid configs, constraints. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

struct want {
    bool count, list;
    uint64_t sample, seed, limit;
    const char *workload, *kernel, *device;
};

struct sink {
    struct cli *c;
    const char *kernel; /* named on each line if there are several */
    json_t *configs;
};

static int take(void *user, const char *config)
{
    struct sink *s = user;

    if (s->c->json)
        return json_array_append_new(s->configs, cli_text(config));
    return printf("%s%s%s\n", s->kernel ? s->kernel : "", s->kernel ? "  " : "",
                  config) < 0;
}

static json_t *constraints_json(const struct ws_space_report *r)
{
    json_t *a = json_array();

    for (size_t i = 0; i < r->nconstraint; i++) {
        const struct ws_space_constraint *k = &r->constraint[i];
        json_t *j = json_object();

        cli_put(j, "text", cli_text(k->text));
        cli_put(j, "applied", json_boolean(k->applied));
        cli_put(j, "removed", json_integer((json_int_t)k->removed));
        cli_put(j, "needs_axes", json_boolean(k->needs_axes));
        cli_put(j, "needs_device", json_boolean(k->needs_device));
        cli_put(j, "prune", json_boolean(k->prune));
        json_array_append_new(a, j);
    }
    return a;
}

static json_t *report_json(const struct ws_space_report *r)
{
    json_t *j = json_object();

    cli_put(j, "kernel", cli_text(r->kernel));
    cli_put(j, "parameters", json_integer((json_int_t)r->nparam));
    cli_put(j, "size", json_integer((json_int_t)r->size));
    cli_put(j, "valid", json_integer((json_int_t)r->valid));
    cli_put(j, "constraints", constraints_json(r));
    return j;
}

/* How many constraints wait for a shape or a device. */
static size_t undecided(const struct ws_space_report *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->nconstraint; i++)
        n += !r->constraint[i].applied;
    return n;
}

static void print_report(const struct ws_space_report *r, const struct want *w)
{
    size_t open = undecided(r);

    printf("%s: %zu parameters, %llu configs, %s%llu valid (%.3g%%)", r->kernel,
           r->nparam, (unsigned long long)r->size, open ? "at most " : "",
           (unsigned long long)r->valid,
           r->size ? 100.0 * (double)r->valid / (double)r->size : 0);
    if (open)
        printf("; %zu constraints undecided", open);
    putchar('\n');
    if (w->count)
        return;
    for (size_t i = 0; i < r->nconstraint; i++) {
        const struct ws_space_constraint *k = &r->constraint[i];

        if (k->applied)
            printf("  %16llu  %s%s\n", (unsigned long long)k->removed,
                   k->prune ? "prune: " : "", k->text);
        else
            printf("  %16s  %s%s   (needs%s%s)\n", "-",
                   k->prune ? "prune: " : "", k->text,
                   k->needs_axes ? " --workload" : "",
                   k->needs_device ? " --device" : "");
    }
    if (r->nconstraint)
        printf("  (removed by each constraint that earlier ones keep)\n");
}

static int one_kernel(struct cli *c, struct ws_spec *spec, size_t k,
                      const struct want *w, json_t *doc)
{
    struct ws_space_report r;
    struct sink s = {.c = c};
    json_t *j = NULL;
    int rc = 0;

    if (ws_spec_kernel_count(spec) > 1)
        s.kernel = ws_spec_kernel_name(spec, k);
    if (w->list || w->sample) {
        s.configs = c->json ? json_array() : NULL;
        rc = ws_space_each(spec, k, w->workload, w->device,
                           w->sample ? w->sample : w->limit, w->sample != 0,
                           w->seed, take, &s);
        if (rc > 0) /* the reader has gone */
            return EXIT_DONE;
        if (rc < 0)
            goto failed;
        if (!c->json)
            return EXIT_DONE;
    }
    if (ws_space_report(spec, k, w->workload, w->device, &r) < 0)
        goto failed;
    if (!c->json) {
        print_report(&r, w);
        return EXIT_DONE;
    }
    j = report_json(&r);
    if (s.configs)
        cli_put(j, "configs", s.configs);
    json_array_append_new(doc, j);
    return EXIT_DONE;
failed:
    json_decref(s.configs);
    return cli_error(c);
}

/* One space: its keys at the top; several: a list. */
static int print_json(struct cli *c, json_t *spaces)
{
    json_t *doc;

    if (json_array_size(spaces) == 1) {
        doc = json_incref(json_array_get(spaces, 0));
        json_decref(spaces);
    } else {
        doc = json_object();
        cli_put(doc, "spaces", spaces);
    }
    return cli_json(c, doc);
}

static int no_kernel(struct cli *c, const struct ws_spec *spec,
                     const char *name)
{
    char names[512] = "one of:";

    if (!name)
        return cli_usage(c,
                         "give a kernel file: --kernel FILE; those in the "
                         "folder kernels/ beside the op are found",
                         "the specification has no kernels");
    for (size_t k = 0; k < ws_spec_kernel_count(spec); k++) {
        size_t used = strlen(names);

        snprintf(names + used, sizeof(names) - used, " %s",
                 ws_spec_kernel_name(spec, k));
    }
    return cli_usage(c, names, "no kernel '%s' in the specification", name);
}

static int all_kernels(struct cli *c, struct ws_spec *spec,
                       const struct want *w)
{
    size_t n = ws_spec_kernel_count(spec), done = 0;
    json_t *doc = c->json ? json_array() : NULL;
    int rc = EXIT_DONE;

    for (size_t k = 0; k < n && rc == EXIT_DONE; k++) {
        if (w->kernel && strcmp(w->kernel, ws_spec_kernel_name(spec, k)))
            continue;
        rc = one_kernel(c, spec, k, w, doc);
        done++;
    }
    if (rc == EXIT_DONE && !done)
        rc = no_kernel(c, spec, w->kernel);
    if (rc == EXIT_DONE && c->json)
        return print_json(c, doc);
    json_decref(doc);
    return rc;
}

static int run(struct cli *c, int argc, char **argv)
{
    struct want w = {0};
    struct cli_kernels kernels = {0};
    const char *workloads = NULL;
    const struct cli_opt opts[] = {
        {"count", NULL, "one line: the counts", CLI_FLAG, &w.count},
        {"list", NULL, "print the configs instead", CLI_FLAG, &w.list},
        {"limit", "N", "with --list: at most N", CLI_U64, &w.limit},
        {"sample", "N", "print N configs drawn uniformly", CLI_U64, &w.sample},
        {"seed", "N", "of the sample", CLI_U64, &w.seed},
        {"workload", "AXES", "apply the constraints that read axes too",
         CLI_TEXT, &w.workload},
        {"device", "D", "apply those that read the device too", CLI_TEXT,
         &w.device},
        {"kernel", "NAME|FILE", "one of several, or a kernel file for the op",
         CLI_KERNEL, &kernels},
        {"workloads", "FILE", "where --workload finds names", CLI_TEXT,
         &workloads},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    const char *pos[1];
    struct ws_spec *spec;
    int npos,
        rc = cli_parse(c, &cli_cmd_space, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    w.kernel = kernels.name;
    rc = cli_open(c, pos[0], workloads, &kernels, &spec);
    if (rc)
        return rc;
    rc = all_kernels(c, spec, &w);
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_space = {
    "space", "SPEC [options]", "the configs of a kernel and what removes them",
    "SPEC is a kernel file, an op folder, the name of a shipped op, a T1 file, "
    "or a\nDefinition of flashinfer-bench.",
    run};
