/*
 * results.h: results of configs, from files of other tools and into them.
 *
 * Read are Kernel Tuner's cache files (unfinished ones, too), results in the
 * T4 format, and timing matrices (CSV with a column for each parameter and
 * axis), each also gzipped. docs/formats.md describes them. A result belongs
 * to one kernel: its parameters are matched by name and by value as meant
 * (16 is 16.0, True is true). What does not belong to the kernel's space or
 * to the workloads is left out, counted, and the first one is told.
 */
#ifndef WS_RESULTS_H
#define WS_RESULTS_H

#include "core/trial.h"

/* What the results are about. */
struct ws__results_spec {
    const struct ws__kernel *kernel;     /* its op, if any, names the axes */
    const struct ws__workload *workload; /* without an op: not used */
    size_t nworkload;
    const char *where; /* CSV: "COLUMN=VALUE,..." selects rows; NULL: all */
    const char *time;  /* CSV: the column of the time; NULL: found by name */
};

/* One config on one workload. Strings and arrays live during the call. */
struct ws__result {
    struct ws__config config;
    uint32_t workload; /* index; 0 without an op */
    enum ws__verdict verdict;
    const char *reason;         /* or NULL */
    double figure_ns;           /* the file's one figure; 0: none */
    const double *sample_ns;    /* the figure, if the file has no samples */
    size_t nsample;             /* 0 unless ok */
    uint64_t build_ns, wall_ns; /* 0: unknown */
    /* What the file says of the compiled config and the clock; 0: nothing. */
    uint32_t blocks_per_unit, registers, spill_bytes, mhz;
    uint32_t line; /* of the file; 0: unknown */
};

struct ws__results_report {
    const char *format;    /* "matrix", "T4", "cache" */
    char device[128];      /* as the file names it, or "" */
    uint64_t used, left;   /* left: not selected by `where` */
    uint64_t foreign;      /* not of the space or the workloads */
    char foreign_why[256]; /* of the first: "line 7: ..." */
    bool unfinished;       /* the text broke off; what is whole was used */
};

/* A non-zero return of fn ends the reading and is returned. Errors carry file
 * and line: WS_EPARSE, WS_ESPEC (columns are missing), WS_ECORRUPT (a damaged
 * gzip), WS_ELIMIT, WS_ENOENT. */
typedef int ws__result_fn(void *user, const struct ws__result *r);
int ws__results_read(struct ws_ctx *ctx, const struct ws__results_spec *spec,
                     const char *path, ws__result_fn *fn, void *user,
                     struct ws__results_report *report);
/* The same from a text at hand, called `file` in errors. */
int ws__results_parse(struct ws_ctx *ctx, const struct ws__results_spec *spec,
                      const char *text, size_t len, const char *file,
                      ws__result_fn *fn, void *user,
                      struct ws__results_report *report);

enum ws__results_format {
    WS__RESULTS_MATRIX,
    WS__RESULTS_T4,
    WS__RESULTS_CACHE
};

/* Appends the text of a file to `out`. T4 results and cache files are about
 * one workload: others are WS_EINVAL. device: a name, or NULL. */
int ws__results_write(const struct ws__results_spec *spec,
                      enum ws__results_format format, const char *device,
                      const struct ws__result *list, size_t n,
                      struct ws__buf *out);

#endif
