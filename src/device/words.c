/*
 * words.c: see words.h.
 *
 * Compilers disagree on how an error is marked: "x.cl:3:1: error: ...",
 * "source(3): error: ...", "ptxas ..., line 3; error   : ...". So the first
 * that is marked as all front ends do it counts, else the first line that
 * speaks of an error at all, else one that speaks of something fatal.
 */
#include "device/words.h"

#include <string.h>

#include "base/ctx.h"
#include "base/banned.h"

#define KEPT_BYTES ((size_t)16384)

const char *ws__words_first_error(const char *text)
{
    static const char *const marks[] = {"error:", "error", "fatal"};
    const char *p = NULL;

    for (size_t i = 0; i < WS_COUNT(marks) && !p; i++)
        p = strstr(text, marks[i]);
    if (!p)
        return text;
    while (p > text && p[-1] != '\n')
        p--;
    return p;
}

void ws__words_cut(char *text)
{
    const char *from = text + strspn(text, " \t\r\n"), *error;
    size_t n = strlen(from);

    while (n && strchr(" \t\r\n", from[n - 1]))
        n--;
    if (n > KEPT_BYTES) {
        error = ws__words_first_error(from);
        if (error > from + KEPT_BYTES / 2) {
            n -= (size_t)(error - from);
            from = error;
        }
        n = n < KEPT_BYTES ? n : KEPT_BYTES;
    }
    memmove(text, from, n);
    text[n] = '\0';
}

void ws__words_hide(char *text, const char *ending)
{
    const size_t tail = strlen(ending);
    char *to = text;

    for (const char *p = text; *p;) {
        size_t n = *p == '/' ? strcspn(p, ": \t\r\n'\"") : 0;

        if (n > 6 && n > tail && !memcmp(p + n - tail, ending, tail)) {
            memcpy(to, "source", 6); /* fits: n > 6 */
            to += 6;
            p += n;
        } else {
            *to++ = *p++;
        }
    }
    *to = '\0';
}

void ws__words_strip(char *text, const char *folder)
{
    const size_t n = strlen(folder);
    char *to = text;

    for (const char *p = text; *p;) {
        if (n && !strncmp(p, folder, n) && p[n] == '/')
            p += n + 1;
        else
            *to++ = *p++;
    }
    *to = '\0';
}
