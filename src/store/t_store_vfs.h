/*
 * t_store_vfs.h: a layer under SQLite for tests: every operation on the files
 * of a store passes through one function, `t_vfs.before`, which may note it or
 * make it fail. t_vfs.no_shm takes shared memory away, as some file systems
 * do: SQLite keeps its rollback journal then.
 */
#ifndef WS_T_STORE_VFS_H
#define WS_T_STORE_VFS_H

#include "store/t_store.h"

#include <errno.h>

enum t_op {
    T_OPEN,
    T_READ,
    T_WRITE,
    T_SYNC,
    T_TRUNCATE,
    T_SIZE,
    T_LOCK,
    T_DELETE,
    T_SHM_MAP,
    T_NOPS
};

/* What is about to be done. */
struct t_call {
    enum t_op op;
    const char *path;
    const void *data; /* write */
    sqlite3_int64 at, n;
};

static struct {
    sqlite3_vfs vfs, *real;
    bool no_shm;
    /* 0, or SQLite's code of a failure: the operation is not done then. */
    int (*before)(const struct t_call *call);
    bool on;
} t_vfs;

struct t_file {
    sqlite3_file base;
    char *path; /* NULL: a temporary one */
    sqlite3_file *real;
};

static inline int t_before(enum t_op op, sqlite3_file *f, const void *data,
                           sqlite3_int64 at, sqlite3_int64 n)
{
    struct t_call c = {op, ((struct t_file *)f)->path, data, at, n};

    return t_vfs.on && c.path ? t_vfs.before(&c) : SQLITE_OK;
}

#define T_REAL(f) (((struct t_file *)(f))->real)
#define T_BELOW(f) (T_REAL(f)->pMethods)
#define T_FIRST(op, f, data, at, n)                                            \
    do {                                                                       \
        int t_rc_ = t_before(op, f, data, at, n);                              \
        if (t_rc_ != SQLITE_OK)                                                \
            return t_rc_;                                                      \
    } while (0)

static int t_f_close(sqlite3_file *f)
{
    free(((struct t_file *)f)->path);
    return T_BELOW(f)->xClose(T_REAL(f));
}

static int t_f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    T_FIRST(T_READ, f, NULL, at, n);
    return T_BELOW(f)->xRead(T_REAL(f), p, n, at);
}

static int t_f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    T_FIRST(T_WRITE, f, p, at, n);
    return T_BELOW(f)->xWrite(T_REAL(f), p, n, at);
}

static int t_f_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    T_FIRST(T_TRUNCATE, f, NULL, 0, n);
    return T_BELOW(f)->xTruncate(T_REAL(f), n);
}

static int t_f_sync(sqlite3_file *f, int flags)
{
    T_FIRST(T_SYNC, f, NULL, 0, 0);
    (void)flags; /* no power is lost but in the tests' minds: be quick */
    return SQLITE_OK;
}

static int t_f_size(sqlite3_file *f, sqlite3_int64 *n)
{
    T_FIRST(T_SIZE, f, NULL, 0, 0);
    return T_BELOW(f)->xFileSize(T_REAL(f), n);
}

static int t_f_lock(sqlite3_file *f, int level)
{
    T_FIRST(T_LOCK, f, NULL, 0, level);
    return T_BELOW(f)->xLock(T_REAL(f), level);
}

static int t_f_unlock(sqlite3_file *f, int level)
{
    return T_BELOW(f)->xUnlock(T_REAL(f), level);
}

static int t_f_reserved(sqlite3_file *f, int *out)
{
    return T_BELOW(f)->xCheckReservedLock(T_REAL(f), out);
}

static int t_f_control(sqlite3_file *f, int op, void *arg)
{
    return T_BELOW(f)->xFileControl(T_REAL(f), op, arg);
}

static int t_f_sector(sqlite3_file *f)
{
    return T_BELOW(f)->xSectorSize(T_REAL(f));
}

static int t_f_traits(sqlite3_file *f)
{
    return T_BELOW(f)->xDeviceCharacteristics(T_REAL(f));
}

static int t_f_shm_map(sqlite3_file *f, int page, int size, int extend,
                       void volatile **out)
{
    T_FIRST(T_SHM_MAP, f, NULL, page, size);
    return T_BELOW(f)->xShmMap(T_REAL(f), page, size, extend, out);
}

static int t_f_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return T_BELOW(f)->xShmLock(T_REAL(f), at, n, flags);
}

static void t_f_shm_barrier(sqlite3_file *f)
{
    T_BELOW(f)->xShmBarrier(T_REAL(f));
}

