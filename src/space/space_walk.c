/*
 * space_walk.c: lazy iteration in enumeration order.
 *
 * The iterator is a config and nothing else: the next one is found by
 * counting on from it, last step first, descending again wherever the tests
 * allow. The space is counted before the first step: an empty space ends at
 * once instead of being searched, and a constraint that cannot be evaluated
 * is reported then, not in the middle.
 */
#include "space/space_int.h"

#include "base/banned.h"

void ws__space_begin(struct ws__space *s, struct ws__space_iter *it)
{
    memset(it, 0, sizeof(*it));
    it->space = s;
}

/* From step `pos`, value v, to the next whole assignment: 1, or 0 at the end.
 */
static int walk(struct ws__space *s, size_t pos, size_t v)
{
    struct ws__layout *l = &s->layout;
    struct ws__row row;

    for (;;) {
        const struct ws__step *st = &l->step[pos];

        WS_TRY(ws__space_tick(s));
        WS_TRY(ws__space_row(s, l, st, &row));
        v = ws__row_next(st, row.left, v);
        if (v < st->nvalue) {
            ws__space_set(s, st->param, v);
            if (++pos == l->nstep)
                return 1;
            v = 0;
        } else {
            if (!pos--)
                return 0;
            v = s->at.at[l->step[pos].param] + (size_t)1;
        }
    }
}

int ws__space_next(struct ws__space_iter *it, struct ws__config *out)
{
    struct ws__space *s = it->space;
    bool first = !it->started;
    size_t n;
    int some;

    WS_TRY(ws__space_prepare(s));
    n = s->layout.nstep;
    if (first) {
        some = ws__layout_count(s, &s->layout);
        if (some <= 0)
            return some;
        it->started = true;
        it->config = s->base;
    }
    /* A walk goes on from where it stopped, unless the space was used for
     * something else. */
    if (first || it->uses != s->uses)
        ws__space_load(s, &it->config);
    if (!n)
        some = first;
    else if (first)
        some = walk(s, 0, 0);
    else
        some = walk(s, n - 1,
                    it->config.at[s->layout.step[n - 1].param] + (size_t)1);
    if (some > 0)
        *out = it->config = s->at;
    it->uses = some > 0 ? s->uses : 0;
    return some;
}
