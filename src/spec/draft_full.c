/* draft_full.c: drafts from facts. See draft_full.h. */
#include "spec/draft_full.h"

#include "spec/draft_int.h"

#include "base/banned.h"

#define SHAPES 3

struct writing {
    const struct ws__draft_full *d;
    const struct ws__facts *f;
    struct ws__buf *b;
    bool reference; /* of the two kernel files the reference's */
};

static const char *type_of(const struct writing *w, const struct ws__fact *f)
{
    return w->d->wide && f->dtype == WS__DT_F32 ? "T"
                                                : ws__dtype_name(f->dtype);
}

/* Words for a comment; NULL: none. */
static const char *words_of(const struct ws__fact *f, char out[400])
{
    if (!f->guess && !f->check)
        return NULL;
    snprintf(out, 400, "%s%.180s%s%.180s", f->check ? "check: " : "",
             f->check ? f->check : "", f->check && f->guess ? "; " : "",
             f->guess ? f->guess : "");
    return out;
}

/* --- the op ------------------------------------------------------------------
 */

static void put_axes(struct writing *w)
{
    size_t n = 0;
    char why[400];

    ws__buf_puts(w->b, "axes:\n");
    for (size_t i = 0; i < w->f->nfact; i++) {
        const struct ws__fact *f = &w->f->fact[i];

        if (f->role != WS__FACT_AXIS)
            continue;
        n++;
        if (f->least > 1) {
            snprintf(why, sizeof(why), "%s%s%s", f->guess ? f->guess : "",
                     f->guess ? "; " : "",
                     "at least what the elements that name its places reach");
            ws__draft_line(w->b, why, "  %s: {range: [%lld, 1073741824]}",
                           f->name, (long long)f->least);
        } else {
            ws__draft_line(w->b, words_of(f, why), "  %s: var", f->name);
        }
    }
    if (w->d->wide)
        ws__draft_line(w->b, "float64 is for the reference",
                       "  T: {types: [float32, float64]}");
    else if (!n)
        ws__draft_line(w->b, "no size was found, and an op has an axis",
                       "  ONE: {value: 1}");
}

static void put_constants(struct writing *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->f->nname; i++) {
        const struct ws__fact_name *m = &w->f->name[i];

        if (m->parameter)
            continue;
        if (!n++)
            ws__buf_puts(w->b, "constants:\n");
        ws__draft_line(w->b, m->guess, "  %s: %s", m->name, m->text);
    }
}

static void put_tensor(struct writing *w, const struct ws__fact *f)
{
    struct ws__buf *b = w->b;
    char why[400], line[900];
    size_t n;

    n = (size_t)snprintf(line, sizeof(line), "  %s: {", f->name);
    if (f->ndim) {
        n += (size_t)snprintf(line + n, sizeof(line) - n, "shape: [");
        for (size_t d = 0; d < f->ndim && n < sizeof(line) - 200; d++) {
            bool quote = strchr(f->shape[d], ',') != NULL;

            n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s%.120s%s",
                                  d ? ", " : "", quote ? "\"" : "", f->shape[d],
                                  quote ? "\"" : "");
        }
        n += (size_t)snprintf(line + n, sizeof(line) - n, "], ");
    }
    n += (size_t)snprintf(line + n, sizeof(line) - n, "dtype: %s",
                          type_of(w, f));
    if (f->fill)
        snprintf(line + n, sizeof(line) - n, ", fill: %s", f->fill);
    ws__draft_line(b, words_of(f, why), "%s}", line);
}

static void put_role(struct writing *w, const char *key,
                     enum ws__fact_role role)
{
    size_t n = 0;

    for (size_t i = 0; i < w->f->nfact; i++) {
        const struct ws__fact *f = &w->f->fact[i];

        if (f->role != role &&
            !(role == WS__FACT_INPUT && f->role == WS__FACT_SCALAR))
            continue;
        if (!n++)
            ws__buf_printf(w->b, "%s:\n", key);
        put_tensor(w, f);
    }
}

static bool has_role(const struct writing *w, enum ws__fact_role role)
{
    for (size_t i = 0; i < w->f->nfact; i++)
        if (w->f->fact[i].role == role)
            return true;
    return false;
}

static void put_require(struct writing *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->f->nfact; i++) {
        const struct ws__fact *f = &w->f->fact[i];

        if (f->role != WS__FACT_AXIS || f->multiple <= 1)
            continue;
        if (!n++)
            ws__buf_puts(w->b, "require:\n");
        ws__draft_line(w->b, "a guess: the source divides it without a rest",
                       "  - %s %% %lld == 0", f->name, (long long)f->multiple);
    }
}

