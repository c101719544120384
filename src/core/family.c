/*
 * family.c: families of values, by name, and whether an op takes them.
 *
 * A kernel that is right on one distribution may rest on it: all values of one
 * sign, none zero, none large. The families are the distributions on which it
 * must be right as well. An op says in its file which of them it cannot be
 * asked for, and why.
 */
#include "core/op.h"

#include "base/banned.h"

static const struct {
    const char *key, *text;
} families[] = {
#define WS_X(name, key, text) [WS__FAMILY_##name] = {key, text},
    WS__FAMILY_MAP(WS_X)
#undef WS_X
};

const char *ws__family_key(enum ws__family f)
{
    return (size_t)f < WS_COUNT(families) ? families[f].key : "unknown";
}

const char *ws__family_text(enum ws__family f)
{
    return (size_t)f < WS_COUNT(families) ? families[f].text : "unknown";
}

enum ws__family ws__family_parse(const char *key)
{
    size_t f = 0;

    while (f < WS_COUNT(families) && strcmp(families[f].key, key) != 0)
        f++;
    return (enum ws__family)f;
}

/* What cannot be asked with all signs turned cannot with some, and what cannot
 * be asked huge cannot on one side of zero, unless the op speaks of these. */
static enum ws__family spoken_of(const struct ws__op *op, enum ws__family f)
{
    if (op->refused[f])
        return f;
    if (f == WS__FAMILY_ONE_SIDED)
        return op->refused[WS__FAMILY_MINUS] ? WS__FAMILY_MINUS
                                             : WS__FAMILY_HUGE;
    return f == WS__FAMILY_SIGNS ? WS__FAMILY_MINUS : f;
}

const char *ws__family_refused(const struct ws__op *op, enum ws__family f)
{
    return (size_t)f < WS_COUNT(families) ? op->refused[spoken_of(op, f)]
                                          : "there are no such values";
}

bool ws__family_finite(const struct ws__op *op, enum ws__family f)
{
    return (size_t)f < WS_COUNT(families) && op->finite[spoken_of(op, f)];
}
