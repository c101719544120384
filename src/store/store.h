/*
 * store.h: the append-only history of a project in SQLite: a journal.
 *
 * Write-ahead log with full sync: an append that returned survives a power
 * loss. The schema has a version; a newer one is refused, an older one is
 * migrated in one transaction. Runs are locked while in use, by a row that
 * names process, host and start; locks of dead processes are taken over.
 */
#ifndef WS_STORE_H
#define WS_STORE_H

#include "core/trial.h"

struct ws__store;

/* Creates folders and file as needed. Errors: WS_EACCES, WS_EFULL, WS_EIO,
 * WS_ECORRUPT, WS_EVERSION, WS_EBUSY, each with what to do. */
int ws__store_open(struct ws_ctx *ctx, const char *path, bool read_only,
                   struct ws__store **out);
void ws__store_close(struct ws__store *s);
struct ws__journal ws__store_journal(struct ws__store *s);
/* Who measures: put into identity columns of the trials that follow. */
int ws__store_set_identity(struct ws__store *s, const struct ws__identity *id);

/* All trials in order of id; fn's non-zero return ends and is returned. */
int ws__store_each(struct ws__store *s,
                   int (*fn)(void *user, const struct ws__run *run,
                             const struct ws__question *q,
                             const struct ws__trial *t),
                   void *user);
int ws__store_count(struct ws__store *s, uint64_t *trials, uint64_t *runs);
/* SQLite's integrity check plus ours; 0 or WS_ECORRUPT with the finding. */
int ws__store_verify(struct ws__store *s);

#endif
