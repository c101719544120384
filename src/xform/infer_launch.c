/*
 * infer_launch.c: how a kernel is launched: threads a block from what the
 * source adds, steps and lengths by, blocks from what is guarded.
 */
#include "xform/infer_int.h"

#include <ctype.h>

#include "base/banned.h"

/* How sure a number of threads is: the larger counts. */
enum { NONE, BY_LENGTH, BY_GROUP, BY_STEP, BY_SUM };

struct guess {
    struct ws__ip threads;
    int how;
};

static void take(struct guess *g, const struct ws__ip *threads, int how)
{
    int64_t v;

    if (threads->n <= 0 || how <= g->how ||
        (ws__ip_is_number(threads, &v) && (v < 1 || v > 1024)))
        return;
    g->threads = *threads;
    g->how = how;
}

static int thread_of(const struct ws__infer *x, const struct ws__ip_term *t,
                     bool divided, int64_t *by)
{
    const struct ws__atom *a;

    if (t->n != 1 || t->times != 1)
        return -1;
    a = &x->atom[t->atom[0]];
    *by = 1;
    if (divided && a->kind == WS__ATOM_DIV && a->num->n == 1 &&
        ws__ip_is_number(a->den, by)) {
        t = &a->num->term[0];
        if (t->n != 1 || t->times != 1)
            return -1;
        a = &x->atom[t->atom[0]];
    }
    return a->kind == WS__ATOM_THREAD && a->env == (int)x->launch ? a->key : -1;
}

/* c * block + thread, step + thread */
static void by_sum(const struct ws__infer *x, const struct ws__ip *sum,
                   struct guess g[3])
{
    for (int i = 0; i < sum->n; i++) {
        int64_t by, step;
        int d = thread_of(x, &sum->term[i], true, &by);

        for (int k = 0; d >= 0 && k < sum->n; k++) {
            const struct ws__ip_term *t = &sum->term[k];
            int v = ws__ip_variable(x, t);
            struct ws__ip n = ws__ip_number(t->times * by);

            if (v < 0 || k == i)
                continue;
            if (x->atom[v].kind == WS__ATOM_GROUP && t->n == 1 && t->times > 1)
                take(&g[d], &n, BY_GROUP);
            if (x->atom[v].kind == WS__ATOM_GROUP && t->n == 2 && by == 1) {
                struct ws__ip_term one = {.times = 1, .n = 1};

                n = ws__ip_number(0);
                n.n = 1;
                one.atom[0] = (uint16_t)v;
                ws__ip_term_divides(&one, t, &n.term[0]);
                if (n.term[0].n == 1 &&
                    x->atom[n.term[0].atom[0]].kind == WS__ATOM_NAME)
                    take(&g[d], &n, BY_GROUP);
            }
            if (x->atom[v].loop && t->n == 1 && t->times == 1 && by == 1 &&
                x->atom[v].step->n == 1 && !ws__ip_varies(x, x->atom[v].num) &&
                (!ws__ip_is_number(x->atom[v].step, &step) || step > 1))
                take(&g[d], x->atom[v].step, BY_SUM);
        }
    }
}

/* for (i = thread; ...; i += step) */
static void by_loop(const struct ws__infer *x, const struct ws__atom *a,
                    struct guess g[3])
{
    int64_t by;

    if (!a->loop || a->num->n < 1 || a->step->n != 1)
        return;
    for (int k = 0; k < a->step->term[0].n; k++)
        if (x->atom[a->step->term[0].atom[k]].kind != WS__ATOM_NAME)
            return;
    for (int i = 0; i < a->num->n; i++) {
        int d = thread_of(x, &a->num->term[i], false, &by);

        if (d >= 0 && a->num->n == 1)
            take(&g[d], a->step, BY_STEP);
    }
}

static void look(struct ws__infer *x, struct guess g[3])
{
    for (size_t i = 0; i < x->natom; i++)
        by_loop(x, &x->atom[i], g);
    for (size_t i = 0; i < x->naccess; i++) {
        struct ws__infer_access *a = &x->access[i];
        struct ws__ip all, length;
        int64_t by;
        int d;

        if (a->launch != x->launch)
            continue;
        all = ws__infer_resolve(x, &a->at, NULL, true);
        by_sum(x, &a->at, g);
        by_sum(x, &all, g);
        for (size_t k = 0; k < a->known.n; k++)
            by_sum(x, &a->known.at[k].sum, g);
        d = all.n == 1 ? thread_of(x, &all.term[0], false, &by) : -1;
        length = ws__ip_number(a->width);
        if (a->shared && d >= 0 && a->width > 1)
            take(&g[d], &length, BY_LENGTH);
    }
}

/* Is nothing more on the line, but perhaps a comment? */
static bool ends_there(const char *p)
{
    p += strspn(p, " \t\r");
    return !*p || *p == '\n' || !strncmp(p, "//", 2) || !strncmp(p, "/*", 2);
}

/* #define BLOCK 128, which only the host seems to use. */
static int64_t named_block(const struct ws__ast *t)
{
    static const char *const names[] = {
        "BLOCK",    "BLOCK_SIZE",  "THREADS",          "BLOCKSIZE",
        "NTHREADS", "NUM_THREADS", "THREADS_PER_BLOCK"};

    for (const char *p = strstr(t->text, "#define "); p;
         p = strstr(p + 1, "#define ")) {
        const char *name = p + 8;
        size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

        for (size_t i = 0; i < WS_COUNT(names); i++)
            if (strlen(names[i]) == n && !strncmp(name, names[i], n)) {
                char *end;
                long v = strtol(name + n, &end, 10);

                if (v >= 32 && v <= 1024 && ends_there(end))
                    return v;
            }
    }
    return 0;
}

