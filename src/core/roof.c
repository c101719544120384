/* roof.c: the words of roof.h. */
#include "core/roof.h"

#include "base/banned.h"

static const struct row {
    const char *key, *unit, *about;
} ROWS[WS__NROOF] = {
#define WS_X(name, key, unit, about) {key, unit, about},
    WS__ROOF_MAP(WS_X)
#undef WS_X
};

struct ws__hash ws__roof_identity(const struct ws__identity *id)
{
    struct ws__identity own = *id;

    memset(own.tool, 0, sizeof(own.tool));
    memset(own.protocol, 0, sizeof(own.protocol));
    snprintf(own.protocol, sizeof(own.protocol), "ceilings 1");
    ws__identity_seal(&own);
    return own.hash;
}

const char *ws__roof_key(enum ws__ceiling_of c)
{
    return ROWS[c].key;
}

const char *ws__roof_unit(enum ws__ceiling_of c)
{
    return ROWS[c].unit;
}

const char *ws__roof_about(enum ws__ceiling_of c)
{
    return ROWS[c].about;
}

const char *ws__roof_from(enum ws__roof_from f)
{
    static const char *const text[] = {[WS__ROOF_UNKNOWN] = "unknown",
                                       [WS__ROOF_SHEET] = "data sheet",
                                       [WS__ROOF_MEASURED] = "measured"};

    return text[f];
}
