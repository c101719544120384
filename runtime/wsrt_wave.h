/*
 * wsrt_wave.h: the wave model's formula: how long a variant takes for a shape.
 *
 * All of it is integer arithmetic on logarithms to the base 2 with 20 fraction
 * bits (Q20): a product is a sum, a sum or a smooth maximum is one look-up in a
 * table. So a prediction has the same bits under every compiler and its flags,
 * and costs some tens of nanoseconds. Fitting (src/wave) calls this same code.
 *
 * docs/wave.md explains the formula in words and says where it comes from.
 * Times are nanoseconds, sizes bytes.
 */
#ifndef WSRT_WAVE_H
#define WSRT_WAVE_H

#include <stdint.h>

#include "wsrt_eval.h"

#define WSRT_WAVE_Q 20
#define WSRT_WAVE_ONE (INT32_C(1) << WSRT_WAVE_Q)
/* The logarithm of nothing: adding it changes no sum. */
#define WSRT_WAVE_NOTHING (-(INT32_C(1) << 30))

/* No constant is larger, but NOTHING. */
#define WSRT_WAVE_MOST (INT32_C(1) << 29)

/* What of a shape the formula sees, for one variant: whole numbers, not
 * negative. The text is the key in a kernel file. */
#define WSRT_WAVE_COORDS(X)                                                    \
    X(GRID, "grid")           /* blocks */                                     \
    X(STEPS, "steps")         /* of the main loops of all blocks together */   \
    X(LONGEST, "longest")     /* steps of the block that has most */           \
    X(FLOPS, "flops")         /* operations of a step: matrix units */         \
    X(VECTOR, "vector")       /* operations of a step: other units */          \
    X(SHARED, "shared")       /* bytes of shared memory that a step reads */   \
    X(BYTES, "bytes")         /* that a step loads */                          \
    X(STORE, "store")         /* bytes that a block stores at its end */       \
    X(UNIQUE, "unique")       /* distinct bytes of the whole launch */         \
    X(AGAIN, "again")         /* bytes read again where the cache kept none */ \
    X(HOLD, "hold")           /* bytes that the cache has to keep for that */  \
    X(HOT, "hot")             /* bytes that many blocks load from one line */  \
    X(HOTCOLS, "hot_columns") /* the same, of the other operand */             \
    X(PADDED, "padded")       /* rows of padding of all blocks together */     \
    X(PADMOST, "pad_most")    /* rows of padding of the worst block */         \
    X(AFTER, "after")   /* bytes that a launch behind it moves; 0: none */     \
    X(UNEVEN, "uneven") /* 1: the last step of a loop is not full */           \
    X(MASKED, "masked") /* steps of a block that test a mask */

enum wsrt_wave_coord {
#define WSRT_X(name, text) WSRT_W_##name,
    WSRT_WAVE_COORDS(WSRT_X)
#undef WSRT_X
        WSRT_NWAVE
};

/* What the variants of a kernel share. */
struct wsrt_wave_law {
    int32_t units;        /* multiprocessors: at least 1 */
    int32_t balanced;     /* 1: the longest blocks come first */
    int64_t cache;        /* bytes that it keeps */
    int32_t p, p_inverse; /* of the smooth maximum inside a step, 16 bits */
    int32_t q, q_inverse; /* of memory beside work */
    int32_t start;        /* ns of an empty launch */
    int32_t soft;         /* how fast waves blur, per full wave */
    int32_t again;        /* weight of bytes read again */
    int32_t line;         /* ns a hot byte */
    int32_t line_loop;    /* exponent of the loop there */
    int32_t line_columns; /* weight of the other operand's */
    int32_t masked;       /* part of a step that a masked one takes more */
    int32_t crowd;        /* exponent: what blocks of a unit cost each other */
    int32_t after, after_byte; /* ns of a launch behind, and a byte of it */
    int32_t distinct; /* latency's part that grows with distinct bytes */
    int32_t hidden;   /* part of a step's time that latency adds */
};

#define WSRT_WAVE_WEIGHTS 14

/* One variant. */
struct wsrt_wave_form {
    int32_t occupancy;    /* blocks a multiprocessor holds: at least 1 */
    int32_t flop, vector; /* ns an operation of a multiprocessor */
    int32_t shared, byte; /* ns a byte of a multiprocessor */
    int32_t step;         /* factor on a step */
    int32_t uneven;       /* more of it where loops are uneven */
    int32_t latency;      /* ns a step waits for memory, and */
    int32_t latency_byte; /* ns for each byte of the step */
    int32_t overlap, overlap_inverse; /* exponent: as law.p */
    int32_t pad;                      /* ns a row of padding, each step */
    int32_t block;                    /* ns a block, beside its steps */
    int32_t fill, fill_steps; /* ns a byte of the first steps; how many */
    int32_t store;            /* ns a byte stored at the end */
    int32_t dram;             /* ns a byte of device memory */
    int32_t line;             /* factor on a hot byte */
    int32_t rows;             /* of a tile: what padding is a share of */
    int32_t weight[WSRT_WAVE_WEIGHTS]; /* of the features, Q20 */
};

/* log2 of the predicted time of the formula alone. Any constants up to
 * WSRT_WAVE_MOST and any coordinates up to 2^62 give an answer (saturating). */
