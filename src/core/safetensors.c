/*
 * safetensors.c: reads tensors from files (see safetensors.h).
 *
 * The header is JSON of one shape: a map from names to {dtype, shape,
 * data_offsets}, and "__metadata__", a map of texts. A reader for just that is
 * shorter than the code around a general one, takes its memory from the
 * context, and says at which byte it stumbled. Accepted is what the format's
 * description allows, but for two liberties that do no harm: gaps between
 * tensors, and spaces after the header.
 *
 * Elements are read with pread and never mapped: a file that another process
 * cuts short is an error then, and not a signal.
 */
#include "core/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#include "base/banned.h"

#define LENGTH_BYTES 8u
#define MAX_HEADER ((uint64_t)16 << 20)
#define MAX_TENSORS 65536u
#define MAX_TEXT 4096u /* of one name */
#define MAX_RANK 32u
#define READ_BYTES ((size_t)1 << 20)

struct text {
    struct ws__safetensors *f;
    const char *begin, *p, *end;
    char word[MAX_TEXT + 1]; /* the last text that was read */
    size_t cap;
    uint64_t data; /* bytes behind the header */
};

static int broken(const struct text *t, const char *what)
{
    ws__fail(t->f->ctx, WS_ECORRUPT,
             "'%s' is no safetensors file: %s (byte %zu of its header)",
             t->f->path, what, (size_t)(t->p - t->begin));
    return ws__hint(t->f->ctx, "write or download it again");
}

static char peek(struct text *t)
{
    while (t->p < t->end && strchr(" \t\r\n", *t->p) && *t->p)
        t->p++;
    return t->p < t->end ? *t->p : '\0';
}

static bool take(struct text *t, char c)
{
    if (peek(t) != c)
        return false;
    t->p++;
    return true;
}

static int expect(struct text *t, char c)
{
    char what[] = "' ' is missing";

    what[1] = c;
    return take(t, c) ? 0 : broken(t, what);
}

/* Four hexadecimal digits; -1: they are none. */
static long hex4(const char *p, const char *end)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    long v = 0;

    for (int i = 0; i < 4; i++) {
        const char *d = p + i < end && p[i] ? strchr(digits, p[i]) : NULL;

        if (!d)
            return -1;
        v = v * 16 + (d - digits) % 16;
    }
    return v;
}

/* One character of a text after its backslash. Those beyond ASCII stand for
 * themselves in files that anybody writes; as numbers they are refused. */
static int unescape(struct text *t, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at;
    long code;

    if (t->p == t->end)
        return broken(t, "a text does not end");
    at = strchr(from, *t->p);
    if (at && *at) {
        *out = to[at - from];
        t->p++;
        return 0;
    }
    code = *t->p == 'u' ? hex4(t->p + 1, t->end) : -1;
    if (code < 1 || code > 127)
        return broken(t, "an escape that is not known");
    *out = (char)code;
    t->p += 5;
    return 0;
}

/* A text in quotes, into t->word. */
static int read_text(struct text *t)
{
    size_t n = 0;

    WS_TRY(expect(t, '"'));
    for (;;) {
        char c;

        if (t->p == t->end)
            return broken(t, "a text does not end");
        c = *t->p++;
        if (c == '"')
            break;
        if ((unsigned char)c < ' ')
            return broken(t, "a control character in a text");
        if (c == '\\')
            WS_TRY(unescape(t, &c));
        if (n == MAX_TEXT)
            return broken(t, "a text is too long");
        t->word[n++] = c;
    }
    t->word[n] = '\0';
    return 0;
}

static int read_number(struct text *t, uint64_t *out)
{
    char c = peek(t);
    uint64_t v = 0;

    if (c < '0' || c > '9')
        return broken(t, "a number is missing");
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*t->p - '0'), &v))
            return broken(t, "a number is too large");
    *out = v;
    return 0;
}

/* [n, n, ...]: at most `max` of them, all counted, the first `keep` kept. */
static int read_numbers(struct text *t, size_t max, size_t keep, uint64_t *out,
                        uint64_t *product, size_t *n)
{
    *n = 0;
    *product = 1;
    WS_TRY(expect(t, '['));
    if (take(t, ']'))
        return 0;
    do {
        uint64_t v;

        WS_TRY(read_number(t, &v));
        if (*n == max)
            return broken(t, "too many numbers in a list");
        if (*n < keep)
            out[*n] = v;
        if (v > INT64_MAX || __builtin_mul_overflow(*product, v, product))
            return broken(t, "a tensor is too large");
        ++*n;
    } while (take(t, ','));
    return expect(t, ']');
}

