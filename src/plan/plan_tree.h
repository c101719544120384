/*
 * plan_tree.h: the tree of a search as a document; private to plan.
 *
 * One document in JSON is what is kept in the store, written to files, and
 * what texts for people are made of. It is made from the state of a strategy:
 * nothing is ever read back from it into a search.
 */
#ifndef WS_PLAN_TREE_H
#define WS_PLAN_TREE_H

#include <jansson.h>

#include "plan/plan.h"
#include "search/search.h"

#define WS__TREE_VALUE WS__STORE_VIEW /* of a run, in the store */
#define WS__TREE_ID 9                 /* with its end */

/* The first digits of a node's key; of the root the word "root". */
void ws__tree_id(uint64_t key, char out[WS__TREE_ID]);

/* What of the whole is told; `asked`: questions of the strategy so far. */
int ws__tree_doc(struct ws_spec *spec, const struct ws__catalogue *c,
                 const struct ws__tree *tree, uint64_t asked, json_t **out);
int ws__tree_dump(struct ws_ctx *ctx, const json_t *doc, char **out);
/* WS_ECORRUPT: it is no such document. */
int ws__tree_parse(struct ws_ctx *ctx, const char *text, json_t **out);

/* All places, each with what was tried and what is open. */
int ws__tree_text(struct ws__buf *b, const json_t *doc);
/* Few lines for who watches: what a place works on, its best path, what is
 * open. */
int ws__tree_brief(struct ws__buf *b, const json_t *doc, const char *place);

/* How the belief in a node came about, in each place that knows it. */
int ws__tree_explain(struct ws__buf *b, const json_t *doc, const char *id);
/* The name of the node that begins so, of those that are known. WS_EINVAL:
 * there is none, or more than one. */
int ws__tree_node(struct ws_ctx *ctx, const json_t *doc, const char *begins,
                  char out[WS__TREE_ID]);

/* --- plan_steer.c --- */
/* What people decided, as it is read by a search: from the journal, in order,
 * each with the question after which it takes effect. */
struct ws__steering {
    struct ws_spec *spec;
    struct ws__journal journal;
    struct ws__run *run;
    uint64_t seen; /* so many were read */
};
/* As engine opts' steer; user is the above. */
int ws__steering_next(void *user, uint64_t asked, bool live,
                      struct ws__steer *out);

#endif
