/*
 * decimal.h: numbers in text, in the "C" locale whatever the program's is.
 */
#ifndef WS_DECIMAL_H
#define WS_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* Whole text, finite: true. Decimal only; no hexadecimal floats, no "inf". */
bool ws__decimal_parse(const char *s, double *out);
/* Decimal or 0x..., optional sign. */
bool ws__integer_parse(const char *s, int64_t *out);

#endif
