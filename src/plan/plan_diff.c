/*
 * plan_diff.c: two texts as a unified diff.
 *
 * The longest common subsequence of lines by dynamic programming, after what
 * both begin and end with. A kernel has some hundred lines; of texts whose
 * table would be too large all lines are replaced.
 */
#include "plan/plan_forge.h"

#include "base/banned.h"

#define AROUND 3
#define MAX_CELLS ((size_t)32 << 20)
#define MAX_DIFF ((size_t)32 << 20)

struct line {
    const char *at;
    size_t n;  /* without the newline */
    bool ends; /* with one */
};
struct lines {
    struct line *line;
    size_t n, cap;
};

static int split(struct ws_ctx *ctx, const char *text, struct lines *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        WS_TRY(ws__grow(ctx, (void **)&out->line, &out->cap, out->n,
                        sizeof(*out->line)));
        out->line[out->n++] = (struct line){text, n, text[n] == '\n'};
        text += n + (text[n] == '\n');
    }
    return 0;
}

static bool same(const struct line *a, const struct line *b)
{
    return a->n == b->n && a->ends == b->ends && !memcmp(a->at, b->at, a->n);
}

/* One line of the diff: ' ', '-' or '+', and numbers of both sides. */
struct mark {
    char kind;
    size_t a, b;
};
struct marks {
    struct mark *mark;
    size_t n, cap;
};

static int add(struct ws_ctx *ctx, struct marks *m, char kind, size_t a,
               size_t b)
{
    WS_TRY(ws__grow(ctx, (void **)&m->mark, &m->cap, m->n, sizeof(*m->mark)));
    m->mark[m->n++] = (struct mark){kind, a, b};
    return 0;
}

/* table[i * (nb + 1) + j]: how many lines a[i..] and b[j..] share. */
static uint32_t *make_table(struct ws_ctx *ctx, const struct line *a, size_t na,
                            const struct line *b, size_t nb)
{
    uint32_t *t = ws__alloc(ctx, (na + 1) * (nb + 1), sizeof(*t));

    for (size_t i = na; t && i-- > 0;)
        for (size_t j = nb; j-- > 0;) {
            uint32_t down = t[(i + 1) * (nb + 1) + j];
            uint32_t right = t[i * (nb + 1) + j + 1];

            t[i * (nb + 1) + j] = same(&a[i], &b[j])
                                      ? t[(i + 1) * (nb + 1) + j + 1] + 1
                                  : down > right ? down
                                                 : right;
        }
    return t;
}

static int middle(struct ws_ctx *ctx, const struct lines *a,
                  const struct lines *b, size_t from, size_t ae, size_t be,
                  struct marks *m)
{
    size_t na = ae - from, nb = be - from, i = 0, j = 0;
    bool small = (na + 1) * (nb + 1) <= MAX_CELLS;
    uint32_t *t =
        small ? make_table(ctx, a->line + from, na, b->line + from, nb) : NULL;
    int rc = small && !t ? WS_ENOMEM : 0;

    while (rc >= 0 && (i < na || j < nb)) {
        size_t x = from + i, y = from + j;

        if (t && i < na && j < nb && same(&a->line[x], &b->line[y])) {
            rc = add(ctx, m, ' ', x, y);
            i++, j++;
        } else if (i < na &&
                   (j == nb || !t ||
                    t[(i + 1) * (nb + 1) + j] >= t[i * (nb + 1) + j + 1])) {
            rc = add(ctx, m, '-', x, y);
            i++;
        } else {
            rc = add(ctx, m, '+', x, y);
            j++;
        }
    }
    ws__free(ctx, t);
    return rc;
}

static int compare(struct ws_ctx *ctx, const struct lines *a,
                   const struct lines *b, struct marks *m)
{
    size_t from = 0, ae = a->n, be = b->n;

    while (from < ae && from < be && same(&a->line[from], &b->line[from])) {
        WS_TRY(add(ctx, m, ' ', from, from));
        from++;
    }
    while (ae > from && be > from && same(&a->line[ae - 1], &b->line[be - 1]))
        ae--, be--;
    WS_TRY(middle(ctx, a, b, from, ae, be, m));
    for (size_t i = 0; ae + i < a->n; i++)
        WS_TRY(add(ctx, m, ' ', ae + i, be + i));
    return 0;
}

static void put_line(struct ws__buf *out, char kind, const struct line *l)
{
    ws__buf_printf(out, "%c%.*s\n", kind, (int)l->n, l->at);
    if (!l->ends)
        ws__buf_puts(out, "\\ No newline at end of file\n");
}

/* Marks from..to as one hunk. */
static void put_hunk(struct ws__buf *out, const struct lines *a,
                     const struct lines *b, const struct marks *m, size_t from,
                     size_t to)
{
    size_t na = 0, nb = 0;

    for (size_t i = from; i < to; i++) {
        na += m->mark[i].kind != '+';
        nb += m->mark[i].kind != '-';
    }
    ws__buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n",
                   m->mark[from].a + (na ? 1 : 0), na,
                   m->mark[from].b + (nb ? 1 : 0), nb);
    for (size_t i = from; i < to; i++)
        put_line(out, m->mark[i].kind,
                 m->mark[i].kind == '+' ? &b->line[m->mark[i].b]
                                        : &a->line[m->mark[i].a]);
}

static void put_hunks(struct ws__buf *out, const struct lines *a,
                      const struct lines *b, const struct marks *m)
{
    size_t i = 0;

    while (i < m->n) {
        size_t from, to, last;

        while (i < m->n && m->mark[i].kind == ' ')
            i++;
        if (i == m->n)
            return;
        from = i > AROUND ? i - AROUND : 0;
        for (last = to = i; to < m->n && to - last <= 2 * AROUND; to++)
            if (m->mark[to].kind != ' ')
                last = to;
        to = last + 1 + AROUND < m->n ? last + 1 + AROUND : m->n;
        put_hunk(out, a, b, m, from, to);
        i = to;
    }
}

int ws__plan_diff(struct ws_ctx *ctx, const char *name, const char *before,
                  const char *after, char **out)
{
    struct lines a = {0}, b = {0};
    struct marks m = {0};
    struct ws__buf text;
    int rc;

    *out = NULL;
    ws__buf_init(&text, ctx, MAX_DIFF);
    rc = split(ctx, before, &a);
    if (rc >= 0)
        rc = split(ctx, after, &b);
    if (rc >= 0)
        rc = compare(ctx, &a, &b, &m);
    if (rc >= 0) {
        if (strcmp(before, after) != 0)
            ws__buf_printf(&text, "--- a/%s\n+++ b/%s\n", name, name);
        put_hunks(&text, &a, &b, &m);
        rc = text.failed;
    }
    if (rc >= 0) {
        *out = ws__buf_take(&text);
        rc = *out ? 0 : WS_ENOMEM;
    }
    ws__buf_free(&text);
    ws__free(ctx, a.line);
    ws__free(ctx, b.line);
    ws__free(ctx, m.mark);
    return rc < 0 ? rc : 0;
}
