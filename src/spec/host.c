/*
 * host.c: takes the code for the host out of a CUDA source. See host.h.
 *
 * The file's scope is a row of directives, declarations and functions, in
 * namespaces and extern "C". Each is looked at by its words alone: nothing is
 * parsed that only a compiler could. Inside of what is taken out, launches are
 * looked for.
 */
#include "spec/host.h"

#include "spec/host_int.h"

#include "base/banned.h"

/* --- words ---------------------------------------------------------------- */

bool ws__host_word(const char *p, const char *word)
{
    size_t n = strlen(word);

    return !strncmp(p, word, n) && !ws__is_word(p[n]);
}

static const char *behind_line(const char *p)
{
    while (*p && *p != '\n')
        p += *p == '\\' && p[1] ? 2 : 1;
    return p;
}

static const char *behind_comment(const char *p)
{
    const char *end;

    if (p[1] == '/')
        return behind_line(p);
    end = strstr(p + 2, "*/");
    return end ? end + 2 : p + strlen(p);
}

static bool is_comment(const char *p)
{
    return p[0] == '/' && (p[1] == '/' || p[1] == '*');
}

const char *ws__host_blank(const char *p)
{
    for (;;)
        if (*p == ' ' || (*p >= '\t' && *p <= '\r'))
            p++;
        else if (is_comment(p))
            p = behind_comment(p);
        else
            return p;
}

static const char *behind_quote(const char *p)
{
    char q = *p++;

    while (*p && *p != q && *p != '\n')
        p += *p == '\\' && p[1] ? 2 : 1;
    return *p == q ? p + 1 : p;
}

/* R"x(...)x" */
static const char *behind_raw(const char *p)
{
    const char *open = p + 2 + strcspn(p + 2, "(");
    size_t n = (size_t)(open - (p + 2));

    for (const char *c = open; *open && (c = strchr(c, ')')); c++)
        if (!strncmp(c + 1, p + 2, n) && c[1 + n] == '"')
            return c + n + 2;
    return p + strlen(p);
}

const char *ws__host_token(const char *p)
{
    if (is_comment(p))
        return behind_comment(p);
    if (p[0] == 'R' && p[1] == '"')
        return behind_raw(p);
    if (*p == '"' || *p == '\'')
        return behind_quote(p);
    if (!ws__is_word(*p))
        return *p ? p + 1 : p;
    while (ws__is_word(*p) || (*p == '\'' && ws__is_word(p[1])))
        p++;
    return p;
}

const char *ws__host_closed(const char *p)
{
    int depth = 0;
    bool line = false; /* a directive is no code */

    for (; *p; p = ws__host_token(p)) {
        if (*p == '\n')
            line = true;
        if (*p == '#' && line)
            p = behind_line(p);
        else if (*p == '(' || *p == '{' || *p == '[')
            depth++;
        else if ((*p == ')' || *p == '}' || *p == ']') && !--depth)
            return p + 1;
        if (!*p)
            break;
        line = line && (*p == ' ' || *p == '\t' || *p == '\n');
    }
    return NULL;
}

/* --- one item of the scope ------------------------------------------------ */

struct item {
    const char *begin, *end;
    bool scope; /* a namespace or extern "C": what is in it follows */
    bool body, call, type, value;
    bool device, constant, host;
};

static bool is_one_of(const char *p, const char *const *list)
{
    for (; *list; list++)
        if (ws__host_word(p, *list))
            return true;
    return false;
}

static void see_word(const char *p, const char *begin, struct item *x)
{
    static const char *const device[] = {"__global__",   "__device__",
                                         "__constant__", "__managed__",
                                         "constexpr",    NULL};
    static const char *const type[] = {"struct",        "class", "union",
                                       "enum",          "using", "typedef",
                                       "static_assert", NULL};
    static const char *const host[] = {"FILE", "main", "printf", NULL};

    x->device = x->device || is_one_of(p, device);
    x->constant = x->constant || ws__host_word(p, "const");
    if (!x->call && !x->value && !x->body)
        x->type = x->type || is_one_of(p, type);
    x->host = x->host || is_one_of(p, host) ||
              (!strncmp(p, "cuda", 4) && p[4] >= 'A' && p[4] <= 'Z') ||
              (ws__host_word(p, "std") &&
               !(p >= begin + 6 && !strncmp(p - 6, "cuda::", 6)));
}

static bool is_macro(const char *text, const char *name, size_t n)
{
    for (const char *p = strstr(text, "define "); p;
         p = strstr(p + 1, "define ")) {
        const char *at = p + 7 + strspn(p + 7, " \t");

        if (!strncmp(at, name, n) && at[n] == '(')
            return true;
    }
    return false;
}

