/*
 * widen.c: a kernel's source with double instead of float, as a reference.
 *
 * Words are replaced, nothing is understood: a source that takes the bits of a
 * float for something else, or that includes text which cannot be changed from
 * here, is left alone. Numbers keep the value that they have as floats.
 */
#include "xform/infer.h"

#include <ctype.h>
#include <stdio.h>

#include "base/banned.h"

struct widening {
    struct ws__buf b;
    const struct ws__facts *f;
    enum ws__dialect dialect;
    const char *why;
    bool changed, condition; /* in a line of #if */
};

static bool is(const char *p, size_t n, const char *word)
{
    return strlen(word) == n && !memcmp(p, word, n);
}

static bool begins(const char *p, size_t n, const char *with)
{
    return n >= strlen(with) && !memcmp(p, with, strlen(with));
}

/* Words that look at the bits of a float, or name its type otherwise. */
static bool is_refused(const char *p, size_t n)
{
    static const char *const words[] = {"union",
                                        "asm",
                                        "atomicCAS",
                                        "atomic_cmpxchg",
                                        "atom_cmpxchg",
                                        "atomic_xchg",
                                        "nvcuda",
                                        "wmma",
                                        "mma",
                                        "image2d_t",
                                        "read_imagef",
                                        "reinterpret_cast",
                                        "memcpy",
                                        "__frcp_rn",
                                        "__fsqrt_rn",
                                        "__fdiv_rn",
                                        "__fmaf_rn",
                                        "__fadd_rn",
                                        "__fmul_rn",
                                        "__half22float2",
                                        "atomicMax",
                                        "atomicMin",
                                        "__pipeline_memcpy_async"};
    static const char *const with[] = {"as_float",   "as_int",   "as_uint",
                                       "__float_as", "__int_as", "__uint_as"};

    for (size_t i = 0; i < WS_COUNT(words); i++)
        if (is(p, n, words[i]))
            return true;
    for (size_t i = 0; i < WS_COUNT(with); i++)
        if (begins(p, n, with[i]))
            return true;
    return false;
}

/* Functions whose name says float by its last letter. */
static bool has_suffix(const char *p, size_t n)
{
    static const char *const words[] = {
        "exp",      "exp2",   "exp10", "expm1", "log",   "log2", "log10",
        "log1p",    "sqrt",   "rsqrt", "fabs",  "floor", "ceil", "tanh",
        "erf",      "erfc",   "sin",   "cos",   "tan",   "pow",  "fmax",
        "fmin",     "fma",    "fmod",  "round", "trunc", "rint", "hypot",
        "cbrt",     "sinh",   "cosh",  "asin",  "acos",  "atan", "atan2",
        "copysign", "normcdf"};

    for (size_t i = 0; i < WS_COUNT(words); i++)
        if (p[n - 1] == 'f' && is(p, n - 1, words[i]))
            return true;
    return false;
}

static void put(struct widening *w, const char *p, size_t n)
{
    ws__buf_add(&w->b, p, n);
}

static bool is_float_name(const struct widening *w, const char *p, size_t n)
{
    for (size_t i = 0; i < w->f->nname; i++)
        if (w->f->name[i].is_float && is(p, n, w->f->name[i].name))
            return true;
    return false;
}

static void put_word(struct widening *w, const char *p, size_t n)
{
    static const char *const makers[] = {"make_float", "convert_float"};
    size_t at = w->b.len;

    if (is_refused(p, n))
        w->why = "it looks at the bits of numbers";
    if (begins(p, n, "float") && strspn(p + 5, "0123456789") == n - 5) {
        ws__buf_puts(&w->b, "double");
        put(w, p + 5, n - 5);
    } else if (begins(p, n, "__") && has_suffix(p + 2, n - 2)) {
        put(w, p + 2, n - 3);
    } else if (has_suffix(p, n)) {
        put(w, p, n - 1);
    } else if (begins(p, n, "native_") && !is(p, n, "native_divide") &&
               !is(p, n, "native_recip")) {
        put(w, p + 7, n - 7);
    } else if (is_float_name(w, p, n) && !w->condition) {
        ws__buf_puts(&w->b, "((double)");
        put(w, p, n);
        ws__buf_puts(&w->b, ")");
    } else {
        for (size_t i = 0; i < WS_COUNT(makers); i++)
            if (begins(p, n, makers[i])) {
                put(w, makers[i], strlen(makers[i]) - 5);
                ws__buf_puts(&w->b, "double");
                put(w, p + strlen(makers[i]), n - strlen(makers[i]));
            }
        if (w->b.len == at)
            put(w, p, n);
    }
    w->changed = w->changed || w->b.len - at != n;
}

