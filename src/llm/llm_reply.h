/*
 * llm_reply.h: the reply of a model that was asked for a kernel, as data.
 *
 * A reply is text of any kind around one of
 *
 *   - the whole kernel, in the one fenced block (``` or ~~~) that is not YAML;
 *   - search/replace blocks, in a fence or not:
 *         <<<<<<< SEARCH
 *         lines of the source, each exactly as it stands there
 *         =======
 *         lines instead, none to take them out
 *         >>>>>>> REPLACE
 *     Each must match whole lines in exactly one place of the source that the
 *     model was shown, whatever the others do; two may not overlap;
 *
 * and, besides or alone, one block fenced as ```yaml with changes of the kernel
 * file: a list of {path: parameters.ITEMS, value: ...}. Paths are names with
 * dots, [3] (an element of a list) and [+] (append); what a path and its value
 * mean is the caller's business.
 *
 * What stands between <think> and </think> at the beginning is passed over.
 * Nothing of a reply is run, and no file that it names is touched. Everything
 * else is refused with one sentence that can go back to the model.
 */
#ifndef WS_LLM_REPLY_H
#define WS_LLM_REPLY_H

#include "base/mem.h"

#define WS__LLM_BLOCKS_MAX 128  /* search/replace blocks of a reply */
#define WS__LLM_CHANGES_MAX 128 /* changes of the kernel file */
#define WS__LLM_YAML_BYTES ((size_t)65536)

struct ws__llm_change {
    const char *path;
    const char *yaml; /* a fragment in flow style, on one line, no newline */
};

struct ws__llm_proposal {
    struct ws__arena arena;
    const char *source; /* the whole new text; NULL: it stays as it is */
    size_t nblock;      /* search/replace blocks; 0: a whole kernel or none */
    const struct ws__llm_change *change; /* in the order of the reply */
    size_t nchange;
};

/*
 * `reply` to a model that was shown `source`. Line ends of the result are those
 * of the source. roots: NULL, or names that a path may begin with, ended by
 * NULL. *out is freed by ws__llm_proposal_free. Errors: WS_EPARSE with a
 * message that tells the model in one sentence what to mend (its line numbers
 * are those of the reply, or of the source where it says so), WS_ENOMEM.
 */
int ws__llm_proposal_parse(struct ws_ctx *ctx, const char *reply,
                           const char *source, const char *const *roots,
                           struct ws__llm_proposal **out);
/* Is it a path, and one that begins with one of these names (NULL: any)? */
bool ws__llm_is_path(const char *path);
bool ws__llm_is_root(const char *const *roots, const char *path);
void ws__llm_proposal_free(struct ws__llm_proposal *p); /* NULL is fine */

#endif
