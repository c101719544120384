/* host_int.h: between host.c and host_launch.c. */
#ifndef WS_HOST_INT_H
#define WS_HOST_INT_H

#include "spec/host.h"

/* Behind blanks and comments. */
const char *ws__host_blank(const char *p);
/* Behind a word, a number, a string, a comment or one sign. */
const char *ws__host_token(const char *p);
/* Behind what closes the bracket at p; NULL: nothing does. */
const char *ws__host_closed(const char *p);
/* Is this word at p? */
bool ws__host_word(const char *p, const char *word);

#endif
