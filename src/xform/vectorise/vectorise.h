/* vectorise.h: what both forms of the transformation share. */
#ifndef WS_VECTORISE_H
#define WS_VECTORISE_H

#include "xform/xform.h"

#define WS__VEC_MAX 16      /* arrays */
#define WS__VEC_ACCESSES 96 /* of one kernel */

/* An array of which four neighbours are loaded or stored at once. */
struct ws__vec {
    const char *name;    /* of the parameter */
    const char *element; /* "float" */
    const char *four;    /* the variable of four: "x4" */
    const char *each;    /* the array of them: "xv" */
    int32_t decl, node;  /* node: an access */
    bool read, write;
};

/* Fills in names; false: no 32-bit elements, or no memory (*rc). */
bool ws__vec_name(const struct ws__xform_in *in, int32_t decl,
                  struct ws__vec *out, int *rc);
/* Lines that load from `place` ("x + first"), or store to it. */
void ws__vec_load(const struct ws__xform_in *in, struct ws__buf *b,
                  const struct ws__vec *v, const char *place,
                  const char *indent);
void ws__vec_store(const struct ws__xform_in *in, struct ws__buf *b,
                   const struct ws__vec *v, const char *place,
                   const char *indent);

/* vectorise_loop.c: the loop whose turns follow each other in memory. */
int ws__vec_loop_find(const struct ws__xform_in *in, struct ws__sites *out);
int ws__vec_loop_apply(const struct ws__xform_in *in, const struct ws__site *s,
                       struct ws__rewrite *out);

#endif