/* A call of the file's own macro that stands alone: NAME(...), no body. */
static const char *behind_macro(const char *text, const char *p)
{
    const char *end = ws__host_token(p), *q = ws__host_blank(end);

    if (!ws__is_word(*p) || *q != '(' || !is_macro(text, p, (size_t)(end - p)))
        return NULL;
    q = ws__host_closed(q);
    if (!q)
        return NULL;
    p = ws__host_blank(q);
    return ws__is_word(*p) || *p == '#' || *p == '}' || !*p ? q : NULL;
}

/* Behind the parameters of a template, p being its word; or of what overloads
 * an operator, its signs. */
static const char *behind_signs(const char *p)
{
    int depth = 0;

    if (ws__host_word(p, "operator"))
        return p + strcspn(p, "(;{");
    p = ws__host_blank(ws__host_token(p));
    for (; *p; p = ws__host_token(p)) {
        const char *end = *p == '(' ? ws__host_closed(p) : NULL;

        depth += (*p == '<') - (*p == '>');
        if (!depth)
            return *p == '>' ? p + 1 : p;
        if (end)
            p = end - 1;
    }
    return p;
}

/* False: brackets do not match. */
static bool read_item(const char *text, const char *begin, struct item *x)
{
    const char *p = begin, *alone = behind_macro(text, begin);
    char last = ' ';

    *x = (struct item){.begin = begin, .device = alone, .end = alone};
    if (alone)
        return true;
    x->scope = ws__host_word(p, "namespace");
    if (ws__host_word(p, "extern")) {
        p = ws__host_blank(ws__host_token(p));
        if (*p == '"')
            p = ws__host_blank(ws__host_token(p));
        x->scope = *p == '{';
    }
    while (*p) {
        const char *end = p + 1;

        if (ws__host_word(p, "template") || ws__host_word(p, "operator")) {
            p = behind_signs(p);
            continue;
        }
        if (ws__is_word(*p))
            see_word(p, begin, x);
        x->value = x->value || (*p == '=' && !x->call);
        if (*p == ';' || (*p == '{' && x->scope)) {
            x->end = p + 1;
            return true;
        }
        if (*p == '(' || *p == '{' || *p == '[') {
            end = ws__host_closed(p);
            if (!end)
                return false;
            x->body =
                *p == '{' && !x->value && (!x->type || last == ')') && x->call;
            x->call = x->call || (*p == '(' && !x->value);
            for (const char *q = p; x->type && q < end; q = ws__host_token(q))
                if (ws__is_word(*q))
                    see_word(q, begin, x);
            if (x->body) {
                x->end = end;
                return true;
            }
            last = end[-1];
        } else if (!is_comment(p) && !strchr(" \t\r\n", *p)) {
            last = *p;
        }
        p = end == p + 1 ? ws__host_token(p) : end;
    }
    x->end = p;
    return true;
}

/* Does it concern the device? */
static bool is_kept(const struct item *x)
{
    if (x->scope || x->device)
        return true;
    if (x->body || x->host)
        return false;
    return x->type || (x->constant && !x->call);
}

/* --- directives ----------------------------------------------------------- */

/* An include of a header that device code has no use for, or that says what a
 * device's compiler knows. */
static bool is_host_include(const char *p)
{
    static const char *const device[] = {"cuda_fp16",
                                         "cuda_bf16",
                                         "cuda_fp8",
                                         "cuda_fp4",
                                         "cuda_pipeline",
                                         "cuda/",
                                         "mma",
                                         "cooperative_groups",
                                         "math_constants",
                                         "cub/",
                                         "cute/",
                                         "cutlass/",
                                         NULL};

    p = p + 1 + strspn(p + 1, " \t");
    if (!ws__host_word(p, "include"))
        return false;
    p += 7 + strspn(p + 7, " \t");
    if (*p != '<')
        return !strncmp(p, "\"cuda_runtime", 13);
    for (size_t i = 0; device[i]; i++)
        if (!strncmp(p + 1, device[i], strlen(device[i])))
            return false;
    return true;
}

/* --- the whole ------------------------------------------------------------ */

struct splitting {
    struct ws_ctx *ctx;
    struct ws__arena *a;
    struct ws__host *h;
    struct ws__buf b;
    bool seen; /* words of the host's */
};

static void leave_out(struct splitting *s, const char *p, const char *end)
{
    for (; p < end; p++)
        if (*p == '\n')
            ws__buf_puts(&s->b, "\n");
}

static void take(struct splitting *s, const char *p, const char *end)
{
    ws__buf_add(&s->b, p, (size_t)(end - p));
}

