/*
 * llm_reply_blocks.c: fences and search/replace blocks in a reply.
 *
 * Fences are CommonMark's: three or more backticks or tildes, indented by at
 * most three blanks, closed by as many or more. Inside a search/replace block
 * nothing is a fence; a fence with such blocks in it is no code of its own.
 */
#include "llm/llm_reply_int.h"

#include "base/banned.h"

struct fence {
    char sign; /* 0: none is open */
    size_t width, row;
    bool yaml, diff, patched;
};

struct finder {
    struct ws_ctx *ctx;
    struct ws__llm_blocks *b;
    struct fence open;
    enum { OUTSIDE, SEARCH, REPLACE } where;
    size_t from; /* row of the marker of the block that is open */
};

static size_t count(const struct ws__llm_row *r, size_t at, char sign)
{
    size_t n = 0;

    while (at + n < r->n && r->p[at + n] == sign)
        n++;
    return n;
}

static bool rest_is(const struct ws__llm_row *r, size_t at, const char *word)
{
    size_t n = strlen(word), end = r->n;

    while (end > at && (r->p[end - 1] == ' ' || r->p[end - 1] == '\t'))
        end--;
    while (at < end && r->p[at] == ' ')
        at++;
    return end - at == n && !memcmp(r->p + at, word, n);
}

/* Five to nine of a sign and a word: models miscount. */
static bool is_marker(const struct ws__llm_row *r, char sign, const char *word)
{
    size_t n = count(r, 0, sign);

    return n >= 5 && n <= 9 && rest_is(r, n, word);
}

static bool info_is(const struct ws__llm_row *r, size_t at, const char *word)
{
    size_t n = strlen(word);

    while (at < r->n && r->p[at] == ' ')
        at++;
    return r->n - at >= n && !memcmp(r->p + at, word, n) &&
           (r->n - at == n || strchr(" \t{", r->p[at + n]));
}

/* Width of the fence in this row, 0 if it is none. */
static size_t fence_of(const struct ws__llm_row *r, char *sign, size_t *after)
{
    size_t at = count(r, 0, ' '), n;

    if (at > 3 || at >= r->n || (r->p[at] != '`' && r->p[at] != '~'))
        return 0;
    *sign = r->p[at];
    n = count(r, at, *sign);
    *after = at + n;
    if (n < 3 || (*sign == '`' && memchr(r->p + *after, '`', r->n - *after)))
        return 0;
    return n;
}

static int close_fence(struct finder *f, size_t row)
{
    const struct ws__llm_range range = {f->open.row + 1, row};
    const struct fence was = f->open;

    f->open.sign = 0;
    if (was.yaml) {
        f->b->nyaml++;
        f->b->yaml = range;
    } else if (was.patched) {
        return 0;
    } else if (was.diff) {
        return ws__fail(f->ctx, WS_EPARSE,
                        "the block in line %zu of the reply is a diff: send "
                        "search/replace blocks or the whole kernel",
                        was.row + 1);
    } else {
        f->b->ncode++;
        f->b->code = range;
    }
    return 0;
}

static int take_fence(struct finder *f, const struct ws__llm_row *r, size_t row)
{
    size_t after = 0, n;
    char sign = 0;

    n = fence_of(r, &sign, &after);
    if (!n)
        return 0;
    if (f->open.sign) {
        if (sign == f->open.sign && n >= f->open.width && rest_is(r, after, ""))
            return close_fence(f, row);
        return 0;
    }
    f->open = (struct fence){.sign = sign,
                             .width = n,
                             .row = row,
                             .yaml = info_is(r, after, "yaml") ||
                                     info_is(r, after, "yml"),
                             .diff = info_is(r, after, "diff") ||
                                     info_is(r, after, "patch")};
    return 0;
}