static const struct {
    const char *type;
    enum ws__dtype dtype;
    unsigned bytes;
} types[] = {
    {"F64", WS__DT_F64, 8},        {"F32", WS__DT_F32, 4},
    {"F16", WS__DT_F16, 2},        {"BF16", WS__DT_BF16, 2},
    {"F8_E4M3", WS__DT_F8E4M3, 1}, {"F8_E5M2", WS__DT_F8E5M2, 1},
    {"I64", WS__DT_I64, 8},        {"I32", WS__DT_I32, 4},
    {"I16", WS__DT_I16, 2},        {"I8", WS__DT_I8, 1},
    {"U8", WS__DT_U8, 1},          {"BOOL", WS__DT_BOOL, 1},
    {"U64", WS__DT_NONE, 8},       {"U32", WS__DT_NONE, 4},
    {"U16", WS__DT_NONE, 2},
};

/* What stands in the header about one tensor. */
struct entry {
    bool has_type, has_shape, has_place;
    uint64_t shape[WS__MAX_DIMS], place[2], elements;
};

static int read_member(struct text *t, struct ws__st_tensor *x, struct entry *e)
{
    WS_TRY(read_text(t));
    WS_TRY(expect(t, ':'));
    if (!strcmp(t->word, "dtype") && !e->has_type) {
        e->has_type = true;
        WS_TRY(read_text(t));
        if (strlen(t->word) >= sizeof(x->type))
            return broken(t, "a type that is not known");
        memcpy(x->type, t->word, strlen(t->word) + 1);
        return 0;
    }
    if (!strcmp(t->word, "shape") && !e->has_shape) {
        e->has_shape = true;
        WS_TRY(read_numbers(t, MAX_RANK, WS__MAX_DIMS, e->shape, &e->elements,
                            &x->ndim));
        for (size_t i = 0; i < WS__MAX_DIMS; i++)
            x->dim[i] = (int64_t)e->shape[i];
        return 0;
    }
    if (!strcmp(t->word, "data_offsets") && !e->has_place) {
        e->has_place = true;
        WS_TRY(expect(t, '['));
        WS_TRY(read_number(t, &e->place[0]));
        WS_TRY(expect(t, ','));
        WS_TRY(read_number(t, &e->place[1]));
        return expect(t, ']');
    }
    return broken(t, "a key that is not known, or stands twice");
}

static int check_place(struct text *t, struct ws__st_tensor *x,
                       const struct entry *e)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < WS_COUNT(types); i++)
        if (!strcmp(types[i].type, x->type)) {
            x->dtype = types[i].dtype;
            bytes = types[i].bytes;
        }
    if (e->place[0] > e->place[1] || e->place[1] > t->data)
        return broken(t, "a tensor lies outside of the file");
    x->at = e->place[0];
    x->bytes = e->place[1] - e->place[0];
    /* The size of a type that is younger than this code is not known. */
    if (bytes && (__builtin_mul_overflow(e->elements, bytes, &bytes) ||
                  bytes != x->bytes))
        return broken(t, "a tensor's size does not fit its shape");
    return 0;
}

static int read_tensor(struct text *t, struct ws__st_tensor *x)
{
    struct entry e = {0};

    WS_TRY(expect(t, '{'));
    do
        WS_TRY(read_member(t, x, &e));
    while (take(t, ','));
    WS_TRY(expect(t, '}'));
    if (!e.has_type || !e.has_shape || !e.has_place)
        return broken(t, "a tensor lacks its dtype, shape or data_offsets");
    return check_place(t, x, &e);
}

/* "__metadata__": texts, of no use here. */
static int skip_metadata(struct text *t)
{
    WS_TRY(expect(t, '{'));
    if (take(t, '}'))
        return 0;
    do {
        WS_TRY(read_text(t));
        WS_TRY(expect(t, ':'));
        WS_TRY(read_text(t));
    } while (take(t, ','));
    return expect(t, '}');
}

static int read_entry(struct text *t)
{
    struct ws__safetensors *f = t->f;
    struct ws__st_tensor *x;
    char *name;

    WS_TRY(read_text(t));
    WS_TRY(expect(t, ':'));
    if (!strcmp(t->word, "__metadata__"))
        return skip_metadata(t);
    if (f->n == MAX_TENSORS)
        return broken(t, "too many tensors");
    WS_TRY(ws__grow(f->ctx, (void **)&f->tensor, &t->cap, f->n, sizeof(*x)));
    x = &f->tensor[f->n];
    memset(x, 0, sizeof(*x));
    name = ws__arena_strdup(&f->arena, t->word);
    if (!name)
        return WS_ENOMEM;
    x->name = name;
    f->n++;
    return read_tensor(t, x);
}