static void put_reference(struct writing *w)
{
    char why[300];

    if (w->d->wide)
        snprintf(why, sizeof(why),
                 "the source itself in double precision: it tells rounding "
                 "from mistakes of changes, not what was wrong before");
    else
        snprintf(why, sizeof(why),
                 "check: the source itself as it was, not in double precision "
                 "(%.120s): it vouches for changes alone",
                 w->d->why_not);
    ws__draft_line(w->b, why, "reference: {kernel: %s}", w->d->reference_ref);
}

static void put_tolerance(struct writing *w)
{
    const char *accumulate = "float64";
    char why[200];
    bool floats = false, sum_is_one = !strcmp(w->f->reduction, "1");

    for (size_t i = 0; i < w->f->nfact; i++) {
        const struct ws__fact *f = &w->f->fact[i];

        if (f->role != WS__FACT_OUTPUT && f->role != WS__FACT_INOUT)
            continue;
        floats = floats || ws__dtype_is_float(f->dtype);
        if (f->dtype != WS__DT_F64)
            accumulate = "float32";
    }
    if (!floats)
        return;
    snprintf(why, sizeof(why), "a guess: terms of the longest sum%s",
             w->f->rough ? ", and more for functions that are approximated"
                         : "");
    ws__draft_line(w->b, why,
                   "tolerance: {reduction: \"%s%s%s\", accumulate: %s}",
                   w->f->rough && sum_is_one ? "" : w->f->reduction,
                   w->f->rough && !sum_is_one ? " + " : "",
                   w->f->rough ? "64" : "", accumulate);
}

static bool is_array(const struct ws__fact *f)
{
    return f->role == WS__FACT_INPUT || f->role == WS__FACT_OUTPUT ||
           f->role == WS__FACT_INOUT;
}

/* How often it must cross the memory's wires: once read, once written; as far
 * as that is certain. */
static int times_moved(const struct ws__fact *f)
{
    return (f->role != WS__FACT_OUTPUT && f->read_whole) +
           (f->role != WS__FACT_INPUT && f->written_whole);
}

/* Bytes of what is read and written whole for certain, so that no launch can do
 * with less. Of float64, which is for the reference, half is counted. */
static void put_floor(struct writing *w)
{
    struct ws__buf bytes, open;
    const char *none = "floor: what is read or written whole for certain was "
                       "not found; without it every array counts once";

    ws__buf_init(&bytes, w->b->ctx, 1 << 16);
    ws__buf_init(&open, w->b->ctx, 1 << 16);
    for (size_t i = 0; i < w->f->nfact; i++) {
        const struct ws__fact *f = &w->f->fact[i];
        int n = is_array(f) && f->count ? times_moved(f) : 0;

        if (n)
            ws__buf_printf(&bytes, "%s%zu * %s", bytes.len ? " + " : "",
                           (size_t)n * ws__dtype_bytes(f->dtype), f->count);
        if (is_array(f) && n < 1 + (f->role == WS__FACT_INOUT))
            ws__buf_printf(&open, "%s%s", open.len ? ", " : "", f->name);
    }
    if (bytes.failed || open.failed)
        w->b->failed = bytes.failed ? bytes.failed : open.failed;
    else if (!bytes.len)
        ws__buf_printf(w->b, "# %s\n", none);
    else if (open.len)
        ws__draft_line(w->b, NULL,
                       "# not in the floor, since it is not certain that all "
                       "of it is read or written: %.300s\n"
                       "floor: {bytes: \"%s\"}",
                       open.data, bytes.data);
    else
        ws__draft_line(w->b, "what is read and written, whole",
                       "floor: {bytes: \"%s\"}", bytes.data);
    ws__buf_free(&bytes);
    ws__buf_free(&open);
}

/* Families of values that leave no result where one must be positive. */
static void put_values(struct writing *w)
{
    static const char *const family[] = {"x-1", "zeros", "denormal", "spikes"};
    bool positive = false;

    for (size_t i = 0; i < w->f->nfact; i++)
        positive = positive || w->f->fact[i].positive;
    if (!positive)
        return;
    ws__buf_puts(w->b,
                 "values: # a guess: what is not positive has no logarithm, "
                 "root or quotient\n");
    for (size_t i = 0; i < WS_COUNT(family); i++)
        ws__buf_printf(w->b, "  %s: \"an input is to be positive\"\n",
                       family[i]);
}

/* --- sizes -------------------------------------------------------------------
 */

/* By the number of lengths: small, ragged and larger ones. */
static const int64_t sizes[5][SHAPES][5] = {
    {{4096}, {10007}, {262144}},
    {{64, 96}, {61, 131}, {512, 640}},
    {{32, 48, 64}, {37, 53, 29}, {128, 96, 160}},
    {{8, 12, 16, 10}, {7, 11, 13, 17}, {24, 16, 32, 24}},
    {{2, 4, 6, 16, 12}, {3, 5, 7, 19, 17}, {4, 16, 16, 32, 32}},
};
static const int64_t steps[SHAPES] = {2, 3, 4};

