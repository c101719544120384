/* cells.c: see cells.h. */
#include "core/cells.h"

#include "base/banned.h"

/* Takes a quoted cell apart in place; *s is behind it then. */
static bool unquote(char **s)
{
    char *from = *s + 1, *to = *s;

    while (*from && (*from != '"' || from[1] == '"')) {
        from += *from == '"';
        *to++ = *from++;
    }
    if (*from != '"' || (from[1] && from[1] != ','))
        return false;
    *to = '\0';
    *s = from + 1;
    return true;
}

int ws__cells_cut(struct ws_ctx *ctx, char *line, size_t max,
                  struct ws__cells *c)
{
    char *s = line;

    c->n = 0;
    for (bool last = false; !last;) {
        void *cells = c->cell;
        int rc;

        if (c->n == max)
            return WS_ELIMIT;
        rc = ws__grow(ctx, &cells, &c->cap, c->n, sizeof(*c->cell));
        c->cell = cells;
        if (rc < 0)
            return rc;
        c->cell[c->n++] = s;
        if (*s != '"')
            s += strcspn(s, ",");
        else if (!unquote(&s))
            return WS_EPARSE;
        last = !*s;
        *s++ = '\0';
    }
    return 0;
}

void ws__cells_free(struct ws_ctx *ctx, struct ws__cells *c)
{
    ws__free(ctx, c->cell);
    memset(c, 0, sizeof(*c));
}
