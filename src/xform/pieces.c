/* pieces.c: see pieces.h. */
#include "xform/pieces.h"

#include "base/banned.h"

#define MAX_TEXT (1 << 18)

const char *ws__pieces_text(const struct ws__xform_in *in, uint32_t begin,
                            uint32_t end, const struct ws__piece *piece,
                            size_t n)
{
    struct ws__buf b;
    const char *text = in->ast->text, *s;
    uint32_t at = begin;

    ws__buf_init(&b, in->ctx, MAX_TEXT);
    for (;;) {
        const struct ws__piece *next = NULL;

        for (size_t i = 0; i < n; i++)
            if (piece[i].begin >= at && piece[i].end <= end &&
                (!next || piece[i].begin < next->begin))
                next = &piece[i];
        if (!next)
            break;
        ws__buf_add(&b, text + at, next->begin - at);
        ws__buf_puts(&b, next->text);
        at = next->end;
    }
    ws__buf_add(&b, text + at, end - at);
    s = b.failed ? NULL : ws__arena_strdup(in->arena, b.data ? b.data : "");
    ws__buf_free(&b);
    return s;
}

void ws__pieces_lines(struct ws__buf *b, const char *indent, int depth,
                      const char *text, size_t was)
{
    for (bool first = true; *text; first = false) {
        size_t n = strcspn(text, "\n"), blanks = strspn(text, " \t");
        size_t skip = first || blanks < was ? blanks : was;

        if (n > blanks)
            ws__buf_printf(b, "%s%*s%.*s", indent, depth * 4, "",
                           (int)(n - skip), text + skip);
        ws__buf_puts(b, "\n");
        text += n + (text[n] == '\n');
    }
}

size_t ws__pieces_blanks(const struct ws__ast *t, uint32_t at)
{
    while (at && t->text[at - 1] != '\n')
        at--;
    return strspn(t->text + at, " \t");
}

void ws__pieces_trim(const struct ws__ast *t, uint32_t *begin, uint32_t *end)
{
    while (*begin < *end && strchr("\n\t ", t->text[*begin]))
        ++*begin;
    while (*end > *begin && strchr("\n\t ", t->text[*end - 1]))
        --*end;
}
