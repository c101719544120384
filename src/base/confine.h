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
 *   mounts, no change of owners, modes or times of files, no session or
 *   process group of its own, no setting of clocks, no way around this.
 *
 * Its memory is limited to three quarters of the machine's.
 *
 * writable NULL: files stay as they are. WS_ENOTSUP: the system's kernel lacks
 * what it takes; what could be taken away is. Signal SIGRTMAX is used.
 */
int ws__confine(struct ws_ctx *ctx, const char *const *writable);

#endif
