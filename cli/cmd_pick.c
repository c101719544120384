/* cmd_pick.c: asks a pack for a shape: the runtime's own answer. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wsrt.h"

#define MAX_AXES WSRT_MEMO_AXES

static const char *how_text(enum wsrt_how how)
{
    switch (how) {
    case WSRT_EXACT:
        return "exact";
    case WSRT_NEAREST:
        return "nearest";
    case WSRT_MODEL:
        return "model";
    case WSRT_FORMULA:
        return "formula";
    default:
        return "default";
    }
}

/* What a pick is launched from. */
struct binary {
    struct wsrt_image image;
    bool have, scratch_known;
    uint64_t scratch_bytes;
};

static struct binary find_binary(const struct wsrt_pack *p, const int64_t *axes,
                                 const struct wsrt_pick *pick)
{
    struct binary b = {.have = false};
    uint32_t image;

    b.have = wsrt_pick_image(p, pick, axes, &image) == WSRT_OK &&
             wsrt_image(p, image, &b.image) == WSRT_OK;
    b.scratch_known =
        wsrt_scratch_bytes(p, pick, axes, &b.scratch_bytes) == WSRT_OK;
    return b;
}

/* "cuda sm_90, 12345 bytes" */
static void print_image(const struct wsrt_image *m)
{
    printf("%s%s%s, %zu bytes", m->family, *m->target ? " " : "", m->target,
           m->bytes);
}

static void print_binary(const struct wsrt_pack *p, const int64_t *axes,
                         const struct wsrt_pick *pick)
{
    const struct binary b = find_binary(p, axes, pick);

    printf("  binary: ");
    if (b.have)
        print_image(&b.image);
    else
        printf(wsrt_image_count(p) ? "none for this shape"
                                   : "the pack carries none");
    if (b.scratch_known && b.scratch_bytes)
        printf("; scratch: %llu bytes", (unsigned long long)b.scratch_bytes);
    printf("\n");
}

static json_t *image_json(const struct wsrt_image *m)
{
    json_t *j = json_object();

    cli_put(j, "family", cli_text(m->family));
    cli_put(j, "target", cli_text(m->target));
    cli_put(j, "bytes", json_integer((json_int_t)m->bytes));
    return j;
}

static void print_axes(const struct wsrt_pack *p, const int64_t *axes)
{
    for (uint32_t i = 0; i < wsrt_axis_count(p); i++) {
        const char *t = wsrt_axis_value_text(p, i, axes[i]);

        if (t)
            printf("%s%s=%s", i ? "," : "", wsrt_axis_name(p, i), t);
        else
            printf("%s%s=%lld", i ? "," : "", wsrt_axis_name(p, i),
                   (long long)axes[i]);
    }
}

static void print_variant(const struct wsrt_pack *p, uint32_t variant)
{
    uint32_t k = wsrt_variant_kernel(p, variant);

    printf("  %s  ", wsrt_kernel_name(p, k));
    for (uint32_t i = 0; i < wsrt_param_count(p, k); i++)
        printf("%s%s=%s", i ? "," : "", wsrt_param_name(p, k, i),
               wsrt_param_text(p, variant, i));
}

/* What a model has to say, a line at a time. */
static void print_reasons(const struct wsrt_pack *p, const int64_t *axes)
{
    struct wsrt_explanation e;
    char text[4000];

    if (wsrt_explain(p, axes, &e) != WSRT_OK || e.model == WSRT_NO_ENTRY)
        return;
    wsrt_explain_text(p, &e, text, sizeof(text));
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        printf("    %.*s\n", (int)(end - line), line);
        end += *end != '\0';
    }
}

static json_t *log2_json(int32_t log2)
{
    return log2 == WSRT_NO_LOG2 ? json_null() : cli_real(log2 / 1048576.0);
}

