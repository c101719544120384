/*
 * cuda_cache.c: what was compiled, kept in files.
 *
 * One file for each result in <cache_dir>/cubin, named by the key: everything
 * that the result depends on. A file appears by rename and is never changed,
 * so that any number of processes may read, write and remove without asking
 * each other; two that compile the same thing write the same file. Nothing is
 * synced: what a crash of the machine leaves behind does not have the hash that
 * stands in front of it, is compiled again and replaced.
 *
 * A result that is used gets a new time, and who has written much looks after
 * the size: the oldest go, and so do temporary files that nobody finished. The
 * bound holds to within what each process writes between two looks.
 *
 * Nothing here fails a build: a cache that cannot be written is a warning.
 *
 * File: magic, hash of all that follows, bytes of image, of symbols, of log,
 * number of symbols (all 64 bits, of the machine), image, symbols (each with a
 * NUL), log (nothing, or with a NUL).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "device/cuda/cuda_compiler.h"
#include "base/banned.h"

#define MAGIC 0x3130636e69627543u /* "Cubinc01" in little endian */
#define DEFAULT_BYTES ((uint64_t)1 << 30)
#define FILE_MAX_BYTES ((size_t)256 << 20)
#define STALE_NS ((uint64_t)3600 * 1000000000) /* no build takes that long */
#define SUFFIX ".cubin"
#define NAME_BYTES 48 /* 32 digits and the suffix */

struct ws__cuda_cache {
    struct ws_ctx *ctx;
    char *dir;
    uint64_t limit_bytes;
    uint64_t written_bytes; /* since the last look; at first, as if at limit */
    bool warned;
};

struct head {
    uint64_t magic;
    struct ws__hash hash; /* of what follows it */
    uint64_t image_bytes, symbol_bytes, log_bytes, nsymbol;
};

#define HASHED_FROM offsetof(struct head, image_bytes)

int ws__cuda_cache_open(struct ws_ctx *ctx, const char *cache_dir,
                        uint64_t limit_bytes, struct ws__cuda_cache **out)
{
    struct ws__cuda_cache *cache;

    *out = NULL;
    if (!cache_dir)
        return 0;
    cache = ws__alloc(ctx, 1, sizeof(*cache));
    if (!cache)
        return WS_ENOMEM;
    cache->ctx = ctx;
    cache->limit_bytes = limit_bytes ? limit_bytes : DEFAULT_BYTES;
    cache->written_bytes = cache->limit_bytes;
    cache->dir = ws__path_join(ctx, cache_dir, "cubin");
    if (!cache->dir) {
        ws__free(ctx, cache);
        return WS_ENOMEM;
    }
    *out = cache;
    return 0;
}

void ws__cuda_cache_close(struct ws__cuda_cache *cache)
{
    if (!cache)
        return;
    ws__free(cache->ctx, cache->dir);
    ws__free(cache->ctx, cache);
}

static void file_name(struct ws__hash key, char out[NAME_BYTES])
{
    ws__hash_hex(key, out);
    memcpy(out + 32, SUFFIX, sizeof(SUFFIX));
}

static bool is_file_name(const char *name)
{
    return strlen(name) == 32 + strlen(SUFFIX) &&
           strspn(name, "0123456789abcdef") == 32 && !strcmp(name + 32, SUFFIX);
}

/* --- reading ------------------------------------------------------------- */

/* Does the file hold what it says? */
static bool is_sound(const char *data, size_t n, struct head *h)
{
    size_t rest, nul = 0;

    if (n < sizeof(*h))
        return false;
    memcpy(h, data, sizeof(*h));
    rest = n - sizeof(*h);
    if (h->magic != MAGIC || h->image_bytes > rest ||
        h->symbol_bytes > rest - h->image_bytes ||
        h->log_bytes != rest - h->image_bytes - h->symbol_bytes ||
        !ws__hash_eq(h->hash,
                     ws__hash_bytes(data + HASHED_FROM, n - HASHED_FROM)))
        return false;
    data += sizeof(*h) + h->image_bytes;
    for (size_t i = 0; i < h->symbol_bytes; i++)
        nul += !data[i];
    return h->image_bytes && nul == h->nsymbol &&
           (!h->symbol_bytes || !data[h->symbol_bytes - 1]) &&
           (!h->log_bytes || !data[h->symbol_bytes + h->log_bytes - 1]);
}

