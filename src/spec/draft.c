/*
 * draft.c: specifications with marked blanks.
 *
 * Every argument of the chosen functions is bound first: to a tensor or an
 * axis of the op by its name, then by its place among those of its kind (a
 * guess, and it says so). For a new op the arguments make the op: pointers
 * become tensors, whole numbers axes, other numbers scalars. Then both files
 * are written, one line a fact, with a comment where a person has to look.
 *
 * Texts of the source reach comments only, and names only if they are names.
 */
#include "spec/draft_int.h"

#include "base/banned.h"

#define COMMENT_COLUMN 44

/* Comments are ASCII: what a source says may be anything. */
void ws__draft_comment(struct ws__buf *b, const char *text)
{
    for (; *text; text++) {
        char c = *text >= 0x20 && *text < 0x7f ? *text : '?';

        ws__buf_add(b, &c, 1);
    }
}

void ws__draft_line(struct ws__buf *b, const char *comment, const char *fmt,
                    ...)
{
    char text[1200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (comment)
        ws__buf_printf(b, "%-*s # ", COMMENT_COLUMN, text);
    else
        ws__buf_puts(b, text);
    if (comment)
        ws__draft_comment(b, comment);
    ws__buf_puts(b, "\n");
}

bool ws__draft_is_tparam(const struct ws__drafting *s, const char *name)
{
    for (size_t i = 0; i < s->d->nentry; i++)
        for (size_t p = 0; p < ws__draft_entry(s, i)->ntparam; p++)
            if (!strcmp(ws__draft_entry(s, i)->tparam[p], name))
                return true;
    return false;
}

int ws__draft_write(struct ws_ctx *ctx, const struct ws__draft *d,
                    struct ws__buf *kernel_text, struct ws__buf *op_text)
{
    struct ws__drafting *s = ws__alloc(ctx, 1, sizeof(*s));
    int rc;

    if (!s)
        return WS_ENOMEM;
    s->ctx = ctx;
    s->d = d;
    s->kernel = kernel_text;
    s->op = op_text;
    ws__draft_bind(s);
    if (!d->op)
        ws__draft_put_op(s);
    ws__draft_put_kernel(s);
    rc = kernel_text->failed ? kernel_text->failed : op_text->failed;
    ws__free(ctx, s);
    return rc;
}
