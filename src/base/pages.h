/*
 * pages.h: memory of whole pages that can be watched.
 *
 * While a watch lasts, the pages it names may not be touched, or only be
 * read. The first access that breaks this is remembered, the pages it hit
 * are opened, and the access goes through: what it belonged to runs on to its
 * end as if nobody had looked. So a watch finds what leaves no trace: a read
 * outside of a buffer, a write that is taken back.
 */
#ifndef WS_PAGES_H
#define WS_PAGES_H

#include "base/ctx.h"

/* Bytes of a page, a power of two. */
size_t ws__page_bytes(void);

/* Zeroed memory of the process's own; bytes: a multiple of the page. *out is
 * given back by ws__pages_unmap. WS_ENOMEM. */
int ws__pages_map(struct ws_ctx *ctx, size_t bytes, char **out);
void ws__pages_unmap(char *at, size_t bytes); /* NULL: no-op */

struct ws__watched {
    char *at;      /* a page's start */
    size_t bytes;  /* whole pages */
    bool readable; /* may be read, not written */
};

/* What a watch saw first. */
struct ws__intrusion {
    bool seen;
    size_t index; /* of the pages that were hit */
    char *at;     /* the byte */
    bool write;   /* false: a read, or the machine does not tell */
};

/* Begins to watch; `list` stays the caller's and must live until the end. One
 * watch at a time in a process: it takes the handler of SIGSEGV. All pages of
 * the list are readable and writable again after the end. WS_EINVAL: another
 * one lasts; WS_EDEVICE: the system refuses. From then on no watch lasts. */
int ws__watch_begin(struct ws_ctx *ctx, const struct ws__watched *list,
                    size_t n);
/* Ends it. Nobody may touch the pages meanwhile. WS_EDEVICE: some pages could
 * not be opened. */
int ws__watch_end(struct ws_ctx *ctx, struct ws__intrusion *out);

#endif