static void set_block(struct ws__infer *x, int dim, int64_t threads)
{
    x->block[x->launch][dim] = ws__ip_number(threads);
}

/* Dimensions that the source leaves open. */
static void fill_block(struct ws__infer *x, struct guess g[3], int used,
                       struct ws__fact_launch *l)
{
    int64_t product = 1, v, named = named_block(x->t);
    int64_t bounds = x->in->bounds ? x->in->bounds[x->launch] : 0;
    int open = 0;

    for (int d = 0; d < 3; d++) {
        bool used_here = x->uses_thread[x->launch][d];

        if (used_here && g[d].how == NONE)
            open++;
        if (used_here && g[d].how != NONE &&
            ws__ip_is_number(&g[d].threads, &v))
            product *= v;
    }
    for (int d = 0; d < 3; d++) {
        if (!x->uses_thread[x->launch][d])
            set_block(x, d, 1);
        else if (g[d].how != NONE)
            x->block[x->launch][d] = g[d].threads;
        else if (used == 1)
            set_block(x, d, bounds ? bounds : named ? named : 256);
        else if (open < used)
            set_block(x, d, product < 256 ? 256 / product : 1);
        else
            set_block(x, d, used == 2 ? 16 : 8);
    }
    if (open && bounds && used == 1)
        l->block_note = "by __launch_bounds__";
    else if (open && named && used == 1)
        l->block_note = "a guess, by a #define of the source";
    else if (open)
        l->block_note = "a guess: the source runs with any number of threads";
}

static int highest(const bool uses[3])
{
    return uses[2] ? 3 : uses[1] ? 2 : 1;
}

void ws__infer_block(struct ws__infer *x, size_t launch)
{
    struct guess g[3];
    struct ws__fact_launch *l = &x->out->launch[launch];
    const bool *uses = x->uses_thread[launch];
    int used = uses[0] + uses[1] + uses[2];

    x->launch = launch;
    memset(g, 0, sizeof(g));
    if (x->in->block && x->in->block[launch][0]) {
        for (int d = 0; d < 3; d++)
            set_block(x, d, x->in->block[launch][d]);
        l->nblock = 3;
        l->block_note = "as the source requires";
        return;
    }
    look(x, g);
    fill_block(x, g, used, l);
    l->nblock = (size_t)highest(uses);
    if (!used)
        l->block_note = "a guess: no thread asks for its number";
}

/* --- the grid ---------------------------------------------------------------
 */

/* The number of threads in place of its atom. */
static struct ws__ip with_block(struct ws__infer *x, const struct ws__ip *a)
{
    struct ws__ip out = ws__ip_number(0);

    for (int i = 0; i < a->n; i++) {
        struct ws__ip f = ws__ip_number(a->term[i].times);

        for (int k = 0; k < a->term[i].n; k++) {
            size_t at = a->term[i].atom[k];
            struct ws__ip one = x->atom[at].kind == WS__ATOM_BLOCK
                                    ? x->block[x->launch][x->atom[at].key]
                                    : ws__ip_atom(at);

            f = ws__ip_multiply(&f, &one);
        }
        out = ws__ip_add(&out, &f, 1);
    }
    return a->n < 0 ? *a : out;
}

/* What is left of a term without one of its atoms. */
static struct ws__ip without(const struct ws__ip_term *t, size_t atom)
{
    struct ws__ip_term one = {.times = 1, .n = 1};
    struct ws__ip f = ws__ip_number(0);

    one.atom[0] = (uint16_t)atom;
    f.n = 1;
    ws__ip_term_divides(&one, t, &f.term[0]);
    return f;
}

/* Blocks of a dimension, from one thing that is known. */
static bool blocks_of(struct ws__infer *x, const struct ws__known *f, int dim,
                      struct ws__ip *out)
{
    struct ws__ip times, extent, one = ws__ip_number(1);
    int found = -1;

    for (int i = 0; i < f->sum.n && !f->differs; i++) {
        int v = ws__ip_variable(x, &f->sum.term[i]);

        if (v < 0 || x->atom[v].kind != WS__ATOM_GROUP)
            continue;
        if (found >= 0)
            return false;
        found = i;
        if (x->atom[v].key != dim || x->atom[v].env != (int)x->launch)
            return false;
        times = without(&f->sum.term[i], (size_t)v);
    }
    if (found < 0 || f->most.n < 0)
        return false;
    times = with_block(x, &times);
    extent = ws__ip_add(&f->most, &one, 1);
    extent = with_block(x, &extent);
    *out = ws__ip_ceil(x, &extent, &times);
    return out->n > 0;
}

static void grid_of(struct ws__infer *x, int dim, bool stores,
                    struct ws__ip *out)
{
    for (size_t i = 0; i < x->naccess; i++) {
        struct ws__infer_access *a = &x->access[i];

        if (a->launch != x->launch || a->shared || a->write != stores)
            continue;
        for (size_t k = 0; k < a->known.n; k++) {
            struct ws__ip n;

            if (!blocks_of(x, &a->known.at[k], dim, &n))
                continue;
            *out = out->n < 0 ? n : ws__ip_larger(x, out, &n);
        }
    }
}

void ws__infer_grid(struct ws__infer *x, size_t launch)
{
    x->launch = launch;
    for (int d = 0; d < 3; d++) {
        struct ws__ip *g = &x->grid[launch][d];

        *g = ws__ip_unknown();
        if (!x->uses[launch][d]) {
            *g = ws__ip_number(1);
            continue;
        }
        grid_of(x, d, true, g);
        if (g->n < 0)
            grid_of(x, d, false, g);
    }
    x->out->launch[launch].ngrid = (size_t)highest(x->uses[launch]);
}
