/*
 * fake_text.c: from preprocessed CUDA C to C++ that the host's compiler takes
 * after fake_shim.h.
 *
 * Most of it is left as it is. Rewritten are what no macro can: instructions
 * in asm (the few that we know), and arrays in shared memory whose size the
 * launch says. At the end comes a table of the kernels found: those outside of
 * namespaces and templates by their names, the others by the C++ names that
 * the caller asks for.
 */
#include "tests/fakecuda/fake.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KERNELS 64
#define MAX_DEPTH 64

struct kernel {
    char name[128], threads[160];
};

struct text {
    const char *at; /* what is read */
    char *out;
    size_t len, cap;
    struct kernel kernel[MAX_KERNELS];
    size_t nkernel;
    bool named[MAX_DEPTH]; /* by depth of braces: a namespace or the like */
    int depth;
    bool in_template, c_linkage;
};

static void put(struct text *t, const char *p, size_t n)
{
    if (t->len + n + 1 > t->cap) {
        t->cap = 2 * t->cap + n + 4096;
        t->out = realloc(t->out, t->cap);
    }
    memcpy(t->out + t->len, p, n);
    t->len += n;
    t->out[t->len] = '\0';
}

static void puts_(struct text *t, const char *p)
{
    put(t, p, strlen(p));
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_space(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* After the literal that begins here. */
static const char *skip_quoted(const char *p)
{
    const char quote = *p++;

    while (*p && *p != quote)
        p += *p == '\\' && p[1] ? 2 : 1;
    return *p ? p + 1 : p;
}

/* After the bracket that closes the one here. */
static const char *skip_parens(const char *p)
{
    int depth = 0;

    do {
        if (*p == '"' || *p == '\'') {
            p = skip_quoted(p);
            continue;
        }
        depth += *p == '(';
        depth -= *p == ')';
        p++;
    } while (*p && depth);
    return p;
}

static size_t word_length(const char *p)
{
    size_t n = 0;

    while (is_word(p[n]))
        n++;
    return n;
}

static bool is(const char *p, size_t n, const char *word)
{
    return strlen(word) == n && !strncmp(p, word, n);
}

/* ---- asm ---------------------------------------------------------------- */

/* The operands of one list, `"=f"(x), "r"(y)`, as arguments of a call; p: after
 * its colon. Where the next colon is, or the end. */
static const char *put_operands(struct text *t, const char *p, const char *end,
                                bool *any)
{
    while (p < end && *p != ':') {
        if (*p == '"') {
            p = skip_quoted(p);
        } else if (*p == '(') {
            const char *close = skip_parens(p);

            puts_(t, *any ? ", " : "");
            put(t, p, (size_t)(close - p));
            *any = true;
            p = close;
        } else {
            p++;
        }
    }
    return p;
}

/* ptx_ and the instruction's name, with _ for all that is no letter or digit:
 * what fake_ptx.h calls the function that does the same. */
static void put_instruction(struct text *t, const char *quoted)
{
    puts_(t, "ptx_");
    for (const char *c = quoted + 1; *c && !strchr(" ;\"", *c); c++)
        put(t, is_word(*c) ? c : "_", 1);
}

/* p: after the word asm. What follows up to the closing bracket. A call: first
 * what is written, then what is read. */
static const char *rewrite_asm(struct text *t, const char *p)
{
    const char *open = strchr(p, '('), *end, *quoted, *s;
    bool any = false;

    if (!open)
        return p;
    end = skip_parens(open);
    quoted = skip_space(open + 1);
    for (s = quoted; s < end && *s != ':'; s++)
        if (*s == '"')
            s = skip_quoted(s) - 1;
    put_instruction(t, quoted);
    puts_(t, "(");
    for (int list = 0; list < 2 && s < end; list++)
        s = put_operands(t, s + 1, end - 1, &any);
    puts_(t, ")");
    return end;
}

/* ---- shared memory of a size that the launch says ------------------------ */

/* p: at `extern`, before __shared__. "extern __shared__ [attributes] T x[];"
 * becomes "T *x = (T *)fake_shared;". */
static const char *rewrite_dynamic(struct text *t, const char *p)
{
    const char *semicolon = strchr(p, ';'), *bracket = strchr(p, '['), *type,
               *name;

    type = skip_space(strstr(p, "__shared__") + strlen("__shared__"));
    while (!strncmp(type, "__align__", 9) ||
           !strncmp(type, "__attribute__", 13))
        type = skip_space(skip_parens(strchr(type, '(')));
    if (!semicolon || !bracket || bracket > semicolon)
        return p;
    for (name = bracket; name > type && !is_word(name[-1]); name--)
        ;
    while (name > type && is_word(name[-1]))
        name--;
    put(t, type, (size_t)(name - type));
    puts_(t, "*");
    put(t, name, (size_t)(bracket - name));
    puts_(t, " = (");
    put(t, type, (size_t)(name - type));
    puts_(t, "*)fake_shared");
    return semicolon;
}

/* ---- kernels ------------------------------------------------------------ */

static bool in_namespace(const struct text *t)
{
    for (int i = 0; i < t->depth && i < MAX_DEPTH; i++)
        if (t->named[i])
            return true;
    return false;
}

static bool has_kernel(const struct text *t, const char *name, size_t n)
{
    for (size_t i = 0; i < t->nkernel; i++)
        if (is(name, n, t->kernel[i].name))
            return true;
    return false;
}

static void add_kernel(struct text *t, const char *name, size_t n,
                       const char *threads)
{
    if (has_kernel(t, name, n) || t->nkernel == MAX_KERNELS ||
        n >= sizeof(t->kernel->name))
        return;
    memcpy(t->kernel[t->nkernel].name, name, n);
    snprintf(t->kernel[t->nkernel].threads, sizeof(t->kernel->threads), "%s",
             threads);
    t->nkernel++;
}

/* p: after __global__. */
static void note_kernel(struct text *t, const char *p)
{
    char threads[160] = "1024";

    for (;;) {
        size_t n;

        p = skip_space(p);
        n = word_length(p);
        if (!n)
            return;
        if (is(p, n, "__launch_bounds__")) {
            const char *open = strchr(p, '('), *end = skip_parens(open);

            if (end - open < (long)sizeof(threads))
                snprintf(threads, sizeof(threads), "fake_first%.*s",
                         (int)(end - open), open);
            p = end;
        } else if (is(p, n, "__attribute__")) {
            p = skip_parens(strchr(p, '('));
        } else if (*skip_space(p + n) == '(') {
            if (!t->in_template && !in_namespace(t))
                add_kernel(t, p, n, threads);
            return;
        } else {
            p += n;
        }
    }
}

/* ---- the walk ----------------------------------------------------------- */

/* What a word means to the walk; after what was taken. */
static const char *take_word(struct text *t, const char *p)
{
    size_t n = word_length(p);

    if (is(p, n, "asm") || is(p, n, "__asm__"))
        return rewrite_asm(t, p + n);
    if (is(p, n, "extern") &&
        !strncmp(skip_space(p + n), "__shared__", strlen("__shared__"))) {
        const char *end = rewrite_dynamic(t, p);

        if (end != p)
            return end;
    }
    if (is(p, n, "template"))
        t->in_template = true;
    if (is(p, n, "namespace") && t->depth < MAX_DEPTH)
        t->named[t->depth] = true;
    if (is(p, n, "__global__"))
        note_kernel(t, p + n);
    put(t, p, n);
    return p + n;
}

static const char *take_sign(struct text *t, const char *p)
{
    const char *end = p + 1;

    if (*p == '"' || *p == '\'')
        end = skip_quoted(p);
    if (*p == '{')
        t->depth++;
    if (*p == '}' && t->depth > 0)
        t->depth--;
    if (*p == ';' || *p == '}') {
        t->in_template = false;
        if (t->depth < MAX_DEPTH)
            t->named[t->depth] = false;
    }
    put(t, p, (size_t)(end - p));
    return end;
}

static void put_kernel(struct text *t, const char *name, const char *threads)
{
    puts_(t, "{\"");
    puts_(t, name);
    puts_(t, "\", [](void **p) { fake_call(");
    puts_(t, name);
    puts_(t, ", p); }, (const void *)(");
    puts_(t, name);
    puts_(t, "), decltype(fake_sizes_of(");
    puts_(t, name);
    puts_(t, "))::at, decltype(fake_sizes_of(");
    puts_(t, name);
    puts_(t, "))::n, ");
    puts_(t, threads);
    puts_(t, "},\n");
}

char *fake_translate(const char *text, const char *const *expr, size_t nexpr)
{
    struct text t;

    memset(&t, 0, sizeof(t));
    while (*text) {
        if (*text == '#' && (!t.len || t.out[t.len - 1] == '\n')) {
            size_t n = strcspn(text, "\n");

            put(&t, text, n);
            text += n;
        } else {
            text = is_word(*text) ? take_word(&t, text) : take_sign(&t, text);
        }
    }
    puts_(&t, "\n# 1 \"__nv_name_map\"\nextern \"C\" __attribute__((visibility("
              "\"default\"))) const fake_kernel fake_kernels[] = {\n");
    for (size_t i = 0; i < t.nkernel; i++)
        put_kernel(&t, t.kernel[i].name, t.kernel[i].threads);
    for (size_t i = 0; i < nexpr; i++)
        if (!has_kernel(&t, expr[i], strlen(expr[i])))
            put_kernel(&t, expr[i], "1024");
    puts_(&t, "{nullptr, nullptr, nullptr, nullptr, 0, 0}};\n");
    return t.out;
}
