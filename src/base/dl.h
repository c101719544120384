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
 * symbols (terminated by name NULL). WS_ENODRIVER names what was tried and
 * `package`, the distribution's package that has it. */
int ws__dl_open(struct ws_ctx *ctx, const char *const *names,
                const char *package, const struct ws__dl_symbol *symbols,
                void **handle);
/* NULL: no-op. The library stays in memory, see dl.c. */
void ws__dl_close(void *handle);

#endif
