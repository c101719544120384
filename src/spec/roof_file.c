/* roof_file.c: reads and writes measured ceilings. */
#include "spec/roof_file.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>

#include "base/fs.h"
#include "spec/node.h"

#include "base/banned.h"

#define FORMAT "wavesmith roof"
#define VERSION 1
#define FILE_MAX_BYTES 65536
#define KEYS                                                                   \
    "format version device driver compiler hash measured_ns cache_bytes "      \
    "ceilings quick"
#define CEILING_KEYS                                                           \
    "value lo hi unit samples mhz slowed sustained sustained_mhz "             \
    "sustained_slowed"

/* "cuda-nvidia-h200-": what files of one device begin with. */
static void name_of(const struct ws__identity *id, char out[200])
{
    size_t n = (size_t)snprintf(out, 190, "%s-%s", id->family, id->device);

    n = n < 189 ? n : 189;
    for (size_t i = 0; i < n; i++)
        out[i] = isalnum((unsigned char)out[i])
                     ? (char)tolower((unsigned char)out[i])
                     : '-';
    out[n] = '-';
    out[n + 1] = '\0';
}

char *ws__roof_path(struct ws_ctx *ctx, const char *dir,
                    const struct ws__identity *id)
{
    char name[200], hex[33], file[256];

    name_of(id, name);
    ws__hash_hex(ws__roof_identity(id), hex);
    snprintf(file, sizeof(file), "%s%.16s.json", name, hex);
    return ws__path_join(ctx, dir, file);
}

/* ---- out ----------------------------------------------------------------- */

static void put_ceiling(struct ws__buf *b, enum ws__ceiling_of c,
                        const struct ws__ceiling *x, bool first)
{
    ws__buf_printf(b, "%s\n    \"%s\": {\"value\": %.17g, \"lo\": %.17g, ",
                   first ? "" : ",", ws__roof_key(c), x->value, x->lo);
    ws__buf_printf(b, "\"hi\": %.17g, \"unit\": \"%s\", \"samples\": %u, ",
                   x->hi, ws__roof_unit(c), x->nsample);
    ws__buf_printf(b, "\"mhz\": %u, \"slowed\": %u", x->mhz, x->slowed);
    if (x->sustained > 0)
        ws__buf_printf(b,
                       ", \"sustained\": %.17g, \"sustained_mhz\": %u, "
                       "\"sustained_slowed\": %u",
                       x->sustained, x->sustained_mhz, x->sustained_slowed);
    ws__buf_puts(b, "}");
}

static void put_text(struct ws__buf *b, const char *key, const char *text)
{
    ws__buf_printf(b, "  \"%s\": ", key);
    ws__node_emit_text(b, text);
    ws__buf_puts(b, ",\n");
}

static void put_roof(struct ws__buf *b, const struct ws__identity *id,
                     const struct ws__roof *r)
{
    char hex[33];
    bool first = true;

    ws__hash_hex(r->hash, hex);
    ws__buf_printf(b, "{\n  \"format\": \"%s\",\n  \"version\": %d,\n", FORMAT,
                   VERSION);
    put_text(b, "device", id->device);
    put_text(b, "driver", id->driver);
    put_text(b, "compiler", id->compiler);
    put_text(b, "hash", hex);
    ws__buf_printf(b, "  \"measured_ns\": %llu,\n  \"cache_bytes\": %.0f,\n",
                   (unsigned long long)r->measured_ns, r->cache_bytes);
    if (r->quick)
        ws__buf_puts(b, "  \"quick\": true,\n");
    ws__buf_puts(b, "  \"ceilings\": {");
    for (unsigned c = 0; c < WS__NROOF; c++) {
        if (!r->ceiling[c].known || r->ceiling[c].from != WS__ROOF_MEASURED)
            continue;
        put_ceiling(b, (enum ws__ceiling_of)c, &r->ceiling[c], first);
        first = false;
    }
    ws__buf_puts(b, "\n  }\n}\n");
}

int ws__roof_save(struct ws_ctx *ctx, const char *dir,
                  const struct ws__identity *id, const struct ws__roof *roof)
{
    struct ws__buf b;
    char *path = NULL;
    int rc;

    ws__buf_init(&b, ctx, FILE_MAX_BYTES);
    put_roof(&b, id, roof);
    WS_TRY_DONE(b.failed);
    path = ws__roof_path(ctx, dir, id);
    WS_TRY_DONE(path ? 0 : WS_ENOMEM);
    WS_TRY_DONE(ws__fs_mkdirs(ctx, dir));
    rc = ws__fs_write(ctx, path, b.data, b.len);
done:
    ws__free(ctx, path);
    ws__buf_free(&b);
    return rc;
}

