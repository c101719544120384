/*
 * store_text.h: the text of exported stores; private to the folder.
 *
 * One JSON object a line. Each names its kind and the format, and stands by
 * itself: files may be cut and joined with common tools.
 */
#ifndef WS_STORE_TEXT_H
#define WS_STORE_TEXT_H

#include "store/store_db.h"

/* Larger numbers are written as texts: most readers of JSON round them. */
#define WS__TEXT_WHOLE_MAX ((uint64_t)1 << 53)

/* --- store_text.c -------------------------------------------------------- */

/* JSON values; failures stay in the buffer. */
void ws__text_string(struct ws__buf *b, const char *s); /* NULL: null */
void ws__text_hash(struct ws__buf *b, struct ws__hash h);
void ws__text_whole(struct ws__buf *b, uint64_t v);
void ws__text_real(struct ws__buf *b, double v);

/* --- store_parse.c ------------------------------------------------------- */

enum ws__record_kind { WS__RECORD_SPEC, WS__RECORD_TRIAL, WS__RECORD_VALUE };

struct ws__record {
    enum ws__record_kind kind;
    uint32_t line;
    size_t run;      /* index into the import's list; trial and value */
    size_t identity; /* likewise; WS__NO_IDENTITY: none was told */
    uint64_t seq;
    unsigned part;
    struct ws__question question;
    struct ws__trial trial;
    struct ws__parts parts; /* spec */
    char *key, *value;      /* value */
};

#define WS__NO_IDENTITY SIZE_MAX

struct ws__import_run {
    struct ws__run run;
    uint64_t begun_ns;
    uint64_t there; /* answers that the store holds of it */
};

struct ws__import_identity {
    struct ws__identity identity;
    int64_t row;
};

/* A description from the JSON object that store_parts.c prints. Free the parts
 * whatever the result. */
int ws__parts_parse(struct ws_ctx *ctx, struct ws__hash spec, const char *text,
                    struct ws__parts *out);

/* A whole file, read and checked as far as a file alone can be. */
struct ws__import {
    struct ws_ctx *ctx;
    char *name; /* of the file, for messages */
    struct ws__record *record;
    size_t nrecord, record_cap;
    size_t *spec; /* those records that describe */
    size_t nspec, spec_cap;
    struct ws__import_run *run;
    size_t nrun, run_cap;
    struct ws__import_identity *identity;
    size_t nidentity, identity_cap;
};

#endif
