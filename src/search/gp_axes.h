/*
 * gp_axes.h: the parameters of a kernel as axes of a Gaussian process.
 *
 * A parameter whose values are numbers is an axis in their order; a text is a
 * nominal one. Numbers that are positive and span a factor of four or more lie
 * by their logarithm, others evenly. Whole numbers that are not just powers of
 * two give a second axis: how often two divides them. Alignment, vector widths
 * and warps make 96 and 112 less alike on a GPU than 96 and 160.
 */
#ifndef WS_GP_AXES_H
#define WS_GP_AXES_H

#include "core/kernel.h"
#include "search/gp.h"

struct ws__param_axes {
    struct ws__gp_axes gp;
    uint16_t param[WS__GP_AXES]; /* whose value the axis shows */
    uint8_t *level[WS__GP_AXES]; /* by the index of the value */
};

/* Memory of the tables comes from the arena. 0 or WS_ENOMEM. */
int ws__param_axes(struct ws__arena *arena, const struct ws__kernel *k,
                   struct ws__param_axes *out);
/* One level for every axis. */
void ws__param_row(const struct ws__param_axes *axes,
                   const struct ws__config *c, uint8_t *row);

#endif
