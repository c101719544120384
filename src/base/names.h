/*
 * names.h: the nearest known name, for hints. A name is near if a third of
 * its letters or fewer must change (always at least one, exchanged
 * neighbours count once).
 */
#ifndef WS_NAMES_H
#define WS_NAMES_H

#include <stddef.h>

/* Edits between two names; names of more than 63 letters are never near. */
size_t ws__name_distance(const char *a, const char *b);
/* Keeps the nearest of a run of names: start with best NULL. */
struct ws__nearest {
    const char *name, *best;
    size_t distance;
};
void ws__nearest_begin(struct ws__nearest *n, const char *name);
void ws__nearest_see(struct ws__nearest *n, const char *known);
/* NULL if none is near. */
const char *ws__nearest_name(const struct ws__nearest *n);

#endif
