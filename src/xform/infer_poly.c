/*
 * infer_poly.c: sums of products of atoms, and their text.
 *
 * What does not fit (too many terms, a number that overflows) is not known:
 * every operation on something unknown is unknown, so nobody checks between.
 */
#include "xform/infer_int.h"

#include "base/banned.h"

#define TYPICAL 64.0 /* a length */

struct ws__ip ws__ip_unknown(void)
{
    struct ws__ip a;

    memset(&a, 0, sizeof(a));
    a.n = -1;
    return a;
}

struct ws__ip ws__ip_number(int64_t v)
{
    struct ws__ip a;

    memset(&a, 0, sizeof(a));
    if (v)
        a.term[a.n++].times = v;
    return a;
}

struct ws__ip ws__ip_atom(size_t atom)
{
    struct ws__ip a = ws__ip_number(1);

    a.term[0].atom[0] = (uint16_t)atom;
    a.term[0].n = 1;
    return a;
}

static bool same_product(const struct ws__ip_term *a,
                         const struct ws__ip_term *b)
{
    return a->n == b->n && !memcmp(a->atom, b->atom, a->n * sizeof(a->atom[0]));
}

static bool put(struct ws__ip *a, const struct ws__ip_term *t)
{
    for (int i = 0; i < a->n; i++) {
        if (!same_product(&a->term[i], t))
            continue;
        if (__builtin_add_overflow(a->term[i].times, t->times,
                                   &a->term[i].times))
            return false;
        if (!a->term[i].times) {
            a->n--;
            memmove(&a->term[i], &a->term[i + 1],
                    (size_t)(a->n - i) * sizeof(*t));
        }
        return true;
    }
    if (!t->times)
        return true;
    if (a->n == WS__IP_TERMS)
        return false;
    a->term[a->n++] = *t;
    return true;
}

struct ws__ip ws__ip_add(const struct ws__ip *a, const struct ws__ip *b,
                         int64_t times)
{
    struct ws__ip out = *a;

    if (a->n < 0 || b->n < 0)
        return ws__ip_unknown();
    for (int i = 0; i < b->n; i++) {
        struct ws__ip_term t = b->term[i];

        if (__builtin_mul_overflow(t.times, times, &t.times) || !put(&out, &t))
            return ws__ip_unknown();
    }
    return out;
}

static bool multiply(const struct ws__ip_term *a, const struct ws__ip_term *b,
                     struct ws__ip_term *out)
{
    memset(out, 0, sizeof(*out));
    if (a->n + b->n > WS__IP_ATOMS ||
        __builtin_mul_overflow(a->times, b->times, &out->times))
        return false;
    for (int i = 0; i < a->n + b->n; i++) {
        uint16_t s = i < a->n ? a->atom[i] : b->atom[i - a->n];
        int k = out->n++;

        for (; k && out->atom[k - 1] > s; k--)
            out->atom[k] = out->atom[k - 1];
        out->atom[k] = s;
    }
    return true;
}

struct ws__ip ws__ip_multiply(const struct ws__ip *a, const struct ws__ip *b)
{
    struct ws__ip out = ws__ip_number(0);

    if (a->n < 0 || b->n < 0)
        return ws__ip_unknown();
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) {
            struct ws__ip_term t;

            if (!multiply(&a->term[i], &b->term[k], &t) || !put(&out, &t))
                return ws__ip_unknown();
        }
    return out;
}

bool ws__ip_is_number(const struct ws__ip *a, int64_t *v)
{
    *v = a->n == 1 ? a->term[0].times : 0;
    return a->n == 0 || (a->n == 1 && !a->term[0].n);
}

bool ws__ip_equal(const struct ws__ip *a, const struct ws__ip *b)
{
    struct ws__ip d = ws__ip_add(a, b, -1);

    return d.n == 0;
}

