/* cmd_space.c: the space of a kernel: size, valid configs, constraints. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

struct want {
    bool count, list;
    uint64_t sample, seed, limit;
    const char *workload, *workloads, *kernel;
};

struct sink {
    struct cli *c;
    json_t *configs;
};

static int take(void *user, const char *config)
{
    struct sink *s = user;

    if (s->c->json)
        return json_array_append_new(s->configs, json_string(config));
    return puts(config) < 0 ? -1 : 0;
}

static json_t *constraints_json(const struct ws_space_report *r)
{
    json_t *a = json_array();

    for (size_t i = 0; i < r->nconstraint; i++)
        json_array_append_new(
            a, json_pack("{s:s, s:I, s:b, s:b}", "text", r->constraint[i].text,
                         "removed", (json_int_t)r->constraint[i].removed,
                         "needs_axes", r->constraint[i].needs_axes,
                         "needs_device", r->constraint[i].needs_device));
    return a;
}

static void print_report(const struct ws_space_report *r, const struct want *w)
{
    printf("%s: %zu parameters, %llu configs, %llu valid (%.3g%%)\n", r->kernel,
           r->nparam, (unsigned long long)r->size, (unsigned long long)r->valid,
           r->size ? 100.0 * (double)r->valid / (double)r->size : 0);
    if (w->count)
        return;
    for (size_t i = 0; i < r->nconstraint; i++) {
        const struct ws_space_constraint *k = &r->constraint[i];

        if (k->needs_device)
            printf("  %16s  %s   (depends on the device)\n", "-", k->text);
        else if (k->needs_axes && !w->workload)
            printf("  %16s  %s   (depends on the shape: --workload)\n", "-",
                   k->text);
        else
            printf("  %16llu  %s\n", (unsigned long long)k->removed, k->text);
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

    if (w->list || w->sample) {
        s.configs = c->json ? json_array() : NULL;
        rc = ws_space_each(spec, k, w->workload,
                           w->sample ? w->sample : w->limit, w->sample != 0,
                           w->seed, take, &s);
        if (rc)
            goto failed;
        if (!c->json)
            return EXIT_DONE;
    }
    if (ws_space_report(spec, k, w->workload, &r) < 0)
        goto failed;
    if (!c->json) {
        print_report(&r, w);
        return EXIT_DONE;
    }
    j = json_pack("{s:s, s:I, s:I, s:I, s:o}", "kernel", r.kernel, "parameters",
                  (json_int_t)r.nparam, "size", (json_int_t)r.size, "valid",
                  (json_int_t)r.valid, "constraints", constraints_json(&r));
    if (s.configs)
        json_object_set_new(j, "configs", s.configs);
    json_array_append_new(doc, j);
    return EXIT_DONE;
failed:
    json_decref(s.configs);
    return cli_error(c);
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
        rc = cli_usage(c, NULL,
                       w->kernel ? "no kernel '%s' in '%s'"
                                 : "there are no kernels in it",
                       w->kernel ? w->kernel : "", "the specification");
    if (rc == EXIT_DONE && c->json) {
        /* One space: its keys at the top; several: a list. */
        if (done == 1) {
            json_t *one = json_incref(json_array_get(doc, 0));

            json_decref(doc);
            return cli_json(c, one);
        }
        return cli_json(c, json_pack("{s:o}", "spaces", doc));
    }
    json_decref(doc);
    return rc;
}

static int run(struct cli *c, int argc, char **argv)
{
    struct want w = {0};
    const struct cli_opt opts[] = {
        {"count", NULL, "one line: the counts", CLI_FLAG, &w.count},
        {"list", NULL, "print the configs instead", CLI_FLAG, &w.list},
        {"limit", "N", "with --list: at most N", CLI_U64, &w.limit},
        {"sample", "N", "print N configs drawn uniformly", CLI_U64, &w.sample},
        {"seed", "N", "of the sample", CLI_U64, &w.seed},
        {"workload", "AXES", "apply the constraints that read axes too",
         CLI_TEXT, &w.workload},
        {"kernel", "NAME", "only this kernel", CLI_TEXT, &w.kernel},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    const char *pos[1];
    struct ws_spec *spec;
    int npos,
        rc = cli_parse(c, &cli_cmd_space, opts, argc, argv, pos, 1, 1, &npos);

    if (rc >= 0)
        return rc;
    if (ws_spec_open(c->ctx, pos[0], NULL, &spec) < 0)
        return cli_error(c);
    rc = all_kernels(c, spec, &w);
    ws_spec_free(spec);
    return rc;
}

const struct cli_cmd cli_cmd_space = {
    "space", "SPEC [options]", "the configs of a kernel and what removes them",
    "SPEC is a kernel file, an op folder or a T1 file.", run};
