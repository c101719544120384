/*
 * device_null.c: a device without hardware. The template for new members,
 * and what tests of the protocol and of the engine run on.
 *
 * Buffers are host memory; the "compiler" reads a tiny language of its own.
 * A source is lines; '#' starts a comment, but "#define NAME WORD" is
 * understood, so that parameters of a kernel can steer it. "kernel NAME"
 * begins an entry, the lines after it are its statements:
 *
 *   copy TO FROM        arguments by number; as many bytes as fit in both
 *   fill TO VALUE       every float of TO becomes VALUE
 *   add TO VALUE        every float of TO grows by VALUE
 *   mul TO FROM VALUE   TO = FROM * VALUE, element by element
 *   store TO ARG        the bytes of a value argument at the start of TO
 *   addr TO             the address of TO (64 bits) at the start of TO
 *   oob TO BYTE         writes one byte at this offset from the start of TO,
 *                       which may be negative or past its end
 *   refuse              the launch fails
 *   crash | hang        what they say
 *   slow US             is busy for so many microseconds
 *   time NS             the sample's time is the sum of these, exactly
 *   mhz N               the clock after the sample
 *   slowed WHY FROM TO  samples FROM to TO - 1 of this module, counted from 0,
 *                       are slowed by "power", "thermal" or "hardware"
 *   if WORD WORD ...    the rest of the line if both words are the same
 *
 * A word that is the name of a #define stands for its value. One "time"
 * makes samples deterministic: the clock is not looked at.
 */
#include "device/device.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/rounds.h"
#include "base/banned.h"

#define ALIGN ((uint64_t)64)
#define DEVICES 4u
#define MAX_WORDS 16
#define MAX_DEFINES 256
/* Room for "oob" to land in, whatever guard was asked for. */
#define SLACK_BYTES ((uint64_t)256)
#define MAX_ALLOC_BYTES ((uint64_t)1 << 30)

struct buffer {
    unsigned char *raw; /* NULL: free place */
    uint64_t total, lead, bytes;
};

struct line {
    char *word[MAX_WORDS];
    size_t n;
};

struct entry {
    const char *name;
    size_t first, n; /* lines */
};

struct module {
    struct ws__arena arena;
    struct line *line;
    size_t nline;
    struct entry *entry;
    size_t nentry;
    struct {
        const char *name, *value;
    } define[MAX_DEFINES];
    size_t ndefine;
    uint64_t samples; /* that its kernels were part of */
};

struct null_device {
    struct ws_ctx *ctx;
    struct ws__device_info info;
    struct buffer *buffer;
    size_t nbuffer, buffer_cap;
    struct module **module;
    size_t nmodule, module_cap;
    double stated_ns; /* of the running sequence */
    bool stated;
    uint32_t mhz, slowed; /* after it */
};

/* --- what it is --------------------------------------------------------- */

/* Number 0 shares the host's processors, as an OpenCL device on a CPU does;
 * the others are cards of one model. */
static void fill_info(uint32_t index, struct ws__device_info *info)
{
    struct ws__identity *id = &info->id;

    memset(info, 0, sizeof(*info));
    snprintf(info->name, sizeof(info->name), "null:%u", (unsigned)index);
    snprintf(info->place, sizeof(info->place), "null %u", (unsigned)index);
    snprintf(id->device, sizeof(id->device), "null device");
    snprintf(id->driver, sizeof(id->driver), "1");
    snprintf(id->compiler, sizeof(id->compiler), "1");
    snprintf(id->tool, sizeof(id->tool), "%s", WS_VERSION);
    snprintf(id->family, sizeof(id->family), "null");
    id->units = 4;
    id->max_threads = 1024;
    id->memory_bytes = (uint64_t)8 << 30;
    id->cache_bytes = (uint64_t)1 << 20;
    id->shared_bytes = 65536;
    id->vector_bytes = 16;
    id->is_cpu = !index;
    ws__identity_seal(id);
    info->usable = true;
    info->max_alloc_bytes = MAX_ALLOC_BYTES;
    for (int i = 0; i < 3; i++)
        info->max_block[i] = 1024;
}

