/*
 * fuzz_ncu.c: the CSV of ncu from hostile bytes. The first byte picks the
 * architecture. What is accepted has launches with a name, values that are
 * missing or not negative, and sizes that are whole or absent; what is
 * refused has words.
 */
#include <math.h>
#include <stdlib.h>

#include "profile/ncu_csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ws__ncu *f, unsigned arch)
{
    if (!f->n || !f->nmetric)
        abort();
    for (size_t i = 0; i < f->n; i++) {
        const struct ws__ncu_launch *l = &f->launch[i];

        if (!l->kernel || !l->line || (i && l->line <= l[-1].line))
            abort();
        if (!l->grid[0] != !l->grid[2] || !l->block[0] != !l->block[2])
            abort();
        ws__ncu_is(l, "f");
        for (enum ws__metric m = 0; m < WS__NMETRIC; m++)
            if (!isnan(l->value[m]) &&
                (l->value[m] < 0 || !ws__metric_name(m, arch)))
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned ARCH[] = {
#define WS_X(arch, chip) arch,
        WS__METRIC_ARCHS(WS_X)
#undef WS_X
    };
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__ncu *f;
    unsigned arch;

    if (!ctx || !size || size > 100000) {
        ws_ctx_free(ctx);
        return 0;
    }
    arch = ARCH[data[0] % WS_COUNT(ARCH)];
    if (ws__ncu_parse(ctx, "fuzz", (const char *)data + 1, size - 1, arch,
                      &f) == 0)
        check(f, arch);
    else if (f || !*ws_ctx_error(ctx)->message || !*ws_ctx_error(ctx)->hint)
        abort();
    ws__ncu_free(f);
    ws_ctx_free(ctx);
    return 0;
}