static char **read_symbols(struct ws_ctx *ctx, const char *from, size_t n)
{
    const char **name = ws__alloc(ctx, n ? n : 1, sizeof(*name));
    char **list;

    if (!name)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        name[i] = from;
        from += strlen(from) + 1;
    }
    list = ws__strdup_all(ctx, name, n);
    ws__free(ctx, name);
    return list;
}

static int take(struct ws_ctx *ctx, const char *data, const struct head *h,
                struct ws__cuda_code *out)
{
    const char *p = data + sizeof(*h);

    memset(out, 0, sizeof(*out));
    out->image = ws__alloc(ctx, h->image_bytes + 1, 1);
    if (!out->image)
        return WS_ENOMEM;
    memcpy(out->image, p, h->image_bytes);
    out->bytes = h->image_bytes;
    p += h->image_bytes;
    out->symbol = read_symbols(ctx, p, h->nsymbol);
    if (!out->symbol)
        return WS_ENOMEM;
    out->nsymbol = h->nsymbol;
    out->cached = true;
    if (!h->log_bytes)
        return 0;
    out->log = ws__strdup(ctx, p + h->symbol_bytes);
    return out->log ? 0 : WS_ENOMEM;
}

int ws__cuda_cache_get(struct ws__cuda_cache *cache, struct ws__hash key,
                       struct ws__cuda_code *out)
{
    struct ws_ctx *ctx = cache->ctx;
    char name[NAME_BYTES], *path, *data = NULL;
    struct head h;
    size_t n = 0;
    int rc;

    file_name(key, name);
    path = ws__path_join(ctx, cache->dir, name);
    if (!path)
        return WS_ENOMEM;
    rc = ws__fs_exists(path) ? ws__fs_read(ctx, path, FILE_MAX_BYTES, &data, &n)
                             : WS_ENOENT;
    if (rc >= 0 && is_sound(data, n, &h)) {
        rc = take(ctx, data, &h, out);
        if (rc < 0)
            ws__cuda_code_free(ctx, out);
        else
            rc = 1;
        /* When it was used last; one that may only be read stays as it is. */
        utimensat(AT_FDCWD, path, NULL, 0);
    } else if (rc != WS_ENOMEM) {
        if (rc >= 0)
            ws__log(ctx, WS_LOG_WARN, "'%s' is damaged: compiled again", path);
        ws__error_clear(ctx);
        rc = 0;
    }
    ws__free(ctx, data);
    ws__free(ctx, path);
    return rc;
}

/* --- the bound ----------------------------------------------------------- */

struct item {
    char name[NAME_BYTES];
    uint64_t bytes, used_ns;
};

struct items {
    struct item *item;
    size_t n, cap;
    uint64_t bytes;
};

static uint64_t time_of(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * 1000000000u +
           (uint64_t)st->st_mtim.tv_nsec;
}

/* Ours are "<hash>.<process>-<time>.tmp". */
static bool is_stale_temp(const char *name, const struct stat *st)
{
    const size_t n = strlen(name);

    return n > 36 && strspn(name, "0123456789abcdef") == 32 &&
           !strcmp(name + n - 4, ".tmp") &&
           time_of(st) + STALE_NS < ws__wall_ns();
}

static int look(struct ws__cuda_cache *cache, DIR *dir, struct items *all)
{
    struct dirent *e;

    while ((e = readdir(dir))) {
        struct item it = {.bytes = 0};
        struct stat st;

        if (e->d_name[0] == '.' ||
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode))
            continue;
        if (is_file_name(e->d_name)) {
            void *items = all->item;

            WS_TRY(ws__grow(cache->ctx, &items, &all->cap, all->n, sizeof(it)));
            all->item = items;
            memcpy(it.name, e->d_name, strlen(e->d_name) + 1);
            it.bytes = (uint64_t)st.st_size;
            it.used_ns = time_of(&st);
            all->item[all->n++] = it;
            all->bytes += it.bytes;
        } else if (is_stale_temp(e->d_name, &st)) {
            unlinkat(dirfd(dir), e->d_name, 0);
        }
    }
    return 0;
}

