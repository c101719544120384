/*
 * cli_export.c: the tables of a pack for other programs: as JSON, and as a
 * header in C for those that want the tuned choices compiled in.
 */
#include "cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

json_t *cli_params_json(const struct wsrt_pack *p, uint32_t variant)
{
    json_t *j = json_object();
    uint32_t k = wsrt_variant_kernel(p, variant);

    for (uint32_t i = 0; i < wsrt_param_count(p, k); i++)
        json_object_set_new(j, wsrt_param_name(p, k, i),
                            cli_text(wsrt_param_text(p, variant, i)));
    return j;
}

json_t *cli_axes_json(const struct wsrt_pack *p, const int64_t *axes)
{
    json_t *j = json_object();

    for (uint32_t i = 0; i < wsrt_axis_count(p); i++) {
        const char *t = wsrt_axis_value_text(p, i, axes[i]);

        cli_put(j, wsrt_axis_name(p, i),
                t ? cli_text(t) : json_integer(axes[i]));
    }
    return j;
}

static json_t *variants_json(const struct wsrt_pack *p)
{
    json_t *list = json_array();

    for (uint32_t v = 0; v < wsrt_variant_count(p); v++) {
        json_t *j = json_object();

        cli_put(j, "kernel",
                cli_text(wsrt_kernel_name(p, wsrt_variant_kernel(p, v))));
        cli_put(j, "parameters", cli_params_json(p, v));
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *entries_json(const struct wsrt_pack *p)
{
    json_t *list = json_array();
    struct wsrt_pick pick;

    for (uint32_t e = 0; wsrt_entry(p, e, &pick) == WSRT_OK; e++) {
        json_t *j = json_object();

        cli_put(j, "shape", cli_axes_json(p, wsrt_entry_axes(p, e)));
        cli_put(j, "variant", json_integer(pick.variant));
        cli_put(j, "measured_ns", cli_real(pick.time_ns));
        cli_put(j, "default_ns", cli_real(pick.default_ns));
        json_array_append_new(list, j);
    }
    return list;
}

static int export_json(struct cli *c, const struct wsrt_pack *p)
{
    json_t *j = json_object(), *axes = json_array();

    for (uint32_t a = 0; a < wsrt_axis_count(p); a++)
        json_array_append_new(axes, cli_text(wsrt_axis_name(p, a)));
    cli_put(j, "axes", axes);
    cli_put(j, "variants", variants_json(p));
    cli_put(j, "tuned", entries_json(p));
    return cli_json(c, j);
}

/* As a part of a name in C. */
static void put_name(const char *s)
{
    for (; *s; s++)
        putchar(isalnum((unsigned char)*s) ? toupper((unsigned char)*s) : '_');
}

/* As a string in C. */
static void put_string(const char *s)
{
    putchar('"');
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < ' ')
            printf("\\%03o", (unsigned)(unsigned char)*s);
        else
            putchar(*s);
    putchar('"');
}

static uint32_t most_params(const struct wsrt_pack *p)
{
    uint32_t most = 0;

    for (uint32_t k = 0; k < wsrt_kernel_count(p); k++)
        if (wsrt_param_count(p, k) > most)
            most = wsrt_param_count(p, k);
    return most;
}

static void put_variants(const struct wsrt_pack *p)
{
    printf("/* Kernel, then the values of its parameters. */\n"
           "static const char *const wspack_variant[][%u] = {\n",
           (unsigned)most_params(p) + 1);
    for (uint32_t v = 0; v < wsrt_variant_count(p); v++) {
        uint32_t k = wsrt_variant_kernel(p, v);

        printf("    {");
        put_string(wsrt_kernel_name(p, k));
        for (uint32_t i = 0; i < wsrt_param_count(p, k); i++) {
            printf(", ");
            put_string(wsrt_param_name(p, k, i));
            printf(" \"=\" ");
            put_string(wsrt_param_text(p, v, i));
        }
        printf("},\n");
    }
    printf("};\n\n");
}

static void put_entries(const struct wsrt_pack *p)
{
    struct wsrt_pick pick;

    printf("/* The tuned shapes in the pack's order. */\n"
           "static const struct wspack_entry {\n"
           "    int64_t axis[WSPACK_AXES];\n"
           "    uint32_t variant;\n"
           "    double time_ns, default_ns; /* 0: unknown */\n"
           "} wspack_entry[] = {\n");
    for (uint32_t e = 0; wsrt_entry(p, e, &pick) == WSRT_OK; e++) {
        printf("    {{");
        for (uint32_t a = 0; a < wsrt_axis_count(p); a++)
            printf("%s%lld", a ? ", " : "",
                   (long long)wsrt_entry_axes(p, e)[a]);
        printf("}, %u, %.9g, %.9g},\n", (unsigned)pick.variant, pick.time_ns,
               pick.default_ns);
    }
    printf("};\n");
}

static int export_header(const struct wsrt_pack *p)
{
    printf("/* The tables of a pack, made by 'wavesmith pick --export header'."
           "\n * For shapes that are not here ask the pack (wsrt.h). */\n"
           "#ifndef WSPACK_TABLES_H\n#define WSPACK_TABLES_H\n\n"
           "#include <stdint.h>\n\n"
           "/* Element types are numbers, as wsrt.h has them. */\nenum {\n");
    for (uint32_t a = 0; a < wsrt_axis_count(p); a++) {
        printf("    WSPACK_AXIS_");
        put_name(wsrt_axis_name(p, a));
        printf(",\n");
    }
    printf("    WSPACK_AXES\n};\n\n#define WSPACK_VARIANTS %u\n"
           "#define WSPACK_ENTRIES %u\n\n",
           (unsigned)wsrt_variant_count(p), (unsigned)wsrt_entry_count(p));
    put_variants(p);
    if (wsrt_entry_count(p))
        put_entries(p);
    printf("\n#endif\n");
    return EXIT_DONE;
}

int cli_export(struct cli *c, const struct wsrt_pack *p, const char *format)
{
    if (!strcmp(format, "json"))
        return export_json(c, p);
    if (!strcmp(format, "header"))
        return export_header(p);
    return cli_usage(c, "'header' or 'json'", "'%s' is no format of --export",
                     format);
}
