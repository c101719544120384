/*
 * mix.c: which instructions a compiled kernel consists of.
 *
 * Reads what `cuobjdump -sass` and `nvdisasm` write: a line an instruction,
 * "/" "*0040*" "/ @!P0 LDG.E.128 R4, [R2.64] ;", functions begun by
 * "Function : name" or ".text.name:". Counts are of instructions as written;
 * how often each runs only counters know.
 */
#include "profile/profile.h"

#include <ctype.h>

#include "base/banned.h"

static const struct {
    const char *key, *words;
} CLASS[WS__NMIX] = {
#define WS_X(name, key, words) {key, words},
    WS__MIX_MAP(WS_X)
#undef WS_X
};

const char *ws__mix_key(enum ws__mix_class m)
{
    return CLASS[m].key;
}

struct line {
    const char *p, *end;
};

static void blanks(struct line *l)
{
    while (l->p < l->end && isspace((unsigned char)*l->p))
        l->p++;
}

static bool take(struct line *l, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(l->end - l->p) < n || memcmp(l->p, word, n) != 0)
        return false;
    l->p += n;
    return true;
}

/* The name of the function that begins here, or none. */
static bool begins(struct line l, struct line *name)
{
    blanks(&l);
    if (take(&l, "Function : ")) {
        *name = l;
        while (name->end > name->p && isspace((unsigned char)name->end[-1]))
            name->end--;
        return true;
    }
    if (!take(&l, ".text."))
        return false;
    *name = (struct line){l.p, memchr(l.p, ':', (size_t)(l.end - l.p))};
    return name->end != NULL;
}

/* "/" "*0040*" "/", an address, then perhaps a brace and a predicate. */
static bool instruction(struct line *l)
{
    const char *from;

    blanks(l);
    if (!take(l, "/*"))
        return false;
    for (from = l->p; l->p < l->end && isxdigit((unsigned char)*l->p);)
        l->p++;
    if (l->p - from < 4 || !take(l, "*/"))
        return false;
    blanks(l);
    if (take(l, "{"))
        blanks(l);
    if (l->p < l->end && *l->p == '@') {
        while (l->p < l->end && !isspace((unsigned char)*l->p))
            l->p++;
        blanks(l);
    }
    from = l->p;
    while (l->p < l->end &&
           (isalnum((unsigned char)*l->p) || *l->p == '.' || *l->p == '_'))
        l->p++;
    l->end = l->p;
    l->p = from;
    return l->end > from && isupper((unsigned char)*from);
}

/* Is the mnemonic (up to its first point) one of these words? */
static bool among(const char *name, size_t n, const char *words)
{
    while (*words) {
        size_t m = strcspn(words, " ");

        if (m == n && !memcmp(words, name, n))
            return true;
        words += m + (words[m] == ' ');
    }
    return false;
}

static bool has_part(const struct line *l, const char *part)
{
    size_t n = strlen(part);

    for (const char *p = l->p; (size_t)(l->end - p) >= n; p++)
        if (!memcmp(p, part, n) && (p + n == l->end || p[n] == '.'))
            return true;
    return false;
}

static enum ws__mix_class width(const struct line *l)
{
    static const char *const small[] = {".U8", ".S8", ".U16", ".S16"};

    for (size_t i = 0; i < WS_COUNT(small); i++)
        if (has_part(l, small[i]))
            return WS__MIX_LDG_NARROW;
    return has_part(l, ".128")  ? WS__MIX_LDG_128
           : has_part(l, ".64") ? WS__MIX_LDG_64
                                : WS__MIX_LDG_32;
}

static enum ws__mix_class class_of(const struct line *l)
{
    const char *point = memchr(l->p, '.', (size_t)(l->end - l->p));
    size_t n = (size_t)((point ? point : l->end) - l->p);

    if (among(l->p, n, "LDG LD"))
        return width(l);
    for (size_t i = 0; i < WS__NMIX; i++)
        if (among(l->p, n, CLASS[i].words))
            return (enum ws__mix_class)i;
    return WS__MIX_OTHER;
}

static bool same(const struct line *name, const char *entry)
{
    size_t n = strlen(entry);

    return (size_t)(name->end - name->p) == n && !memcmp(name->p, entry, n);
}

int ws__mix_parse(struct ws_ctx *ctx, const char *text, size_t n,
                  const char *entry, struct ws__mix *out)
{
    const char *end = text + n;
    bool wanted = !entry;

    memset(out, 0, sizeof(*out));
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        struct line l = {text, stop ? stop : end}, name;

        text = l.end + 1;
        if (begins(l, &name)) {
            wanted = !entry || same(&name, entry);
            out->functions += wanted;
        } else if (wanted && instruction(&l) && !has_part(&l, "NOP")) {
            out->count[class_of(&l)]++;
            out->total++;
        }
    }
    if (out->total)
        return 0;
    ws__fail(ctx, WS_ESPEC, "no instructions in what the disassembler wrote");
    return ws__hint(ctx, "expected lines as cuobjdump -sass or nvdisasm write");
}
