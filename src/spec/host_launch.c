/*
 * host_launch.c: grid and block of a launch in terms of the kernel's
 * arguments. See host.h.
 *
 * What stands between <<< and >>> is followed back: through variables of the
 * function that get one value and keep it, constants and macros of the file,
 * and functions that do nothing but return an expression, to numbers and to
 * what is given to the kernel by the same name.
 */
#include "spec/host.h"

#include "spec/host_int.h"

#include <stdlib.h>

#include "base/banned.h"

#define MAX_DEPTH 24
#define MAX_NAMES 6
#define MAX_STEPS 2000 /* values that are read for one launch */

/* What the parameters of a macro or function stand for. */
struct frame {
    const struct frame *up;
    const char *name[MAX_NAMES], *text[MAX_NAMES];
    size_t n;
};

struct reading {
    struct ws_ctx *ctx;
    struct ws__arena *a;
    const struct ws__host *h;
    const struct ws__host_launch *l;
    const char *p; /* the text that is read */
    const struct frame *frame;
    const char *why;
    int depth, steps, rc;
};

static struct ws__host_value no(struct reading *r, const char *fmt,
                                const char *what, size_t n)
{
    if (!r->why) {
        r->why = ws__arena_printf(r->a, fmt, (int)(n < 60 ? n : 60), what);
        if (!r->why)
            r->rc = WS_ENOMEM;
    }
    return (struct ws__host_value){NULL, false, 0};
}

static struct ws__host_value number(struct reading *r, int64_t v)
{
    struct ws__host_value out = {NULL, true, v};

    out.text = ws__arena_printf(r->a, "%lld", (long long)v);
    if (!out.text)
        r->rc = WS_ENOMEM;
    return out;
}

static struct ws__host_value symbol(struct reading *r, const char *text)
{
    if (!text)
        r->rc = WS_ENOMEM;
    return (struct ws__host_value){text, false, 0};
}

/* --- where a name gets its value ------------------------------------------ */

static const char *next_use(const char *from, const char *name, size_t n)
{
    for (const char *p = from; *p; p = ws__host_token(p))
        if (ws__is_word(*p) && !strncmp(p, name, n) && !ws__is_word(p[n]))
            return p;
    return NULL;
}

static bool sets(const char *p)
{
    p = ws__host_blank(p);
    return (*p == '=' && p[1] != '=') ||
           (strchr("+-*/%&|^", *p) && *p && p[1] == '=') ||
           (*p == '+' && p[1] == '+') || (*p == '-' && p[1] == '-') ||
           ((*p == '<' || *p == '>') && p[1] == *p && p[2] == '=');
}

/* Is it changed by this use, or could it be? */
static bool is_change(const char *scope, const char *use, size_t n)
{
    const char *behind = ws__host_blank(use + n), *before = use;

    while (before > scope && strchr(" \t\n", before[-1]))
        before--;
    if (before > scope &&
        (before[-1] == '&' || (before - 1 > scope && before[-1] == before[-2] &&
                               strchr("+-", before[-1]))))
        return !(before[-1] == '&' && before - 1 > scope && before[-2] == '&');
    if (*behind == '.') {
        behind = ws__host_blank(behind + 1);
        behind = ws__host_token(behind);
    }
    return sets(behind);
}

/* The value of a variable that keeps it: what stands behind its =, or its
 * brackets with them. NULL: there is none, or it changes. */
static const char *kept_value(const char *scope, const char *name, size_t n)
{
    const char *use = next_use(scope, name, n), *value;

    if (!use)
        return NULL;
    value = ws__host_blank(use + n);
    if (*value != '=' && *value != '(' && *value != '{')
        return NULL;
    if (*value == '=' && value[1] == '=')
        return NULL;
    for (const char *p = next_use(use + n, name, n); p;
         p = next_use(p + n, name, n))
        if (is_change(scope, p, n))
            return NULL;
    return *value == '=' ? ws__host_blank(value + 1) : value;
}

/* #define NAME ...: what stands behind the name; or NULL. */
static const char *macro_of(const char *text, const char *name, size_t n)
{
    for (const char *p = strstr(text, "define"); p;
         p = strstr(p + 1, "define")) {
        const char *at = p + 6 + strspn(p + 6, " \t"), *hash = p;

        while (hash > text && strchr(" \t", hash[-1]))
            hash--;
        if (hash > text && hash[-1] == '#' && !strncmp(at, name, n) &&
            !ws__is_word(at[n]))
            return at + n;
    }
    return NULL;
}

/* Does the file define it only if nobody else did? */
static bool is_asked_for(const char *text, const char *name, size_t n)
{
    for (const char *p = strstr(text, "#ifndef"); p;
         p = strstr(p + 1, "#ifndef")) {
        const char *at = p + 7 + strspn(p + 7, " \t");

        if (!strncmp(at, name, n) && !ws__is_word(at[n]))
            return true;
    }
    return false;
}