static int null_probe(struct ws_ctx *ctx, struct ws__device_list *out)
{
    struct ws__device_info info;
    int rc = 0;

    for (uint32_t i = 0; i < DEVICES && rc >= 0; i++) {
        fill_info(i, &info);
        rc = ws__device_list_add(ctx, out, &info);
    }
    return rc;
}

static int null_open(struct ws_ctx *ctx, uint32_t index, const char *cache_dir,
                     void **dev)
{
    struct null_device *d;

    (void)cache_dir;
    *dev = NULL;
    if (index >= DEVICES)
        return ws__fail(ctx, WS_ENODEVICE, "no device 'null:%u'",
                        (unsigned)index);
    d = ws__alloc(ctx, 1, sizeof(*d));
    if (!d)
        return WS_ENOMEM;
    d->ctx = ctx;
    fill_info(index, &d->info);
    *dev = d;
    return 0;
}

static const struct ws__device_info *null_info(void *dev)
{
    return &((struct null_device *)dev)->info;
}

/* --- buffers ------------------------------------------------------------ */

static uint64_t round_up(uint64_t v, uint64_t to)
{
    return (v + to - 1) / to * to;
}

static struct buffer *find_buffer(struct null_device *d, uint32_t handle)
{
    if (handle == 0 || handle > d->nbuffer || !d->buffer[handle - 1].raw) {
        ws__fail(d->ctx, WS_EINVAL, "no buffer %u", (unsigned)handle);
        return NULL;
    }
    return &d->buffer[handle - 1];
}

static unsigned char guard_byte(uint64_t at)
{
    return (unsigned char)(WS__GUARD_PATTERN >> (at % 4 * 8));
}

static int buffer_place(struct null_device *d, uint32_t *handle)
{
    void *items = d->buffer;

    for (size_t i = 0; i < d->nbuffer; i++)
        if (!d->buffer[i].raw) {
            *handle = (uint32_t)i + 1;
            return 0;
        }
    WS_TRY(ws__grow(d->ctx, &items, &d->buffer_cap, d->nbuffer,
                    sizeof(*d->buffer)));
    d->buffer = items;
    *handle = (uint32_t)++d->nbuffer;
    memset(&d->buffer[*handle - 1], 0, sizeof(*d->buffer));
    return 0;
}

static int null_alloc(void *dev, uint64_t bytes, uint32_t guard, uint32_t shift,
                      uint32_t *handle)
{
    struct null_device *d = dev;
    struct buffer b = {.bytes = bytes};
    uint32_t at;

    *handle = 0;
    if (bytes > MAX_ALLOC_BYTES)
        return ws__fail(d->ctx, WS_EDEVMEM,
                        "device has no %llu bytes for a buffer",
                        (unsigned long long)bytes);
    WS_TRY(buffer_place(d, &at));
    b.lead = round_up(guard + SLACK_BYTES, ALIGN) + round_up(shift, ALIGN);
    b.total = round_up(b.lead + bytes + guard + SLACK_BYTES, ALIGN);
    b.raw = ws__alloc(d->ctx, (size_t)b.total, 1);
    if (!b.raw)
        return WS_ENOMEM;
    for (uint64_t i = 0; i < b.total; i++)
        if (i < b.lead || i >= b.lead + bytes)
            b.raw[i] = guard_byte(i);
    d->buffer[at - 1] = b;
    *handle = at;
    return 0;
}

static void null_release(void *dev, uint32_t handle)
{
    struct null_device *d = dev;

    if (handle == 0 || handle > d->nbuffer)
        return;
    ws__free(d->ctx, d->buffer[handle - 1].raw);
    memset(&d->buffer[handle - 1], 0, sizeof(*d->buffer));
}

