/*
 * wsrt_ready.c: what of a prediction is the same for all shapes.
 *
 * What a step computes, loads and reads nearly always depends on the
 * candidate's parameters alone: such coordinates are numbers in the pack.
 * Opening takes their logarithms, and computes what of the formula depends on
 * nothing else, so that a look-up has to evaluate a few coordinates of a
 * candidate and no more.
 */
#include "wsrt_format.h"

static int is_of_a_step(uint32_t coord)
{
    return coord == WSRT_W_FLOPS || coord == WSRT_W_VECTOR ||
           coord == WSRT_W_SHARED || coord == WSRT_W_BYTES ||
           coord == WSRT_W_STORE;
}

int wsrt__coord_is_number(const struct wsrt_f_coord *c)
{
    return !c->bytes && c->axis == WSRT_NO_FACTOR &&
           c->factor[0] == WSRT_NO_FACTOR;
}

static void take_apart(const struct wsrt_f_coord *first, uint16_t coord,
                       struct wsrt__product *out)
{
    const struct wsrt_f_coord *c = first + coord;

    while (out->n < WSRT_FACTORS && c->factor[out->n] != WSRT_NO_FACTOR) {
        out->factor[out->n] = c->factor[out->n];
        out->n++;
    }
    out->value = out->n ? c->value : 1;
    out->log = wsrt__wave_log(out->value);
    if (!out->n)
        out->factor[out->n++] = coord;
}

/* What the formula does not look at need not be evaluated. */
static int is_read(const struct wsrt_wave_law *law,
                   const struct wsrt_wave_form *f, uint32_t coord)
{
    return !(coord == WSRT_W_LONGEST && !law->balanced) &&
           !(coord == WSRT_W_UNEVEN && !f->uneven);
}

static void fill(const struct wsrt_pack *p, const struct wsrt_f_model *m,
                 const struct wsrt_f_form *f, struct wsrt__ready *out)
{
    const struct wsrt_wave_law *law = &p->law[m->first_law + f->law].law;
    int steady = 1;

    for (uint32_t i = 0; i < WSRT_NWAVE; i++) {
        const struct wsrt_f_coord *c = &p->coord[m->first_coord + f->coord[i]];

        if (wsrt__coord_is_number(c)) {
            out->c.n[i] = c->value;
            continue;
        }
        steady &= !is_of_a_step(i);
        if (is_read(law, &f->form, i))
            out->vary[out->nvary++] = (uint8_t)i;
    }
    wsrt__wave_logs(&out->c);
    take_apart(p->coord + m->first_coord, f->coord[WSRT_W_GRID], &out->grid);
    take_apart(p->coord + m->first_coord, f->coord[WSRT_W_STEPS], &out->steps);
    wsrt__wave_ready(law, &f->form, &out->c, steady, &out->wave);
}

void wsrt__ready_fill(const struct wsrt_pack *p, struct wsrt__ready *out)
{
    for (uint32_t i = 0; i < p->count[WSRT_S_MODELS]; i++) {
        const struct wsrt_f_model *m = &p->model[i];

        for (uint32_t k = m->first_form; k < m->first_form + m->nform; k++)
            fill(p, m, &p->form[k], &out[k]);
    }
}
