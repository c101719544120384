/* sheet.c: reads a device's data sheet. */
#include "spec/sheet.h"

#include <stddef.h>

#include "base/fs.h"
#include "spec/node.h"

#include "base/banned.h"

#define SHEET_MAX 65536
#define KEYS                                                                   \
    "name units mhz dram_gbs cache_bytes matrix_tflops vector_tflops watts "   \
    "nm vector_bytes cpu"

/* Bounds are generous: they catch a slip of units, not a strange device. */
static const struct {
    const char *key;
    size_t at;
    double least, most;
    bool needed;
} figure[] = {
#define AT(x) offsetof(struct ws__sheet, x)
    {"units", AT(units), 1, 65536, true},
    {"mhz", AT(mhz), 1, 1e5, true},
    {"dram_gbs", AT(dram_gbs), .1, 1e6, true},
    {"cache_bytes", AT(cache_bytes), 1024, 1e12, true},
    {"vector_tflops", AT(vector_tflops), 1e-4, 1e5, true},
    {"matrix_tflops", AT(matrix_tflops), 0, 1e6, false},
    {"watts", AT(watts), 0, 1e5, false},
    {"nm", AT(nm), 0, 1000, false},
    {"vector_bytes", AT(vector_bytes), 4, 1024, false},
#undef AT
};

static int read_figure(struct ws_ctx *ctx, const struct ws__node *map, size_t i,
                       struct ws__sheet *out)
{
    const struct ws__node *n = ws__node_get(map, figure[i].key);
    double *to = (double *)((char *)out + figure[i].at);

    if (!n && !figure[i].needed)
        return 0;
    WS_TRY(ws__node_need(ctx, map, figure[i].key, "the sheet", &n));
    WS_TRY(ws__node_float(ctx, n, figure[i].key, to));
    if (*to >= figure[i].least && *to <= figure[i].most)
        return 0;
    ws__node_fail(ctx, n, "'%s' of a device is not %s", figure[i].key, n->text);
    return ws__hint(ctx, "a number from %g to %g; docs/sheets.md has the units",
                    figure[i].least, figure[i].most);
}

static int read_map(struct ws_ctx *ctx, const struct ws__node *map,
                    struct ws__sheet *out)
{
    const struct ws__node *n;

    WS_TRY(ws__node_keys(ctx, map, KEYS, "the sheet"));
    WS_TRY(ws__node_need(ctx, map, "name", "the sheet", &n));
    WS_TRY(ws__node_printable(ctx, n, "the device's name", &out->name));
    for (size_t i = 0; i < WS_COUNT(figure); i++)
        WS_TRY(read_figure(ctx, map, i, out));
    n = ws__node_get(map, "cpu");
    return n ? ws__node_bool(ctx, n, "cpu", &out->is_cpu) : 0;
}

int ws__sheet_read(struct ws_ctx *ctx, struct ws__arena *arena,
                   const char *path, struct ws__sheet *out)
{
    const char *file = ws__arena_strdup(arena, path);
    struct ws__node *root;
    char *text;
    size_t len;
    int rc;

    memset(out, 0, sizeof(*out));
    if (!file)
        return WS_ENOMEM;
    WS_TRY(ws__fs_read(ctx, path, SHEET_MAX, &text, &len));
    rc = ws__node_parse(ctx, arena, text, len, file, 1, &root);
    ws__free(ctx, text);
    return rc ? rc : read_map(ctx, root, out);
}
