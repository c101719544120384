/*
 * shm.c: anonymous shared memory. See spawn.h.
 *
 * memfd, not shm_open: no name that can clash or stay behind after a crash.
 * The size is sealed, so that the other side cannot shrink it under us (a
 * read past the end of a mapped file is SIGBUS).
 */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/banned.h"

static int shm_fail(struct ws_ctx *ctx, struct ws__shm *s, const char *what,
                    size_t bytes)
{
    int e = errno;

    ws__shm_free(s);
    return ws__sys_fail(ctx, e, "%s %zu bytes of shared memory", what, bytes);
}

int ws__shm_new(struct ws_ctx *ctx, size_t bytes, struct ws__shm *out)
{
    *out = (struct ws__shm){.fd = -1};
    out->fd =
        ws__fd_keep(memfd_create("wavesmith", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (out->fd < 0 || ftruncate(out->fd, (off_t)(bytes ? bytes : 1)) < 0 ||
        fcntl(out->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        return shm_fail(ctx, out, "make", bytes);
    return ws__shm_map(ctx, out->fd, bytes, true, out);
}

int ws__shm_map(struct ws_ctx *ctx, int fd, size_t bytes, bool writable,
                struct ws__shm *out)
{
    struct stat st;
    void *p;

    *out = (struct ws__shm){.fd = fd};
    if (fstat(fd, &st) < 0)
        return shm_fail(ctx, out, "map", bytes);
    if ((uint64_t)st.st_size < bytes) {
        ws__shm_free(out);
        return ws__fail(ctx, WS_EPROTO, "shared memory has %lld bytes, not %zu",
                        (long long)st.st_size, bytes);
    }
    p = mmap(NULL, bytes ? bytes : 1,
             writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return shm_fail(ctx, out, "map", bytes);
    out->p = p;
    out->bytes = bytes;
    return 0;
}

void ws__shm_free(struct ws__shm *s)
{
    if (s->p)
        munmap(s->p, s->bytes ? s->bytes : 1);
    if (s->fd >= 0)
        close(s->fd);
    *s = (struct ws__shm){.fd = -1};
}