static int span(struct null_device *d, uint32_t handle, uint64_t offset,
                uint64_t bytes, unsigned char **p)
{
    struct buffer *b = find_buffer(d, handle);

    if (!b)
        return WS_EINVAL;
    if (offset > b->bytes || bytes > b->bytes - offset)
        return ws__fail(d->ctx, WS_EINVAL, "outside of buffer %u",
                        (unsigned)handle);
    *p = b->raw + b->lead + offset;
    return 0;
}

static int null_write(void *dev, uint32_t handle, uint64_t offset,
                      const void *from, uint64_t bytes)
{
    unsigned char *p = NULL;

    WS_TRY(span(dev, handle, offset, bytes, &p));
    if (bytes)
        memcpy(p, from, (size_t)bytes);
    return 0;
}

static int null_read(void *dev, uint32_t handle, uint64_t offset, void *to,
                     uint64_t bytes)
{
    unsigned char *p = NULL;

    WS_TRY(span(dev, handle, offset, bytes, &p));
    if (bytes)
        memcpy(to, p, (size_t)bytes);
    return 0;
}

static int null_fill(void *dev, uint32_t handle, uint32_t pattern)
{
    struct buffer *b = find_buffer(dev, handle);

    if (!b)
        return WS_EINVAL;
    for (uint64_t i = 0; i < b->bytes; i++)
        b->raw[b->lead + i] = (unsigned char)(pattern >> (i % 4 * 8));
    return 0;
}

static int null_copy(void *dev, uint32_t to, uint32_t from)
{
    struct null_device *d = dev;
    struct buffer *a = find_buffer(d, to);
    struct buffer *b = a ? find_buffer(d, from) : NULL;

    if (!b)
        return WS_EINVAL;
    if (a->bytes != b->bytes)
        return ws__fail(d->ctx, WS_EINVAL, "copy between sizes");
    memmove(a->raw + a->lead, b->raw + b->lead, (size_t)b->bytes);
    return 0;
}

static int null_hash(void *dev, uint32_t handle, uint64_t *out)
{
    struct buffer *b = find_buffer(dev, handle);

    if (!b)
        return WS_EINVAL;
    *out = ws__hash_bytes(b->raw + b->lead, (size_t)b->bytes).lo;
    return 0;
}

static int null_guard(void *dev, uint32_t handle, int64_t *offset)
{
    struct buffer *b = find_buffer(dev, handle);

    if (!b)
        return WS_EINVAL;
    *offset = 0;
    for (uint64_t i = 0; i < b->total; i++)
        if ((i < b->lead || i >= b->lead + b->bytes) &&
            b->raw[i] != guard_byte(i)) {
            *offset = (int64_t)i - (int64_t)b->lead;
            return 1;
        }
    return 0;
}

/* --- the compiler ------------------------------------------------------- */

/* name, how many words it takes */
static const struct {
    const char *name;
    size_t words;
} statement[] = {
    {"copy", 2}, {"fill", 2}, {"add", 2},    {"mul", 3},    {"store", 2},
    {"addr", 1}, {"oob", 2},  {"refuse", 0}, {"crash", 0},  {"hang", 0},
    {"slow", 1}, {"time", 1}, {"mhz", 1},    {"slowed", 3},
};

/* -1: unknown */
static int statement_words(const char *name)
{
    for (size_t i = 0; i < WS_COUNT(statement); i++)
        if (!strcmp(statement[i].name, name))
            return (int)statement[i].words;
    return -1;
}

static void split(char *text, struct line *out)
{
    char *save = NULL;

    memset(out, 0, sizeof(*out));
    for (char *w = strtok_r(text, " \t\r", &save); w && out->n < MAX_WORDS;
         w = strtok_r(NULL, " \t\r", &save))
        out->word[out->n++] = w;
}

static bool well_formed(const struct line *l)
{
    size_t at = 0;

    if (l->n == MAX_WORDS)
        return false; /* perhaps cut */
    while (at < l->n && !strcmp(l->word[at], "if"))
        at += 3;
    return at < l->n && statement_words(l->word[at]) == (int)(l->n - at) - 1;
}

