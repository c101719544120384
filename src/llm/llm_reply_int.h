/*
 * llm_reply_int.h: the parts of reading a reply: lines, blocks, patches, YAML.
 */
#ifndef WS_LLM_REPLY_INT_H
#define WS_LLM_REPLY_INT_H

#include "llm/llm_reply.h"

struct ws__llm_row {
    const char *p;
    size_t n;     /* without its end (LF, CR LF, or none at the last) */
    size_t whole; /* with it */
};
struct ws__llm_rows {
    const struct ws__llm_row *row;
    size_t n;
};

/* Rows [first, end) of a text. */
struct ws__llm_range {
    size_t first, end;
};

struct ws__llm_patch {
    struct ws__llm_range search, replace; /* rows of the reply */
    size_t at;                            /* row of the source that it hits */
};

/* What is in a reply. */
struct ws__llm_blocks {
    struct ws__llm_range code, yaml;
    size_t ncode, nyaml, npatch;
    struct ws__llm_patch patch[WS__LLM_BLOCKS_MAX];
};

int ws__llm_rows(struct ws__arena *a, const char *text,
                 struct ws__llm_rows *out);
/* Rows that both are blank or have the same bytes. */
bool ws__llm_row_eq(const struct ws__llm_row *a, const struct ws__llm_row *b);
int ws__llm_blocks_find(struct ws_ctx *ctx, const struct ws__llm_rows *reply,
                        struct ws__llm_blocks *out);
/* Finds the place of each, and writes the new text into b. */
int ws__llm_patches_apply(struct ws_ctx *ctx, const struct ws__llm_rows *reply,
                          const struct ws__llm_rows *source,
                          struct ws__llm_patch *patch, size_t n,
                          struct ws__buf *b);
/* Rows of a reply as text, with the line ends of the source. */
void ws__llm_rows_write(struct ws__buf *b, const struct ws__llm_rows *reply,
                        const struct ws__llm_range *range, const char *end);
/* The ending of the source's lines. */
const char *ws__llm_rows_end(const struct ws__llm_rows *source);
/* Changes out of the YAML in rows of the reply, into p. */
int ws__llm_changes_read(struct ws_ctx *ctx, const struct ws__llm_rows *reply,
                         const struct ws__llm_range *range,
                         const char *const *roots, struct ws__llm_proposal *p);

#endif
