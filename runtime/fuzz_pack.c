/*
 * fuzz_pack.c: any bytes at all: refused, or a pack that can be used.
 *
 * The input is opened as it is, and once more with length and check sum put
 * right, since no mutation gets past a check sum by luck. Memory of exactly
 * the input's size lets a sanitizer see a read past the end.
 */
#include <stdlib.h>
#include <string.h>

#include "wsrt_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What must hold for every pack that was accepted; a broken promise ends the
 * program, which is how a fuzzer is told. */
static void must(int holds)
{
    if (!holds)
        abort();
}

static void use_plan(const struct wsrt_pack *p, const struct wsrt_pick *pick,
                     const int64_t *axes)
{
    static struct wsrt_plan plan;
    uint32_t binary = wsrt__find_binary(p, pick->variant, axes), image,
             symbol[WSRT_MAX_LAUNCHES];
    uint64_t bytes = 0;
    struct wsrt_image m;

    must((wsrt_pick_image(p, pick, axes, &image) == WSRT_OK) ==
         (binary != WSRT_NONE));
    must(binary == WSRT_NONE || (wsrt_image(p, image, &m) == WSRT_OK &&
                                 ((const char *)m.data)[m.bytes] == '\0'));
    must(wsrt_scratch_bytes(p, pick, axes, &bytes) <= WSRT_OK);
    if (binary == WSRT_NONE ||
        wsrt__plan(p, pick->variant, binary, axes, &plan, symbol))
        return;
    must(plan.nlaunch && plan.nlaunch <= WSRT_MAX_LAUNCHES &&
         plan.scratch_bytes == bytes);
    for (uint32_t i = 0; i < plan.nlaunch; i++)
        must(plan.launch[i].grid[0] && plan.launch[i].block[2] &&
             symbol[i] < p->count[WSRT_S_SYMBOLS]);
}

static void explain(const struct wsrt_pack *p, const int64_t *axes)
{
    struct wsrt_explanation e;
    char text[100];

    must(wsrt_explain(p, axes, &e) == WSRT_OK);
    must(wsrt_explain_text(p, &e, text, sizeof(text)) > 0);
    must(e.model == WSRT_NO_ENTRY || e.model < p->count[WSRT_S_MODELS]);
}

static void pick_around(const struct wsrt_pack *p, struct wsrt_memo *memo,
                        int64_t *axes)
{
    struct wsrt_pick a, b;
    int rc = wsrt_pick(p, axes, &a);

    must(rc <= WSRT_OK);
    must(wsrt_pick_memo(p, memo, axes, &b) == rc);
    must(rc || (a.variant < wsrt_variant_count(p) && a.variant == b.variant));
    if (rc == WSRT_OK) {
        explain(p, axes);
        use_plan(p, &a, axes);
    }
}

static void use_shapes(const struct wsrt_pack *p, struct wsrt_memo *memo)
{
    int64_t axes[WSRT_MAX_AXES];
    uint32_t naxis = wsrt_axis_count(p);

    for (uint32_t e = 0; e < wsrt_entry_count(p) && e < 64; e++) {
        struct wsrt_pick pick;

        memcpy(axes, wsrt_entry_axes(p, e), naxis * sizeof(*axes));
        must(wsrt_pick(p, axes, &pick) == WSRT_OK && pick.entry == e);
        use_plan(p, &pick, axes);
        for (uint32_t a = 0; a < naxis; a++) {
            axes[a] ^= 5;
            pick_around(p, memo, axes);
            axes[a] ^= INT64_C(1) << 40;
            pick_around(p, memo, axes);
        }
    }
    for (uint32_t a = 0; a < naxis; a++)
        axes[a] = 1;
    pick_around(p, memo, axes);
    for (uint32_t a = 0; a < naxis; a++)
        if (wsrt_axis_default(p, a, &axes[a]) != WSRT_OK)
            axes[a] = 1000 + 24 * a;
    pick_around(p, memo, axes);
    must(wsrt_counts(p, (const int32_t[]){0, 5, INT32_MAX}, 3, axes) ==
         WSRT_OK);
    pick_around(p, memo, axes);
}

static void use_names(const struct wsrt_pack *p)
{
    static const char *const text[] = {"op", "tool", ""};
    size_t n = 0;

    for (uint32_t i = 0; i < wsrt_axis_count(p); i++) {
        int64_t v;

        must(wsrt_axis_find(p, wsrt_axis_name(p, i)) >= 0);
        if (wsrt_axis_default(p, i, &v) == WSRT_OK &&
            wsrt_axis_value_text(p, i, v))
            must(wsrt_axis_value(p, i, wsrt_axis_value_text(p, i, v), &v) ==
                 WSRT_OK);
    }
    for (uint32_t v = 0; v < wsrt_variant_count(p); v++) {
        uint32_t k = wsrt_variant_kernel(p, v);

        n += strlen(wsrt_kernel_name(p, k));
        for (uint32_t i = 0; i < wsrt_param_count(p, k); i++)
            n += strlen(wsrt_param_name(p, k, i)) +
                 strlen(wsrt_param_text(p, v, i));
    }
    for (uint32_t i = 0; i < wsrt_tensor_count(p); i++) {
        struct wsrt_tensor t;

        must(wsrt_tensor(p, i, &t) == WSRT_OK && t.align);
        must(wsrt_tensor_find(p, t.name) >= 0);
    }
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        const char *s = wsrt_text(p, text[i], &n);

        must(!s || s[n] == '\0');
    }
}

static void try_bytes(const void *data, size_t bytes)
{
    static const struct wsrt_memo empty;
    struct wsrt_pack *p;
    char reason[80];

    if (wsrt_open_memory(data, bytes, &p, reason, sizeof(reason)) == WSRT_OK) {
        struct wsrt_memo memo = empty;

        use_names(p);
        use_shapes(p, &memo);
    }
    wsrt_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    void *copy = calloc(1, bytes ? bytes : 1);
    struct wsrt_f_header *h = copy;

    if (!copy)
        return 0;
    if (bytes)
        memcpy(copy, data, bytes);
    try_bytes(copy, bytes);
    if (bytes >= sizeof(*h) && bytes % WSRT_ALIGN == 0) {
        h->bytes = bytes;
        h->check_sum = wsrt__file_sum(copy, bytes);
        try_bytes(copy, bytes);
    }
    free(copy);
    return 0;
}
