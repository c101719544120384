/*
 * t_cuda_cache.c: the cache of what was compiled: without a compiler, as it
 * does not care what an image is.
 */
#include "base/t_base.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/cuda/cuda_compiler.h"

static char root[128];

static int setup(void **state)
{
    snprintf(root, sizeof(root), "/tmp/ws-t-cuda-cache-XXXXXX");
    *state = root;
    return mkdtemp(root) ? 0 : -1;
}

/* Calls fn for each file of the cache. */
static size_t each(void (*fn)(const char *path))
{
    char dir[160], path[500];
    struct dirent *e;
    size_t n = 0;
    DIR *d;

    snprintf(dir, sizeof(dir), "%s/cubin", root);
    d = opendir(dir);
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
            if (fn)
                fn(path);
            n++;
        }
    if (d)
        closedir(d);
    return n;
}

static void drop(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static int teardown(void **state)
{
    char dir[160];

    (void)state;
    each(drop);
    snprintf(dir, sizeof(dir), "%s/cubin", root);
    rmdir(dir);
    return rmdir(root);
}

static int empty(void **state)
{
    (void)state;
    each(drop);
    return 0;
}

static struct ws__hash key_of(uint64_t n)
{
    return ws__hash_u64((struct ws__hash){1, 2}, n);
}

/* A result with what depends on n: the image has n bytes. */
static int make(struct ws_ctx *ctx, size_t n, struct ws__cuda_code *out)
{
    const char *const name[] = {"k", "_Z1tILi2EEvPi"};

    memset(out, 0, sizeof(*out));
    out->image = ws__alloc(ctx, n, 1);
    if (!out->image)
        return WS_ENOMEM;
    memset(out->image, (int)(n & 0xff), n);
    out->bytes = n;
    out->nsymbol = n % 3;
    out->symbol = ws__strdup_all(ctx, name, out->nsymbol);
    out->log = n % 2 ? ws__strdup(ctx, "a warning\n") : NULL;
    if (out->symbol && (out->log || n % 2 == 0))
        return 0;
    ws__cuda_code_free(ctx, out);
    return WS_ENOMEM;
}

static void same(const struct ws__cuda_code *a, const struct ws__cuda_code *b)
{
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->image, b->image, a->bytes);
    assert_int_equal(a->nsymbol, b->nsymbol);
    for (size_t i = 0; i < a->nsymbol; i++)
        assert_string_equal(a->symbol[i], b->symbol[i]);
    assert_int_equal(!a->log, !b->log);
    if (a->log)
        assert_string_equal(a->log, b->log);
}

/* The code if the result of make(n) is there. */
static int get(struct ws_ctx *ctx, struct ws__cuda_cache *cache, size_t n)
{
    struct ws__cuda_code want, got;
    int rc = ws__cuda_cache_get(cache, key_of(n), &got);

    if (rc != 1)
        return rc;
    assert_int_equal(make(ctx, n, &want), 0);
    same(&want, &got);
    assert_true(got.cached);
    ws__cuda_code_free(ctx, &want);
    ws__cuda_code_free(ctx, &got);
    return 1;
}

static void put(struct ws_ctx *ctx, struct ws__cuda_cache *cache, size_t n)
{
    struct ws__cuda_code code;

    assert_int_equal(make(ctx, n, &code), 0);
    ws__cuda_cache_put(cache, key_of(n), &code);
    ws__cuda_code_free(ctx, &code);
}

static void kept(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__cuda_cache *cache;

    (void)state;
    assert_int_equal(ws__cuda_cache_open(ctx, root, 0, &cache), 0);
    for (size_t n = 1; n < 8; n++) {
        assert_int_equal(get(ctx, cache, n), 0);
        put(ctx, cache, n);
        assert_int_equal(get(ctx, cache, n), 1);
    }
    ws__cuda_cache_close(cache);
    /* also for others, and written twice is no harm */
    assert_int_equal(ws__cuda_cache_open(ctx, root, 0, &cache), 0);
    put(ctx, cache, 3);
    for (size_t n = 1; n < 8; n++)
        assert_int_equal(get(ctx, cache, n), 1);
    assert_int_equal(each(NULL), 7);
    ws__cuda_cache_close(cache);
    assert_int_equal(ws__cuda_cache_open(ctx, NULL, 0, &cache), 0);
    assert_null(cache);
    ws_ctx_free(ctx);
}

static size_t damage_at, warnings;

static void flip(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, (off_t)damage_at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)damage_at), 1);
    close(fd);
}

static void cut(const char *path)
{
    assert_int_equal(truncate(path, (off_t)damage_at), 0);
}

static void count_warning(void *user, enum ws_log_level level, const char *text)
{
    (void)user;
    (void)text;
    warnings += level == WS_LOG_WARN;
}

static size_t file_bytes;

static void measure(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    file_bytes = (size_t)st.st_size;
}

/* Every byte that is another, and every length that is shorter, is noticed. */
static void damaged(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o), .log = count_warning};
    struct ws_ctx *ctx = ws_ctx_new(&o);
    struct ws__cuda_cache *cache;

    (void)state;
    assert_int_equal(ws__cuda_cache_open(ctx, root, 0, &cache), 0);
    put(ctx, cache, 5);
    each(measure);
    assert_true(file_bytes > 5);
    warnings = 0;
    for (damage_at = 0; damage_at < file_bytes; damage_at++) {
        each(flip);
        assert_int_equal(get(ctx, cache, 5), 0);
        put(ctx, cache, 5);
        each(cut);
        assert_int_equal(get(ctx, cache, 5), 0);
        put(ctx, cache, 5);
        assert_int_equal(get(ctx, cache, 5), 1);
    }
    assert_int_equal(warnings, 2 * file_bytes);
    ws__cuda_cache_close(cache);
    ws_ctx_free(ctx);
}

