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

#endif
