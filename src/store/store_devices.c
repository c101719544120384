/*
 * store_devices.c: which devices the runs of a store are about.
 *
 * A run knows the hash of its device's identity only; the words are in the
 * table of identities, where a run that ended before its first trial may have
 * none.
 */
#include "store/store_db.h"

#include "base/banned.h"

static int read_one(struct ws__store *s, sqlite3_stmt *q,
                    struct ws__store_device *d)
{
    const char *hex = (const char *)sqlite3_column_text(q, 0);
    const char *family = (const char *)sqlite3_column_text(q, 1);
    const char *device = (const char *)sqlite3_column_text(q, 2);

    memset(d, 0, sizeof(*d));
    if (!hex || !ws__hash_parse(hex, &d->hash))
        return ws__store_damaged(s, "the device of a run is no hash");
    d->is_cpu = sqlite3_column_int(q, 3) != 0;
    snprintf(d->family, sizeof(d->family), "%s", family ? family : "");
    snprintf(d->device, sizeof(d->device), "%s", device ? device : "");
    return 0;
}

int ws__store_devices(struct ws__store *s, struct ws__store_device **list,
                      size_t *n)
{
    sqlite3_stmt *q;
    size_t cap = 0;
    int rc;

    *list = NULL;
    *n = 0;
    WS_TRY(ws__store_prepare(
        s,
        "SELECT lower(hex(r.device)), i.family, i.device, i.is_cpu FROM run r "
        "LEFT JOIN identity i ON i.hash = r.device "
        "GROUP BY r.device ORDER BY min(r.id)",
        &q));
    while ((rc = ws__store_step(s, q, "read")) > 0) {
        rc = ws__grow(s->ctx, (void **)list, &cap, *n, sizeof(**list));
        if (rc >= 0)
            rc = read_one(s, q, &(*list)[*n]);
        if (rc < 0)
            break;
        ++*n;
    }
    sqlite3_finalize(q);
    if (rc < 0) {
        ws__free(s->ctx, *list);
        *list = NULL;
    }
    return rc;
}