bool ws__ip_term_divides(const struct ws__ip_term *a,
                         const struct ws__ip_term *b, struct ws__ip_term *out)
{
    int k = 0;

    memset(out, 0, sizeof(*out));
    if (!a->times || b->times % a->times)
        return false;
    out->times = b->times / a->times;
    for (int i = 0; i < b->n; i++)
        if (k < a->n && a->atom[k] == b->atom[i])
            k++;
        else
            out->atom[out->n++] = b->atom[i];
    return k == a->n;
}

bool ws__ip_divide(const struct ws__ip *a, const struct ws__ip_term *b,
                   struct ws__ip *out)
{
    *out = ws__ip_number(0);
    if (a->n < 0)
        return false;
    for (int i = 0; i < a->n; i++) {
        struct ws__ip_term t;

        if (!ws__ip_term_divides(b, &a->term[i], &t) || !put(out, &t))
            return false;
    }
    return true;
}

/* Negative terms are paid for by positive ones that they divide. */
bool ws__ip_is_natural(const struct ws__ip *a)
{
    int64_t left[WS__IP_TERMS];

    for (int i = 0; i < a->n; i++)
        left[i] = a->term[i].times;
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < a->n && left[i] < 0; k++) {
            struct ws__ip_term p = a->term[i], q = a->term[k], rest;

            p.times = q.times = 1;
            if (left[k] <= 0 || !ws__ip_term_divides(&p, &q, &rest))
                continue;
            left[k] += left[i];
            left[i] = left[k] < 0 ? left[k] : 0;
            left[k] = left[k] < 0 ? 0 : left[k];
        }
    for (int i = 0; i < a->n; i++)
        if (left[i] < 0)
            return false;
    return a->n >= 0;
}

/* --- atoms ------------------------------------------------------------------
 */

size_t ws__atom_get(struct ws__infer *x, enum ws__atom_kind kind, int32_t key,
                    int32_t def, int env)
{
    for (size_t i = 0; i < x->natom; i++)
        if (x->atom[i].kind == kind && x->atom[i].key == key &&
            x->atom[i].def == def && x->atom[i].env == env)
            return i;
    if (x->natom == WS__INFER_ATOMS) {
        if (x->rc >= 0)
            x->rc = ws__fail(x->ctx, WS_ELIMIT,
                             "'%s' has too many different indices to draft "
                             "from it",
                             x->t->path);
        return 0;
    }
    memset(&x->atom[x->natom], 0, sizeof(x->atom[0]));
    x->atom[x->natom].kind = kind;
    x->atom[x->natom].key = key;
    x->atom[x->natom].def = def;
    x->atom[x->natom].env = env;
    return x->natom++;
}

bool ws__atom_varies(const struct ws__infer *x, size_t atom)
{
    return x->atom[atom].kind > WS__ATOM_QUOT;
}

int ws__ip_variable(const struct ws__infer *x, const struct ws__ip_term *t)
{
    int found = -1;

    for (int i = 0; i < t->n; i++)
        if (ws__atom_varies(x, t->atom[i])) {
            if (found >= 0)
                return -2;
            found = t->atom[i];
        }
    return found;
}

bool ws__ip_varies(const struct ws__infer *x, const struct ws__ip *a)
{
    for (int i = 0; i < a->n; i++)
        if (ws__ip_variable(x, &a->term[i]) != -1)
            return true;
    return a->n < 0;
}

static struct ws__ip *keep(struct ws__infer *x, const struct ws__ip *a)
{
    struct ws__ip *p = ws__arena_alloc(x->arena, 1, sizeof(*p));

    if (p)
        *p = *a;
    else
        x->rc = WS_ENOMEM;
    return p;
}