int32_t wsrt__wave_formula(const struct wsrt_wave_law *law,
                           const struct wsrt_wave_form *form,
                           const int64_t coord[WSRT_NWAVE]);

/* The terms of a prediction, for those who want to see them. log2 of ns, but
 * for the counts. */
struct wsrt_wave_terms {
    int64_t full, rest, resident; /* waves; blocks of the last; a unit's */
    int32_t compute, load, step, latency; /* of one step */
    int32_t tile;                         /* a block of a full wave */
    int32_t memory, line;                 /* of the whole launch */
    int32_t body, after, total;           /* without the correction */
    int32_t correction;                   /* log2 factor */
};
void wsrt__wave_terms(const struct wsrt_wave_law *law,
                      const struct wsrt_wave_form *form,
                      const int64_t coord[WSRT_NWAVE], const int32_t *log_axis,
                      uint32_t naxis, struct wsrt_wave_terms *out);

/*
 * What the linear correction sees, Q20: 1; log2 of each axis less 8 (the first
 * WSRT_WAVE_AXES of the varying ones); v, the log2 of waves within 4 of 0;
 * log2 of the mean loop less 5; padding's share of a tile; log2 of distinct by
 * loaded bytes; v^2 / 4; max(v, 0). Features without an axis are 0.
 */
#define WSRT_WAVE_AXES (WSRT_WAVE_WEIGHTS - 7)
#define WSRT_WAVE_WEIGHT_PADDED (WSRT_WAVE_AXES + 3) /* of padding's share */
void wsrt__wave_features(const struct wsrt_wave_law *law,
                         const struct wsrt_wave_form *form,
                         const int64_t coord[WSRT_NWAVE],
                         const int32_t *log_axis, uint32_t naxis,
                         int32_t out[WSRT_WAVE_WEIGHTS]);

/* The prediction: formula and correction. log_axis: wsrt__log2_20 of the
 * varying axes in their order. */
int32_t wsrt__wave_log2_ns(const struct wsrt_wave_law *law,
                           const struct wsrt_wave_form *form,
                           const int64_t coord[WSRT_NWAVE],
                           const int32_t *log_axis, uint32_t naxis);

/* The same of coordinates whose logarithms are known: variants share most of
 * them. */
struct wsrt_wave_coords {
    int64_t n[WSRT_NWAVE];
    int32_t log[WSRT_NWAVE]; /* wsrt__wave_log of n */
};
void wsrt__wave_logs(struct wsrt_wave_coords *c);

/* What is known of a variant ahead of any shape. */
#define WSRT_WAVE_RESIDENT 8
struct wsrt_wave_step {
    int64_t compute, load, step; /* without the variant's factor */
};
struct wsrt_wave_ready {
    int64_t slots; /* blocks of a full wave */
    int32_t log_slots;
    int32_t steady; /* 1: a step is the same for all shapes; then: */
    struct wsrt_wave_step step;
    /* Not above a step and the rest of so many blocks of a multiprocessor; 0:
     * of as many as it holds. */
    int32_t together[WSRT_WAVE_RESIDENT + 1], head[WSRT_WAVE_RESIDENT + 1];
};
/* steady: flops, vector, shared, bytes and store are for all shapes what they
 * are in c; the others are not looked at. */
void wsrt__wave_ready(const struct wsrt_wave_law *law,
                      const struct wsrt_wave_form *form,
                      const struct wsrt_wave_coords *c, int steady,
                      struct wsrt_wave_ready *out);
/* ready may be NULL: the same number, later. */
int32_t wsrt__wave_predict(const struct wsrt_wave_law *law,
                           const struct wsrt_wave_form *form,
                           const struct wsrt_wave_ready *ready,
                           const struct wsrt_wave_coords *c,
                           const int32_t *log_axis, uint32_t naxis);
/* The coordinates that a bound goes by. A logarithm may be the sum of those of
 * factors: off by some units. */
struct wsrt_wave_glance {
    int64_t grid, padded; /* padded: 0 where it has no weight */
    int64_t log_grid, log_steps, log_unique, log_bytes, log_after;
};
/* A number that is not above the prediction, at a fraction of its cost. */
int32_t wsrt__wave_bound(const struct wsrt_wave_law *law,
                         const struct wsrt_wave_form *form,
                         const struct wsrt_wave_ready *ready,
                         const struct wsrt_wave_glance *at,
                         const int32_t *log_axis, uint32_t naxis);
/* wsrt__log2_20, WSRT_WAVE_NOTHING of what is not above 0. */
int32_t wsrt__wave_log(int64_t x);

/* wsrt_model.c */

#define WSRT_MAX_COORD (INT64_C(1) << 60) /* a coordinate: 0 to this */
/* What a coordinate's program says: what cannot be evaluated counts as
 * WSRT_MAX_COORD, which makes a candidate slow, what is negative as 0. */
int64_t wsrt__coord_value(const uint8_t *code, size_t bytes,
                          const union wsrt_value *slot);

/* wsrt_bits.c */

/* log2(x) with 20 fraction bits, x >= 1; off by less than 2^-18, exact for
 * powers of two, never falling. */
int32_t wsrt__log2_20(int64_t x);
/* 2^(x / 2^20), off by less than 1e-6 of it; 0 where the exponent is beyond
 * 1000 either way. The same bits under any compiler. */
double wsrt__exp2(int32_t x);

#endif