static int open_block(struct finder *f, size_t row)
{
    if (f->where != OUTSIDE)
        return ws__fail(f->ctx, WS_EPARSE,
                        "line %zu of the reply begins a search/replace block "
                        "before that of line %zu has its '>>>>>>> REPLACE'",
                        row + 1, f->from + 1);
    if (f->b->npatch == WS__LLM_BLOCKS_MAX)
        return ws__fail(f->ctx, WS_EPARSE,
                        "the reply has more than %d search/replace blocks: "
                        "send the whole kernel",
                        WS__LLM_BLOCKS_MAX);
    if (f->open.sign && f->open.yaml)
        return ws__fail(f->ctx, WS_EPARSE,
                        "line %zu of the reply begins a search/replace block "
                        "inside YAML: they change the source only",
                        row + 1);
    f->where = SEARCH;
    f->from = row;
    f->open.patched = true;
    f->b->patch[f->b->npatch].search.first = row + 1;
    return 0;
}

static int divide_block(struct finder *f, size_t row)
{
    struct ws__llm_patch *p = &f->b->patch[f->b->npatch];

    if (f->where == REPLACE)
        return ws__fail(f->ctx, WS_EPARSE,
                        "the search/replace block in line %zu of the reply has "
                        "a second '=======' in line %zu",
                        f->from + 1, row + 1);
    p->search.end = row;
    p->replace.first = row + 1;
    f->where = REPLACE;
    if (p->search.first == row)
        return ws__fail(f->ctx, WS_EPARSE,
                        "the search/replace block in line %zu of the reply "
                        "searches nothing: give the lines to replace",
                        f->from + 1);
    return 0;
}

static int close_block(struct finder *f, size_t row)
{
    if (f->where == OUTSIDE)
        return ws__fail(f->ctx, WS_EPARSE,
                        "line %zu of the reply ends a search/replace block "
                        "that has no '<<<<<<< SEARCH'",
                        row + 1);
    if (f->where == SEARCH)
        return ws__fail(f->ctx, WS_EPARSE,
                        "the search/replace block in line %zu of the reply has "
                        "no '=======' before its '>>>>>>> REPLACE'",
                        f->from + 1);
    f->b->patch[f->b->npatch++].replace.end = row;
    f->where = OUTSIDE;
    return 0;
}

static int take_row(struct finder *f, const struct ws__llm_row *r, size_t row)
{
    if (is_marker(r, '<', "SEARCH"))
        return open_block(f, row);
    if (is_marker(r, '>', "REPLACE"))
        return close_block(f, row);
    if (f->where == OUTSIDE)
        return take_fence(f, r, row);
    return is_marker(r, '=', "") ? divide_block(f, row) : 0;
}

static bool has(const struct ws__llm_row *r, const char *word)
{
    return memmem(r->p, r->n, word, strlen(word)) != NULL;
}

/* Some services leave a model's thoughts in front of its reply; drafts in
 * there are no part of it. *first: the row after them. */
static int skip_thoughts(struct ws_ctx *ctx, const struct ws__llm_rows *reply,
                         size_t *first)
{
    size_t from = 0;

    *first = 0;
    while (from < reply->n && rest_is(&reply->row[from], 0, ""))
        from++;
    if (from == reply->n || !has(&reply->row[from], "<think>") ||
        memcmp(reply->row[from].p, "<think>", 7) != 0)
        return 0;
    for (size_t i = from; i < reply->n; i++)
        if (has(&reply->row[i], "</think>")) {
            *first = i + 1;
            return 0;
        }
    return ws__fail(ctx, WS_EPARSE,
                    "the thoughts that the reply begins with are not ended by "
                    "'</think>'; was the reply cut?");
}

int ws__llm_blocks_find(struct ws_ctx *ctx, const struct ws__llm_rows *reply,
                        struct ws__llm_blocks *out)
{
    struct finder f = {.ctx = ctx, .b = out};
    size_t first;

    WS_TRY(skip_thoughts(ctx, reply, &first));
    for (size_t i = first; i < reply->n; i++)
        WS_TRY(take_row(&f, &reply->row[i], i));
    if (f.where != OUTSIDE)
        return ws__fail(ctx, WS_EPARSE,
                        "the search/replace block in line %zu of the reply is "
                        "not ended by '>>>>>>> REPLACE'; was the reply cut?",
                        f.from + 1);
    if (f.open.sign)
        return ws__fail(ctx, WS_EPARSE,
                        "the fenced block in line %zu of the reply is not "
                        "closed; was the reply cut?",
                        f.open.row + 1);
    return 0;
}