static int t_f_shm_unmap(sqlite3_file *f, int drop)
{
    return T_BELOW(f)->xShmUnmap(T_REAL(f), drop);
}

#define T_METHODS(version)                                                     \
    {                                                                          \
        .iVersion = version, .xClose = t_f_close, .xRead = t_f_read,           \
        .xWrite = t_f_write, .xTruncate = t_f_truncate, .xSync = t_f_sync,     \
        .xFileSize = t_f_size, .xLock = t_f_lock, .xUnlock = t_f_unlock,       \
        .xCheckReservedLock = t_f_reserved, .xFileControl = t_f_control,       \
        .xSectorSize = t_f_sector, .xDeviceCharacteristics = t_f_traits,       \
        .xShmMap = t_f_shm_map, .xShmLock = t_f_shm_lock,                      \
        .xShmBarrier = t_f_shm_barrier, .xShmUnmap = t_f_shm_unmap             \
    }

static const sqlite3_io_methods t_methods = T_METHODS(2);
static const sqlite3_io_methods t_methods_no_shm = T_METHODS(1);

static int t_v_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f,
                    int flags, int *out_flags)
{
    struct t_file *l = (struct t_file *)f;
    int rc;
    (void)vfs;

    memset(l, 0, sizeof(*l));
    l->real = (sqlite3_file *)(l + 1);
    if (name && flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL |
                         SQLITE_OPEN_MAIN_JOURNAL))
        l->path = strdup(name);
    rc = t_before(T_OPEN, f, NULL, 0, flags);
    if (rc == SQLITE_OK)
        rc = t_vfs.real->xOpen(t_vfs.real, name, l->real, flags, out_flags);
    else
        l->real->pMethods = NULL;
    l->base.pMethods = !l->real->pMethods ? NULL
                       : t_vfs.no_shm     ? &t_methods_no_shm
                                          : &t_methods;
    if (!l->base.pMethods)
        free(l->path);
    return rc;
}

static int t_v_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    struct t_call c = {T_DELETE, name, NULL, 0, sync_dir};
    int rc = t_vfs.on ? t_vfs.before(&c) : SQLITE_OK;
    (void)vfs;

    return rc == SQLITE_OK ? t_vfs.real->xDelete(t_vfs.real, name, 0) : rc;
}

static inline void t_vfs_start(int (*before)(const struct t_call *))
{
    t_vfs.real = sqlite3_vfs_find(NULL);
    t_vfs.vfs = *t_vfs.real;
    t_vfs.vfs.zName = "test layer";
    t_vfs.vfs.szOsFile += (int)sizeof(struct t_file);
    t_vfs.vfs.xOpen = t_v_open;
    t_vfs.vfs.xDelete = t_v_delete;
    t_vfs.before = before;
    t_vfs.on = false;
    assert_int_equal(sqlite3_vfs_register(&t_vfs.vfs, 1), SQLITE_OK);
}

static inline void t_vfs_stop(void)
{
    t_vfs.on = t_vfs.no_shm = false;
    sqlite3_vfs_unregister(&t_vfs.vfs);
    sqlite3_vfs_register(t_vfs.real, 1);
}

/* The file that the code of format 1 wrote: 9 trials of 2 runs. */
static inline void t_format1(const char *to)
{
    const char *root = getenv("WS_ROOT");
    char from[512];

    snprintf(from, sizeof(from), "%s/tests/data/store/format1.db",
             root ? root : ".");
    t_copy(from, to);
}

/* A store's text, or NULL if it does not verify. */
static inline char *t_text(struct ws_ctx *ctx, struct ws__store *s)
{
    struct ws__buf b;
    uint64_t records;

    ws__buf_init(&b, ctx, 1 << 26);
    if (!ws__store_export(s, &(struct ws__export_opts){0}, &b, &records))
        return b.len ? ws__buf_take(&b) : ws__strdup(ctx, "");
    ws__buf_free(&b);
    return NULL;
}

static inline int t_import(struct ws_ctx *ctx, struct ws__store *s,
                           const char *text)
{
    struct ws__import_counts counts;
    struct ws__import *in;
    int rc = ws__import_new(ctx, "t", text, strlen(text), &in);

    if (!rc) {
        rc = ws__store_import(s, in, &counts);
        ws__import_free(in);
    }
    return rc;
}

/* Rounds of a test that draws: n, times WS_SOAK of the environment. */
static inline unsigned long t_rounds(unsigned long n)
{
    const char *soak = getenv("WS_SOAK");
    unsigned long times = soak ? strtoul(soak, NULL, 10) : 1;

    return n * (times ? times : 1);
}

#endif