/* A constant of the file. */
static const char *constant_of(const char *text, const char *name, size_t n)
{
    for (const char *p = next_use(text, name, n); p;
         p = next_use(p + n, name, n)) {
        const char *line = p, *value = ws__host_blank(p + n), *use;

        while (line > text && line[-1] != '\n' && line[-1] != ';')
            line--;
        use = next_use(line, "const", 5);
        if (!use || use > p)
            use = next_use(line, "constexpr", 9);
        if (*value == '=' && value[1] != '=' && use && use < p)
            return ws__host_blank(value + 1);
    }
    return NULL;
}

/* --- expressions ---------------------------------------------------------- */

static struct ws__host_value conditional(struct reading *r);
static int dimensions(struct reading *r, const char *config,
                      struct ws__host_value out[3]);

static bool skip(struct reading *r, const char *sign)
{
    const char *p = ws__host_blank(r->p);

    if (strncmp(p, sign, strlen(sign)) != 0)
        return false;
    r->p = p + strlen(sign);
    return true;
}

/* A text of its own, up to a comma or semicolon or what closes it. */
static struct ws__host_value value_of(struct reading *r, const char *text,
                                      const struct frame *frame)
{
    const char *p = r->p;
    const struct frame *old = r->frame;
    struct ws__host_value out;

    if (++r->depth > MAX_DEPTH || ++r->steps > MAX_STEPS)
        return no(r, "%.*s", "it goes round", 13);
    r->p = text;
    r->frame = frame;
    out = conditional(r);
    r->p = p;
    r->frame = old;
    r->depth--;
    return out;
}

/* The arguments of a call: their texts. */
static size_t arguments(struct reading *r, const char *text[MAX_NAMES])
{
    const char *open = ws__host_blank(r->p), *end = ws__host_closed(open);
    const char *from = open + 1;
    size_t n = 0;

    if (!end)
        return 0;
    for (const char *p = from; p < end; p = ws__host_token(p)) {
        const char *closed = *p == '(' ? ws__host_closed(p) : NULL;

        if ((*p == ',' || p == end - 1) && n < MAX_NAMES) {
            text[n] = ws__arena_strndup(r->a, from, (size_t)(p - from));
            if (!text[n++])
                r->rc = WS_ENOMEM;
            from = p + 1;
        }
        if (closed)
            p = closed - 1;
    }
    r->p = end;
    return n;
}

/* The last word of each of a function's or macro's parameters. */
static size_t parameters(struct reading *r, const char *open, struct frame *f)
{
    const char *end = ws__host_closed(open), *word = NULL;
    size_t n = 0, len = 0;

    for (const char *p = open + 1; end && p < end; p = ws__host_token(p)) {
        if (ws__is_word(*p)) {
            word = p;
            len = (size_t)(ws__host_token(p) - p);
        }
        if ((*p == ',' || p == end - 1) && word && n < MAX_NAMES) {
            f->name[n] = ws__arena_strndup(r->a, word, len);
            if (!f->name[n++])
                r->rc = WS_ENOMEM;
            word = NULL;
        }
    }
    return n;
}

/* A macro with arguments, or a function that returns an expression. */
static struct ws__host_value call(struct reading *r, const char *name, size_t n)
{
    const char *body = macro_of(r->h->text, name, n), *use;
    struct frame f = {.up = r->frame};
    const char *text[MAX_NAMES] = {NULL};
    size_t given = arguments(r, text);

    if (r->rc < 0)
        return no(r, "%.*s", "", 0);
    if (body && *body == '(') {
        f.n = parameters(r, body, &f);
        body = ws__host_closed(body);
    } else {
        body = NULL;
        for (use = next_use(r->h->text, name, n); use && !body;
             use = next_use(use + n, name, n)) {
            const char *open = ws__host_blank(use + n), *at;

            at = *open == '(' ? ws__host_closed(open) : NULL;
            at = at ? ws__host_blank(at) : NULL;
            if (!at || *at != '{')
                continue;
            at = ws__host_blank(at + 1);
            if (!ws__host_word(at, "return"))
                continue;
            body = at + 6;
            f.n = parameters(r, open, &f);
        }
    }
    if (!body || f.n != given)
        return no(r, "what '%.*s' does is not known", name, n);
    for (size_t i = 0; i < f.n; i++)
        f.text[i] = text[i];
    return value_of(r, body, &f);
}

/* One of the kernel's arguments; -1: it is none. */
static int argument(const struct reading *r, const char *name, size_t n)
{
    for (size_t i = 0; i < r->l->narg; i++) {
        const char *p = r->l->arg[i];

        if (*p == '(') { /* a cast */
            p = ws__host_closed(p);
            p = p ? ws__host_blank(p) : "";
        }
        if (!strncmp(p, name, n) && !p[n])
            return (int)i;
    }
    return -1;
}