/* The largest size whose power is at most what a CPU does in a second or so. */
static int64_t most_of(int degree)
{
    static const int64_t most[] = {1 << 20, 1 << 20, 2048, 256, 72, 32, 18};

    return degree < 0 || (size_t)degree >= WS_COUNT(most) ? 12 : most[degree];
}

static int64_t size_of(const struct writing *w, const struct ws__fact *f,
                       size_t lengths, size_t at, int shape)
{
    int64_t v, most = most_of(w->f->degree);

    if (f->small)
        v = steps[shape];
    else if (lengths <= 5)
        v = sizes[lengths - 1][shape][at];
    else
        v = shape == 0 ? 4 : shape == 1 ? 3 + 2 * ((int64_t)at % 4) : 8;
    if (v > most)
        v = shape == 0 ? most / 4 : shape == 1 ? most / 4 - 3 : most;
    if (v < f->least)
        v = f->least + (shape == 1 ? 7 : shape == 2 ? f->least : 0);
    return (v + f->multiple - 1) / f->multiple * f->multiple;
}

static void put_workloads(struct writing *w)
{
    static const char *const names[SHAPES] = {"small", "ragged", "larger"};
    size_t lengths = 0;

    for (size_t i = 0; i < w->f->nfact; i++)
        lengths += w->f->fact[i].role == WS__FACT_AXIS && !w->f->fact[i].small;
    ws__buf_puts(w->b, "workloads: # guesses: put the sizes here that matter "
                       "to you\n");
    for (int s = 0; s < SHAPES; s++) {
        size_t at = 0;

        ws__buf_printf(w->b, "  - {name: %s", names[s]);
        for (size_t i = 0; i < w->f->nfact; i++) {
            const struct ws__fact *f = &w->f->fact[i];

            if (f->role != WS__FACT_AXIS)
                continue;
            ws__buf_printf(w->b, ", %s: %lld", f->name,
                           (long long)size_of(w, f, lengths, at, s));
            at += !f->small;
        }
        ws__buf_puts(w->b, "}\n");
    }
}

static void put_op(struct writing *w)
{
    ws__buf_printf(w->b,
                   "# The op that '%s' computes: what it takes and gives, and "
                   "what is right.\n# Drafted by 'wavesmith init' from its "
                   "source, read by %s. What is a guess says so.\n",
                   w->d->name, w->d->read_by);
    for (size_t i = 0; i < w->d->nnote; i++) {
        ws__buf_puts(w->b, "# Not read: ");
        ws__draft_comment(w->b, w->d->note[i]);
        ws__buf_puts(w->b, "\n");
    }
    ws__buf_printf(w->b, "op: %s\n", w->d->name);
    put_axes(w);
    put_constants(w);
    put_role(w, "inputs", WS__FACT_INPUT);
    put_role(w, "inouts", WS__FACT_INOUT);
    put_role(w, "outputs", WS__FACT_OUTPUT);
    if (!has_role(w, WS__FACT_OUTPUT) && !has_role(w, WS__FACT_INOUT))
        ws__draft_line(w->b,
                       "nothing that the source writes was found: name it",
                       "outputs: %s", WS__BLANK);
    put_require(w);
    put_reference(w);
    put_tolerance(w);
    put_floor(w);
    put_values(w);
    put_workloads(w);
}

/* --- kernel files
 * -------------------------------------------------------------- */

static void put_parameters(struct writing *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->f->nname; i++) {
        const struct ws__fact_name *m = &w->f->name[i];

        if (!m->parameter)
            continue;
        if (!n++)
            ws__buf_puts(w->b,
                         "parameters: # the first value is the default\n");
        if (w->reference)
            ws__buf_printf(w->b, "  %s: {values: [%.*s]}\n", m->name,
                           (int)strcspn(m->text + 1, ",]"), m->text + 1);
        else
            ws__draft_line(w->b, m->guess, "  %s: {values: %s}", m->name,
                           m->text);
    }
    for (size_t i = 0; i < w->d->nmacro; i++) {
        if (!n++)
            ws__buf_puts(w->b,
                         "parameters: # the first value is the default\n");
        ws__draft_line(w->b,
                       w->reference
                           ? NULL
                           : "the source's own: add values to try, as in "
                             "[16, 32, 64]",
                       "  %s: {values: [%s]}", w->d->macro[i].name,
                       w->d->macro[i].value);
    }
}

