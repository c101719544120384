/*
 * sandbox.h: what a process gives up before it runs code of others.
 *
 * For ever, and for all that it starts. Not a jail: files may still be read
 * and written to. It keeps honest code from the network, from other processes
 * and from taking the machine down.
 */
#ifndef WS_SANDBOX_H
#define WS_SANDBOX_H

#include "base/ctx.h"

/* Address space at most `memory_bytes`, no core files, few and small files.
 * WS_EACCES. */
int ws__sandbox_limits(struct ws_ctx *ctx, uint64_t memory_bytes);
/* No new sockets, no io_uring, no other process's memory or descriptors:
 * these calls fail with EPERM, and all calls of another ABI do. Sockets that
 * are open stay usable. Tried once before it is believed. WS_EACCES where the
 * system cannot do it. */
int ws__sandbox_no_sockets(struct ws_ctx *ctx);

#endif
