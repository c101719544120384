/*
 * opencl_describe.c: the kernels of a source and their arguments, as the
 * driver's compiler saw them.
 *
 * For drafts of specifications, never for a measurement: the source is
 * compiled once more with the names of arguments kept. A property that the
 * driver does not tell is left empty; a caller compares with what it read.
 */
#include "device/opencl/opencl.h"

#include "base/banned.h"

#define MAX_KERNELS 64u
#define OPTIONS_BYTES 4096

static void arg_text(struct ws__ocl *d, ocl_kernel k, uint32_t i, uint32_t what,
                     char *out, size_t n)
{
    size_t got = 0;

    if (d->api.GetKernelArgInfo(k, i, what, n, out, &got) || got > n)
        *out = '\0';
    out[n - 1] = '\0';
}

static uint64_t arg_number(struct ws__ocl *d, ocl_kernel k, uint32_t i,
                           uint32_t what)
{
    uint64_t v = 0; /* little-endian: 4 bytes or 8 */

    return d->api.GetKernelArgInfo(k, i, what, sizeof(v), &v, NULL) ? 0 : v;
}

static void describe_arg(struct ws__ocl *d, ocl_kernel k, uint32_t i,
                         struct ws__arg_info *out)
{
    uint64_t space = arg_number(d, k, i, OCL_KERNEL_ARG_ADDRESS_QUALIFIER);
    uint64_t access = arg_number(d, k, i, OCL_KERNEL_ARG_ACCESS_QUALIFIER);
    uint64_t type = arg_number(d, k, i, OCL_KERNEL_ARG_TYPE_QUALIFIER);

    arg_text(d, k, i, OCL_KERNEL_ARG_NAME, out->name, sizeof(out->name));
    arg_text(d, k, i, OCL_KERNEL_ARG_TYPE_NAME, out->type, sizeof(out->type));
    out->constant = type & OCL_KERNEL_ARG_TYPE_CONST;
    if (access && access != OCL_KERNEL_ARG_ACCESS_NONE)
        out->space = WS__SPACE_OTHER;
    else if (space == OCL_KERNEL_ARG_ADDRESS_GLOBAL)
        out->space = WS__SPACE_GLOBAL;
    else if (space == OCL_KERNEL_ARG_ADDRESS_LOCAL)
        out->space = WS__SPACE_LOCAL;
    else if (space == OCL_KERNEL_ARG_ADDRESS_CONSTANT)
        out->space = WS__SPACE_CONSTANT;
}

static int describe_kernel(struct ws__ocl *d, ocl_kernel k,
                           struct ws__entry_info *out)
{
    size_t block[3] = {0};
    uint32_t n = 0;
    int32_t e = d->api.GetKernelInfo(k, OCL_KERNEL_FUNCTION_NAME,
                                     sizeof(out->name), out->name, NULL);

    if (!e)
        e = d->api.GetKernelInfo(k, OCL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL);
    if (e)
        return ws__ocl_fail(d->ctx, WS_EDEVICE, e, "ask about a kernel");
    out->name[sizeof(out->name) - 1] = '\0';
    out->narg = n < WS__MAX_ARGS ? n : WS__MAX_ARGS;
    for (uint32_t i = 0; i < out->narg; i++)
        describe_arg(d, k, i, &out->arg[i]);
    if (!d->api.GetKernelWorkGroupInfo(k, d->device,
                                       OCL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                       sizeof(block), block, NULL))
        for (int i = 0; i < 3; i++)
            out->block[i] = block[i];
    return 0;
}

static int describe_all(struct ws__ocl *d, ocl_program p,
                        struct ws__entry_info **list, size_t *n)
{
    ocl_kernel kernel[MAX_KERNELS];
    uint32_t count = 0;
    int32_t e = d->api.CreateKernelsInProgram(p, 0, NULL, &count);
    int rc = 0;

    if (!e && count > MAX_KERNELS)
        return ws__fail(d->ctx, WS_ELIMIT, "more than %u kernels in a source",
                        MAX_KERNELS);
    if (!e)
        e = d->api.CreateKernelsInProgram(p, count, kernel, NULL);
    if (e)
        return ws__ocl_fail(d->ctx, WS_EBUILD, e, "make the kernels");
    *list = ws__alloc(d->ctx, count ? count : 1, sizeof(**list));
    if (!*list)
        rc = WS_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (rc == 0)
            rc = describe_kernel(d, kernel[i], &(*list)[i]);
        d->api.ReleaseKernel(kernel[i]);
    }
    *n = count;
    return rc;
}

int ws__ocl_describe(void *dev, const struct ws__build *b,
                     struct ws__entry_info **list, size_t *n)
{
    struct ws__ocl *d = dev;
    char options[OPTIONS_BYTES] = "-cl-kernel-arg-info";
    ocl_program p;
    int rc;

    *list = NULL;
    *n = 0;
    for (size_t i = 0; i < b->noption; i++) {
        size_t at = strlen(options);

        snprintf(options + at, sizeof(options) - at, " %s", b->option[i]);
    }
    WS_TRY(ws__ocl_compile(d, b->source, options, &p, NULL));
    rc = describe_all(d, p, list, n);
    d->api.ReleaseProgram(p);
    if (rc < 0) {
        ws__free(d->ctx, *list);
        *list = NULL;
        *n = 0;
    }
    return rc;
}