static const char *copy(struct splitting *s, const char *p, const char *end)
{
    const char *last = end;

    p = ws__host_blank(p);
    while (last > p &&
           (last[-1] == ' ' || (last[-1] >= '\t' && last[-1] <= '\r')))
        last--;
    if (last < p)
        last = p;
    p = ws__arena_strndup(s->a, p, (size_t)(last - p));
    if (!p)
        s->b.failed = WS_ENOMEM;
    return p;
}

/* Texts between commas, up to `end`. */
static size_t split(struct splitting *s, const char *p, const char *end,
                    const char **out, size_t max)
{
    size_t n = 0;
    const char *from = p;

    for (; p < end; p = ws__host_token(p)) {
        const char *closed =
            *p == '(' || *p == '{' || *p == '[' ? ws__host_closed(p) : NULL;

        if (*p == ',' && n < max) {
            out[n++] = copy(s, from, p);
            from = p + 1;
        }
        if (closed && closed <= end)
            p = closed - 1;
    }
    if (ws__host_blank(from) < end && n < max)
        out[n++] = copy(s, from, end);
    return n;
}

static uint32_t line_of(const char *text, const char *p)
{
    uint32_t line = 1;

    for (; text < p; text++)
        line += *text == '\n';
    return line;
}

/* kernel<<<...>>>(...), `at` being the first of the signs. */
static void read_launch(struct splitting *s, const char *scope,
                        const char *scope_end, const char *at)
{
    struct ws__host_launch *l = &s->h->launch[s->h->nlaunch];
    const char *end = strstr(at, ">>>"), *name = at, *args, *config[4];
    size_t n;

    if (!end || s->h->nlaunch == WS__HOST_LAUNCHES)
        return;
    while (name > scope && strchr(" \t\n", name[-1]))
        name--;
    for (args = name; args > scope && ws__is_word(args[-1]);)
        args--;
    memset(l, 0, sizeof(*l));
    l->kernel = copy(s, args, name);
    n = split(s, at + 3, end, config, 4);
    for (size_t i = 0; i < n && i < 3; i++)
        l->config[i] = config[i];
    args = ws__host_blank(end + 3);
    end = *args == '(' ? ws__host_closed(args) : NULL;
    if (!end || n < 2 || !l->kernel || !*l->kernel)
        return;
    l->narg = split(s, args + 1, end - 1, l->arg, WS__HOST_ARGS);
    l->line = line_of(s->h->text, at);
    l->scope = ws__arena_strndup(s->a, scope, (size_t)(scope_end - scope));
    l->at = (size_t)(at - scope);
    if (!l->scope)
        s->b.failed = WS_ENOMEM;
    s->h->nlaunch++;
}

static void see_host(struct splitting *s, const struct item *x)
{
    s->h->nfunction += x->body;
    s->seen = s->seen || x->host;
    for (const char *p = x->begin; p < x->end; p = ws__host_token(p))
        if (!strncmp(p, "<<<", 3)) {
            s->seen = true;
            read_launch(s, x->begin, x->end, p);
            p += 2;
        }
}

static int split_scope(struct splitting *s, const char *p)
{
    int depth = 0;

    while (*p) {
        const char *next = ws__host_blank(p);
        struct item x;

        take(s, p, next);
        p = next;
        if (!*p)
            break;
        if (*p == '#') {
            next = behind_line(p);
            (is_host_include(p) ? leave_out : take)(s, p, next);
        } else if (*p == '}' || *p == ';') {
            depth -= *p == '}';
            next = p + 1;
            take(s, p, next);
        } else {
            if (!read_item(s->h->text, p, &x))
                return 0;
            next = x.end;
            depth += x.scope && next > p && next[-1] == '{';
            if (is_kept(&x) && !(x.scope && next[-1] != '{' && x.host)) {
                take(s, p, next);
            } else {
                see_host(s, &x);
                leave_out(s, p, next);
            }
        }
        p = next;
    }
    return !depth;
}

int ws__host_read(struct ws_ctx *ctx, struct ws__arena *a, const char *text,
                  struct ws__host *out)
{
    struct splitting s = {.ctx = ctx, .a = a, .h = out};
    bool whole;

    memset(out, 0, sizeof(*out));
    out->text = text;
    ws__buf_init(&s.b, ctx, 2 * strlen(text) + 64);
    ws__buf_puts(&s.b, "");
    whole = split_scope(&s, text);
    if (s.b.failed) {
        ws__buf_free(&s.b);
        return WS_ENOMEM;
    }
    if (!whole && strstr(text, "<<<"))
        out->why = "its brackets do not match";
    if (whole && s.seen && out->nfunction) {
        out->device = ws__arena_strdup(a, s.b.data);
        whole = out->device != NULL;
        ws__buf_free(&s.b);
        return whole ? 0 : WS_ENOMEM;
    }
    ws__buf_free(&s.b);
    return 0;
}
