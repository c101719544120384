/* t_roof_file.c: ceilings in files: the same come back, an older driver's are
 * not used, damage is refused with its place, and every failure on the way. */
#include "base/t_base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "spec/roof_file.h"

static char dir[64];

static struct ws__identity id_of(const char *driver)
{
    struct ws__identity id;

    memset(&id, 0, sizeof(id));
    snprintf(id.device, sizeof(id.device), "A \"GPU\"");
    snprintf(id.driver, sizeof(id.driver), "%s", driver);
    snprintf(id.family, sizeof(id.family), "cuda");
    return id;
}

static struct ws__roof roof_of(const struct ws__identity *id)
{
    struct ws__roof r;

    memset(&r, 0, sizeof(r));
    r.hash = ws__roof_identity(id);
    snprintf(r.device, sizeof(r.device), "%s", id->device);
    r.measured_ns = 1796000000123456789u;
    r.quick = true;
    r.cache_bytes = 62914560;
    r.ceiling[WS__ROOF_COPY] = (struct ws__ceiling){.known = true,
                                                    .value = 4.2e12 / 3,
                                                    .from = WS__ROOF_MEASURED,
                                                    .lo = 1e12,
                                                    .hi = 2e12,
                                                    .nsample = 25,
                                                    .mhz = 1980};
    r.ceiling[WS__ROOF_TENSOR_BF16] =
        (struct ws__ceiling){.known = true,
                             .value = 9e14,
                             .from = WS__ROOF_MEASURED,
                             .lo = 8e14,
                             .hi = 9.1e14,
                             .nsample = 25,
                             .mhz = 1980,
                             .slowed = 1,
                             .sustained = 7e14,
                             .sustained_mhz = 1500,
                             .sustained_slowed = 3};
    r.ceiling[WS__ROOF_FP32] = (struct ws__ceiling){.known = true,
                                                    .value = 6e13,
                                                    .from = WS__ROOF_SHEET};
    return r;
}

static void same(const struct ws__ceiling *a, const struct ws__ceiling *b)
{
    assert_true(a->known == b->known && a->from == b->from);
    assert_true(a->value == b->value && a->lo == b->lo && a->hi == b->hi);
    assert_true(a->sustained == b->sustained && a->nsample == b->nsample);
    assert_true(a->mhz == b->mhz && a->slowed == b->slowed);
    assert_true(a->sustained_mhz == b->sustained_mhz &&
                a->sustained_slowed == b->sustained_slowed);
}

static int round_trip(struct ws_ctx *ctx, void *user)
{
    struct ws__identity id = id_of("580");
    struct ws__roof in = roof_of(&id), out;
    char why[512];
    bool found;
    int rc;
    (void)user;

    WS_TRY(ws__roof_save(ctx, dir, &id, &in));
    rc = ws__roof_load(ctx, dir, &id, &out, &found, why);
    if (rc < 0)
        return rc;
    assert_true(found);
    assert_string_equal(why, "");
    same(&in.ceiling[WS__ROOF_COPY], &out.ceiling[WS__ROOF_COPY]);
    same(&in.ceiling[WS__ROOF_TENSOR_BF16], &out.ceiling[WS__ROOF_TENSOR_BF16]);
    assert_false(out.ceiling[WS__ROOF_FP32].known); /* of a sheet: not kept */
    assert_string_equal(out.device, in.device);
    assert_true(out.measured_ns == in.measured_ns && out.quick);
    assert_true(out.cache_bytes == in.cache_bytes);
    assert_true(ws__hash_eq(out.hash, in.hash));
    return 0;
}

static void what_is_kept_comes_back(void **state)
{
    (void)state;
    assert_true(t_torture(round_trip, NULL) > 5);
}

static void other_drivers_are_not_used(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__identity id = id_of("590"), tool = id_of("580");
    struct ws__roof out;
    char why[512];
    bool found;
    (void)state;

    assert_int_equal(round_trip(ctx, NULL), 0);
    assert_int_equal(ws__roof_load(ctx, dir, &id, &out, &found, why), 0);
    assert_false(found);
    assert_non_null(strstr(why, "another driver"));
    assert_non_null(strstr(why, "cuda-a--gpu--"));
    snprintf(tool.tool, sizeof(tool.tool), "99"); /* no matter */
    snprintf(tool.protocol, sizeof(tool.protocol), "cold");
    assert_int_equal(ws__roof_load(ctx, dir, &tool, &out, &found, why), 0);
    assert_true(found);
    snprintf(id.device, sizeof(id.device), "B");
    assert_int_equal(ws__roof_load(ctx, dir, &id, &out, &found, why), 0);
    assert_false(found);
    assert_non_null(strstr(why, "not measured"));
    assert_int_equal(ws__roof_load(ctx, NULL, &id, &out, &found, why), 0);
    assert_false(found);
    ws_ctx_free(ctx);
}

/* `from` becomes `to` in a good file. */
static void damage(struct ws_ctx *ctx, const char *path, const char *from,
                   const char *to)
{
    char *text, *at, whole[8192];
    size_t len;

    assert_int_equal(round_trip(ctx, NULL), 0);
    assert_int_equal(ws__fs_read(ctx, path, sizeof(whole), &text, &len), 0);
    at = strstr(text, from);
    assert_non_null(at);
    snprintf(whole, sizeof(whole), "%.*s%s%s", (int)(at - text), text, to,
             at + strlen(from));
    assert_int_equal(ws__fs_write(ctx, path, whole, strlen(whole)), 0);
    ws__free(ctx, text);
}