/* 0.5f is 0.5; 0.1f is not 0.1. */
static void put_number(struct widening *w, const char *p, size_t n)
{
    char text[64];
    bool hex = n > 1 && (p[1] == 'x' || p[1] == 'X');

    if (hex || n >= sizeof(text) || (p[n - 1] != 'f' && p[n - 1] != 'F')) {
        put(w, p, n);
        return;
    }
    memcpy(text, p, n - 1);
    text[n - 1] = '\0';
    w->changed = true;
    if ((double)strtof(text, NULL) == strtod(text, NULL)) {
        ws__buf_puts(&w->b, text);
        if (!strpbrk(text, ".eE"))
            ws__buf_puts(&w->b, ".0");
        return;
    }
    ws__buf_printf(&w->b, "((double)%sf)", text);
}

/* The length of a comment, a text in quotes, or a line of #include. */
static size_t untouched(const char *p)
{
    const char *end;

    if (p[0] == '/' && p[1] == '/')
        return strcspn(p, "\n");
    if (p[0] == '/' && p[1] == '*') {
        end = strstr(p + 2, "*/");
        return end ? (size_t)(end + 2 - p) : strlen(p);
    }
    if (*p == '"' || *p == '\'') {
        for (end = p + 1; *end && *end != *p && *end != '\n'; end++)
            end += *end == '\\' && end[1];
        return (size_t)(end - p) + (*end == *p);
    }
    return 0;
}

static size_t directive(struct widening *w, const char *p)
{
    const char *q = p + 1;

    while (*q == ' ' || *q == '\t')
        q++;
    w->condition = !strncmp(q, "if", 2) || !strncmp(q, "elif", 4);
    if (strncmp(q, "include", 7) != 0)
        return 0;
    q += 7 + strspn(q + 7, " \t");
    if (*q == '"')
        w->why = "what it includes cannot be changed here";
    return strcspn(p, "\n");
}

static size_t word_length(const char *p)
{
    size_t n = 0;
    bool number = isdigit((unsigned char)*p) || *p == '.';

    while (ws__is_word(p[n]) || (number && p[n] == '.') ||
           (number && n && (p[n] == '+' || p[n] == '-') &&
            (p[n - 1] == 'e' || p[n - 1] == 'E') && p[1] != 'x'))
        n++;
    return n;
}

static void widen(struct widening *w, const char *p)
{
    while (*p && !w->why && !w->b.failed) {
        size_t n = *p == '#' ? directive(w, p) : untouched(p);

        if (n) {
            put(w, p, n);
        } else if (isdigit((unsigned char)*p) ||
                   (*p == '.' && isdigit((unsigned char)p[1]))) {
            n = word_length(p);
            put_number(w, p, n);
        } else if (ws__is_word(*p)) {
            n = word_length(p);
            put_word(w, p, n);
        } else {
            if (*p == '\n')
                w->condition = false;
            n = 1;
            put(w, p, 1);
        }
        p += n;
    }
}

const char *ws__widen(struct ws__arena *a, enum ws__dialect dialect,
                      const char *text, const struct ws__facts *f,
                      const char **why, int *rc)
{
    struct widening w = {.f = f, .dialect = dialect};
    const char *out = NULL;

    *rc = 0;
    *why = NULL;
    ws__buf_init(&w.b, a->ctx, (size_t)16 << 20);
    if (dialect == WS__DIALECT_OPENCL)
        ws__buf_puts(&w.b, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    if (strstr(text, "__fdividef"))
        ws__buf_puts(&w.b, "#define __fdividef(a, b) ((a) / (b))\n");
    if (strstr(text, "native_divide"))
        ws__buf_puts(&w.b, "#define native_divide(a, b) ((a) / (b))\n");
    if (strstr(text, "native_recip"))
        ws__buf_puts(&w.b, "#define native_recip(a) (1.0 / (a))\n");
    widen(&w, text);
    if (!w.why && !w.changed)
        w.why = "it has no float32";
    if (!w.why && !w.b.failed) {
        out = ws__arena_strdup(a, w.b.data);
        if (!out)
            *rc = WS_ENOMEM;
    } else if (w.b.failed) {
        *rc = w.b.failed;
    }
    *why = w.why;
    ws__buf_free(&w.b);
    return out;
}