/* Logarithms to base 2 of ns, or of a ratio. */
static json_t *reasons_json(const struct wsrt_explanation *e)
{
    json_t *j = json_object();

    cli_put(j, "predicted_log2_ns", log2_json(e->log2_ns));
    cli_put(j, "default_log2_ns", log2_json(e->dflt_log2_ns));
    cli_put(j, "next_best_log2_ns", log2_json(e->runner_up_log2_ns));
    cli_put(j, "margin_log2", log2_json(e->margin));
    cli_put(j, "covered", json_boolean(e->covered));
    cli_put(j, "asked", json_integer(e->asked));
    cli_put(j, "portfolio", json_integer(e->portfolio));
    cli_put(j, "considered", json_integer(e->considered));
    cli_put(j, "shapes_checked", json_integer(e->points));
    cli_put(j, "cells_lose_at_most_log2", log2_json(e->tree_worst));
    cli_put(j, "portfolio_loses_at_most_log2", log2_json(e->portfolio_worst));
    return j;
}

/* "shapes" of "result timed shapes"; n: bytes of the list. */
static bool has_gate(const char *list, size_t n, const char *gate)
{
    size_t len = strlen(gate);

    for (size_t i = 0; i + len <= n; i++)
        if ((!i || list[i - 1] == ' ') && !strncmp(list + i, gate, len) &&
            (i + len == n || list[i + len] == ' '))
            return true;
    return false;
}

/* What the judge has asked of the choice; not known of older packs. */
static void print_gates(const struct wsrt_pack *p, const struct wsrt_pick *pick)
{
    size_t n;
    const char *list = wsrt_entry_gates(p, pick->entry, &n);

    if (!list)
        return;
    printf("  passed: %.*s\n", n ? (int)n : 7, n ? list : "nothing");
    if (!has_gate(list, n, "shapes") || !has_gate(list, n, "values"))
        printf("  not proven: it was not tried on %s\n",
               has_gate(list, n, "shapes")   ? "other values"
               : has_gate(list, n, "values") ? "other shapes"
                                             : "other shapes and values");
}

/* null: the pack does not say. */
static json_t *gates_json(const struct wsrt_pack *p, uint32_t entry)
{
    size_t n;
    const char *list = wsrt_entry_gates(p, entry, &n);
    json_t *j = list ? json_array() : json_null();

    for (const char *end = list + n; list && list < end;) {
        const char *blank = memchr(list, ' ', (size_t)(end - list));
        size_t len = (size_t)((blank ? blank : end) - list);

        json_array_append_new(j, json_stringn(list, len));
        list += len + 1;
    }
    return j;
}

static void print(const struct wsrt_pack *p, const int64_t *axes,
                  const struct wsrt_pick *pick)
{
    print_axes(p, axes);
    printf("\n");
    print_variant(p, pick->variant);
    if (pick->how == WSRT_EXACT) {
        printf("\n  exact: this shape was tuned; measured %s, default %s\n",
               cli_time(pick->time_ns), cli_time(pick->default_ns));
    } else if (pick->how == WSRT_NEAREST) {
        printf("\n  nearest tuned shape: ");
        print_axes(p, wsrt_entry_axes(p, pick->entry));
        printf(" (%.2f octaves away; measured there: %s)\n",
               (double)pick->distance / 65536.0, cli_time(pick->time_ns));
    } else if (pick->how == WSRT_DEFAULT) {
        printf("\n  default: no tuned choice may run this shape\n");
    } else {
        printf("\n  %s\n", how_text(pick->how));
    }
    print_gates(p, pick);
    print_reasons(p, axes);
    print_binary(p, axes, pick);
}