static void take_define(struct module *m, const struct line *l)
{
    if (m->ndefine == MAX_DEFINES || l->n < 2 || strcmp(l->word[0], "#define"))
        return;
    m->define[m->ndefine].name = l->word[1];
    m->define[m->ndefine++].value = l->n > 2 ? l->word[2] : "1";
}

static int syntax_fail(struct null_device *d, size_t number,
                       const struct line *l)
{
    ws__fail(d->ctx, WS_EBUILD, "line %zu: error: cannot understand '%s'",
             number, l->word[0]);
    d->ctx->err.line = (uint32_t)number;
    return WS_EBUILD;
}

static int parse_line(struct null_device *d, struct module *m, char *text,
                      size_t number)
{
    struct line l;

    split(text, &l);
    if (l.n == 0)
        return 0;
    if (l.word[0][0] == '#') {
        take_define(m, &l);
        return 0;
    }
    if (!strcmp(l.word[0], "kernel") && l.n == 2) {
        m->entry[m->nentry++] = (struct entry){l.word[1], m->nline, 0};
        return 0;
    }
    if (!m->nentry || !well_formed(&l))
        return syntax_fail(d, number, &l);
    m->line[m->nline++] = l;
    m->entry[m->nentry - 1].n++;
    return 0;
}

static int parse(struct null_device *d, struct module *m, const char *source)
{
    char *text = ws__arena_strdup(&m->arena, source);
    size_t lines = 1, number = 0;

    for (const char *s = source; *s; s++)
        lines += *s == '\n';
    m->line = ws__arena_alloc(&m->arena, lines, sizeof(*m->line));
    m->entry = ws__arena_alloc(&m->arena, lines, sizeof(*m->entry));
    if (!text || !m->line || !m->entry)
        return WS_ENOMEM;
    while (text) {
        char *end = strchr(text, '\n');

        if (end)
            *end++ = '\0';
        WS_TRY(parse_line(d, m, text, ++number));
        text = end;
    }
    return 0;
}

static const struct entry *find_entry(const struct module *m, const char *name)
{
    for (size_t i = 0; i < m->nentry; i++)
        if (!strcmp(m->entry[i].name, name))
            return &m->entry[i];
    return NULL;
}

static void free_module(struct null_device *d, struct module *m)
{
    if (!m)
        return;
    ws__arena_free(&m->arena);
    ws__free(d->ctx, m);
}

static int compile(struct null_device *d, const struct ws__build *b,
                   struct module *m)
{
    ws__log(d->ctx, WS_LOG_DEBUG, "the compiler");
    if (ws__dialect_is_ready(b->dialect))
        return ws__fail(d->ctx, WS_EBUILD,
                        "error: the kernel is ready-made, this device takes "
                        "texts of its own");
    WS_TRY(parse(d, m, b->source));
    for (size_t i = 0; i < b->nentry; i++)
        if (!find_entry(m, b->entry[i]))
            return ws__fail(d->ctx, WS_EBUILD, "no kernel '%s' in the source",
                            b->entry[i]);
    return 0;
}

/* What can be loaded is the source; its entries have their own names, which
 * follow the list of pointers to them. */
static int keep_image(struct null_device *d, const struct ws__build *b,
                      struct ws__built *out)
{
    size_t bytes = b->nentry * sizeof(char *);
    char *at;

    for (size_t i = 0; i < b->nentry; i++)
        bytes += strlen(b->entry[i]) + 1;
    out->image = ws__strdup(d->ctx, b->source);
    out->symbol = ws__alloc(d->ctx, 1, bytes);
    if (!out->image || !out->symbol) {
        ws__built_free(d->ctx, out);
        return WS_ENOMEM;
    }
    out->image_bytes = strlen(b->source) + 1;
    out->nsymbol = b->nentry;
    at = (char *)(out->symbol + b->nentry);
    for (size_t i = 0; i < b->nentry; i++) {
        size_t n = strlen(b->entry[i]) + 1;

        out->symbol[i] = memcpy(at, b->entry[i], n);
        at += n;
    }
    return 0;
}

