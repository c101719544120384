/* counters.c: counters as a text and back. See counters.h. */
#include "core/counters.h"

#include <math.h>
#include <string.h>

#include "core/decimal.h"

#include "base/banned.h"

#define LAUNCHES 4096 /* more than a plan has */

int ws__counters_text(struct ws_ctx *ctx, const char *const *key, size_t nkey,
                      const double *value, size_t nlaunch, char **out)
{
    struct ws__buf b;
    size_t n = 0;

    *out = NULL;
    ws__buf_init(&b, ctx, 1 << 20);
    for (size_t l = 0; l < nlaunch; l++) {
        const char *between = l ? ";" : "";

        for (size_t i = 0; i < nkey; i++) {
            double v = value[l * nkey + i];

            if (!isfinite(v))
                continue;
            ws__buf_printf(&b, "%s%s=%.17g", between, key[i], v);
            between = " ";
            n++;
        }
        if (between[0] != ' ')
            ws__buf_puts(&b, between);
    }
    if (n && !b.failed)
        *out = ws__strdup(ctx, b.data);
    ws__buf_free(&b);
    return n && !*out ? WS_ENOMEM : 0;
}

static bool is_key(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= '0' && p[i] <= '9') ||
              p[i] == '_'))
            return false;
    return n > 0 && n < WS__COUNTER_KEY;
}

int ws__counters_next(const char **at, struct ws__counted *out)
{
    const char *p = *at;
    char number[40];
    size_t n, digits;

    for (; *p == ';' || *p == ' '; p++)
        out->launch += *p == ';';
    *at = p;
    if (!*p)
        return 0;
    if (out->launch >= LAUNCHES)
        return -1;
    n = strcspn(p, "=; ");
    if (p[n] != '=' || !is_key(p, n))
        return -1;
    memcpy(out->key, p, n);
    out->key[n] = '\0';
    p += n + 1;
    digits = strcspn(p, "; ");
    if (digits >= sizeof(number))
        return -1;
    memcpy(number, p, digits);
    number[digits] = '\0';
    *at = p + digits;
    return ws__decimal_parse(number, &out->value) ? 1 : -1;
}

bool ws__counters_sound(const char *text)
{
    struct ws__counted c = {0};
    int rc;

    do
        rc = ws__counters_next(&text, &c);
    while (rc > 0);
    return !rc;
}