/* ---- in ------------------------------------------------------------------ */

static int read_count(struct ws_ctx *ctx, const struct ws__node *map,
                      const char *key, uint32_t *out)
{
    const struct ws__node *n = ws__node_get(map, key);
    int64_t v = 0;

    if (n)
        WS_TRY(ws__node_int(ctx, n, key, 0, UINT32_MAX, &v));
    *out = (uint32_t)v;
    return 0;
}

static int read_rate(struct ws_ctx *ctx, const struct ws__node *map,
                     const char *key, bool needed, double *out)
{
    const struct ws__node *n = ws__node_get(map, key);

    if (!n && !needed)
        return 0;
    WS_TRY(ws__node_need(ctx, map, key, "a ceiling", &n));
    WS_TRY(ws__node_float(ctx, n, key, out));
    if (*out > 0 && isfinite(*out))
        return 0;
    return ws__node_fail(ctx, n, "'%s' of a ceiling is not %s", key, n->text);
}

/* Beyond that it is damage, and times would be judged by it. */
static bool is_likely(enum ws__ceiling_of c, double v)
{
    return c == WS__ROOF_LAUNCH ? v >= 1 && v <= 1e9 : v >= 1e6 && v <= 1e18;
}

static int read_ceiling(struct ws_ctx *ctx, const struct ws__node *map,
                        enum ws__ceiling_of c, struct ws__ceiling *x)
{
    const struct ws__node *n;
    const char *unit;

    WS_TRY(ws__node_keys(ctx, map, CEILING_KEYS, "a ceiling"));
    WS_TRY(read_rate(ctx, map, "value", true, &x->value));
    WS_TRY(read_rate(ctx, map, "lo", true, &x->lo));
    WS_TRY(read_rate(ctx, map, "hi", true, &x->hi));
    WS_TRY(read_rate(ctx, map, "sustained", false, &x->sustained));
    WS_TRY(read_count(ctx, map, "samples", &x->nsample));
    WS_TRY(read_count(ctx, map, "mhz", &x->mhz));
    WS_TRY(read_count(ctx, map, "slowed", &x->slowed));
    WS_TRY(read_count(ctx, map, "sustained_mhz", &x->sustained_mhz));
    WS_TRY(read_count(ctx, map, "sustained_slowed", &x->sustained_slowed));
    WS_TRY(ws__node_need(ctx, map, "unit", "a ceiling", &n));
    WS_TRY(ws__node_str(ctx, n, "unit", &unit));
    if (strcmp(unit, ws__roof_unit(c)))
        return ws__node_fail(ctx, n, "'%s' is in %s, not in '%s'", map->key,
                             ws__roof_unit(c), unit);
    if (!(x->lo <= x->value && x->value <= x->hi))
        return ws__node_fail(ctx, map,
                             "the interval of '%s' does not hold "
                             "its value",
                             map->key);
    if (!is_likely(c, x->lo) || !is_likely(c, x->hi))
        return ws__node_fail(ctx, map, "no device has a '%s' of %g to %g %s",
                             map->key, x->lo, x->hi, unit);
    x->known = true;
    x->from = WS__ROOF_MEASURED;
    return 0;
}

static int read_ceilings(struct ws_ctx *ctx, const struct ws__node *map,
                         struct ws__roof *out)
{
    WS_TRY(ws__node_want(ctx, map, WS__MAP, "ceilings by name"));
    for (const struct ws__node *n = map->first; n; n = n->next) {
        unsigned c = 0;

        while (c < WS__NROOF && strcmp(n->key, ws__roof_key(c)))
            c++;
        if (c == WS__NROOF)
            return ws__node_fail(ctx, n, "no ceiling is called '%s'", n->key);
        WS_TRY(read_ceiling(ctx, n, (enum ws__ceiling_of)c, &out->ceiling[c]));
    }
    return 0;
}

static int read_text(struct ws_ctx *ctx, const struct ws__node *map,
                     const char *key, const char **out)
{
    const struct ws__node *n;

    WS_TRY(ws__node_need(ctx, map, key, "a roof", &n));
    return ws__node_str(ctx, n, key, out);
}

static int read_head(struct ws_ctx *ctx, const struct ws__node *map,
                     struct ws__roof *out)
{
    const struct ws__node *n;
    const char *text;
    int64_t version, when;