static int by_use(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

/* Down to three quarters, so that not every look removes something. Another
 * process may do the same: what is gone is gone. */
static void remove_oldest(struct ws__cuda_cache *cache, DIR *dir,
                          struct items *all)
{
    const uint64_t goal = cache->limit_bytes / 4 * 3;

    qsort(all->item, all->n, sizeof(*all->item), by_use);
    for (size_t i = 0; i < all->n && all->bytes > goal; i++)
        if (!unlinkat(dirfd(dir), all->item[i].name, 0) || errno == ENOENT)
            all->bytes -= all->item[i].bytes;
}

static void clean(struct ws__cuda_cache *cache)
{
    DIR *dir = opendir(cache->dir);
    struct items all = {0};

    cache->written_bytes = 0;
    if (!dir)
        return;
    if (look(cache, dir, &all) < 0)
        ws__error_clear(cache->ctx); /* no memory: another time */
    else if (all.bytes > cache->limit_bytes)
        remove_oldest(cache, dir, &all);
    closedir(dir);
    ws__free(cache->ctx, all.item);
}

/* --- writing ------------------------------------------------------------- */

static int pack(struct ws__cuda_cache *cache, const struct ws__cuda_code *code,
                struct ws__buf *b)
{
    struct head h = {.magic = MAGIC,
                     .image_bytes = code->bytes,
                     .log_bytes = code->log ? strlen(code->log) + 1 : 0,
                     .nsymbol = code->nsymbol};

    ws__buf_init(b, cache->ctx, FILE_MAX_BYTES);
    for (size_t i = 0; i < code->nsymbol; i++)
        h.symbol_bytes += strlen(code->symbol[i]) + 1;
    ws__buf_add(b, &h, sizeof(h));
    ws__buf_add(b, code->image, code->bytes);
    for (size_t i = 0; i < code->nsymbol; i++)
        ws__buf_add(b, code->symbol[i], strlen(code->symbol[i]) + 1);
    if (h.log_bytes)
        ws__buf_add(b, code->log, h.log_bytes);
    if (b->failed)
        return b->failed;
    h.hash = ws__hash_bytes(b->data + HASHED_FROM, b->len - HASHED_FROM);
    memcpy(b->data, &h, sizeof(h));
    return 0;
}

char *ws__cuda_cache_temp(struct ws__cuda_cache *cache, struct ws__hash name)
{
    char text[96];

    if (ws__fs_mkdirs(cache->ctx, cache->dir) < 0)
        return NULL;
    ws__hash_hex(name, text);
    snprintf(text + 32, sizeof(text) - 32, ".%lx-%llx.tmp", (long)getpid(),
             (unsigned long long)ws__now_ns());
    return ws__path_join(cache->ctx, cache->dir, text);
}

static int write_file(struct ws__cuda_cache *cache, const char *path,
                      const char *temp, const struct ws__buf *b)
{
    struct ws_ctx *ctx = cache->ctx;
    int fd, rc;

    WS_TRY(ws__fs_begin(ctx, temp, true, &fd));
    rc = ws__fs_append(ctx, temp, fd, b->data, b->len);
    if (ws__fs_end(ctx, temp, fd, false) < 0 && rc >= 0)
        rc = ctx->err.code;
    if (rc >= 0 && rename(temp, path) < 0)
        rc = ws__fs_fail(ctx, errno, "make", path);
    if (rc < 0)
        unlink(temp);
    return rc;
}

static int put(struct ws__cuda_cache *cache, struct ws__hash key,
               const struct ws__cuda_code *code)
{
    struct ws_ctx *ctx = cache->ctx;
    char name[NAME_BYTES], *path = NULL, *temp = NULL;
    struct ws__buf b;
    int rc;

    WS_TRY_DONE(pack(cache, code, &b));
    file_name(key, name);
    path = ws__path_join(ctx, cache->dir, name);
    temp = path ? ws__cuda_cache_temp(cache, key) : NULL;
    if (!temp) {
        rc = ctx->err.code;
        goto done;
    }
    rc = write_file(cache, path, temp, &b);
    if (rc >= 0)
        cache->written_bytes += b.len;
done:
    ws__free(ctx, temp);
    ws__free(ctx, path);
    ws__buf_free(&b);
    return rc;
}

void ws__cuda_cache_put(struct ws__cuda_cache *cache, struct ws__hash key,
                        const struct ws__cuda_code *code)
{
    struct ws_ctx *ctx = cache->ctx;

    if (put(cache, key, code) < 0) {
        if (!cache->warned)
            ws__log(ctx, WS_LOG_WARN,
                    "what is compiled cannot be kept in '%s': %s", cache->dir,
                    ctx->err.message);
        cache->warned = true;
        ws__error_clear(ctx);
    }
    if (cache->written_bytes >= cache->limit_bytes / 16)
        clean(cache);
}
