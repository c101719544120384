/*
 * cells.h: a line of CSV, cut into its cells in place.
 *
 * Cells are parted by commas and may stand in double quotes, in which a quote
 * is written twice. Nothing else is undone: a line break inside of quotes is
 * the end of the line for whoever reads lines.
 */
#ifndef WS_CELLS_H
#define WS_CELLS_H

#include "base/mem.h"

struct ws__cells {
    char **cell; /* into the line that was cut last; each ends with a NUL */
    size_t n, cap;
};

/* Cuts `line`, which ends with a NUL and is changed. WS_EPARSE: a quote is not
 * closed, or something follows it; WS_ELIMIT: more than `max` cells. Both are
 * without words, since the caller knows the place. WS_ENOMEM. One thread a
 * structure. */
int ws__cells_cut(struct ws_ctx *ctx, char *line, size_t max,
                  struct ws__cells *c);
void ws__cells_free(struct ws_ctx *ctx, struct ws__cells *c);

#endif
