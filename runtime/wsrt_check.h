/*
 * wsrt_check.h: what the files that check a pack share. Private to them.
 *
 * A check returns WSRT_OK or says why not, once, and ends with that.
 */
#ifndef WSRT_CHECK_H
#define WSRT_CHECK_H

#include "wsrt_format.h"

struct wsrt__checker {
    struct wsrt_pack *p;
    char *reason; /* may be NULL */
    size_t reason_bytes;
};

#define WSRT__TRY(expr)                                                        \
    do {                                                                       \
        int try_rc_ = (expr);                                                  \
        if (try_rc_ != WSRT_OK)                                                \
            return try_rc_;                                                    \
    } while (0)

__attribute__((format(printf, 3, 4))) int
wsrt__refuse(const struct wsrt__checker *c, int status, const char *fmt, ...);
/* WSRT_EDAMAGED, naming section and element. */
int wsrt__damaged(const struct wsrt__checker *c, enum wsrt_section s, size_t i,
                  const char *what);
/* A name is an offset into STRINGS, whose last byte ends the last string. */
int wsrt__bad_name(const struct wsrt_pack *p, uint32_t name);

/* wsrt_check_plan.c: the sections since version 1.1; the others are right. */
int wsrt__check_plans(const struct wsrt__checker *c);
/* wsrt_check_model.c: those since version 2.0. */
int wsrt__check_models(const struct wsrt__checker *c);

#endif
