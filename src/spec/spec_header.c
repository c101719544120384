/*
 * spec_header.c: `#include <x>` of a source.
 *
 * What stands in these brackets is the compiler's own, is not part of the
 * source's text, and so of no hash. Compilers look further than that, in the
 * folder that a process happens to run in for one: a file of the user's would
 * change results without anybody seeing it. So the names come from a list,
 * headers of the CUDA toolkit and the few of the C library that CUDA C has.
 * OpenCL C needs none and gets none. Under the portable dialect they are
 * taken for what stands under an #if of CUDA.
 */
#include <ctype.h>

#include "spec/parts.h"

#include "base/banned.h"

static const char *const headers[] = {
    /* the toolkit's, for device code */
    "cooperative_groups.h",
    "cuda.h",
    "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h",
    "cuda_bf16.h",
    "cuda_device_runtime_api.h",
    "cuda_fp16.h",
    "cuda_fp4.h",
    "cuda_fp6.h",
    "cuda_fp8.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "curand_kernel.h",
    "device_functions.h",
    "device_launch_parameters.h",
    "math_constants.h",
    "mma.h",
    "vector_functions.h",
    "vector_types.h",
    /* the C and C++ libraries' */
    "assert.h",
    "cassert",
    "cfloat",
    "climits",
    "cmath",
    "cstddef",
    "cstdint",
    "cstdio",
    "float.h",
    "limits",
    "limits.h",
    "math.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "type_traits",
    "utility",
};

/* All below these. */
static const char *const folders[] = {"cooperative_groups/", "cub/", "cuda/",
                                      "nv/"};

/* A path of plain names, none of them beginning with a dot. */
static bool is_plain(const char *name)
{
    char before = '/';

    for (const char *p = name; *p; before = *p++)
        if ((!isalnum((unsigned char)*p) && !strchr("_-./", *p)) ||
            (before == '/' && (*p == '/' || *p == '.')))
            return false;
    return before != '/';
}

bool ws__load_is_header(const char *name)
{
    for (size_t i = 0; i < WS_COUNT(headers); i++)
        if (!strcmp(name, headers[i]))
            return true;
    for (size_t i = 0; i < WS_COUNT(folders); i++)
        if (!strncmp(name, folders[i], strlen(folders[i])))
            return is_plain(name);
    return false;
}
