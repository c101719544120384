/*
 * fuzz_code.c: any bytes as bytecode. What the check lets through must run to
 * its end without touching anything but its slots; what it accepts as
 * integer-only it must accept without that restriction too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wsrt_code.h"

#define NVARS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    union wsrt_value vars[NVARS], out;
    struct wsrt_operands o;
    uint32_t where = 0;
    int rc, ints;

    for (int i = 0; i < NVARS; i++)
        vars[i].i = (int64_t)(i - 3) * (i & 1 ? 1 : INT64_MAX / 4);
    vars[NVARS - 1].f = -2.5;
    rc = wsrt_code_check(data, size, NVARS, 0);
    ints = wsrt_code_check(data, size, NVARS, 1);
    if (rc != WSRT_EVAL_OK) {
        if (ints == WSRT_EVAL_OK)
            abort();
        return 0;
    }
    rc = wsrt_eval_explain(data, vars, &out, &where, &o);
    if (rc != WSRT_EVAL_OK && (where >= size || o.n == 0 || o.n > 3))
        abort();
    if (rc != wsrt_eval(data, size, vars, &out, NULL))
        abort();
    return 0;
}