static int null_build(void *dev, const struct ws__build *b,
                      struct ws__built *out)
{
    struct null_device *d = dev;
    void *items = d->module;
    uint64_t begin = ws__now_ns();
    struct module *m;
    int rc;

    memset(out, 0, sizeof(*out));
    WS_TRY(ws__grow(d->ctx, &items, &d->module_cap, d->nmodule,
                    sizeof(struct module *)));
    d->module = items;
    m = ws__alloc(d->ctx, 1, sizeof(*m));
    if (!m)
        return WS_ENOMEM;
    ws__arena_init(&m->arena, d->ctx);
    rc = compile(d, b, m);
    if (rc >= 0 && b->want_image)
        rc = keep_image(d, b, out);
    if (rc < 0) {
        free_module(d, m);
        return rc;
    }
    d->module[d->nmodule++] = m;
    out->module = (uint32_t)d->nmodule;
    out->res.binary_bytes = strlen(b->source);
    out->res.binary = ws__hash_str((struct ws__hash){0, 0}, b->source);
    out->res.max_threads = d->info.id.max_threads;
    out->res.build_ns = ws__now_ns() - begin;
    return 0;
}

static void null_unload(void *dev, uint32_t module)
{
    struct null_device *d = dev;

    if (module == 0 || module > d->nmodule)
        return;
    free_module(d, d->module[module - 1]);
    d->module[module - 1] = NULL;
}

static void null_close(void *dev)
{
    struct null_device *d = dev;

    if (!d)
        return;
    for (size_t i = 0; i < d->nmodule; i++)
        free_module(d, d->module[i]);
    for (size_t i = 0; i < d->nbuffer; i++)
        ws__free(d->ctx, d->buffer[i].raw);
    ws__free(d->ctx, d->module);
    ws__free(d->ctx, d->buffer);
    ws__free(d->ctx, d);
}

/* --- the machine -------------------------------------------------------- */

struct frame {
    struct null_device *d;
    const struct module *m;
    const struct ws__dev_launch *launch;
};

static const char *value_of(const struct frame *f, const char *word)
{
    for (size_t i = 0; i < f->m->ndefine; i++)
        if (!strcmp(f->m->define[i].name, word))
            return f->m->define[i].value;
    return word;
}

static double number(const struct frame *f, const char *word)
{
    return strtod(value_of(f, word), NULL);
}

static const struct ws__dev_arg *argument(const struct frame *f,
                                          const char *word)
{
    double at = number(f, word);

    if (!(at >= 0) || at >= (double)f->launch->narg) {
        ws__fail(f->d->ctx, WS_ELAUNCH, "kernel '%s' has no argument '%s'",
                 f->launch->entry, word);
        return NULL;
    }
    return &f->launch->arg[(size_t)at];
}

static struct buffer *buffer_arg(const struct frame *f, const char *word)
{
    const struct ws__dev_arg *a = argument(f, word);

