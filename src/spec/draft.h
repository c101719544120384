/*
 * draft.h: specifications with marked blanks, from what was read of a source.
 *
 * The texts are YAML with a comment for each blank (blank.c says what counts
 * as one). What is written without a blank was read or follows from a name;
 * what is a guess says so.
 */
#ifndef WS_DRAFT_H
#define WS_DRAFT_H

#include "core/facts.h"
#include "core/kernel.h"
#include "spec/signature.h"

#define WS__DRAFT_TEXT_MAX ((size_t)1 << 20)
#define WS__DRAFT_SOURCE_MAX ((size_t)1 << 20)

/* A source with its includes in place. */
struct ws__draft_source {
    enum ws__dialect dialect; /* by the file's name and what it includes */
    const char *text;
    const char *note; /* why includes are missing; NULL: they are not */
};
int ws__draft_read(struct ws_ctx *ctx, struct ws__arena *arena,
                   const char *path, const char *share_dir,
                   struct ws__draft_source *out);

struct ws__draft {
    const char *name;        /* of the kernel, and of an op that is new */
    const char *source_file; /* as the kernel file names it */
    const char *read_by;     /* who read the signature, for the first line */
    enum ws__dialect dialect;
    const struct ws__signature *sig;
    size_t entry[WS__MAX_LAUNCHES]; /* the launches: indices, in order */
    size_t nentry;
    const struct ws__op *op;       /* NULL: the op is new */
    const char *op_ref;            /* what the key `op` says */
    const struct ws__facts *facts; /* for the launches; NULL: none are known */
};

/* op_text gets nothing if the op is not new. */
int ws__draft_write(struct ws_ctx *ctx, const struct ws__draft *d,
                    struct ws__buf *kernel_text, struct ws__buf *op_text);

/* The blanks of a text, as blank.c tells them. */
struct ws__blank_at {
    uint32_t line, column;
    const char *subject, *wants;
};
int ws__draft_blanks(struct ws_ctx *ctx, struct ws__arena *arena,
                     const char *text, struct ws__blank_at **out, size_t *n);

#endif
