/*
 * wsrt_pack.c: opens and closes packs and says what is in them.
 *
 * The file is mapped read-only and private. It must not be cut off while it
 * is mapped; the writer never does, it replaces a pack by renaming, and an
 * open pack goes on seeing the old file. Here and in wsrt_cuda.c, where
 * executors are made, the runtime allocates and frees, nowhere else.
 *
 * Accessors accept any index and any pack: what does not exist has no name
 * (NULL) and no count (0).
 */
#include "wsrt_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int give_up(char *reason, size_t bytes, int status, const char *what)
{
    if (reason && bytes)
        snprintf(reason, bytes, "%s", what);
    return status;
}

static int make_table(struct wsrt_pack *p, char *reason, size_t reason_bytes)
{
    size_t bytes = wsrt__table_bytes(p);

    if (bytes == SIZE_MAX)
        return give_up(reason, reason_bytes, WSRT_EDAMAGED,
                       "shapes do not match the entries");
    if (!bytes)
        return WSRT_OK;
    p->table = calloc(1, bytes);
    if (!p->table)
        return give_up(reason, reason_bytes, WSRT_ENOMEM, "out of memory");
    wsrt__table_fill(p, p->table);
    return WSRT_OK;
}

static int make_ready(struct wsrt_pack *p, char *reason, size_t reason_bytes)
{
    if (!p->count[WSRT_S_FORMS])
        return WSRT_OK;
    p->ready = calloc(p->count[WSRT_S_FORMS], sizeof(*p->ready));
    if (!p->ready)
        return give_up(reason, reason_bytes, WSRT_ENOMEM, "out of memory");
    wsrt__ready_fill(p, p->ready);
    return WSRT_OK;
}

/* Takes `found`'s mapping; unmaps it on failure. */
static int open_pack(const struct wsrt_pack *found, struct wsrt_pack **out,
                     char *reason, size_t reason_bytes)
{
    struct wsrt_pack *p = malloc(sizeof(*p));
    int rc;

    if (p) {
        *p = *found;
        rc = wsrt__check_file(p, reason, reason_bytes);
        if (rc == WSRT_OK)
            rc = make_table(p, reason, reason_bytes);
        if (rc == WSRT_OK)
            rc = wsrt__check(p, reason, reason_bytes);
        if (rc == WSRT_OK)
            rc = make_ready(p, reason, reason_bytes);
    } else {
        rc = give_up(reason, reason_bytes, WSRT_ENOMEM, "out of memory");
    }
    if (rc == WSRT_OK) {
        *out = p;
        return rc;
    }
    if (found->mapped)
        munmap((void *)(uintptr_t)found->base, found->bytes);
    if (p) {
        free(p->table);
        free(p->ready);
    }
    free(p);
    return rc;
}

int wsrt_open_memory(const void *data, size_t bytes, struct wsrt_pack **out,
                     char *reason, size_t reason_bytes)
{
    struct wsrt_pack found = {.base = data, .bytes = bytes};

    if (!out)
        return WSRT_EARG;
    *out = NULL;
    if (!data || (uintptr_t)data % WSRT_ALIGN)
        return give_up(reason, reason_bytes, WSRT_EARG,
                       "memory is not aligned to 8 bytes");
    return open_pack(&found, out, reason, reason_bytes);
}

