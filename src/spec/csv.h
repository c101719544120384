/*
 * csv.h: CSV files line by line; private to spec.
 *
 * The first line names the columns. Cells may stand in double quotes; a line
 * break inside of quotes is refused. Memory does not grow with the file.
 */
#ifndef WS_CSV_H
#define WS_CSV_H

#include "core/cells.h"
#include "spec/results_read.h"

struct ws__csv {
    struct ws_ctx *ctx;
    struct ws__text_source *text;
    struct ws__loc loc;  /* of the line at hand */
    struct ws__buf line; /* bytes read, from `at` on not yet used */
    size_t at, end;      /* the line at hand is line.data[at..end) */
    bool eof;
    struct ws__cells row; /* of the line at hand */
    char **name;          /* of the columns; in `arena` */
    size_t ncolumn;
    struct ws__arena arena;
};

/* The text must outlive it. */
void ws__csv_init(struct ws__csv *c, struct ws_ctx *ctx,
                  struct ws__text_source *text);
void ws__csv_clear(struct ws__csv *c);
/* Reads the names. 1, 0: the text is empty, or an error at its line. */
int ws__csv_names(struct ws__csv *c);
/* Takes the next line that is not empty apart, a cell a column: 1; 0 at the
 * end; WS_EPARSE, WS_ELIMIT. */
int ws__csv_row(struct ws__csv *c);
/* WS_EPARSE: what stands in a cell of the line at hand is not what is wanted.
 */
int ws__csv_bad_cell(struct ws__csv *c, int column, const char *want);
/* A time above 0 as ns, from text of the cell (all of it, or a part). */
int ws__csv_time(struct ws__csv *c, int column, double unit, const char *text,
                 double *ns);
/* The column's index, or -1. */
int ws__csv_column(const struct ws__csv *c, const char *name);
/* WS_ESPEC: another column has the name of this one. column -1: 0. */
int ws__csv_once(struct ws__csv *c, int column);

/* Where an axis stands: a column, -1: none; and which of the numbers between
 * slashes in its cells, -1: the cell. Axes `x_1`, `x_2`, ... without a column
 * are found in a column `x`, in their order. */
struct ws__csv_axis {
    int column, part;
};
void ws__csv_find_axes(const struct ws__csv *c, const struct ws__op *op,
                       struct ws__csv_axis *out);
/* The value in the line at hand; of a type 0 if it is none. false: no number.
 */
bool ws__csv_axis_value(const struct ws__csv *c, const struct ws__axis *axis,
                        struct ws__csv_axis at, int64_t *out);
/* The column with the time (want: its name, or NULL: found by its words) and
 * ns a unit of it. WS_ESPEC: there is none. */
int ws__results_time_column(struct ws__csv *c, const char *want, int *column,
                            double *unit);

#endif
