/*
 * devwire.h: the messages between isolate (the tool's side) and serve (the
 * worker's side).
 *
 * A request is one operation; its answer has the same type and begins with
 * the status: negative with message and hint, or 0 with the results. Plain
 * structs travel as bytes with their size checked: both sides come from one
 * build. Content of buffers goes through a shared area that comes with the
 * first request: a page with the last words of the member, then a bounce
 * buffer.
 */
#ifndef WS_DEVWIRE_H
#define WS_DEVWIRE_H

#include "base/spawn.h"
#include "device/device.h"

enum ws__dev_msg {
    WS__DEV_PROBE = 16,
    WS__DEV_OPEN,
    WS__DEV_BUILD,
    WS__DEV_UNLOAD,
    WS__DEV_ALLOC,
    WS__DEV_RELEASE,
    WS__DEV_WRITE,
    WS__DEV_READ,
    WS__DEV_FILL,
    WS__DEV_COPY,
    WS__DEV_HASH,
    WS__DEV_GUARD,
    WS__DEV_RUN,
    WS__DEV_DESCRIBE,
    WS__DEV_COUNT,
    WS__DEV_WATCH,
    WS__DEV_END
};

#define WS__AREA_WORDS 4096u /* last words of the member, NUL-terminated */
#define WS__AREA_BOUNCE ((size_t)16 << 20)
#define WS__AREA_BYTES (WS__AREA_WORDS + WS__AREA_BOUNCE)

void ws__put_info(struct ws__buf *b, const struct ws__device_info *info);
void ws__get_info(struct ws__reader *r, struct ws__device_info *info);
void ws__put_build(struct ws__buf *b, const struct ws__build *build);
void ws__put_batch(struct ws__buf *b, const struct ws__dev_batch *batch);
/* What a count is asked for. */
struct ws__dev_count {
    struct ws__dev_seq seq;
    uint64_t flush_bytes;
    const char *const *metric;
    size_t n;
};
#define WS__COUNT_MAX 4096u /* values of one count */
void ws__put_count(struct ws__buf *b, const struct ws__dev_count *c);

/* What is to be watched. */
struct ws__dev_watch {
    struct ws__dev_seq seq;
    const uint32_t *input;
    size_t ninput;
};
void ws__put_watch(struct ws__buf *b, const struct ws__dev_watch *w);

void ws__put_built(struct ws__buf *b, const struct ws__built *built);
/* Owned by the caller. After a failure only the module is set. */
int ws__get_built(struct ws__reader *r, struct ws__arena *a,
                  struct ws__built *out);

/* Results point into the arena and the reader's buffer. WS_EPROTO, ENOMEM. */
int ws__get_build(struct ws__reader *r, struct ws__arena *a,
                  struct ws__build *out);
int ws__get_batch(struct ws__reader *r, struct ws__arena *a,
                  struct ws__dev_batch *out);
int ws__get_count(struct ws__reader *r, struct ws__arena *a,
                  struct ws__dev_count *out);
int ws__get_watch(struct ws__reader *r, struct ws__arena *a,
                  struct ws__dev_watch *out);

/* The wrapper. */
extern const struct ws__device_ops ws__device_isolate;
int ws__isolate_open(struct ws_ctx *ctx, const struct ws__device_ops *family,
                     uint32_t index, const char *cache_dir, void **dev);
int ws__isolate_probe(struct ws_ctx *ctx, const struct ws__device_ops *family,
                      struct ws__device_list *out);

#endif
