/*
 * measure_inputs.c: two variants of the inputs, and poison.
 *
 * Timed launches that always see the same inputs invite a kernel to remember
 * its result. So there are two variants, which differ in one element of each
 * tensor: another value of the same tensor at a place drawn by lot. While
 * timing, every buffer set holds one or the other, by lot too, and outputs
 * are right only if they have the hash that belongs to the variant. Few
 * places are better than many: a kernel that looks at a part of its inputs to
 * see whether they changed looks in vain.
 *
 * What comes from a file, a generator or a constant stays: another value might
 * be none that the op allows (an index beyond the end). The other inputs vary.
 *
 * Only the device's copies are changed; m->problem stays variant 0 until
 * ws__inputs_reference.
 *
 * Poison is drawn as well: words that are NaN in every type, words that look
 * like results, any words, and the one that older versions used.
 */
#include "measure/measure_int.h"

#include "base/clock.h"

#include "base/banned.h"

#define DRAWS 64 /* until a value differs; integers often do not */

static uint32_t draw_poison(struct ws__rng *rng)
{
    uint32_t word = (uint32_t)ws__rng_u64(rng);

    switch (ws__rng_below(rng, 6)) {
    case 0:
    case 1:
        return WS__POISON_OLD;
    case 2:
        return WS__POISON_FIRST;
    case 3: /* NaN as one float32 and as two of either half type */
        return word | 0x7fc07fc0u;
    case 4: /* magnitude 0.5 to 4 as float32 and bfloat16 */
        return (word & 0x80ff80ffu) | 0x3f003f00u;
    default:
        return word;
    }
}

uint32_t ws__poison_draw(struct ws__bufs *b)
{
    return b->gaps ? b->poison : draw_poison(&b->rng);
}

static bool may_change(const struct ws__measure *m, size_t t,
                       enum ws__role role)
{
    const struct ws__fill *f =
        ws__workload_fill(m->op, m->problem->in->workload, t);

    return ws__measure_in_buffer(m->op, t) && m->op->tensor[t].role == role &&
           f &&
           (f->kind == WS__FILL_NORMAL || f->kind == WS__FILL_UNIFORM ||
            f->kind == WS__FILL_INTEGERS);
}

static uint64_t offset_of(const struct ws__tensor_shape *s, uint64_t flat)
{
    uint64_t off = 0;

    for (size_t d = s->ndim; d-- > 0;) {
        off += flat % (uint64_t)s->dim[d] * (uint64_t)s->stride[d];
        flat /= (uint64_t)s->dim[d];
    }
    return off * ws__dtype_bytes(s->dtype);
}

/* A place and a value of this tensor that is not the one there. */
static bool draw_spot(struct ws__measure *m, struct ws__rng *rng, size_t t,
                      struct ws__spot *spot)
{
    const struct ws__tensor_shape *s = &m->problem->in->shape[t];
    const char *data = m->problem->input[t];
    size_t size = ws__dtype_bytes(s->dtype);

    for (int i = 0; s->elements && i < DRAWS; i++) {
        uint64_t to = offset_of(s, ws__rng_below(rng, s->elements));
        uint64_t from = offset_of(s, ws__rng_below(rng, s->elements));

        if (!memcmp(data + to, data + from, size))
            continue;
        spot->tensor = t;
        spot->bytes = size;
        spot->offset = to;
        memcpy(spot->value[0], data + to, size);
        memcpy(spot->value[1], data + from, size);
        return true;
    }
    return false;
}

static void draw_spots(struct ws__measure *m, struct ws__bufs *b,
                       enum ws__role role)
{
    for (size_t t = 0; t < m->op->ntensor; t++)
        if (may_change(m, t, role) &&
            draw_spot(m, &b->rng, t, &b->spot[b->nspot]))
            b->nspot++;
}

/* What is restored before every launch has one copy to restore from, so its
 * variant is that of all sets; it is used if there is nothing else. */
static void draw_all(struct ws__measure *m, struct ws__bufs *b)
{
    b->nspot = 0;
    b->joint = false;
    draw_spots(m, b, WS__INPUT);
    if (b->nspot)
        return;
    b->joint = true;
    draw_spots(m, b, WS__INOUT);
}

void ws__inputs_vary(struct ws__measure *m, struct ws__bufs *b, uint64_t seed)
{
    ws__rng_seed(&b->rng, ws__rng_at(seed, 0x7661727900u));
    do
        b->poison = draw_poison(&b->rng);
    while (b->poison == WS__POISON_FIRST);
    for (size_t t = 0; t < m->op->ntensor; t++)
        b->gaps = b->gaps || (m->op->tensor[t].role == WS__OUTPUT &&
                              !b->in->shape[t].contiguous);
    draw_all(m, b);
}

int ws__inputs_set(struct ws__measure *m, struct ws__bufs *b, size_t set,
                   int variant)
{
    if (b->variant[set] == variant)
        return 0;
    for (size_t i = 0; i < b->nspot; i++) {
        const struct ws__spot *x = &b->spot[i];
        uint32_t buffer =
            b->joint ? b->pristine[x->tensor] : b->tensor[set][x->tensor];

        WS_TRY(m->dev.ops->write(m->dev.self, buffer, x->offset,
                                 x->value[variant], x->bytes));
    }
    for (size_t i = 0; i < b->nset; i++)
        if (b->joint || i == set)
            b->variant[i] = variant;
    return 0;
}

int ws__inputs_new(struct ws__measure *m, struct ws__bufs *b, size_t set)
{
    draw_all(m, b);
    b->variant[set] = 0;
    return ws__inputs_set(m, b, set, 1);
}

int ws__inputs_reset(struct ws__measure *m, struct ws__bufs *b)
{
    for (size_t set = 0; set < b->nset; set++)
        WS_TRY(ws__inputs_set(m, b, set, 0));
    return 0;
}

int ws__inputs_reference(struct ws__measure *m, struct ws__bufs *b)
{
    m->problem_done = false; /* not that of its seed any more */
    for (size_t i = 0; i < b->nspot; i++) {
        const struct ws__spot *x = &b->spot[i];

        memcpy((char *)m->problem->input[x->tensor] + x->offset, x->value[1],
               x->bytes);
    }
    return ws__measure_reference(m);
}