static size_t find_quotient(struct ws__infer *x, const struct ws__ip *num,
                            const struct ws__ip *den)
{
    size_t at;

    for (size_t i = 0; i < x->natom; i++)
        if (x->atom[i].kind == WS__ATOM_QUOT &&
            ws__ip_equal(x->atom[i].num, num) &&
            ws__ip_equal(x->atom[i].den, den))
            return i;
    if (x->rc < 0)
        return 0;
    at = ws__atom_get(x, WS__ATOM_QUOT, (int32_t)x->natom, -1, 0);
    if (x->rc < 0)
        return 0;
    x->atom[at].num = keep(x, num);
    x->atom[at].den = keep(x, den);
    if (x->rc < 0) /* no atom without its parts */
        x->natom--;
    return at;
}

struct ws__ip ws__ip_quotient(struct ws__infer *x, const struct ws__ip *num,
                              const struct ws__ip *den)
{
    struct ws__ip out, more;
    int64_t a, b;
    size_t at;

    if (num->n < 0 || den->n <= 0)
        return ws__ip_unknown();
    if (ws__ip_is_number(num, &a) && ws__ip_is_number(den, &b))
        return a < 0 || b <= 0 ? ws__ip_unknown() : ws__ip_number(a / b);
    if (den->n == 1 && ws__ip_divide(num, &den->term[0], &out))
        return out;
    /* (q d - 1) / d = q - 1 */
    more = ws__ip_number(1);
    more = ws__ip_add(num, &more, 1);
    if (den->n == 1 && ws__ip_divide(&more, &den->term[0], &out)) {
        more = ws__ip_number(1);
        return ws__ip_add(&out, &more, -1);
    }
    at = find_quotient(x, num, den);
    return x->rc < 0 ? ws__ip_unknown() : ws__ip_atom(at);
}

struct ws__ip ws__ip_ceil(struct ws__infer *x, const struct ws__ip *num,
                          const struct ws__ip *den)
{
    struct ws__ip one = ws__ip_number(1), sum = ws__ip_add(num, den, 1), out;

    if (den->n == 1 && ws__ip_divide(num, &den->term[0], &out))
        return out;
    sum = ws__ip_add(&sum, &one, -1);
    return ws__ip_quotient(x, &sum, den);
}

static double typical_atom(const struct ws__infer *x, size_t at)
{
    const struct ws__atom *a = &x->atom[at];
    double den;

    switch (a->kind) {
    case WS__ATOM_NAME:
        return 16;
    case WS__ATOM_QUOT:
        den = ws__ip_typical(x, a->den);
        return den > 0 ? ws__ip_typical(x, a->num) / den : TYPICAL;
    default:
        return TYPICAL;
    }
}

double ws__ip_typical(const struct ws__infer *x, const struct ws__ip *a)
{
    double sum = 0;

    for (int i = 0; i < a->n; i++) {
        double p = (double)a->term[i].times;

        for (int k = 0; k < a->term[i].n; k++)
            p *= typical_atom(x, a->term[i].atom[k]);
        sum += p;
    }
    return sum;
}

struct ws__ip ws__ip_larger(const struct ws__infer *x, const struct ws__ip *a,
                            const struct ws__ip *b)
{
    struct ws__ip d = ws__ip_add(a, b, -1), e = ws__ip_add(b, a, -1);

    if (d.n < 0)
        return ws__ip_unknown();
    if (ws__ip_is_natural(&d))
        return *a;
    if (ws__ip_is_natural(&e))
        return *b;
    return ws__ip_typical(x, a) >= ws__ip_typical(x, b) ? *a : *b;
}

/* --- text -------------------------------------------------------------------
 */

static bool put_sum(struct ws__infer *x, struct ws__buf *b,
                    const struct ws__ip *a, bool inner);

/* (m + d - 1) / d: the m, if it looks so. */
static bool is_ceil(const struct ws__atom *a, struct ws__ip *out)
{
    struct ws__ip one = ws__ip_number(1), rest = ws__ip_add(a->num, a->den, -1);

    *out = ws__ip_add(&rest, &one, 1);
    for (int i = 0; i < out->n; i++)
        if (!out->term[i].n && out->term[i].times < 0)
            return false;
    return out->n > 0;
}

