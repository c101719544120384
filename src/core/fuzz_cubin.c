/*
 * fuzz_cubin.c: hostile files through the readers of ready-made kernels. The
 * input is exactly as large as it says, so that reading past it is noticed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct ws__cubin_use use;
    const char *why;

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    why = ws__cubin_lacks(data, size, "mm");
    if (why && !*why)
        abort();
    why = ws__ptx_lacks(text, size, "mm");
    if (why && !*why)
        abort();
    if (ws__cubin_use(data, size, "a", &use) &&
        ws__cubin_lacks(data, size, "a"))
        abort();
    free(text);
    return 0;
}