static void put_scratch(struct writing *w)
{
    size_t n = 0;
    char why[400];

    for (size_t i = 0; i < w->f->nfact; i++) {
        const struct ws__fact *f = &w->f->fact[i];
        size_t bytes = ws__dtype_bytes(f->dtype);

        if (f->role != WS__FACT_SCRATCH)
            continue;
        if (!n++)
            ws__buf_puts(w->b, "scratch:\n");
        if (w->reference && w->d->wide && f->dtype == WS__DT_F32)
            bytes = 8;
        ws__draft_line(w->b, words_of(f, why), "  %s: \"%zu * %s\"", f->name,
                       bytes, f->count);
    }
}

static const char *quote(const char *text)
{
    return strchr(text, ',') ? "\"" : "";
}

/* A list of one to three expressions, without ones at its end. */
static void put_sizes(struct writing *w, const char *key,
                      const char *const text[3], size_t n, const char *note)
{
    char line[700];
    size_t at = 0;

    while (n > 1 && !strcmp(text[n - 1], "1"))
        n--;
    line[0] = '\0';
    for (size_t d = 0; d < n; d++)
        at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s%.200s%s",
                               d ? ", " : "", quote(text[d]), text[d],
                               quote(text[d]));
    ws__draft_line(w->b, note, "    %s: [%s]", key, line);
}

static void put_arg(struct writing *w, const struct ws__fact_launch *l,
                    size_t i)
{
    const struct ws__fact *f = &w->f->fact[l->arg[i]];
    const char *bytes = w->reference && w->d->wide ? l->shared_wide : l->shared;

    switch (f->role) {
    case WS__FACT_AXIS:
        ws__buf_printf(w->b, "      - {%s: %s}\n",
                       ws__dtype_name(l->arg_type[i]), f->name);
        break;
    case WS__FACT_SHARED:
        ws__draft_line(w->b, l->shared_note, "      - {shared: %s}",
                       bytes ? bytes : WS__BLANK);
        break;
    case WS__FACT_OPEN:
        ws__draft_line(w->b, "its type is not understood", "      - %s",
                       WS__BLANK);
        break;
    default:
        ws__buf_printf(w->b, "      - %s\n", f->name);
        break;
    }
}

static void put_launch(struct writing *w, const struct ws__fact_launch *l)
{
    const char *bytes = w->reference && w->d->wide ? l->shared_wide : l->shared;
    bool local = false;

    ws__buf_printf(w->b, "  - entry: %s\n", l->entry);
    put_sizes(w, "grid", l->grid, l->ngrid, l->grid_note);
    put_sizes(w, "block", l->block, l->nblock, l->block_note);
    ws__buf_puts(w->b, l->narg || bytes ? "    args:\n" : "    args: []\n");
    for (size_t i = 0; i < l->narg; i++) {
        put_arg(w, l, i);
        local = local || w->f->fact[l->arg[i]].role == WS__FACT_SHARED;
    }
    if (bytes && !local)
        ws__draft_line(w->b, l->shared_note, "      - {shared: \"%s\"}", bytes);
}

static void put_kernel(struct writing *w)
{
    static const char *const dialects[] = {"portable", "opencl", "cuda"};
    const struct ws__draft_full *d = w->d;

    if (w->reference)
        ws__buf_printf(w->b,
                       "# The reference of '%s': %s.\n# Drafted by 'wavesmith "
                       "init'; it is no candidate.\n",
                       d->name,
                       d->wide ? "its source in double precision"
                               : "its source as it was");
    else
        ws__buf_printf(w->b,
                       "# How %s is built and launched, read by %s.\n# Drafted "
                       "by 'wavesmith init'. What is a guess says so; "
                       "docs/specification.md has all keys.\n",
                       d->source_file, d->read_by);
    ws__buf_printf(w->b, "kernel: %s%s\nop: %s\ndialect: %s\nsource: \"%s\"\n",
                   d->name, w->reference ? "_reference" : "", d->op_ref,
                   dialects[d->dialect],
                   w->reference ? d->reference_source : d->source_file);
    if (w->f->atomic)
        ws__draft_line(w->b, "floats are added by atomics, in any order",
                       "order_dependent: true");
    put_parameters(w);
    if (d->wide)
        ws__draft_line(w->b, "the type in the source",
                       "constraints: [{require: T == %s}]",
                       w->reference ? "float64" : "float32");
    put_scratch(w);
    ws__buf_puts(w->b, "launches:\n");
    for (size_t i = 0; i < w->f->nlaunch; i++)
        put_launch(w, &w->f->launch[i]);
}

int ws__draft_full(const struct ws__draft_full *d, struct ws__buf *kernel,
                   struct ws__buf *op, struct ws__buf *reference)
{
    struct writing w = {.d = d, .f = d->facts, .b = op};

    put_op(&w);
    w.b = kernel;
    put_kernel(&w);
    w.b = reference;
    w.reference = true;
    put_kernel(&w);
    return kernel->failed ? kernel->failed
           : op->failed   ? op->failed
                          : reference->failed;
}
