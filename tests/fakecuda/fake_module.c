/* fake_module.c: modules and launches of the fake driver; how kernels run is in
 * fake_exec.c. */
#include "tests/fakecuda/fake_driver.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_SHARED 49152

/* ---- modules and launches ----------------------------------------------- */

/* The buffer for the log of the options, and its size. */
static char *log_buffer(unsigned n, const cu_enum *option, void **value,
                        size_t *bytes)
{
    char *log = NULL;

    *bytes = 0;
    for (unsigned i = 0; i < n; i++) {
        if (option[i] == CU__JIT_ERROR)
            log = value[i];
        if (option[i] == CU__JIT_ERROR_BYTES)
            *bytes = (size_t)(uintptr_t)value[i];
    }
    return *bytes ? log : NULL;
}

int cuModuleLoadDataEx(cu_module *out, const void *image, unsigned n,
                       cu_enum *option, void **value)
{
    struct fake_module *loaded;
    size_t log_bytes;
    char *log;
    int e;

    BEGIN_CONTEXT();
    NO_CAPTURE();
    log = log_buffer(n, option, value, &log_bytes);
    if (log)
        log[0] = '\0';
    e = fake_module_load(image, true, &loaded, log, log_bytes);
    if (e)
        return e;
    *out = calloc(1, sizeof(**out));
    (*out)->loaded = loaded;
    fake_born(FAKE_MODULE, *out);
    return 0;
}

void fake_drop_module(cu_module m)
{
    while (m->function) {
        struct cu_function_s *f = m->function;

        m->function = f->next;
        free(f);
    }
    fake_module_free(m->loaded);
    free(m);
}

int cuModuleUnload(cu_module m)
{
    int e = fake_drain_all();

    if (e)
        return e;
    if (!fake_gone(FAKE_MODULE, m))
        return CU__E_INVALID_HANDLE;
    fake_drop_module(m);
    TURN_AFTER();
}

int cuModuleGetFunction(cu_function *out, cu_module m, const char *name)
{
    const struct fake_kernel *k;

    BEGIN_CONTEXT();
    CHECK(FAKE_MODULE, m);
    k = fake_module_find(m->loaded, name);
    if (!k)
        return CU__E_NOT_FOUND;
    *out = calloc(1, sizeof(**out));
    (*out)->kernel = k;
    (*out)->module = m->loaded;
    (*out)->dynamic = DEFAULT_SHARED;
    (*out)->next = m->function;
    m->function = *out;
    return 0;
}

/* Functions live in their module. */
static bool is_function(cu_function f)
{
    for (const struct fake_live *l = fake_lives; l; l = l->next) {
        cu_module m = (cu_module)(uintptr_t)l->handle;

        if (l->kind != FAKE_MODULE)
            continue;
        for (const struct cu_function_s *i = m->function; i; i = i->next)
            if (i == f)
                return true;
    }
    return false;
}

int cuFuncGetAttribute(int *v, cu_enum what, cu_function f)
{
    BEGIN_CONTEXT();
    if (!is_function(f))
        return CU__E_INVALID_HANDLE;
    switch (what) {
    case CU__FUNC_THREADS:
        *v = (int)f->kernel->max_threads;
        return 0;
    case CU__FUNC_SHARED:
    case CU__FUNC_LOCAL:
        *v = 0;
        return 0;
    case CU__FUNC_REGISTERS:
        *v = 32;
        return 0;
    case CU__FUNC_DYNAMIC:
        *v = f->dynamic;
        return 0;
    default:
        return CU__E_INVALID_VALUE;
    }
}

int cuFuncSetAttribute(cu_function f, cu_enum what, int v)
{
    BEGIN_CONTEXT();
    if (!is_function(f))
        return CU__E_INVALID_HANDLE;
    if (what != CU__FUNC_DYNAMIC || v < 0 || v > (int)FAKE_SHARED_BYTES)
        return CU__E_INVALID_VALUE;
    f->dynamic = v;
    return 0;
}

int cuFuncGetParamInfo(cu_function f, size_t i, size_t *offset, size_t *bytes)
{
    BEGIN_CONTEXT();
    if (!is_function(f))
        return CU__E_INVALID_HANDLE;
    if (i >= f->kernel->nparam)
        return CU__E_INVALID_VALUE;
    *offset = 0;
    for (size_t k = 0; k < i; k++)
        *offset += f->kernel->param_bytes[k];
    if (bytes)
        *bytes = f->kernel->param_bytes[i];
    return 0;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, cu_function f,
                                                int threads, size_t shared)
{
    int by_shared;

    BEGIN_CONTEXT();
    if (!is_function(f))
        return CU__E_INVALID_HANDLE;
    if (threads <= 0)
        return CU__E_INVALID_VALUE;
    by_shared = (int)(102400 / (shared + 1024));
    *n = 2048 / threads;
    *n = *n > 32 ? 32 : *n;
    *n = *n > by_shared ? by_shared : *n;
    return 0;
}

static bool fill_params(struct fake_op *o, const struct fake_kernel *k,
                        void **params)
{
    size_t at = 0;

    for (unsigned i = 0; i < k->nparam; i++) {
        at = (at + 15) / 16 * 16;
        if (i >= WS__MAX_ARGS || at + k->param_bytes[i] > sizeof(o->param))
            return false;
        o->offset[i] = at;
        memcpy(o->param + at, params[i], k->param_bytes[i]);
        at += k->param_bytes[i];
    }
    return true;
}

static unsigned launches;

int cuLaunchKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   cu_stream s, void **params, void **extra)
{
    struct fake_op o = {.kind = OP_KERNEL};
    const unsigned long long threads = (unsigned long long)bx * by * bz;

    BEGIN_CONTEXT();
    if (!is_function(f))
        return CU__E_INVALID_HANDLE;
    if (!gx || !gy || !gz || !threads || gy > 65535 || gz > 65535 || bz > 64 ||
        threads > FAKE_MAX_THREADS || shared > (unsigned)f->dynamic || extra)
        return CU__E_INVALID_VALUE;
    if (threads > f->kernel->max_threads)
        return CU__E_LAUNCH_OUT_OF_RESOURCES;
    o.launch =
        (struct fake_launch){f->kernel, f->module, {gx, gy, gz}, {bx, by, bz}};
    if (!fill_params(&o, f->kernel, params))
        return CU__E_INVALID_VALUE;
    launches++;
    return fake_enqueue(s, &o);
}

unsigned fake_launches(void)
{
    return launches;
}

int cuModuleLoadData(cu_module *out, const void *image)
{
    return cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

int cuFuncLoad(cu_function f)
{
    BEGIN_CONTEXT();
    return is_function(f) ? 0 : CU__E_INVALID_HANDLE;
}
