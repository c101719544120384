/*
 * rows.h: a team of threads for each row instead of one thread.
 *
 * A kernel whose thread number is a row's number, and that walks along the row,
 * reads memory with a stride: neighbouring threads have neighbouring rows. A
 * team of threads (a warp, a block) can share the row instead: the turns of the
 * loops along it are dealt out, what they carry (loop.h) is put together so
 * that all of the team know it, everything else all compute alike, and the
 * first thread writes.
 *
 * That is the same kernel because the whole team has the same row: conditions,
 * returns and bounds outside of the loops along it are the same in all of its
 * threads, so that the team is complete wherever it exchanges values. Where
 * different threads of it write and read the same memory, it waits between.
 */
#ifndef WS_XFORM_ROWS_H
#define WS_XFORM_ROWS_H

#include "xform/loop.h"

#define WS__ROWS_WARP 32
#define WS__ROWS_REGIONS 96
#define WS__ROWS_LOOPS 12

/* A statement, and the parameters that it touches, one bit each. */
struct ws__rows_region {
    int32_t stmt;
    bool repeats; /* inside of a loop that all threads take alike */
    bool first;   /* the first thread's alone: a write */
    int loop;     /* number of the loop along the row; -1: none; -2: the head
                     of another loop, before which nobody can wait */
    uint64_t read, write;             /* by all */
    uint64_t first_read, first_write; /* by the first thread */
};
struct ws__rows {
    const struct ws__xform_in *in;
    int32_t row; /* VAR; -1: this is no such kernel */
    struct ws__rows_region region[WS__ROWS_REGIONS];
    size_t n;
    struct ws__loop loop[WS__ROWS_LOOPS];
    size_t nloop;
    const char *why; /* why a row may not be shared, NULL: it may */
    int32_t why_at;
};

/* WS_ENOMEM alone fails. There is a site where row >= 0 and nloop or why. */
int ws__rows_read(const struct ws__xform_in *in, struct ws__rows *out);
/* Reads, and appends the site or the refusal: "`team` instead of a thread...".
 */
int ws__rows_find(const struct ws__xform_in *in, const char *team,
                  struct ws__sites *out);
/* Must other threads' accesses of before be done where region i begins? */
bool ws__rows_waits(const struct ws__rows *p, size_t i);
/* The factor of the block in the row's value where it is a constant, or -1. */
int32_t ws__rows_size(const struct ws__rows *p);
/* Is the text a number, and which? */
bool ws__rows_number(const char *text, int64_t *out);
/* M of ceil_div(M, size of a block) as the launch's grid is; NULL: it is
 * something else, or there is no memory. */
const char *ws__rows_count(const struct ws__rows *p);

/* How a team does it. */
struct ws__rows_team {
    const char *lane;   /* variable: which of the team a thread is */
    const char *stride; /* of the loops: how many there are */
    const char *sync;   /* waits for all of the team */
    const char *parts;  /* shared array of the parts of a block; NULL: the team
                           is a warp */
    const char *warp;   /* variable that counts the parts */
    const char *step, *other, *other_at; /* variables of the exchange */
};
/* All edits of the function but the row's value and the team's variables. */
int ws__rows_edit(const struct ws__rows *p, const struct ws__rows_team *w,
                  struct ws__rewrite *out);

#endif