static json_t *pick_json(const struct wsrt_pack *p, const int64_t *axes,
                         const struct wsrt_pick *pick)
{
    json_t *j = json_object();
    uint32_t k = wsrt_variant_kernel(p, pick->variant);
    const struct binary b = find_binary(p, axes, pick);
    struct wsrt_explanation e;

    cli_put(j, "shape", cli_axes_json(p, axes));
    cli_put(j, "kernel", cli_text(wsrt_kernel_name(p, k)));
    cli_put(j, "variant", json_integer(pick->variant));
    cli_put(j, "parameters", cli_params_json(p, pick->variant));
    cli_put(j, "how", cli_text(how_text(pick->how)));
    cli_put(j, "binary", b.have ? image_json(&b.image) : json_null());
    cli_put(j, "scratch_bytes",
            b.scratch_known ? json_integer((json_int_t)b.scratch_bytes)
                            : json_null());
    if (wsrt_explain(p, axes, &e) == WSRT_OK && e.model != WSRT_NO_ENTRY)
        cli_put(j, "model", reasons_json(&e));
    if (pick->entry == WSRT_NO_ENTRY)
        return j;
    cli_put(j, "tuned_shape",
            cli_axes_json(p, wsrt_entry_axes(p, pick->entry)));
    cli_put(j, "distance_octaves", cli_real((double)pick->distance / 65536.0));
    cli_put(j, "gates", gates_json(p, pick->entry));
    cli_put(j, "measured_ns", cli_real(pick->time_ns));
    cli_put(j, "default_ns", cli_real(pick->default_ns));
    return j;
}

/* The least and the greatest that was tuned. */
static void tuned_range(const struct wsrt_pack *p, uint32_t axis, int64_t *lo,
                        int64_t *hi)
{
    *lo = INT64_MAX;
    *hi = 0;
    for (uint32_t e = 0; e < wsrt_entry_count(p); e++) {
        int64_t v = wsrt_entry_axes(p, e)[axis];

        *lo = v < *lo ? v : *lo;
        *hi = v > *hi ? v : *hi;
    }
}

/* "M=5000 (tuned: 1 to 64), ..."; false: the shape lies within what was tuned.
 * A type has no range. */
static bool outside(const struct wsrt_pack *p, const int64_t *axes, char *out,
                    size_t n)
{
    *out = '\0';
    for (uint32_t a = 0; a < wsrt_axis_count(p); a++) {
        size_t at = strlen(out);
        int64_t lo, hi;

        tuned_range(p, a, &lo, &hi);
        if (!hi || wsrt_axis_value_text(p, a, axes[a]) ||
            (axes[a] >= lo && axes[a] <= hi))
            continue;
        snprintf(out + at, n - at, "%s%s=%lld (tuned: %lld to %lld)",
                 at ? ", " : "", wsrt_axis_name(p, a), (long long)axes[a],
                 (long long)lo, (long long)hi);
    }
    return *out;
}

static void no_answer(struct cli *c, const struct wsrt_pack *p,
                      const int64_t *axes)
{
    char where[512];

    if (outside(p, axes, where, sizeof(where)))
        cli_usage(c,
                  "tune the pack for shapes like this one; 'ranges' of the "
                  "kernel, or a range of the op's axis, lets choices serve "
                  "beyond what was tuned",
                  "no variant of the pack may run this shape; it lies outside "
                  "of what was tuned: %s",
                  where);
    else
        cli_usage(c, "tune the pack for shapes like this one",
                  "no variant of the pack may run this shape, or none "
                  "was right there");
}

static int answer(struct cli *c, const struct wsrt_pack *p, const int64_t *axes)
{
    struct wsrt_pick pick;
    int rc = wsrt_pick(p, axes, &pick);

    if (rc == WSRT_ENONE) {
        no_answer(c, p, axes);
        return EXIT_NEGATIVE;
    }
    if (rc != WSRT_OK)
        return cli_usage(c, NULL, "cannot pick: %s", wsrt_status_text(rc));
    if (c->json)
        return cli_json(c, pick_json(p, axes, &pick));
    print(p, axes, &pick);
    return EXIT_DONE;
}

/* The pick of an entry that is launched from this image; false: another. */
static bool is_from(const struct wsrt_pack *p, uint32_t entry, uint32_t image,
                    struct wsrt_pick *pick)
{
    uint32_t at;

    return wsrt_entry(p, entry, pick) == WSRT_OK &&
           wsrt_pick_image(p, pick, wsrt_entry_axes(p, entry), &at) ==
               WSRT_OK &&
           at == image;
}