    if (!a)
        return NULL;
    if (a->kind != WS__ARG_TENSOR && a->kind != WS__ARG_SCRATCH) {
        ws__fail(f->d->ctx, WS_ELAUNCH, "argument '%s' is no buffer", word);
        return NULL;
    }
    return find_buffer(f->d, a->buffer);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void map_floats(struct buffer *to, const struct buffer *from,
                       double scale, double plus)
{
    uint64_t n = smaller(to->bytes, from->bytes) / sizeof(float);

    for (uint64_t i = 0; i < n; i++) {
        float v;

        memcpy(&v, from->raw + from->lead + i * sizeof(v), sizeof(v));
        v = (float)((double)v * scale + plus);
        memcpy(to->raw + to->lead + i * sizeof(v), &v, sizeof(v));
    }
}

static int store(const struct frame *f, struct buffer *to, const char *word)
{
    const struct ws__dev_arg *a = argument(f, word);

    if (!a)
        return WS_ELAUNCH;
    memcpy(to->raw + to->lead, a->value, (size_t)smaller(to->bytes, a->bytes));
    return 0;
}

static void poke(struct buffer *b, double offset)
{
    double at = (double)b->lead + offset;

    if (at >= 0 && at < (double)b->total)
        b->raw[(uint64_t)at] ^= 0x5a;
}

/* Statements with a buffer as their first word. */
static int run_on_buffer(struct frame *f, const struct line *l, size_t at)
{
    const char *op = l->word[at];
    char *const *word = &l->word[at + 1];
    struct buffer *to = buffer_arg(f, word[0]), *from = to;

    if (to && (!strcmp(op, "copy") || !strcmp(op, "mul")))
        from = buffer_arg(f, word[1]);
    if (!to || !from)
        return f->d->ctx->err.code;
    if (!strcmp(op, "copy"))
        memmove(to->raw + to->lead, from->raw + from->lead,
                (size_t)smaller(to->bytes, from->bytes));
    else if (!strcmp(op, "fill"))
        map_floats(to, to, 0, number(f, word[1]));
    else if (!strcmp(op, "add"))
        map_floats(to, to, 1, number(f, word[1]));
    else if (!strcmp(op, "mul"))
        map_floats(to, from, number(f, word[2]), 0);
    else if (!strcmp(op, "oob"))
        poke(to, number(f, word[1]));
    else if (!strcmp(op, "store"))
        return store(f, to, word[1]);
    else if (to->bytes >= sizeof(uint64_t)) { /* addr */
        uint64_t p = (uint64_t)(uintptr_t)(to->raw + to->lead);

        memcpy(to->raw + to->lead, &p, sizeof(p));
    }
    return 0;
}

static void be_busy(double us)
{
    uint64_t end = ws__now_ns() + (uint64_t)(us * 1e3);

    while (ws__now_ns() < end)
        continue;
}

static void be_slowed(struct frame *f, char *const *word)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } why[] = {{"power", WS__SLOW_POWER},
               {"thermal", WS__SLOW_THERMAL},
               {"hardware", WS__SLOW_HARDWARE}};
    double at = (double)f->m->samples;

    if (at < number(f, word[1]) || at >= number(f, word[2]))
        return;
    for (size_t i = 0; i < WS_COUNT(why); i++)
        if (!strcmp(value_of(f, word[0]), why[i].name))
            f->d->slowed |= why[i].bit;
}

static int run_line(struct frame *f, const struct line *l)
{
    size_t at = 0;
    const char *op;

    while (!strcmp(l->word[at], "if")) {
        if (strcmp(value_of(f, l->word[at + 1]), value_of(f, l->word[at + 2])))
            return 0;
        at += 3;
    }
    op = l->word[at];
    if (!strcmp(op, "refuse"))
        return ws__fail(f->d->ctx, WS_ELAUNCH, "kernel '%s' was refused",
                        f->launch->entry);
    if (!strcmp(op, "crash")) {
        raise(SIGSEGV);
        return 0;
    }
    if (!strcmp(op, "hang"))
        for (;;)
            pause();
    if (!strcmp(op, "slow")) {
        be_busy(number(f, l->word[at + 1]));
        return 0;
    }
    if (!strcmp(op, "time")) {
        f->d->stated = true;
        f->d->stated_ns += number(f, l->word[at + 1]);
        return 0;
    }
    if (!strcmp(op, "mhz")) {
        f->d->mhz = (uint32_t)number(f, l->word[at + 1]);
        return 0;
    }
    if (!strcmp(op, "slowed")) {
        be_slowed(f, &l->word[at + 1]);
        return 0;
    }
    return run_on_buffer(f, l, at);
}

