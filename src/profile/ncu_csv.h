/*
 * ncu_csv.h: counters from a file that Nsight Compute wrote.
 *
 *   ncu --csv --page raw --print-units base --metrics ... --log-file out.csv
 *
 * The raw page has a line of column names, a line of units and a line for each
 * launch. Before, between and after them stand lines of ncu itself, which
 * begin with "==", and, without --log-file, what the profiled program printed
 * before the first of them. Cells stand in quotes, with commas inside of
 * names and of numbers ("1,024"). The columns of our metrics are found by the
 * names that the architecture gives them (metrics.h); all others are left
 * alone. What ncu could not count ("n/a") is missing: NaN, never zero.
 *
 * Scaled units (Kbyte, usecond) are converted: the prefixes are powers of
 * 1000.
 */
#ifndef WS_NCU_CSV_H
#define WS_NCU_CSV_H

#include <stdint.h>

#include "base/mem.h"
#include "core/kernel.h"
#include "profile/metrics.h"

#define WS__NCU_BYTES ((size_t)64 << 20)
#define WS__NCU_LAUNCHES 65536

struct ws__ncu_launch {
    const char *kernel;         /* as ncu prints it: "void f<int>(float *)" */
    uint32_t grid[3], block[3]; /* 0, 0, 0: the file does not say */
    uint32_t line;
    double value[WS__NMETRIC]; /* in units of the table; NaN: missing */
};

struct ws__ncu {
    struct ws__arena arena;
    struct ws__ncu_launch *launch; /* in the order of the file; at least one */
    size_t n;
    size_t nmetric; /* columns that are metrics of ours; at least one */
};

/*
 * Reads the launches of a file. arch: whose names count (ws__metric_arch).
 * *out is freed by ws__ncu_free; on failure it is NULL. One thread a context.
 *
 * WS_EINVAL: arch has no names. WS_ESPEC: not the raw page, none of our
 * counters, counters of another chip, no launch. WS_EPARSE: a line is not
 * what it should be. WS_ELIMIT: more than WS__NCU_LAUNCHES or _BYTES. All say
 * file, line and what to do. Those of ws__fs_read.
 */
int ws__ncu_read(struct ws_ctx *ctx, const char *path, unsigned arch,
                 struct ws__ncu **out);
/* The same for text at hand, `len` bytes; `file` is for messages. */
int ws__ncu_parse(struct ws_ctx *ctx, const char *file, const char *text,
                  size_t len, unsigned arch, struct ws__ncu **out);
void ws__ncu_free(struct ws__ncu *f); /* NULL is fine */

/* Is it a launch of the function `name`, whatever return type, namespaces,
 * template arguments and parameters stand around it? Template arguments of
 * `name` do not count either. */
bool ws__ncu_is(const struct ws__ncu_launch *l, const char *name);

/* The last run of a plan in the file: at[i] is the launch of plan->launch[i],
 * by its name and, where the file has them, grid and block; launches of other
 * kernels between them are passed over. false: there is none; then *other is a
 * launch of the right name and another size, or NULL. */
bool ws__ncu_last_run(const struct ws__ncu *f, const struct ws__plan *plan,
                      size_t at[WS__MAX_LAUNCHES],
                      const struct ws__ncu_launch **other);

#endif
