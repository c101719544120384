/*
 * names.c: edit distance between short names.
 *
 * Three rows of the usual table are enough: an exchange of neighbours looks
 * two rows back. Rows have a fixed size, so nothing is allocated and hints
 * work when memory is short; longer names simply get no hint.
 */
#include "base/names.h"

#include <string.h>

#include "base/banned.h"

#define MAX_LETTERS 63

static size_t min2(size_t a, size_t b)
{
    return a < b ? a : b;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

size_t ws__name_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    size_t row[3][MAX_LETTERS + 1];
    size_t *last2 = row[0], *last = row[1], *now = row[2];

    if (na > MAX_LETTERS || nb > MAX_LETTERS)
        return MAX_LETTERS + 1;
    for (size_t j = 0; j <= nb; j++)
        last[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *t = last2;

        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t change = lower(a[i - 1]) != lower(b[j - 1]);

            now[j] = min2(min2(last[j], now[j - 1]) + 1, last[j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = min2(now[j], last2[j - 2] + 1);
        }
        last2 = last;
        last = now;
        now = t;
    }
    return last[nb];
}

void ws__nearest_begin(struct ws__nearest *n, const char *name)
{
    n->name = name;
    n->best = NULL;
    n->distance = MAX_LETTERS + 1;
}

void ws__nearest_see(struct ws__nearest *n, const char *known)
{
    size_t d = ws__name_distance(n->name, known);

    /* Two names that share no letter are no typing error. */
    if (d < n->distance && (d < strlen(n->name) || d < strlen(known))) {
        n->distance = d;
        n->best = known;
    }
}

const char *ws__nearest_name(const struct ws__nearest *n)
{
    size_t allowed = strlen(n->name) / 3;

    return n->distance <= (allowed ? allowed : 1) ? n->best : NULL;
}
