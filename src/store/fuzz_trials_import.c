/*
 * fuzz_trials_import.c: exported text from hostile hands. What is refused has
 * a reason; what is read goes into a store, which must verify, and whose text
 * must read as the same again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_db.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not synced: it lives for one input. */
static struct ws__store *store(struct ws_ctx *ctx)
{
    char path[64];
    struct ws__store *s;

    snprintf(path, sizeof(path), "/tmp/fuzz_trials.%ld.db", (long)getpid());
    if (ws__store_open(ctx, path, false, &s) < 0)
        return NULL;
    sqlite3_exec(s->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    return s;
}

static void remove_store(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char path[64];

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(path, sizeof(path), "/tmp/fuzz_trials.%ld.db%s",
                 (long)getpid(), ends[i]);
        unlink(path);
    }
}

static char *text_of(struct ws_ctx *ctx, struct ws__store *s, size_t *n)
{
    struct ws__buf b;
    uint64_t records;

    ws__buf_init(&b, ctx, (size_t)1 << 28);
    if (ws__store_export(s, &(struct ws__export_opts){0}, &b, &records) < 0)
        abort();
    *n = b.len;
    return b.len ? ws__buf_take(&b) : NULL;
}

static int take(struct ws_ctx *ctx, struct ws__store *s, const char *text,
                size_t n, struct ws__import_counts *counts)
{
    struct ws__import *in;
    int rc = ws__import_new(ctx, "fuzz", text, n, &in);

    if (rc >= 0) {
        rc = ws__store_import(s, in, counts);
        ws__import_free(in);
    }
    if (rc < 0 && !*ws_ctx_error(ctx)->message)
        abort();
    return rc;
}

static void use(struct ws_ctx *ctx, const char *text, size_t n)
{
    struct ws__import_counts counts;
    struct ws__store *s = store(ctx);
    char *out;
    size_t m;

    if (!s)
        return;
    if (take(ctx, s, text, n, &counts) >= 0) {
        if (ws__store_verify(s) < 0)
            abort();
        out = text_of(ctx, s, &m);
        if (out && take(ctx, s, out, m, &counts) < 0)
            abort();
        if (counts.trials)
            abort();
        ws__free(ctx, out);
    }
    ws__store_close(s);
    remove_store();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    char *text = malloc(size + 1);
    struct ws__import *in;

    if (ctx && text && size < 1000000) {
        if (size)
            memcpy(text, data, size);
        text[size] = '\0';
        /* most are refused before a store is needed */
        if (ws__import_new(ctx, "fuzz", text, size, &in) >= 0) {
            ws__import_free(in);
            use(ctx, text, size);
        } else if (!*ws_ctx_error(ctx)->message) {
            abort();
        }
    }
    free(text);
    ws_ctx_free(ctx);
    return 0;
}
