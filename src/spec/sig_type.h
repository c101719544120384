/* sig_type.h: one parameter of a kernel, private to the signature reader. */
#ifndef WS_SIG_TYPE_H
#define WS_SIG_TYPE_H

#include "spec/sig_token.h"

/* n tokens, without the commas around. `e` tells of template parameters. */
int ws__sig_read_arg(const struct ws__tokens *t, struct ws__arena *arena,
                     const struct ws__tok *tok, size_t n,
                     const struct ws__sig_entry *e, struct ws__sig_arg *out);
/* Tokens as a text with single blanks. */
const char *ws__sig_words(struct ws__arena *arena, const struct ws__tok *tok,
                          size_t n);

#endif
