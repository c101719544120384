/* wave_table.h: tables from a kernel's expressions. */
#ifndef WS_WAVE_TABLE_H
#define WS_WAVE_TABLE_H

#include "core/kernel.h"
#include "wave/wave.h"

/* What a table is made of. */
struct ws__wave_source {
    struct ws_ctx *ctx;
    const struct ws__kernel *kernel;
    /* without an op: one shape without axes */
    const struct ws__wave_sheet *sheet;
    const int64_t *axis; /* shape * op's naxis + axis: all axes */
    size_t nshape;
    const struct ws__config *config;
    const uint32_t *occupancy; /* by config; NULL: unknown */
    size_t nconfig;
    bool (*feasible)(void *user, size_t shape, size_t config);
    void *user;
};

/* A table and what it owns. */
struct ws__wave_maker {
    struct ws_ctx *ctx;
    struct ws__wave_source source;
    struct ws__wave_table table;
    int64_t *axis;
    struct ws__wave_config *config;
    struct ws__wave_pair *pair;
    union wsrt_value vars[WS__MAX_SLOTS];
};

int ws__wave_table_make(const struct ws__wave_source *s,
                        struct ws__wave_maker *out);
/* A config's occupancy became known. The source's arrays must still be there.
 * Models that exist do not notice. */
void ws__wave_table_occupancy(struct ws__wave_maker *m, size_t config,
                              uint32_t occupancy);
void ws__wave_table_clear(struct ws__wave_maker *m);

#endif
