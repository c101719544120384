/*
 * wsrt_table.c: the entries of a pack as a look-up wants them.
 *
 * The file has what cannot be computed, in few bytes: times, variants, the
 * values of the variable axes, the types of each group. A look-up wants whole
 * shapes to compare with, logarithms column by column, and an index; opening
 * makes them, in one block of memory, in one pass. Packs of major version 1
 * have all of that in the file, where it is used as it lies.
 */
#include "wsrt_format.h"

#include <string.h>

/* Places of the index: a power of two, at most a third of them in use. */
static uint32_t index_places(uint32_t nentry)
{
    uint32_t n = 2;

    while (n < 3 * nentry)
        n *= 2;
    return n;
}

size_t wsrt__table_bytes(const struct wsrt_pack *p)
{
    size_t n = p->count[WSRT_S_ENTRIES], groups = p->count[WSRT_S_GROUPS];
    size_t high = p->count[WSRT_S_SHAPEHIGH];

    if (p->major == WSRT_MAJOR_1)
        return 0;
    if (p->count[WSRT_S_SHAPES] != n * p->nvar ||
        (high && high != n * p->nvar) || p->count[WSRT_S_LOGS] ||
        p->count[WSRT_S_INDEX] || (n && !groups) ||
        p->count[WSRT_S_GROUPTYPES] != groups * p->ntype)
        return SIZE_MAX;
    return n * sizeof(struct wsrt_f_entry) + n * p->naxis * sizeof(int64_t) +
           n * p->nvar * sizeof(int32_t) +
           index_places((uint32_t)n) * sizeof(uint32_t);
}

/* Entry i of group g; a value that is no value is refused later. */
static void fill_shape(const struct wsrt_pack *p, uint32_t i, uint32_t g,
                       int64_t *shape)
{
    const uint32_t *low = p->row_shape + (size_t)i * p->nvar;
    int has_high = p->count[WSRT_S_SHAPEHIGH] != 0;

    for (uint32_t a = 0; a < p->naxis; a++)
        shape[a] = p->axis[a].dflt;
    for (uint32_t k = 0; k < p->ntype; k++)
        shape[p->type_axis[k]] = p->group_type[(size_t)g * p->ntype + k];
    for (uint32_t k = 0; k < p->nvar; k++) {
        uint64_t high = has_high ? p->row_high[(size_t)i * p->nvar + k] : 0;

        shape[p->var_axis[k]] = (int64_t)(high << 32 | low[k]);
    }
}

/* An entry whose place would be too far off stays out, and is missed when the
 * index is checked: no file makes this loop long. */
static void fill_index(const struct wsrt_pack *p, uint32_t *index, uint32_t n)
{
    for (uint32_t i = 0; i < p->count[WSRT_S_ENTRIES]; i++) {
        uint64_t at =
            wsrt__shape_hash(p->shape + (size_t)i * p->naxis, p->naxis);
        uint64_t end = at + WSRT_MAX_PROBES;

        while (at != end && index[at & (n - 1)])
            at++;
        if (at != end)
            index[at & (n - 1)] = i + 1;
    }
}

void wsrt__table_fill(struct wsrt_pack *p, void *table)
{
    uint32_t n = p->count[WSRT_S_ENTRIES], g = 0, left = 0;
    struct wsrt_f_entry *entry = table;
    int64_t *shape = (void *)(entry + n);
    int32_t *log = (void *)(shape + (size_t)n * p->naxis);
    uint32_t *index = (void *)(log + (size_t)n * p->nvar);

    for (uint32_t i = 0; i < n; i++) {
        int64_t *s = shape + (size_t)i * p->naxis;

        for (; !left && g < p->count[WSRT_S_GROUPS]; g++)
            left = p->group[g].n;
        left -= left > 0;
        entry[i] =
            (struct wsrt_f_entry){p->row[i].time_ns, p->row[i].default_ns,
                                  p->row[i].variant, 0};
        fill_shape(p, i, g ? g - 1 : 0, s);
        for (uint32_t k = 0; k < p->nvar; k++)
            log[(size_t)k * n + i] =
                s[p->var_axis[k]] < 1 ? 0 : wsrt__log2(s[p->var_axis[k]]);
    }
    p->entry = entry;
    p->shape = shape;
    p->log = log;
    p->index = index;
    p->count[WSRT_S_INDEX] = index_places(n);
    fill_index(p, index, p->count[WSRT_S_INDEX]);
}
