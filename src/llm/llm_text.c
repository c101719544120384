/*
 * llm_text.c: foreign text: the key out of it, UTF-8 into it.
 */
#include "llm/llm_int.h"

#include "base/banned.h"

void ws__llm_mask(const char *key, char *text)
{
    size_t n = key ? strlen(key) : 0;

    for (char *p = text; n && (p = strstr(p, key)) != NULL; p += n)
        memset(p, '*', n);
}

/* Copies what fits of `text`, without backslashes; newlines become blanks. */
static size_t copy_plain(const char *text, size_t len, char *out, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < len && text[i] && at + 1 < n; i++) {
        bool blank = text[i] == '\n' || text[i] == '\r' || text[i] == '\t';

        if (text[i] == '\\' || (blank && at && out[at - 1] == ' '))
            continue;
        out[at++] = blank ? ' ' : text[i];
    }
    out[at] = '\0';
    return at;
}

void ws__llm_quote(const char *key, const char *text, size_t len, char *out,
                   size_t n)
{
    /* Longer than any key that is masked, so that a cut shows no part of it:
     * what is masked is the copy, and then the copy is cut. */
    char copy[4096];
    size_t at = copy_plain(text, len, copy, sizeof(copy));

    ws__llm_mask(key, copy);
    if (at >= n) {
        at = n - 1;
        /* Not in the middle of a sign of several bytes. */
        while (at > 3 && ((unsigned char)copy[at - 3] & 0xc0) == 0x80)
            at--;
        memcpy(copy + at - 3, "...", 3);
    }
    memcpy(out, copy, at);
    out[at] = '\0';
    ws__plain(out);
}

/* Bytes of the sign at p if it is whole and the shortest form, else 0. */
static size_t sign(const unsigned char *p)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *p < 0x80             ? 1
               : (*p & 0xe0) == 0xc0 ? 2
               : (*p & 0xf0) == 0xe0 ? 3
               : (*p & 0xf8) == 0xf0 ? 4
                                     : 0;
    uint32_t v;

    if (n < 2)
        return n;
    v = *p & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        v = v << 6 | (p[i] & 0x3fu);
    }
    if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return 0;
    return n;
}

static size_t count_bad(const char *text)
{
    size_t bad = 0, n;

    for (const unsigned char *p = (const unsigned char *)text; *p;
         p += n ? n : 1) {
        n = sign(p);
        bad += !n;
    }
    return bad;
}

char *ws__llm_utf8(struct ws__arena *arena, const char *text)
{
    size_t bad = count_bad(text);
    const unsigned char *p = (const unsigned char *)text;
    char *out, *to;

    if (!bad)
        return ws__arena_strdup(arena, text);
    out = to = ws__arena_alloc(arena, strlen(text) + 2 * bad + 1, 1);
    while (out && *p) {
        size_t n = sign(p);

        memcpy(to, n ? (const void *)p : "\xef\xbf\xbd", n ? n : 3);
        to += n ? n : 3;
        p += n ? n : 1;
    }
    return out;
}