/* .x, .y or .z behind a name, which is read over: 0 to 2; -1: there is none. */
static int member_at(struct reading *r)
{
    const char *p = ws__host_blank(r->p);

    if (*p != '.' || p[1] < 'x' || p[1] > 'z' || ws__is_word(p[2]))
        return -1;
    r->p = p + 2;
    return p[1] - 'x';
}

static struct ws__host_value member(struct reading *r, const char *name,
                                    size_t n, int at)
{
    const char *word = ws__arena_strndup(r->a, name, n);
    struct ws__host_value v[3];

    if (!word) {
        r->rc = WS_ENOMEM;
        return no(r, "%.*s", "", 0);
    }
    if (++r->depth > MAX_DEPTH || dimensions(r, word, v) <= 0)
        return no(r, "what '%.*s' is there is not known", name, n);
    r->depth--;
    return v[at];
}

static struct ws__host_value variable(struct reading *r, const char *name,
                                      size_t n)
{
    const char *value;
    int at = member_at(r);

    if (at >= 0)
        return member(r, name, n, at);
    for (const struct frame *f = r->frame; f; f = f->up)
        for (size_t i = 0; i < f->n; i++)
            if (strlen(f->name[i]) == n && !strncmp(f->name[i], name, n))
                return value_of(r, f->text[i], f->up);
    at = argument(r, name, n);
    value = kept_value(r->l->scope, name, n);
    if (at >= 0) {
        /* The value that the kernel gets, unless it changes on the way. */
        const char *use = next_use(r->l->scope, name, n);

        for (const char *p = value || !use ? NULL : next_use(use + n, name, n);
             p; p = next_use(p + n, name, n))
            if (is_change(r->l->scope, p, n))
                return no(r, "'%.*s' changes", name, n);
        return symbol(r, ws__arena_printf(r->a, "$%d", at));
    }
    if (value && *value != '(' && *value != '{')
        return value_of(r, value, NULL);
    value = macro_of(r->h->text, name, n);
    if (value && is_asked_for(r->h->text, name, n)) /* a parameter */
        return symbol(r, ws__arena_strndup(r->a, name, n));
    if (value && *value != '(')
        return value_of(r, value, NULL);
    value = constant_of(r->h->text, name, n);
    if (value)
        return value_of(r, value, NULL);
    return no(r, "what '%.*s' is there is not known", name, n);
}

/* (int), (unsigned int)...: a cast. */
static bool skip_cast(struct reading *r)
{
    static const char *const types[] = {"int",      "unsigned", "long",
                                        "size_t",   "int64_t",  "uint32_t",
                                        "uint64_t", "int32_t",  NULL};
    const char *p = ws__host_blank(r->p), *end;
    bool any = false;

    if (*p != '(')
        return false;
    end = ws__host_closed(p);
    for (p = ws__host_blank(p + 1); end && p < end - 1;
         p = ws__host_blank(ws__host_token(p))) {
        bool type = false;

        for (size_t i = 0; types[i]; i++)
            type = type || ws__host_word(p, types[i]);
        if (!type)
            return false;
        any = true;
    }
    if (any)
        r->p = end;
    return any;
}

static struct ws__host_value primary(struct reading *r)
{
    const char *p;
    size_t n;

    while (skip_cast(r))
        ;
    p = ws__host_blank(r->p);
    if (*p == '(') {
        struct ws__host_value v;

        r->p = p + 1;
        if (++r->depth > MAX_DEPTH)
            return no(r, "%.*s", "it is too deep", 14);
        v = conditional(r);
        r->depth--;
        if (v.text && !skip(r, ")"))
            return no(r, "'%.*s'", p, strcspn(p, "\n;"));
        return v;
    }
    n = (size_t)(ws__host_token(p) - p);
    r->p = p + n;
    if (*p >= '0' && *p <= '9') {
        char *end;
        long long v = strtoll(p, &end, 0);

        if (end != p + n && strspn(end, "uUlL") != (size_t)(p + n - end))
            return no(r, "'%.*s' is no whole number", p, n);
        return number(r, v);
    }
    if (!ws__is_word(*p))
        return no(r, "'%.*s'", p, strcspn(p, "\n;"));
    if (*ws__host_blank(r->p) == '(')
        return call(r, p, n);
    return variable(r, p, n);
}

static int64_t computed(int64_t a, char op, int64_t b)
{
    return op == '*'   ? a * b
           : op == '/' ? a / b
           : op == '%' ? a % b
           : op == '+' ? a + b
                       : a - b;
}

