/*
 * safetensors.h: tensors in files: eight bytes with the length of a header,
 * little endian, the header in JSON, then the elements, little endian and
 * dense in row-major order.
 *
 * A file is opened, questioned and closed by one thread. Nothing in it is
 * trusted: whatever a header says is checked against the length of the file
 * before a byte of it is used.
 */
#ifndef WS_SAFETENSORS_H
#define WS_SAFETENSORS_H

#include "base/hash.h"
#include "core/op.h"

struct ws__st_tensor {
    const char *name;
    char type[16];        /* as the file calls it: "BF16" */
    enum ws__dtype dtype; /* NONE: a type that we do not have */
    size_t ndim;          /* may be more than WS__MAX_DIMS */
    int64_t dim[WS__MAX_DIMS];
    uint64_t at, bytes; /* place in the file */
};

struct ws__safetensors {
    struct ws_ctx *ctx;
    struct ws__arena arena;
    const char *path;
    int fd;
    struct ws__st_tensor *tensor; /* in the order of their places */
    size_t n;
};

/* Opens and checks a file. WS_ENOENT, WS_EACCES, WS_EIO, WS_EINVAL (no file),
 * WS_ECORRUPT (not what it says it is), WS_ELIMIT. */
int ws__safetensors_open(struct ws_ctx *ctx, const char *path,
                         struct ws__safetensors **out);
/* The same for a header at hand, without its length; `data` is how many bytes
 * follow it. Nothing can be read then. `path` is for messages. */
int ws__safetensors_parse(struct ws_ctx *ctx, const char *path,
                          const char *header, size_t len, uint64_t data,
                          struct ws__safetensors **out);
void ws__safetensors_close(struct ws__safetensors *f); /* NULL is fine */
/* NULL: there is none of that name. */
const struct ws__st_tensor *
ws__safetensors_find(const struct ws__safetensors *f, const char *name);
/* Reads n bytes of a tensor from byte `from` on. WS_ECORRUPT if the file has
 * become shorter. */
int ws__safetensors_read(const struct ws__safetensors *f,
                         const struct ws__st_tensor *t, uint64_t from, void *to,
                         size_t n);
/* What identifies a tensor: type, shape and every byte. */
int ws__safetensors_hash(const struct ws__safetensors *f,
                         const struct ws__st_tensor *t, struct ws__hash *out);
/* The tensor `key` of a file, which must have this type and shape; else
 * WS_ESPEC with both. */
int ws__safetensors_want(struct ws__safetensors *f, const char *key,
                         const struct ws__tensor_shape *want,
                         const struct ws__st_tensor **out);

#endif
