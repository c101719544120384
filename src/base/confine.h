/*
 * confine.h: takes away from this process what device code must not do.
 *
 * Kernels for a processor run inside the process that launches them, and
 * nothing in their language keeps them from system calls (inline assembly,
 * stray writes). So a worker that holds such a device confines itself after
 * the driver was loaded. It stays able to do what drivers do: read files,
 * start threads, run the linker, write below a few folders.
 */
#ifndef WS_CONFINE_H
#define WS_CONFINE_H

#include "base/ctx.h"

/*
 * For good, for all threads of the process and for what they start:
 *
 * - files: nothing is written, made, renamed or removed but below the folders
 *   of `writable` (NULL-terminated; made if missing) and in /dev/null;
 * - no sockets, no signals to other processes, no tracing, no namespaces or
 *   mounts, no change of owners, modes or times of files, no locks on files, no
 *   ioctl beyond a handful, no scheduling of others, no session or process
 *   group of its own, no setting of clocks, no way around this;
 * - no capabilities but those by which root uses files of others;
 * - `alone`: it starts threads only, no processes (it may become another one).
 *
 * Its addresses, and those of each process that it starts, are limited to three
 * quarters of the machine's memory.
 *
 * writable NULL: files stay as they are. WS_ENOTSUP: the system's kernel lacks
 * what it takes; what could be taken away is. Signal SIGRTMAX is used.
 */
int ws__confine(struct ws_ctx *ctx, const char *const *writable, bool alone);

/* confine_calls.c: the calls alone. WS_ENOTSUP, WS_EDEVICE. */
int ws__confine_calls(struct ws_ctx *ctx, bool alone);

#endif
