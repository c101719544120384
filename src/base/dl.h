/* dl.h: libraries opened at run time. Never linked, so one binary starts on
 * any machine and can say what it misses. */
#ifndef WS_DL_H
#define WS_DL_H

#include "base/ctx.h"

struct ws__dl_symbol {
    const char *name;
    void **slot;   /* receives the address */
    bool optional; /* a missing one leaves NULL */
};

/* Opens the first of `names` (NULL-terminated) that loads and resolves all
 * symbols (terminated by name NULL). WS_ENODRIVER has the loader's words for
 * each that was tried, for "not there" and "does not fit into memory" ask for
 * different things; the hint is `hint` if none of them is there. */
int ws__dl_open(struct ws_ctx *ctx, const char *const *names, const char *hint,
                const struct ws__dl_symbol *symbols, void **handle);
/* 0 if the library loads; else WS_ENODRIVER in the loader's words. */
int ws__dl_try(struct ws_ctx *ctx, const char *name);
/* NULL: no-op. The library stays in memory, see dl.c. */
void ws__dl_close(void *handle);

#endif