static void damage_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *from, *to, *says;
        unsigned line;
    } c[] = {
        {"wavesmith roof", "other", "format", 0},
        {"\"version\": 1", "\"version\": 2", "version", 3},
        {"\"copy\"", "\"copi\"", "copi", 0},
        {"\"unit\": \"B/s\"", "\"unit\": \"GB/s\"", "GB/s", 0},
        {"\"lo\": 1", "\"lo\": -1", "lo", 0},
        {"\"lo\": 1", "\"lo\": 9", "interval", 0},
        {"\"value\": ", "\"value\": x", "is not a number", 0},
        {"\"samples\": 25", "\"samples\": -1", "samples", 0},
        {"\"mhz\": 1980", "\"mzh\": 1980", "mzh", 0},
        {"\"hash\": \"", "\"hash\": \"x", "hash", 7},
        {"  \"measured_ns\"", "  \"when\"", "when", 8},
        {"\"ceilings\": {", "\"ceilings\": [", "", 0},
    };
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__identity id = id_of("580"), other = id_of("570");
    char *path = ws__roof_path(ctx, dir, &id), why[512];
    struct ws__roof out, in = roof_of(&other);
    bool found;
    (void)state;

    for (size_t i = 0; i < WS_COUNT(c); i++) {
        const struct ws_error *e;
        int rc;

        damage(ctx, path, c[i].from, c[i].to);
        rc = ws__roof_load(ctx, dir, &id, &out, &found, why);
        e = ws_ctx_error(ctx);
        if ((rc != WS_ESPEC && rc != WS_EPARSE) || found || !e->line ||
            (c[i].line && e->line != c[i].line) ||
            !strstr(e->message, c[i].says) || !strstr(e->hint, "roof"))
            fail_msg("'%s': %d, line %u: %s", c[i].to, rc, e->line, e->message);
    }
    assert_int_equal(ws__roof_save(ctx, dir, &id, &in), 0);
    assert_int_equal(ws__roof_load(ctx, dir, &id, &out, &found, why), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "another device"));
    ws__free(ctx, path);
    ws_ctx_free(ctx);
}

/* What no device has would make every time too fast, or none. */
static void unlikely_ceilings_are_damage(void **state)
{
    static const struct {
        enum ws__ceiling_of c;
        double lo, hi;
        bool taken;
    } c[] = {{WS__ROOF_COPY, 1e9, 1e13, true},
             {WS__ROOF_COPY, 1e3, 1e13, false},
             {WS__ROOF_COPY, 1e9, 1.5e308, false},
             {WS__ROOF_LAUNCH, 200, 9000, true},
             {WS__ROOF_LAUNCH, 1e-9, 9000, false},
             {WS__ROOF_LAUNCH, 200, 1e12, false}};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__identity id = id_of("590");
    char *path = ws__roof_path(ctx, dir, &id), why[512];
    bool found;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(c); i++) {
        struct ws__roof out, in = roof_of(&id);
        int rc;

        in.ceiling[c[i].c] = (struct ws__ceiling){.known = true,
                                                  .value = c[i].lo,
                                                  .from = WS__ROOF_MEASURED,
                                                  .lo = c[i].lo,
                                                  .hi = c[i].hi,
                                                  .nsample = 25};
        assert_int_equal(ws__roof_save(ctx, dir, &id, &in), 0);
        rc = ws__roof_load(ctx, dir, &id, &out, &found, why);
        assert_int_equal(rc, c[i].taken ? 0 : WS_ESPEC);
        if (!c[i].taken)
            assert_non_null(
                strstr(ws_ctx_error(ctx)->message, "no device has a"));
    }
    unlink(path);
    ws__free(ctx, path);
    ws_ctx_free(ctx);
}

/* ---- operations of files fail -------------------------------------------- */

static int left; /* until the one that fails; below 0: none */

static bool fails(void)
{
    if (left-- != 0)
        return false;
    errno = EIO;
    return true;
}

static ssize_t bad_read(int fd, void *p, size_t n)
{
    return fails() ? -1 : read(fd, p, n);
}
static ssize_t bad_write(int fd, const void *p, size_t n)
{
    return fails() ? -1 : write(fd, p, n);
}
static int bad_open(const char *path, int flags, mode_t mode)
{
    return fails() ? -1 : open(path, flags, mode);
}
static int bad_rename(const char *from, const char *to)
{
    return fails() ? -1 : rename(from, to);
}
static int bad_fsync(int fd)
{
    return fails() ? -1 : fsync(fd);
}

/* The file is whole after each: the old one or the new one. */
static void failures_of_files_are_told(void **state)
{
    const struct ws__fs_ops ops = {.open = bad_open,
                                   .read = bad_read,
                                   .write = bad_write,
                                   .fsync = bad_fsync,
                                   .close = close,
                                   .rename = bad_rename,
                                   .mkdir = mkdir,
                                   .unlink = unlink};
    struct ws_ctx *ctx = t_ctx(NULL);
    int rc = -1, n = 0;
    (void)state;

    assert_int_equal(round_trip(ctx, NULL), 0);
    for (; rc < 0; n++) {
        left = n;
        ws__fs_set_ops(&ops);
        rc = round_trip(ctx, NULL);
        ws__fs_set_ops(NULL);
        if (rc < 0)
            assert_int_equal(rc, WS_EIO);
        assert_int_equal(round_trip(ctx, NULL), 0);
        if (left >= 0)
            break;
    }
    assert_true(n > 4);
    ws_ctx_free(ctx);
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/t_roof_file-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__identity id = id_of("580");
    char *path = ws__roof_path(ctx, dir, &id);
    (void)state;

    unlink(path);
    ws__free(ctx, path);
    ws_ctx_free(ctx);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_comes_back),
        cmocka_unit_test(other_drivers_are_not_used),
        cmocka_unit_test(damage_is_refused_with_its_place),
        cmocka_unit_test(unlikely_ceilings_are_damage),
        cmocka_unit_test(failures_of_files_are_told),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