static int run_launch(struct null_device *d, const struct ws__dev_launch *l)
{
    struct frame f = {.d = d, .launch = l};
    const struct entry *e;

    if (l->module == 0 || l->module > d->nmodule || !d->module[l->module - 1])
        return ws__fail(d->ctx, WS_EINVAL, "no module %u", (unsigned)l->module);
    f.m = d->module[l->module - 1];
    e = find_entry(f.m, l->entry);
    if (!e)
        return ws__fail(d->ctx, WS_ELAUNCH, "no kernel '%s'", l->entry);
    if ((uint64_t)l->block[0] * l->block[1] * l->block[2] >
        d->info.id.max_threads)
        return ws__fail(d->ctx, WS_ELAUNCH,
                        "a block of kernel '%s' has too many threads",
                        l->entry);
    for (size_t i = 0; i < e->n; i++)
        WS_TRY(run_line(&f, &f.m->line[e->first + i]));
    return 0;
}

static int run_once(struct null_device *d, const struct ws__dev_seq *s)
{
    for (size_t i = 0; i < s->nfill; i++)
        if (s->fill[i].timed)
            WS_TRY(null_fill(d, s->fill[i].buffer, s->fill[i].pattern));
    for (size_t i = 0; i < s->nlaunch; i++)
        WS_TRY(run_launch(d, &s->launch[i]));
    return 0;
}

static void count_sample(struct null_device *d, const struct ws__dev_seq *s)
{
    for (size_t i = 0; i < s->nlaunch; i++) {
        bool seen = false;

        for (size_t k = 0; k < i; k++)
            seen = seen || s->launch[k].module == s->launch[i].module;
        if (!seen)
            d->module[s->launch[i].module - 1]->samples++;
    }
}

/* Beside a stated time the host's clock says nothing. */
static int null_timed(void *dev, const struct ws__dev_seq *s, uint32_t inner,
                      bool both, struct ws__dev_sample *out)
{
    struct null_device *d = dev;
    uint64_t begin = ws__now_ns();

    ws__log(d->ctx, WS_LOG_DEBUG, "running '%s'",
            s->nlaunch ? s->launch[0].entry : "");
    d->stated = false;
    d->stated_ns = 0;
    d->mhz = d->slowed = 0;
    for (uint32_t i = 0; i < inner; i++)
        WS_TRY(run_once(d, s));
    out->ns = d->stated ? d->stated_ns : (double)(ws__now_ns() - begin);
    out->host_ns = both && !d->stated ? out->ns : 0;
    count_sample(d, s);
    return 0;
}

static void null_look(void *dev, struct ws__dev_sample *s)
{
    struct null_device *d = dev;

    s->mhz = d->mhz;
    s->slowed = d->slowed;
}

/* There is no cache of its own to flush. */
static int null_flush(void *dev, uint64_t bytes)
{
    (void)dev;
    (void)bytes;
    return 0;
}

static int null_run(void *dev, const struct ws__dev_batch *b,
                    struct ws__dev_sample *samples, size_t *n)
{
    static const struct ws__round_ops ops = {
        .copy = null_copy,
        .fill = null_fill,
        .hash = null_hash,
        .flush = null_flush,
        .timed = null_timed,
        .look = null_look,
    };
    struct null_device *d = dev;

    return ws__device_rounds(d->ctx, &ops, d, b, samples, n);
}

const struct ws__device_ops ws__device_null = {
    .abi = WS__DEVICE_ABI,
    .name = "null",
    .about = "host memory and a language for tests",
    .probe = null_probe,
    .open = null_open,
    .close = null_close,
    .info = null_info,
    .build = null_build,
    .unload = null_unload,
    .alloc = null_alloc,
    .release = null_release,
    .write = null_write,
    .read = null_read,
    .fill = null_fill,
    .copy = null_copy,
    .hash = null_hash,
    .guard = null_guard,
    .run = null_run,
    .by_name = true,
};
