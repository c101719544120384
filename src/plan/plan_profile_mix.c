/*
 * plan_profile_mix.c: the instructions of a candidate's binary, by the
 * disassembler that the caller names. It is started without a shell, reads a
 * file below the cache folder and writes into memory. A machine without one, or
 * a device without images, lacks the mix and nothing else.
 */
#include "plan/plan_profile.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/spawn.h"

#include "base/banned.h"

#define LIMIT_NS 30000000000u /* a disassembler takes a second or two */
#define OUTPUT_BYTES ((size_t)64 << 20)

/* What was written into the file, as text; NULL: nothing, or too much. */
static char *read_back(struct ws_ctx *ctx, int fd, size_t *n)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text;

    if (size <= 0 || (size_t)size > OUTPUT_BYTES)
        return NULL;
    text = ws__alloc(ctx, (size_t)size + 1, 1);
    for (*n = 0; text && *n < (size_t)size;) {
        ssize_t got = pread(fd, text + *n, (size_t)size - *n, (off_t)*n);

        if (got <= 0)
            break;
        *n += (size_t)got;
    }
    return text;
}

/* Ends with the process, or when it took too long. */
static int run(struct ws_ctx *ctx, const char *const *argv, int to)
{
    struct ws__proc proc;
    struct ws__buf nothing;
    uint32_t type;
    int rc = ws__proc_start(ctx, argv, NULL, to, &proc);

    if (rc < 0)
        return rc;
    ws__buf_init(&nothing, ctx, 64);
    /* It says nothing on the socket: the end of it is the end of file. */
    rc = ws__wire_recv(ctx, proc.sock, &type, &nothing, NULL, LIMIT_NS);
    ws__buf_free(&nothing);
    ws__proc_stop(&proc, rc == WS_ECRASH ? 1000000000u : 0);
    return rc == WS_ECRASH ? 0 : rc < 0 ? rc : WS_EPROTO;
}

static int parse_output(struct ws__profiling *p, int fd)
{
    struct ws_ctx *ctx = p->spec->ctx;
    size_t n = 0;
    char *text = read_back(ctx, fd, &n);
    int rc = text ? ws__mix_parse(ctx, text, n, NULL, &p->mix) : WS_ESPEC;

    ws__free(ctx, text);
    return rc;
}

static int disassemble(struct ws__profiling *p, const char *file)
{
    struct ws_ctx *ctx = p->spec->ctx;
    const char *tool = p->o->disassembler;
    bool dump = strstr(ws__path_base(tool), "cuobjdump") != NULL;
    const char *const argv[] = {tool, dump ? "-sass" : "-c", file, NULL};
    int fd = ws__fd_keep(memfd_create("disassembly", MFD_CLOEXEC));
    int rc;

    if (fd < 0)
        return ws__fail(ctx, WS_ENOMEM, "no memory for a disassembly");
    rc = run(ctx, argv, fd);
    if (!rc)
        rc = parse_output(p, fd);
    close(fd);
    return rc;
}

static int of_image(struct ws__profiling *p, const struct ws__built *b)
{
    struct ws_ctx *ctx = p->spec->ctx;
    const char *dir = ctx->cache_dir ? ctx->cache_dir : p->spec->project;
    char name[64], *path;
    int rc;

    snprintf(name, sizeof(name), "profile-%ld.cubin", (long)getpid());
    path = ws__path_join(ctx, dir, name);
    if (!path)
        return WS_ENOMEM;
    rc = ws__fs_write(ctx, path, b->image, b->image_bytes);
    if (!rc)
        rc = disassemble(p, path);
    unlink(path);
    ws__free(ctx, path);
    return rc;
}

/* What no other part of a profile needs is no error of it. */
static int forgive(struct ws__profiling *p, int rc)
{
    struct ws_ctx *ctx = p->spec->ctx;

    if (rc >= 0 || rc == WS_ENOMEM || rc == WS_ECANCEL || ws__check_stop(ctx))
        return rc;
    p->mix_why = ws__arena_strdup(&p->spec->arena, ws_ctx_error(ctx)->message);
    ws__error_clear(ctx);
    return p->mix_why ? 0 : WS_ENOMEM;
}

int ws__profile_mix(struct ws__profiling *p)
{
    struct ws__image image = {.candidate = &p->c};
    int rc;

    if (!p->o->disassembler) {
        p->mix_why = "no disassembler (cuobjdump or nvdisasm)";
        return 0;
    }
    rc = ws__measure_images(p->m, &image, 1);
    if (!rc && !image.built.image)
        p->mix_why = "the device gives no binary";
    else if (!rc)
        rc = of_image(p, &image.built);
    ws__image_clear(p->spec->ctx, &image);
    return forgive(p, rc);
}