static void age(struct ws__hash key, uint64_t seconds)
{
    struct timespec t[2];
    char hex[33], path[300];

    ws__hash_hex(key, hex);
    snprintf(path, sizeof(path), "%s/cubin/%s.cubin", root, hex);
    t[0].tv_sec = (time_t)(ws__wall_ns() / 1000000000 - seconds);
    t[0].tv_nsec = 0;
    t[1] = t[0];
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void leave_temp(uint64_t seconds, const char *name)
{
    struct timespec t[2] = {{0}};
    char path[300];
    int fd;

    snprintf(path, sizeof(path), "%s/cubin/%s", root, name);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    t[0].tv_sec = (time_t)(ws__wall_ns() / 1000000000 - seconds);
    t[1] = t[0];
    assert_int_equal(futimens(fd, t), 0);
    close(fd);
}

static void bounded(void **state)
{
    const size_t n = 30000;
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__cuda_cache *cache;

    (void)state;
    assert_int_equal(ws__cuda_cache_open(ctx, root, 10 * n, &cache), 0);
    for (size_t i = 0; i < 9; i++) {
        put(ctx, cache, n + i);
        age(key_of(n + i), 1000 - i);
    }
    assert_int_equal(each(NULL), 9);
    leave_temp(7200, "0123456789abcdef0123456789abcdef.cubin.1-2.tmp");
    leave_temp(60, "0123456789abcdef0123456789abcdef.cubin.1-3.tmp");
    leave_temp(7200, "somebody's.tmp");
    /* The first is used, so the second and those after it are the oldest. */
    assert_int_equal(get(ctx, cache, n), 1);
    put(ctx, cache, n + 9);
    assert_int_equal(each(NULL), 7 + 2);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(get(ctx, cache, n + i), i == 0 || i > 3);
    ws__cuda_cache_close(cache);
    ws_ctx_free(ctx);
}

/* A folder that cannot be made is a warning, once. */
static void unwritable(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o), .log = count_warning};
    struct ws_ctx *ctx = ws_ctx_new(&o);
    struct ws__cuda_cache *cache;
    char dir[160];

    (void)state;
    snprintf(dir, sizeof(dir), "%s/file", root);
    close(open(dir, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
    warnings = 0;
    assert_int_equal(ws__cuda_cache_open(ctx, dir, 0, &cache), 0);
    assert_int_equal(get(ctx, cache, 5), 0);
    put(ctx, cache, 5);
    put(ctx, cache, 6);
    assert_int_equal(get(ctx, cache, 5), 0);
    assert_int_equal(warnings, 1);
    assert_int_equal(ctx->err.code, 0);
    ws__cuda_cache_close(cache);
    unlink(dir);
    ws_ctx_free(ctx);
}

/* Several processes write, read, damage nothing and clean at the same time. */
static void one_of_many(unsigned seed)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__cuda_cache *cache;
    struct ws__rng rng;

    ws__rng_seed(&rng, seed);
    if (!ctx || ws__cuda_cache_open(ctx, root, 60000, &cache) < 0)
        _exit(2);
    for (int i = 0; i < 400; i++) {
        size_t n = 1000 + ws__rng_below(&rng, 60);
        struct ws__cuda_code want, got;
        int rc = ws__cuda_cache_get(cache, key_of(n), &got);

        if (rc < 0 || make(ctx, n, &want) < 0)
            _exit(3);
        if (rc && (got.bytes != n || memcmp(got.image, want.image, n)))
            _exit(4);
        if (rc)
            ws__cuda_code_free(ctx, &got);
        else
            ws__cuda_cache_put(cache, key_of(n), &want);
        ws__cuda_code_free(ctx, &want);
    }
    ws__cuda_cache_close(cache);
    ws_ctx_free(ctx);
    _exit(0);
}

static uint64_t total;

static void add_size(const char *path)
{
    measure(path);
    total += file_bytes;
}

static void shared(void **state)
{
    pid_t pid[4];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (!pid[i])
            one_of_many(i);
    }
    for (int i = 0; i < 4; i++) {
        int status = -1;

        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    total = 0;
    each(add_size);
    /* each may have written a sixteenth, and one file, since it looked */
    assert_true(total < 60000 + 4 * (60000 / 16 + 2000));
}

static int torture_body(struct ws_ctx *ctx, void *user)
{
    struct ws__cuda_cache *cache;
    struct ws__cuda_code code, got;
    int rc;

    (void)user;
    WS_TRY(ws__cuda_cache_open(ctx, root, 1, &cache));
    rc = make(ctx, 5, &code);
    if (rc == 0) {
        ws__cuda_cache_put(cache, key_of(5), &code);
        ws__cuda_code_free(ctx, &code);
        rc = ws__cuda_cache_get(cache, key_of(5), &got);
        if (rc == 1)
            ws__cuda_code_free(ctx, &got);
        rc = rc < 0 ? rc : 0;
    }
    ws__cuda_cache_close(cache);
    return rc;
}

static void torture(void **state)
{
    (void)state;
    assert_true(t_torture(torture_body, NULL) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(kept, empty),
        cmocka_unit_test_setup(damaged, empty),
        cmocka_unit_test_setup(bounded, empty),
        cmocka_unit_test_setup(unwritable, empty),
        cmocka_unit_test_setup(shared, empty),
        cmocka_unit_test_setup(torture, empty),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
