/*
 * llm_reply_patch.c: search/replace blocks on the source that a model was
 * shown. All are looked up in that source, not in what the ones before made of
 * it: so their order does not matter, and what a message says about a line is
 * true of the text that the model knows.
 */
#include "llm/llm_reply_int.h"

#include "base/banned.h"

struct patcher {
    struct ws_ctx *ctx;
    const struct ws__llm_rows *reply, *source;
};

typedef bool eq_fn(const struct ws__llm_row *a, const struct ws__llm_row *b);

static struct ws__llm_row trimmed(const struct ws__llm_row *r)
{
    struct ws__llm_row t = *r;

    while (t.n && strchr(" \t\r", t.p[t.n - 1]))
        t.n--;
    while (t.n && strchr(" \t", *t.p)) {
        t.p++;
        t.n--;
    }
    return t;
}

static bool eq_loosely(const struct ws__llm_row *a, const struct ws__llm_row *b)
{
    struct ws__llm_row x = trimmed(a), y = trimmed(b);

    return ws__llm_row_eq(&x, &y);
}

/* How many places match, and the first two. */
static size_t matches(const struct patcher *w, const struct ws__llm_range *s,
                      eq_fn *eq, size_t at[2])
{
    size_t n = s->end - s->first, found = 0;

    for (size_t i = 0; i + n <= w->source->n; i++) {
        size_t k = 0;

        while (k < n &&
               eq(&w->source->row[i + k], &w->reply->row[s->first + k]))
            k++;
        if (k == n && found++ < 2)
            at[found - 1] = i;
    }
    return found;
}

static int not_found(const struct patcher *w, const struct ws__llm_range *s)
{
    const struct ws__llm_row *first = &w->reply->row[s->first];
    size_t at[2], line = s->first;

    if (matches(w, s, eq_loosely, at))
        return ws__fail(w->ctx, WS_EPARSE,
                        "the search/replace block in line %zu of the reply "
                        "matches line %zu of the source but for blanks at the "
                        "ends of lines: copy them exactly",
                        line, at[0] + 1);
    return ws__fail(w->ctx, WS_EPARSE,
                    "the search/replace block in line %zu of the reply matches "
                    "nothing in the source: copy whole lines exactly; its "
                    "first is '%.*s'",
                    line, (int)(first->n < 80 ? first->n : 80), first->p);
}

static int locate(const struct patcher *w, struct ws__llm_patch *p)
{
    size_t at[2] = {0, 0}, n = matches(w, &p->search, ws__llm_row_eq, at);

    if (!n)
        return not_found(w, &p->search);
    if (n > 1)
        return ws__fail(w->ctx, WS_EPARSE,
                        "the search/replace block in line %zu of the reply "
                        "matches %zu places of the source (lines %zu and %zu): "
                        "add lines around it until it is one",
                        p->search.first, n, at[0] + 1, at[1] + 1);
    p->at = at[0];
    return 0;
}

static size_t rows_of(const struct ws__llm_patch *p)
{
    return p->search.end - p->search.first;
}

static void sort(struct ws__llm_patch *patch, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct ws__llm_patch p = patch[i];
        size_t k = i;

        for (; k && patch[k - 1].at > p.at; k--)
            patch[k] = patch[k - 1];
        patch[k] = p;
    }
}

static int check_overlap(const struct patcher *w,
                         const struct ws__llm_patch *patch, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (patch[i - 1].at + rows_of(&patch[i - 1]) > patch[i].at)
            return ws__fail(w->ctx, WS_EPARSE,
                            "the search/replace blocks in lines %zu and %zu of "
                            "the reply overlap in line %zu of the source: make "
                            "one of them",
                            patch[i - 1].search.first, patch[i].search.first,
                            patch[i].at + 1);
    return 0;
}

static void copy(const struct patcher *w, size_t from, size_t to,
                 struct ws__buf *b)
{
    for (size_t i = from; i < to; i++)
        ws__buf_add(b, w->source->row[i].p, w->source->row[i].whole);
}

int ws__llm_patches_apply(struct ws_ctx *ctx, const struct ws__llm_rows *reply,
                          const struct ws__llm_rows *source,
                          struct ws__llm_patch *patch, size_t n,
                          struct ws__buf *b)
{
    const struct patcher w = {ctx, reply, source};
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        WS_TRY(locate(&w, &patch[i]));
    sort(patch, n);
    WS_TRY(check_overlap(&w, patch, n));
    for (size_t i = 0; i < n; i++) {
        copy(&w, at, patch[i].at, b);
        ws__llm_rows_write(b, reply, &patch[i].replace,
                           ws__llm_rows_end(source));
        at = patch[i].at + rows_of(&patch[i]);
    }
    copy(&w, at, source->n, b);
    return b->failed;
}