static int map_file(int fd, struct wsrt_pack *found, char *reason,
                    size_t reason_bytes)
{
    struct stat st;
    void *map;

    if (fstat(fd, &st))
        return give_up(reason, reason_bytes, WSRT_EIO, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return give_up(reason, reason_bytes, WSRT_EIO, "not a regular file");
    if (st.st_size == 0)
        return give_up(reason, reason_bytes, WSRT_EFORMAT,
                       "not a pack: the file is empty");
    if ((uintmax_t)st.st_size > SIZE_MAX)
        return give_up(reason, reason_bytes, WSRT_ENOMEM,
                       "larger than the address space");
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return give_up(reason, reason_bytes, WSRT_EIO, strerror(errno));
    found->base = map;
    found->bytes = (size_t)st.st_size;
    found->mapped = 1;
    return WSRT_OK;
}

int wsrt_open(const char *path, struct wsrt_pack **out, char *reason,
              size_t reason_bytes)
{
    struct wsrt_pack found = {0};
    int fd, rc;

    if (!path || !out)
        return WSRT_EARG;
    *out = NULL;
    /* Not blocking: a pipe is refused instead of waited for. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return give_up(reason, reason_bytes, WSRT_EIO, strerror(errno));
    rc = map_file(fd, &found, reason, reason_bytes);
    close(fd);
    if (rc != WSRT_OK)
        return rc;
    return open_pack(&found, out, reason, reason_bytes);
}

void wsrt_close(struct wsrt_pack *p)
{
    if (p && p->mapped)
        munmap((void *)(uintptr_t)p->base, p->bytes);
    if (p) {
        free(p->table);
        free(p->ready);
    }
    free(p);
}

const char *wsrt_status_text(int status)
{
    static const char text[][32] = {
        [-WSRT_OK] = "ok",
        [-WSRT_EIO] = "cannot be read",
        [-WSRT_EFORMAT] = "not a pack",
        [-WSRT_EVERSION] = "made for a newer runtime",
        [-WSRT_EDAMAGED] = "damaged",
        [-WSRT_EARG] = "bad argument",
        [-WSRT_ENONE] = "no variant may run this shape",
        [-WSRT_ENOMEM] = "out of memory",
        [-WSRT_ENOIMAGE] = "no binary for this shape",
        [-WSRT_ENOTREADY] = "not prepared",
        [-WSRT_ECAPTURE] = "a stream is being captured",
        [-WSRT_EBUSY] = "another thread is preparing",
        [-WSRT_EPLAN] = "no launch plan for this shape",
        [-WSRT_ENODRIVER] = "no driver or no device",
        [-WSRT_EDRIVER] = "the driver failed",
    };

    if (status > 0 || status < WSRT_EDRIVER)
        return "unknown status";
    return text[-status];
}

static uint32_t count(const struct wsrt_pack *p, enum wsrt_section s)
{
    return p ? p->count[s] : 0;
}

uint32_t wsrt_axis_count(const struct wsrt_pack *p)
{
    return count(p, WSRT_S_AXES);
}

const char *wsrt_axis_name(const struct wsrt_pack *p, uint32_t axis)
{
    if (axis >= count(p, WSRT_S_AXES))
        return NULL;
    return p->strings + p->axis[axis].name;
}

int wsrt_axis_find(const struct wsrt_pack *p, const char *name)
{
    for (uint32_t i = 0; name && i < count(p, WSRT_S_AXES); i++)
        if (!strcmp(wsrt_axis_name(p, i), name))
            return (int)i;
    return WSRT_EARG;
}

int wsrt_axis_default(const struct wsrt_pack *p, uint32_t axis, int64_t *value)
{
    if (axis >= count(p, WSRT_S_AXES) || !value ||
        p->axis[axis].kind == WSRT_AXIS_VAR)
        return WSRT_EARG;
    *value = p->axis[axis].dflt;
    return WSRT_OK;
}

/* Decimal digits with an optional minus: the same in every locale. */
static int parse_number(const char *text, int64_t *value)
{
    int negative = *text == '-';
    const char *s = text + negative;
    int64_t v = 0;

    if (!*s)
        return WSRT_EARG;
    for (; *s; s++) {
        int64_t digit = *s - '0';

        if (digit < 0 || digit > 9 || v > (INT64_MAX - digit) / 10)
            return WSRT_EARG;
        v = v * 10 + digit;
    }
    *value = negative ? -v : v;
    return WSRT_OK;
}

int wsrt_axis_value(const struct wsrt_pack *p, uint32_t axis, const char *text,
                    int64_t *value)
{
    const struct wsrt_f_axis *a;
    int64_t v;

    if (axis >= count(p, WSRT_S_AXES) || !text || !value)
        return WSRT_EARG;
    a = &p->axis[axis];
    for (uint32_t i = a->first_type; i < a->first_type + a->ntype; i++)
        if (!strcmp(p->strings + p->type[i].name, text)) {
            *value = p->type[i].code;
            return WSRT_OK;
        }
    if (parse_number(text, &v) || !wsrt__is_value(p, axis, v))
        return WSRT_EARG;
    *value = v;
    return WSRT_OK;
}

const char *wsrt_axis_value_text(const struct wsrt_pack *p, uint32_t axis,
                                 int64_t value)
{
    const struct wsrt_f_axis *a;

    if (axis >= count(p, WSRT_S_AXES))
        return NULL;
    a = &p->axis[axis];
    for (uint32_t i = a->first_type; i < a->first_type + a->ntype; i++)
        if (p->type[i].code == value)
            return p->strings + p->type[i].name;
    return NULL;
}

uint32_t wsrt_kernel_count(const struct wsrt_pack *p)
{
    return count(p, WSRT_S_KERNELS);
}

const char *wsrt_kernel_name(const struct wsrt_pack *p, uint32_t kernel)
{
    if (kernel >= count(p, WSRT_S_KERNELS))
        return NULL;
    return p->strings + p->kernel[kernel].name;
}

uint32_t wsrt_variant_count(const struct wsrt_pack *p)
{
    return count(p, WSRT_S_VARIANTS);
}

uint32_t wsrt_variant_kernel(const struct wsrt_pack *p, uint32_t variant)
{
    if (variant >= count(p, WSRT_S_VARIANTS))
        return WSRT_NONE;
    return p->variant[variant].kernel;
}

uint32_t wsrt_param_count(const struct wsrt_pack *p, uint32_t kernel)
{
    if (kernel >= count(p, WSRT_S_KERNELS))
        return 0;
    return p->kernel[kernel].nparam;
}

const char *wsrt_param_name(const struct wsrt_pack *p, uint32_t kernel,
                            uint32_t i)
{
    if (i >= wsrt_param_count(p, kernel))
        return NULL;
    return p->strings + p->param[p->kernel[kernel].first_param + i].name;
}

const char *wsrt_param_text(const struct wsrt_pack *p, uint32_t variant,
                            uint32_t i)
{
    if (i >= wsrt_param_count(p, wsrt_variant_kernel(p, variant)))
        return NULL;
    return p->strings + p->value[p->variant[variant].first_value + i].text;
}

const char *wsrt_text(const struct wsrt_pack *p, const char *name,
                      size_t *bytes)
{
    for (uint32_t i = 0; name && i < count(p, WSRT_S_TEXTS); i++) {
        const struct wsrt_f_text *t = &p->text[i];

        if (strcmp(p->strings + t->name, name))
            continue;
        if (bytes)
            *bytes = (size_t)t->bytes;
        return p->chars + t->at;
    }
    return NULL;
}

uint32_t wsrt_entry_count(const struct wsrt_pack *p)
{
    return count(p, WSRT_S_ENTRIES);
}

const int64_t *wsrt_entry_axes(const struct wsrt_pack *p, uint32_t entry)
{
    if (entry >= count(p, WSRT_S_ENTRIES))
        return NULL;
    return p->shape + (size_t)entry * p->naxis;
}

/* "1 4096 2:", the values of a shape, as a line of the text begins. */
static size_t shape_text(const int64_t *axes, uint32_t n, char *out,
                         size_t room)
{
    size_t at = 0;

    for (uint32_t i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, room - at, "%lld%s",
                               (long long)axes[i], i + 1 < n ? " " : ":");
    return at;
}

const char *wsrt_entry_gates(const struct wsrt_pack *p, uint32_t entry,
                             size_t *bytes)
{
    char want[WSRT_MAX_AXES * 24];
    const int64_t *axes = wsrt_entry_axes(p, entry);
    const char *line, *end;
    size_t n, left;

    *bytes = 0;
    line = wsrt_text(p, "gates", &left);
    if (!axes || !line)
        return NULL;
    n = shape_text(axes, p->naxis, want, sizeof(want));
    for (; (end = memchr(line, '\n', left)) != NULL; line = end + 1) {
        left -= (size_t)(end - line) + 1;
        if ((size_t)(end - line) < n || memcmp(line, want, n) != 0)
            continue;
        line += n + (line[n] == ' ');
        *bytes = (size_t)(end - line);
        return line;
    }
    return NULL;
}