static int by_name(const void *a, const void *b)
{
    const struct ws__st_tensor *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static int by_place(const void *a, const void *b)
{
    const struct ws__st_tensor *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int check_all(struct text *t)
{
    struct ws__st_tensor *x = t->f->tensor;

    if (!t->f->n)
        return 0;
    qsort(x, t->f->n, sizeof(*x), by_name);
    for (size_t i = 1; i < t->f->n; i++)
        if (!strcmp(x[i].name, x[i - 1].name))
            return broken(t, "a name stands twice");
    qsort(x, t->f->n, sizeof(*x), by_place);
    for (size_t i = 1; i < t->f->n; i++)
        if (x[i].at < x[i - 1].at + x[i - 1].bytes)
            return broken(t, "tensors overlap");
    return 0;
}

static int read_header(struct text *t)
{
    WS_TRY(expect(t, '{'));
    if (!take(t, '}')) {
        do
            WS_TRY(read_entry(t));
        while (take(t, ','));
        WS_TRY(expect(t, '}'));
    }
    peek(t);
    return t->p == t->end ? check_all(t) : broken(t, "more than one value");
}

static int make(struct ws_ctx *ctx, const char *path,
                struct ws__safetensors **out)
{
    struct ws__safetensors *f = ws__alloc(ctx, 1, sizeof(*f));

    *out = NULL;
    if (!f)
        return WS_ENOMEM;
    f->ctx = ctx;
    f->fd = -1;
    ws__arena_init(&f->arena, ctx);
    f->path = ws__arena_strdup(&f->arena, path);
    if (!f->path) {
        ws__safetensors_close(f);
        return WS_ENOMEM;
    }
    *out = f;
    return 0;
}

static int parse(struct ws__safetensors *f, const char *header, size_t len,
                 uint64_t data)
{
    struct text *t = ws__alloc(f->ctx, 1, sizeof(*t));
    int rc;

    if (!t)
        return WS_ENOMEM;
    t->f = f;
    t->begin = t->p = header;
    t->end = header + len;
    t->data = data;
    rc = read_header(t);
    ws__free(f->ctx, t);
    return rc;
}

int ws__safetensors_parse(struct ws_ctx *ctx, const char *path,
                          const char *header, size_t len, uint64_t data,
                          struct ws__safetensors **out)
{
    int rc;

    WS_TRY(make(ctx, path, out));
    rc = parse(*out, header, len, data);
    if (rc < 0) {
        ws__safetensors_close(*out);
        *out = NULL;
    }
    return rc;
}

void ws__safetensors_close(struct ws__safetensors *f)
{
    struct ws_ctx *ctx;

    if (!f)
        return;
    ctx = f->ctx;
    if (f->fd >= 0)
        close(f->fd);
    ws__free(ctx, f->tensor);
    ws__arena_free(&f->arena);
    ws__free(ctx, f);
}

static int short_file(const struct ws__safetensors *f)
{
    ws__fail(f->ctx, WS_ECORRUPT,
             "'%s' is no safetensors file: it ends too early", f->path);
    return ws__hint(f->ctx, "write or download it again");
}

static int read_at(const struct ws__safetensors *f, uint64_t at, void *to,
                   size_t n)
{
    char *p = to;

    while (n) {
        ssize_t got = pread(f->fd, p, n, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ws__fs_fail(f->ctx, errno, "read", f->path);
        if (!got)
            return short_file(f);
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

static int read_file(struct ws__safetensors *f, uint64_t size)
{
    unsigned char raw[LENGTH_BYTES];
    uint64_t len = 0, data;
    char *header;
    int rc;

    if (size < LENGTH_BYTES)
        return short_file(f);
    WS_TRY(read_at(f, 0, raw, sizeof(raw)));
    for (size_t i = LENGTH_BYTES; i-- > 0;)
        len = len << 8 | raw[i];
    if (len > size - LENGTH_BYTES)
        return short_file(f);
    if (len > MAX_HEADER) {
        ws__fail(f->ctx, WS_ELIMIT, "the header of '%s' has %llu bytes",
                 f->path, (unsigned long long)len);
        return ws__hint(f->ctx, "at most %llu are read",
                        (unsigned long long)MAX_HEADER);
    }
    data = size - LENGTH_BYTES - len;
    header = ws__alloc(f->ctx, (size_t)len + 1, 1);
    if (!header)
        return WS_ENOMEM;
    rc = read_at(f, LENGTH_BYTES, header, (size_t)len);
    if (rc >= 0)
        rc = parse(f, header, (size_t)len, data);
    ws__free(f->ctx, header);
    for (size_t i = 0; rc >= 0 && i < f->n; i++)
        f->tensor[i].at += LENGTH_BYTES + len;
    return rc;
}

static int open_file(struct ws__safetensors *f)
{
    struct stat st;

    /* Opening a pipe would wait for who writes it. */
    do
        f->fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    while (f->fd < 0 && errno == EINTR);
    f->fd = ws__fd_keep(f->fd);
    if (f->fd < 0)
        return ws__fs_fail(f->ctx, errno, "open", f->path);
    if (fstat(f->fd, &st) < 0)
        return ws__fs_fail(f->ctx, errno, "read", f->path);
    if (!S_ISREG(st.st_mode)) {
        ws__fail(f->ctx, WS_EINVAL, "'%s' is not a regular file", f->path);
        return ws__hint(f->ctx, "give the path of a safetensors file");
    }
    return read_file(f, (uint64_t)st.st_size);
}

int ws__safetensors_open(struct ws_ctx *ctx, const char *path,
                         struct ws__safetensors **out)
{
    int rc;

    WS_TRY(make(ctx, path, out));
    rc = open_file(*out);
    if (rc < 0) {
        ws__safetensors_close(*out);
        *out = NULL;
    }
    return rc;
}

const struct ws__st_tensor *
ws__safetensors_find(const struct ws__safetensors *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->tensor[i].name, name))
            return &f->tensor[i];
    return NULL;
}

int ws__safetensors_read(const struct ws__safetensors *f,
                         const struct ws__st_tensor *t, uint64_t from, void *to,
                         size_t n)
{
    if (from > t->bytes || n > t->bytes - from)
        return ws__fail(f->ctx, WS_EINVAL, "tensor '%s' of '%s' is shorter",
                        t->name, f->path);
    return read_at(f, t->at + from, to, n);
}

int ws__safetensors_hash(const struct ws__safetensors *f,
                         const struct ws__st_tensor *t, struct ws__hash *out)
{
    struct ws__hash h = ws__hash_u64((struct ws__hash){6, 0}, t->dtype);
    char *part = ws__alloc(f->ctx, READ_BYTES, 1);
    int rc = part ? 0 : WS_ENOMEM;

    h = ws__hash_u64(h, t->ndim);
    for (size_t i = 0; i < t->ndim && i < WS__MAX_DIMS; i++)
        h = ws__hash_u64(h, (uint64_t)t->dim[i]);
    for (uint64_t at = 0; rc >= 0 && at < t->bytes; at += READ_BYTES) {
        uint64_t left = t->bytes - at;
        size_t n = left < READ_BYTES ? (size_t)left : READ_BYTES;

        rc = ws__check_stop(f->ctx);
        if (rc >= 0)
            rc = ws__safetensors_read(f, t, at, part, n);
        if (rc >= 0)
            h = ws__hash_mix(h, part, n);
    }
    ws__free(f->ctx, part);
    *out = h;
    return rc < 0 ? rc : 0;
}

static void print_shape(const int64_t *dim, size_t n, char *to, size_t size)
{
    size_t used = (size_t)snprintf(to, size, "[");

    for (size_t i = 0; i < n && i < WS__MAX_DIMS && used < size; i++)
        used += (size_t)snprintf(to + used, size - used, "%s%lld",
                                 i ? ", " : "", (long long)dim[i]);
    if (used < size)
        snprintf(to + used, size - used, n > WS__MAX_DIMS ? ", ...]" : "]");
}

static int no_key(struct ws__safetensors *f, const char *key)
{
    char all[300] = "";

    for (size_t i = 0; i < f->n; i++) {
        size_t at = strlen(all);

        snprintf(all + at, sizeof(all) - at, " %s", f->tensor[i].name);
    }
    ws__fail(f->ctx, WS_ESPEC, "'%s' has no tensor '%s'", f->path, key);
    return ws__hint(f->ctx, f->n ? "it has%s" : "it has none%s", all);
}

int ws__safetensors_want(struct ws__safetensors *f, const char *key,
                         const struct ws__tensor_shape *want,
                         const struct ws__st_tensor **out)
{
    const struct ws__st_tensor *t = ws__safetensors_find(f, key);
    char have_text[160], want_text[160];

    *out = t;
    if (!t)
        return no_key(f, key);
    if (t->dtype == want->dtype && t->dtype && t->ndim == want->ndim &&
        !memcmp(t->dim, want->dim, t->ndim * sizeof(t->dim[0])))
        return 0;
    print_shape(t->dim, t->ndim, have_text, sizeof(have_text));
    print_shape(want->dim, want->ndim, want_text, sizeof(want_text));
    ws__fail(f->ctx, WS_ESPEC,
             "tensor '%s' of '%s' is %s %s, the workload needs %s %s", key,
             f->path, t->dtype ? ws__dtype_name(t->dtype) : t->type, have_text,
             ws__dtype_name(want->dtype), want_text);
    return ws__hint(f->ctx, "another file, another key, or other axis values");
}
