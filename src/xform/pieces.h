/*
 * pieces.h: parts of a source, with other text in places, written elsewhere.
 */
#ifndef WS_XFORM_PIECES_H
#define WS_XFORM_PIECES_H

#include "xform/xform.h"

/* Bytes that read otherwise. */
struct ws__piece {
    uint32_t begin, end;
    const char *text;
};
/* The text between begin and end with the pieces that lie in it; they do not
 * overlap. In the arena; NULL: no memory. */
const char *ws__pieces_text(const struct ws__xform_in *in, uint32_t begin,
                            uint32_t end, const struct ws__piece *piece,
                            size_t n);
/* Adds the lines of a text, each behind indent and deeper by 4 * depth blanks;
 * was: the blanks that its lines had. */
void ws__pieces_lines(struct ws__buf *b, const char *indent, int depth,
                      const char *text, size_t was);
/* Blanks at the beginning of the line of a place. */
size_t ws__pieces_blanks(const struct ws__ast *t, uint32_t at);
/* Without blanks at both ends. */
void ws__pieces_trim(const struct ws__ast *t, uint32_t *begin, uint32_t *end);

#endif
