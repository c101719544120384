/* cubin.h: what compiled kernels hold, read from the file alone. */
#ifndef WS_CUBIN_H
#define WS_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL: p is a cubin, or PTX, in which `entry` can be launched; else why not.
 * PTX ends with a NUL that is not counted. */
const char *ws__cubin_lacks(const void *p, size_t bytes, const char *entry);
const char *ws__ptx_lacks(const char *text, size_t bytes, const char *entry);

/* What the compiler noted of `entry` in a cubin. shared_bytes: of a block, as
 * declared in the source, without what a launch adds and without what the
 * architecture reserves (1 KiB from compute capability 9 on). local_bytes: of
 * a thread: spills and arrays, and what is called. false: the file does not say
 * how many registers a thread has, or is none, or has no such kernel. */
struct ws__cubin_use {
    uint32_t registers, shared_bytes, local_bytes;
};
bool ws__cubin_use(const void *p, size_t bytes, const char *entry,
                   struct ws__cubin_use *out);

#endif
