/*
 * t_safetensors.c: files that are what they say, files that are not, and a
 * file that changes while it is open. All are written here, byte by byte.
 */
#include "base/t_base.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/safetensors.h"

static struct ws_ctx *ctx;
static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/ws_st_XXXXXX");
    ctx = t_ctx(NULL);
    return ctx && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/x", dir);
    unlink(path);
    ws_ctx_free(ctx);
    return rmdir(dir);
}

/* A file with this header and n bytes 0, 1, 2, ... behind it. `length`: what
 * the first eight bytes say; 0: the truth. */
static const char *put(const char *header, uint64_t length, size_t n)
{
    static char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/x", dir);
    assert_non_null(f = fopen(path, "wb"));
    length = length ? length : strlen(header);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 0xff), f);
    fputs(header, f);
    for (size_t i = 0; i < n; i++)
        fputc((int)(i & 0xff), f);
    assert_int_equal(fclose(f), 0);
    return path;
}

#define GOOD                                                                   \
    "{\"b\":{\"dtype\":\"I16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"      \
    "\"__metadata__\":{\"format\":\"pt\"},"                                    \
    "\"a\\u0041\":{\"shape\":[],\"data_offsets\":[0,4],\"dtype\":\"F32\"}}  "

static void good(void **state)
{
    const struct ws__st_tensor *t;
    struct ws__tensor_shape want = {.ndim = 2,
                                    .dim = {2, 3},
                                    .dtype = WS__DT_I16};
    struct ws__safetensors *f;
    unsigned char bytes[12];
    struct ws__hash a, b;

    (void)state;
    assert_int_equal(ws__safetensors_open(ctx, put(GOOD, 0, 20), &f), 0);
    assert_int_equal(f->n, 2);
    assert_string_equal(f->tensor[0].name, "aA");
    assert_int_equal(f->tensor[0].dtype, WS__DT_F32);
    assert_int_equal(f->tensor[0].ndim, 0);
    assert_null(ws__safetensors_find(f, "c"));
    t = ws__safetensors_find(f, "b");
    assert_non_null(t);
    assert_int_equal(t->dim[1], 3);
    assert_int_equal(t->bytes, 12);
    assert_int_equal(ws__safetensors_read(f, t, 2, bytes, 10), 0);
    assert_int_equal(bytes[0], 6);
    assert_int_equal(bytes[9], 15);
    assert_int_equal(ws__safetensors_read(f, t, 3, bytes, 10), WS_EINVAL);
    assert_int_equal(ws__safetensors_want(f, "b", &want, &t), 0);
    want.dim[0] = 3;
    assert_int_equal(ws__safetensors_want(f, "b", &want, &t), WS_ESPEC);
    assert_non_null(strstr(ws_ctx_error(ctx)->message,
                           "is int16 [2, 3], the workload needs int16 [3, 3]"));
    assert_int_equal(ws__safetensors_want(f, "q", &want, &t), WS_ESPEC);
    assert_string_equal(ws_ctx_error(ctx)->hint, "it has aA b");
    t = ws__safetensors_find(f, "b");
    assert_int_equal(ws__safetensors_hash(f, t, &a), 0);
    ws__safetensors_close(f);
    /* The same tensor at another place in another file. */
    assert_int_equal(
        ws__safetensors_open(ctx,
                             put("{\"x\":{\"dtype\":\"I16\",\"shape\":[2,3],"
                                 "\"data_offsets\":[4,16]}}",
                                 0, 16),
                             &f),
        0);
    assert_int_equal(ws__safetensors_hash(f, f->tensor, &b), 0);
    assert_true(ws__hash_eq(a, b));
    f->tensor[0].dim[0] = 6;
    assert_int_equal(ws__safetensors_hash(f, f->tensor, &b), 0);
    assert_false(ws__hash_eq(a, b));
    ws__safetensors_close(f);
    ws__safetensors_close(NULL);
}

#define T(type, shape, place)                                                  \
    "{\"a\":{\"dtype\":\"" type "\",\"shape\":" shape                          \
    ",\"data_offsets\":" place "}}"

