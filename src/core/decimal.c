/*
 * decimal.c: numbers in text.
 *
 * The C library reads numbers in the style of the program's locale, and a
 * library cannot know what its host has set. The "C" locale object is
 * immutable and asking for it neither allocates nor fails in practice.
 */
#include "core/decimal.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>

#include "base/banned.h"

bool ws__decimal_parse(const char *s, double *out)
{
    locale_t c;
    char *end;

    if (!isdigit((unsigned char)s[strspn(s, "+-.")]) ||
        strspn(s, "+-.0123456789eE") != strlen(s))
        return false;
    c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return false;
    *out = strtod_l(s, &end, c);
    freelocale(c);
    return !*end && isfinite(*out);
}

bool ws__integer_parse(const char *s, int64_t *out)
{
    const char *digits = s + (*s == '-' || *s == '+');
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    char *end;

    if (!isxdigit((unsigned char)digits[hex ? 2 : 0]))
        return false;
    errno = 0;
    *out = strtoll(s, &end, hex ? 16 : 10);
    return !errno && !*end;
}