/* x of ((x + by) - 1) or (x + by - 1): what is divided by `by`, rounded up; or
 * NULL. */
static const char *rounded_up(struct reading *r, const char *text,
                              const struct ws__host_value *by)
{
    const char *tail[2] = {ws__arena_printf(r->a, " + %s) - 1)", by->text),
                           ws__arena_printf(r->a, " + %lld)",
                                            (long long)by->value - 1)};
    size_t n = strlen(text);

    for (size_t i = 0; i < 2; i++) {
        size_t open = 2 - i, len = tail[i] ? strlen(tail[i]) : n;

        if ((i && !by->is_number) || n <= len + open || text[0] != '(' ||
            text[open - 1] != '(' || strcmp(text + n - len, tail[i]) != 0)
            continue;
        return ws__arena_strndup(r->a, text + open, n - len - open);
    }
    return NULL;
}

static struct ws__host_value joined(struct reading *r, struct ws__host_value a,
                                    char op, struct ws__host_value b)
{
    bool small = a.is_number && b.is_number && llabs(a.value) < 1 << 30 &&
                 llabs(b.value) < 1 << 30;
    const char *up;

    if (!a.text || !b.text)
        return a.text ? b : a;
    if (strchr("/%", op) && b.is_number && b.value <= 0)
        return no(r, "%.*s", "a division by nothing", 21);
    if (small)
        return number(r, computed(a.value, op, b.value));
    up = op == '/' ? rounded_up(r, a.text, &b) : NULL;
    if (up)
        return symbol(r,
                      ws__arena_printf(r->a, "ceil_div(%s, %s)", up, b.text));
    return symbol(r, ws__arena_printf(r->a, "(%s %s %s)", a.text,
                                      op == '/'   ? "//"
                                      : op == '%' ? "%"
                                      : op == '*' ? "*"
                                      : op == '+' ? "+"
                                                  : "-",
                                      b.text));
}

static struct ws__host_value product(struct reading *r)
{
    struct ws__host_value v = primary(r);

    while (v.text) {
        const char *p = ws__host_blank(r->p);

        if (!*p || !strchr("*/%", *p))
            return v;
        r->p = p + 1;
        v = joined(r, v, *p, primary(r));
    }
    return v;
}

static struct ws__host_value sum(struct reading *r)
{
    struct ws__host_value v = product(r);

    while (v.text) {
        const char *p = ws__host_blank(r->p);

        if (*p != '+' && *p != '-')
            return v;
        r->p = p + 1;
        v = joined(r, v, *p, product(r));
    }
    return v;
}

/* Everything up to where a value ends; what else may stand there is not
 * understood. */
static struct ws__host_value conditional(struct reading *r)
{
    struct ws__host_value v = sum(r);
    const char *p = r->p + strspn(r->p, " \t");

    if (v.text && *p && !strchr(",;)}\n\r", *p) && strncmp(p, "//", 2) &&
        strncmp(p, "/*", 2))
        return no(r, "'%.*s'", p, strcspn(p, "\n;"));
    return v;
}

/* --- dim3 ----------------------------------------------------------------- */

/* The values in the brackets at p. */
static int sizes(struct reading *r, const char *p, struct ws__host_value out[3])
{
    const char *text[MAX_NAMES] = {NULL};
    struct reading in = *r;
    size_t n;

    in.p = p;
    n = arguments(&in, text);
    r->rc = in.rc;
    if (!n || n > 3 || r->rc < 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = value_of(r, text[i], NULL);
        if (!out[i].text)
            return 0;
    }
    return 1;
}

static int dimensions(struct reading *r, const char *config,
                      struct ws__host_value out[3])
{
    const char *p = config, *value;
    size_t n = (size_t)(ws__host_token(p) - p);

    for (int d = 0; d < 3; d++)
        out[d] = number(r, 1);
    value = ws__is_word(*p) && !p[n] ? kept_value(r->l->scope, p, n) : NULL;
    if (value && (*value == '(' || *value == '{')) /* dim3 block(16, 16); */
        return sizes(r, value, out);
    if (value && ws__host_word(value, "dim3"))
        return sizes(r, ws__host_blank(value + 4), out);
    if (ws__host_word(p, "dim3"))
        return sizes(r, ws__host_blank(p + 4), out);
    out[0] = value_of(r, p, NULL);
    return out[0].text != NULL;
}

int ws__host_sizes(struct ws_ctx *ctx, struct ws__arena *a,
                   const struct ws__host *h, const struct ws__host_launch *l,
                   const char *config, struct ws__host_value out[3],
                   const char **why)
{
    struct reading r = {.ctx = ctx, .a = a, .h = h, .l = l};
    int rc = dimensions(&r, config, out);

    *why = r.why ? r.why : "it is not understood";
    return r.rc < 0 ? r.rc : rc;
}
