/*
 * recfile.h: the file of recorded device operations.
 *
 * A header (magic, version), then frames: {u32 bytes of content, u32 bytes in
 * the file, u32 CRC-32 of the content}, then the content, deflated. Content is
 * records, never cut by a frame: {u32 bytes} and that many bytes. A record is
 * one operation: what was asked (by hash, with a few words), how it ended and
 * what it gave. All numbers are little-endian. Frames are appended as they
 * fill; a file whose end is missing is good up to there.
 *
 * What was asked is kept as a hash: inputs are drawn from seeds, and so need
 * not be in the file. What was read is kept as it is.
 */
#ifndef WS_RECFILE_H
#define WS_RECFILE_H

#include "base/spawn.h"
#include "device/shim.h"

/* 1: without occupancy and clocks; 2: without counts; 3: without times by the
 * host. All are read. */
#define WS__REC_VERSION 4u
/* Recordings are for small shapes: a read of one buffer, a file. */
#define WS__REC_READ_MAX ((size_t)64 << 20)
#define WS__REC_FILE_MAX ((size_t)256 << 20)

/* Of what an operation was asked for: everything that its result depends on,
 * and no address. Handles are part of it. */
struct ws__hash ws__call_digest(const struct ws__call *c);
/* "run 'gemm' (...)": for messages; cut if it does not fit. */
void ws__call_describe(const struct ws__call *c, char *out, size_t n);

/* ---- writing ------------------------------------------------------------- */

struct ws__recwriter {
    struct ws_ctx *ctx;
    char *path;
    int fd;    /* -1: none */
    bool made; /* the file, by this writer */
    uint64_t bytes;
    struct ws__buf record, content, packed;
};

/* make: the file must be new; else it is continued. Ended by ws__rec_close,
 * also after a failure. */
int ws__rec_open(struct ws_ctx *ctx, const char *path, bool make,
                 struct ws__recwriter *w);
/* rc: how it ended; the context's error then has the words. info: of an
 * OPEN that worked. WS_ELIMIT, WS_EFULL, ... */
int ws__rec_put(struct ws__recwriter *w, const struct ws__call *c, int rc,
                const struct ws__device_info *info);
int ws__rec_close(struct ws__recwriter *w);

/* ---- reading ------------------------------------------------------------- */

struct ws__record {
    enum ws__call_op op;
    int rc;
    struct ws__hash digest;
    const char *words;          /* what was asked for, described */
    const char *message, *hint; /* rc < 0 */
    int signal;
    struct ws__reader result;
};

struct ws__recreader {
    struct ws_ctx *ctx;
    const char *path; /* for messages; must outlive it */
    const unsigned char *p, *end;
    struct ws__buf content;
    size_t at;       /* in content */
    uint64_t number; /* of the record read last, from 1 */
    uint32_t version;
};

/* Over the bytes of a file, which must outlive it. WS_ECORRUPT, WS_EVERSION.
 * Freed by ws__recreader_free. */
int ws__recreader_open(struct ws_ctx *ctx, const char *path, const void *data,
                       size_t n, struct ws__recreader *r);
/* 1: *out is valid until the next call; 0: no more; WS_ECORRUPT. */
int ws__recreader_next(struct ws__recreader *r, struct ws__record *out);
void ws__recreader_free(struct ws__recreader *r);
/* Fills the results of the operation, or the context's error, and returns as
 * it returned. WS_ECORRUPT if the record has other results than this kind of
 * operation, or too few. */
int ws__rec_results(struct ws__recreader *r, struct ws__record *rec,
                    struct ws__call *c);
/* Of an OPEN. */
int ws__rec_info(struct ws__recreader *r, struct ws__record *rec,
                 struct ws__device_info *info);

#endif
