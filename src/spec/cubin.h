/* cubin.h: what a ready-made file holds, private to spec. */
#ifndef WS_CUBIN_H
#define WS_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

/* NULL: p is a cubin, or PTX, in which `entry` can be launched; else why not.
 * PTX ends with a NUL that is not counted. */
const char *ws__cubin_lacks(const void *p, size_t bytes, const char *entry);
const char *ws__ptx_lacks(const char *text, size_t bytes, const char *entry);

#endif