/* What the tuned shapes launch from it. One that none does is a default's. */
static void print_users(const struct wsrt_pack *p, uint32_t image)
{
    struct wsrt_pick pick;
    bool any = false;

    for (uint32_t e = 0; e < wsrt_entry_count(p); e++) {
        if (!is_from(p, e, image, &pick))
            continue;
        any = true;
        print_variant(p, pick.variant);
        printf("  for ");
        print_axes(p, wsrt_entry_axes(p, e));
        printf("\n");
    }
    if (!any)
        printf("  a default, for other shapes\n");
}

static json_t *users_json(const struct wsrt_pack *p, uint32_t image)
{
    json_t *list = json_array();
    struct wsrt_pick pick;

    for (uint32_t e = 0; e < wsrt_entry_count(p); e++) {
        json_t *j;

        if (!is_from(p, e, image, &pick))
            continue;
        j = json_object();
        cli_put(j, "shape", cli_axes_json(p, wsrt_entry_axes(p, e)));
        cli_put(j, "kernel",
                cli_text(
                    wsrt_kernel_name(p, wsrt_variant_kernel(p, pick.variant))));
        cli_put(j, "parameters", cli_params_json(p, pick.variant));
        json_array_append_new(list, j);
    }
    return list;
}

/* All that the pack has. */
static int list_binaries(struct cli *c, const struct wsrt_pack *p)
{
    json_t *list = json_array();
    struct wsrt_image m;

    for (uint32_t i = 0; wsrt_image(p, i, &m) == WSRT_OK; i++) {
        json_t *j = image_json(&m);

        cli_put(j, "tuned", users_json(p, i));
        json_array_append_new(list, j);
    }
    if (c->json)
        return cli_json(c, json_pack("{s:o}", "binaries", list));
    json_decref(list);
    for (uint32_t i = 0; wsrt_image(p, i, &m) == WSRT_OK; i++) {
        print_image(&m);
        printf("\n");
        print_users(p, i);
    }
    if (!wsrt_image_count(p))
        printf("the pack carries no binaries: programs compile its sources\n");
    return EXIT_DONE;
}

static int run(struct cli *c, int argc, char **argv)
{
    bool binaries = false;
    const char *export = NULL;
    const struct cli_opt opts[] = {
        {"binaries", NULL, "list the binaries that the pack carries", CLI_FLAG,
         &binaries},
        {"export", "FORMAT", "print the pack's tables: header (C) or json",
         CLI_TEXT, &export},
        {NULL, NULL, NULL, CLI_FLAG, NULL}};
    const char *pos[1 + MAX_AXES];
    int64_t axes[MAX_AXES] = {0};
    struct wsrt_pack *p;
    char reason[256] = "";
    int npos, rc = cli_parse(c, &cli_cmd_pick, opts, argc, argv, pos, 1,
                             1 + MAX_AXES, &npos);

    if (rc >= 0)
        return rc;
    rc = wsrt_open(pos[0], &p, reason, sizeof(reason));
    if (rc != WSRT_OK)
        return cli_usage(c, "a pack is written by 'wavesmith tune --out'",
                         "cannot use '%s': %s", pos[0],
                         reason[0] ? reason : wsrt_status_text(rc));
    if (export)
        rc = cli_export(c, p, export);
    else
        rc = binaries ? list_binaries(c, p)
                      : cli_pack_axes(c, p, pos + 1, npos - 1, axes);
    if (rc < 0)
        rc = answer(c, p, axes);
    wsrt_close(p);
    return rc;
}

const struct cli_cmd cli_cmd_pick = {
    "pick", "PACK AXIS=VALUE ...", "ask a pack for a shape",
    "Prints the choice, how it was reached, the time measured, and what it is\n"
    "launched from. Such as\n"
    "'wavesmith pick gemm.wspack M=16 N=4096 K=4096' (or M=16,N=4096,K=4096);\n"
    "an axis with a default (a type: the first) may be left out. Exit code 1 "
    "if no\nvariant may run the shape, or none was right there.",
    run};