static void bad(void **state)
{
    static const struct {
        const char *header;
        uint64_t length;
        int code;
        const char *message;
    } cases[] = {
        {"", 9, WS_ECORRUPT, "ends too early"},
        {"{}", (uint64_t)1 << 40, WS_ECORRUPT, "ends too early"},
        {"{}", UINT64_MAX, WS_ECORRUPT, "ends too early"},
        {"{}x", 0, WS_ECORRUPT, "more than one value (byte 2"},
        {"[]", 0, WS_ECORRUPT, "'{' is missing"},
        {"{\"a", 0, WS_ECORRUPT, "does not end"},
        {"{\"a\\", 0, WS_ECORRUPT, "does not end"},
        {"{\"a\\q\"", 0, WS_ECORRUPT, "escape"},
        {"{\"a\\u00\"", 0, WS_ECORRUPT, "escape"},
        {"{\"a\\u0000\"", 0, WS_ECORRUPT, "escape"},
        {"{\"a\n\"", 0, WS_ECORRUPT, "control character"},
        {"{\"a\":1}", 0, WS_ECORRUPT, "'{' is missing"},
        {"{\"a\":{}}", 0, WS_ECORRUPT, "'\"' is missing"},
        {"{\"a\":{\"dtype\":\"F32\"}}", 0, WS_ECORRUPT, "lacks its dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, WS_ECORRUPT,
         "stands twice"},
        {"{\"a\":{\"color\":3}}", 0, WS_ECORRUPT, "key that is not known"},
        {T("F32", "[2]", "[0,7]"), 0, WS_ECORRUPT, "does not fit its shape"},
        {T("F32", "[2]", "[8,0]"), 0, WS_ECORRUPT, "outside of the file"},
        {T("F32", "[5]", "[0,20]"), 0, WS_ECORRUPT, "outside of the file"},
        {T("F32", "[-1]", "[0,4]"), 0, WS_ECORRUPT, "number is missing"},
        {T("F32", "[1.5]", "[0,4]"), 0, WS_ECORRUPT, "']' is missing"},
        {T("F32", "[99999999999999999999]", "[0,4]"), 0, WS_ECORRUPT,
         "number is too large"},
        {T("F32", "[9223372036854775807,4]", "[0,4]"), 0, WS_ECORRUPT,
         "tensor is too large"},
        {T("F32", "[4611686018427387904]", "[0,0]"), 0, WS_ECORRUPT,
         "does not fit"},
        {T("averylongnameofatype", "[1]", "[0,4]"), 0, WS_ECORRUPT,
         "type that is not known"},
        {"{\"__metadata__\":{\"a\":1}}", 0, WS_ECORRUPT, "'\"' is missing"},
        {"{\"a\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[3,7]}}",
         0, WS_ECORRUPT, "overlap"},
        {"{\"a\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
         0, WS_ECORRUPT, "a name stands twice"},
    };
    struct ws__safetensors *f;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        const char *path = put(cases[i].header, cases[i].length, 16);
        int rc;

        if (!*cases[i].header)
            assert_int_equal(truncate(path, 7), 0);
        rc = ws__safetensors_open(ctx, path, &f);
        if (rc != cases[i].code ||
            !strstr(ws_ctx_error(ctx)->message, cases[i].message))
            fail_msg("case %zu: %d %s", i, rc, ws_ctx_error(ctx)->message);
        assert_null(f);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, path));
        assert_true(*ws_ctx_error(ctx)->hint);
    }
}

static void no_file(void **state)
{
    struct ws__safetensors *f;
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/x", dir);
    unlink(path);
    assert_int_equal(ws__safetensors_open(ctx, path, &f), WS_ENOENT);
    assert_int_equal(ws__safetensors_open(ctx, dir, &f), WS_EINVAL);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(ws__safetensors_open(ctx, path, &f), WS_EINVAL);
    unlink(path);
}

/* Cut short by somebody else: an error, not a signal. */
static void cut_while_open(void **state)
{
    const char *path = put(GOOD, 0, 16);
    struct ws__safetensors *f;
    struct ws__hash h;
    char bytes[12];

    (void)state;
    assert_int_equal(ws__safetensors_open(ctx, path, &f), 0);
    assert_int_equal(truncate(path, (off_t)(8 + strlen(GOOD) + 10)), 0);
    assert_int_equal(ws__safetensors_read(f, &f->tensor[1], 0, bytes, 12),
                     WS_ECORRUPT);
    assert_int_equal(ws__safetensors_hash(f, &f->tensor[1], &h), WS_ECORRUPT);
    ws__safetensors_close(f);
}

static int all(struct ws_ctx *c, void *user)
{
    struct ws__safetensors *f;
    struct ws__hash h;
    int rc = ws__safetensors_open(c, user, &f);

    if (rc < 0)
        return rc;
    rc = ws__safetensors_hash(f, &f->tensor[1], &h);
    ws__safetensors_close(f);
    return rc;
}

static void torture(void **state)
{
    static char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s", put(GOOD, 0, 16));
    assert_true(t_torture(all, path) >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(good, setup, teardown),
        cmocka_unit_test_setup_teardown(bad, setup, teardown),
        cmocka_unit_test_setup_teardown(no_file, setup, teardown),
        cmocka_unit_test_setup_teardown(cut_while_open, setup, teardown),
        cmocka_unit_test_setup_teardown(torture, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