/* An op does not know the parameters of a kernel: there it is their default. */
static bool put_name(const struct ws__infer *x, struct ws__buf *b,
                     const char *name)
{
    for (size_t i = 0; x->numbers && i < x->out->nname; i++) {
        const struct ws__fact_name *n = &x->out->name[i];

        if (n->parameter && !strcmp(n->name, name))
            return ws__buf_add(b, n->text + 1, strcspn(n->text + 1, ",]")) == 0;
    }
    return ws__buf_puts(b, name) == 0;
}

static bool put_atom(struct ws__infer *x, struct ws__buf *b, size_t at)
{
    const struct ws__atom *a = &x->atom[at];
    struct ws__ip over;

    switch (a->kind) {
    case WS__ATOM_SIZE:
        return ws__buf_puts(b, x->out->fact[a->key].name) == 0;
    case WS__ATOM_NAME:
        return put_name(x, b, x->in->missing[a->key]);
    case WS__ATOM_BLOCK:
        return put_sum(x, b, &x->block[x->launch][a->key], true);
    case WS__ATOM_QUOT:
        if (is_ceil(a, &over)) {
            ws__buf_puts(b, "ceil_div(");
            if (!put_sum(x, b, &over, false) || ws__buf_puts(b, ", ") < 0 ||
                !put_sum(x, b, a->den, false))
                return false;
            return ws__buf_puts(b, ")") == 0;
        }
        ws__buf_puts(b, "(");
        if (!put_sum(x, b, a->num, true) || ws__buf_puts(b, " // ") < 0 ||
            !put_sum(x, b, a->den, true))
            return false;
        return ws__buf_puts(b, ")") == 0;
    default:
        return false;
    }
}

static bool put_term(struct ws__infer *x, struct ws__buf *b,
                     const struct ws__ip_term *t, bool first)
{
    int64_t times = t->times;

    if (!first)
        ws__buf_puts(b, times < 0 ? " - " : " + ");
    else if (times < 0)
        ws__buf_puts(b, "-");
    times = times < 0 ? -times : times;
    if (times != 1 || !t->n)
        ws__buf_printf(b, "%lld%s", (long long)times, t->n ? " * " : "");
    for (int i = 0; i < t->n; i++) {
        if (i)
            ws__buf_puts(b, " * ");
        if (!put_atom(x, b, t->atom[i]))
            return false;
    }
    return true;
}

static bool put_sum(struct ws__infer *x, struct ws__buf *b,
                    const struct ws__ip *a, bool inner)
{
    bool many = a->n > 1 || (inner && a->n == 1 && a->term[0].n > 1) ||
                (inner && a->n == 1 && a->term[0].n && a->term[0].times != 1);

    if (a->n < 0)
        return false;
    if (inner && many)
        ws__buf_puts(b, "(");
    if (!a->n)
        ws__buf_puts(b, "0");
    /* What is added first, so that no text begins with a minus. */
    for (int pass = 0, put = 0; pass < 2; pass++)
        for (int i = 0; i < a->n; i++)
            if ((a->term[i].times < 0) == (pass == 1) &&
                !put_term(x, b, &a->term[i], !put++))
                return false;
    if (inner && many)
        ws__buf_puts(b, ")");
    return true;
}

const char *ws__ip_text(struct ws__infer *x, const struct ws__ip *a)
{
    struct ws__buf b;
    const char *out = NULL, *p;
    size_t n;

    ws__buf_init(&b, x->ctx, 4000);
    if (put_sum(x, &b, a, false) && b.data) {
        p = b.data;
        n = b.len;
        /* A quotient alone has no parentheses. */
        if (a->n == 1 && a->term[0].n == 1 && a->term[0].times == 1 &&
            *p == '(') {
            p++;
            n -= 2;
        }
        out = ws__arena_strndup(x->arena, p, n);
        if (!out)
            x->rc = WS_ENOMEM;
    }
    ws__buf_free(&b);
    return out;
}