    WS_TRY(ws__node_want(ctx, map, WS__MAP, "a map: measured ceilings"));
    WS_TRY(read_text(ctx, map, "format", &text));
    if (strcmp(text, FORMAT))
        return ws__node_fail(ctx, map, "the format is not '" FORMAT "'");
    WS_TRY(ws__node_need(ctx, map, "version", "a roof", &n));
    WS_TRY(ws__node_int(ctx, n, "version", VERSION, VERSION, &version));
    WS_TRY(ws__node_keys(ctx, map, KEYS, "a roof"));
    WS_TRY(read_text(ctx, map, "hash", &text));
    if (!ws__hash_parse(text, &out->hash))
        return ws__node_fail(ctx, ws__node_get(map, "hash"), "'%s' is no hash",
                             text);
    WS_TRY(read_text(ctx, map, "device", &text));
    snprintf(out->device, sizeof(out->device), "%s", text);
    WS_TRY(ws__node_need(ctx, map, "measured_ns", "a roof", &n));
    WS_TRY(ws__node_int(ctx, n, "measured_ns", 0, INT64_MAX, &when));
    out->measured_ns = (uint64_t)when;
    if ((n = ws__node_get(map, "quick")))
        WS_TRY(ws__node_bool(ctx, n, "quick", &out->quick));
    WS_TRY(ws__node_need(ctx, map, "cache_bytes", "a roof", &n));
    return ws__node_float(ctx, n, "cache_bytes", &out->cache_bytes);
}

static int read_roof(struct ws_ctx *ctx, const char *path, const char *text,
                     size_t len, struct ws__roof *out)
{
    struct ws__arena arena;
    struct ws__node *root;
    const struct ws__node *n;
    int rc;

    memset(out, 0, sizeof(*out));
    ws__arena_init(&arena, ctx);
    WS_TRY_DONE(ws__node_parse(ctx, &arena, text, len, path, 1, &root));
    WS_TRY_DONE(read_head(ctx, root, out));
    WS_TRY_DONE(ws__node_need(ctx, root, "ceilings", "a roof", &n));
    rc = read_ceilings(ctx, n, out);
done:
    ws__arena_free(&arena);
    return rc;
}

/* Is there a file of the device with another identity? */
static bool find_other(const char *dir, const char *prefix, char name[256])
{
    DIR *d = opendir(dir);
    struct dirent *e;
    bool found = false;

    while (d && !found && (e = readdir(d))) {
        size_t n = strlen(e->d_name), p = strlen(prefix);

        found = n == p + 16 + 5 && !strncmp(e->d_name, prefix, p) &&
                !strcmp(e->d_name + n - 5, ".json");
        if (found)
            snprintf(name, 256, "%s", e->d_name);
    }
    if (d)
        closedir(d);
    return found;
}

static void say_why(const char *dir, const struct ws__identity *id,
                    char why[512])
{
    char prefix[200], name[256];

    name_of(id, prefix);
    if (dir && find_other(dir, prefix, name))
        snprintf(why, 512,
                 "the ceilings in %s are of another driver or compiler and "
                 "are not used: run 'wavesmith roof' again",
                 name);
    else
        snprintf(why, 512,
                 "the ceilings of this device were not measured: run "
                 "'wavesmith roof'");
}

int ws__roof_load(struct ws_ctx *ctx, const char *dir,
                  const struct ws__identity *id, struct ws__roof *out,
                  bool *found, char why[512])
{
    char *path = NULL, *text = NULL;
    struct ws__roof r;
    size_t len;
    int rc = 0;

    *found = false;
    why[0] = '\0';
    if (dir && !(path = ws__roof_path(ctx, dir, id)))
        return WS_ENOMEM;
    if (!path || !ws__fs_exists(path)) {
        say_why(dir, id, why);
        goto done;
    }
    WS_TRY_DONE(ws__fs_read(ctx, path, FILE_MAX_BYTES, &text, &len));
    rc = read_roof(ctx, path, text, len, &r);
    if (rc == 0 && !ws__hash_eq(r.hash, ws__roof_identity(id)))
        rc = ws__fail(ctx, WS_ESPEC,
                      "'%s' holds the ceilings of another device", path);
    if (rc == WS_ESPEC || rc == WS_EPARSE)
        ws__hint(ctx, "it was made by 'wavesmith roof', which makes it again "
                      "when it is gone");
    if (rc == 0) {
        *out = r;
        *found = true;
    }
done:
    ws__free(ctx, text);
    ws__free(ctx, path);
    return rc;
}
