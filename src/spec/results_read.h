/* results_read.h: what the readers of results share; private to spec. */
#ifndef WS_RESULTS_READ_H
#define WS_RESULTS_READ_H

#include "spec/results.h"

/* A text from memory or from a file, gzipped or not, in pieces. */
struct ws__text_source {
    struct ws_ctx *ctx;
    const char *file; /* for errors */
    void *gz;         /* NULL: memory */
    const char *mem;
    size_t left;
    uint64_t total; /* bytes given so far */
};

int ws__text_open(struct ws_ctx *ctx, const char *path,
                  struct ws__text_source *s);
/* Up to n bytes; *got 0 at the end. WS_ECORRUPT, WS_EIO, WS_ELIMIT. */
int ws__text_read(struct ws__text_source *s, char *to, size_t n, size_t *got);
void ws__text_close(struct ws__text_source *s);

/* One reading. */
struct ws__results_reader {
    struct ws_ctx *ctx;
    const struct ws__results_spec *spec;
    struct ws__text_source *text;
    ws__result_fn *fn;
    void *user;
    struct ws__results_report *report;
    union wsrt_value vars[WS__MAX_SLOTS];
    struct ws__result r; /* of the row at hand */
    double *sample;      /* its samples */
    size_t nsample, cap;
    size_t last_workload;
};

/* Sets parameter `p` of the row's config; false: it is none of its values. */
bool ws__results_param(struct ws__results_reader *rd, size_t p,
                       const char *text);
/* Two texts denote the same value: equal, or equal numbers. */
bool ws__results_same(const char *a, const char *b);
/* One sample more; what is no time is left to the caller. */
int ws__results_sample(struct ws__results_reader *rd, double ns);
/* The verdict of a status word of any of the tools; false: not known. */
bool ws__results_verdict(const char *word, enum ws__verdict *out);
/* Hands the row out, or counts it as foreign because of a constraint. */
int ws__results_give(struct ws__results_reader *rd);
int ws__results_foreign(struct ws__results_reader *rd, const char *fmt, ...)
    WS_PRINTF(2, 3);
/* A kernel without an op, or a single workload, needs no axes. */
bool ws__results_any_workload(const struct ws__results_reader *rd);
/* WS_ESPEC: parameter p is not in the file. */
int ws__results_missing(struct ws__results_reader *rd, const char *what,
                        const char *name);
/* Names of a unit of time: ns a unit, or 0. */
double ws__results_unit(const char *name, size_t n);

/* The same of what people write as a unit, in any case of letters. */
double ws__results_unit_word(const char *word);
/* Can it be a time of a kernel or a build? A thousandth of a ns to 30 years. */
bool ws__results_is_time(double ns);

/* results_csv.c, results_json.c. `head`: what was read already. */
int ws__results_csv(struct ws__results_reader *rd, struct ws__buf *head);
int ws__results_json(struct ws__results_reader *rd, struct ws__buf *head);

#endif
