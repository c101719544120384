/*
 * wsrt_cuda.c: an executor for CUDA: finds the driver, loads binaries ahead.
 *
 * Everything that may allocate, wait or compile happens here, so that nothing
 * of it can happen in a launch. Loading a module while a stream is captured
 * would at best become no part of the graph and at worst end the capture.
 * Preparing is refused while the caller's stream is captured, and while it
 * loads it leaves captures of other streams and threads alone: for that long
 * the thread's mode is "relaxed", and afterwards what it was.
 *
 * Drivers load lazily: a module's code may come to the device only when a
 * function of it is first asked for. So each function's attributes are read,
 * and it is loaded by name where the driver can do that; then the first launch
 * is like every other.
 *
 * The driver's types are declared by us; a handle is a pointer, an error a
 * number. No header of the toolkit is needed.
 */
#include "wsrt_exec.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a block, static and dynamic, that no function has to ask for. */
#define CUDA_SHARED_PLAIN (48 * 1024)

/* Field, symbol, must it be there? */
#define CUDA_SYMBOLS(X)                                                        \
    X(ctx_get_current, "cuCtxGetCurrent", 1)                                   \
    X(ctx_get_device, "cuCtxGetDevice", 1)                                     \
    X(device_get_attribute, "cuDeviceGetAttribute", 1)                         \
    X(module_load_data, "cuModuleLoadData", 1)                                 \
    X(module_unload, "cuModuleUnload", 1)                                      \
    X(module_get_function, "cuModuleGetFunction", 1)                           \
    X(func_get_attribute, "cuFuncGetAttribute", 1)                             \
    X(func_set_attribute, "cuFuncSetAttribute", 1)                             \
    X(launch_kernel, "cuLaunchKernel", 1)                                      \
    X(memset_d32_async, "cuMemsetD32Async", 1)                                 \
    X(stream_is_capturing, "cuStreamIsCapturing", 1)                           \
    X(thread_exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", 1)    \
    X(get_error_name, "cuGetErrorName", 1)                                     \
    X(func_load, "cuFuncLoad", 0)

/* Where words go. */
struct words {
    char *text; /* may be NULL */
    size_t bytes;
};

__attribute__((format(printf, 3, 4))) static int
cuda_refuse(const struct words *w, int status, const char *fmt, ...)
{
    va_list ap;

    if (w->text && w->bytes) {
        va_start(ap, fmt);
        vsnprintf(w->text, w->bytes, fmt, ap);
        va_end(ap);
    }
    return status;
}

static const char *error_name(const struct wsrt_cuda_driver *d, int error)
{
    const char *name = NULL;

    return d->get_error_name(error, &name) || !name ? "unknown error" : name;
}

static int cuda_failed(struct wsrt_exec *e, const struct words *w, int error,
                       const char *what, const char *of)
{
    atomic_store_explicit(&e->error, error, memory_order_relaxed);
    return cuda_refuse(w, WSRT_EDRIVER, "cannot %s%s: %s (%d)", what, of,
                       error_name(&e->driver, error), error);
}

/* ---- opening ------------------------------------------------------------ */

static int load_driver(struct wsrt_exec *e, const struct words *w)
{
    e->lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!e->lib)
        return cuda_refuse(w, WSRT_ENODRIVER, "%s", dlerror());
#define WSRT_X(field, name, must)                                              \
    *(void **)&e->driver.field = dlsym(e->lib, name);                          \
    if (must && !e->driver.field)                                              \
        return cuda_refuse(w, WSRT_ENODRIVER,                                  \
                           "the driver has no '%s': it is too old", name);
    CUDA_SYMBOLS(WSRT_X)
#undef WSRT_X
    return WSRT_OK;
}

static int take_driver(struct wsrt_exec *e,
                       const struct wsrt_cuda_driver *driver,
                       const struct words *w)
{
    size_t n = driver->size < sizeof(*driver) ? driver->size : sizeof(*driver);

    memcpy(&e->driver, driver, n);
#define WSRT_X(field, name, must)                                              \
    if (must && !e->driver.field)                                              \
        return cuda_refuse(w, WSRT_EARG, "no function for '%s'", name);
    CUDA_SYMBOLS(WSRT_X)
#undef WSRT_X
    return WSRT_OK;
}

/* The device of the context that is current. */
static int look_at_device(struct wsrt_exec *e, const struct words *w)
{
    const struct wsrt_cuda_driver *d = &e->driver;
    int device = 0, error = d->ctx_get_current(&e->context);

    if (error || !e->context)
        return cuda_refuse(w, WSRT_ENODRIVER,
                           "no CUDA context is current in this thread%s%s",
                           error ? ": " : "",
                           error ? error_name(d, error) : "");
    error = d->ctx_get_device(&device);
    if (!error)
        error = d->device_get_attribute(&e->major, CUDA_ATTR_MAJOR, device);
    if (!error)
        error = d->device_get_attribute(&e->minor, CUDA_ATTR_MINOR, device);
    if (!error)
        error = d->device_get_attribute(&e->shared_optin,
                                        CUDA_ATTR_SHARED_OPTIN, device);
    return error ? cuda_failed(e, w, error, "ask the device", "") : WSRT_OK;
}

static int is_for_cuda(const struct wsrt_pack *p, uint32_t image)
{
    return !strcmp(p->strings + p->image[image].family, "cuda");
}

static int has_binary(const struct wsrt_pack *p, const struct words *w)
{
    for (uint32_t i = 0; i < p->count[WSRT_S_IMAGES]; i++)
        if (is_for_cuda(p, i))
            return WSRT_OK;
    return cuda_refuse(w, WSRT_ENOIMAGE,
                       p->count[WSRT_S_IMAGES]
                           ? "the pack's binaries are for other devices"
                           : "the pack carries no binaries");
}

static struct wsrt_exec *new_exec(const struct wsrt_pack *p)
{
    size_t nsymbol = p->count[WSRT_S_SYMBOLS];
    struct wsrt_exec *e =
        calloc(1, sizeof(*e) + nsymbol * sizeof(e->function[0]));

    if (!e)
        return NULL;
    e->module = calloc(p->count[WSRT_S_IMAGES] + (size_t)1, sizeof(void *));
    if (!e->module) {
        free(e);
        return NULL;
    }
    e->pack = p;
    e->driver.size = sizeof(e->driver);
    atomic_init(&e->error, 0);
    atomic_flag_clear(&e->preparing);
    for (size_t i = 0; i < nsymbol; i++)
        atomic_init(&e->function[i], NULL);
    return e;
}

int wsrt_exec_open_cuda(const struct wsrt_pack *p,
                        const struct wsrt_cuda_driver *driver,
                        struct wsrt_exec **out, char *reason,
                        size_t reason_bytes)
{
    const struct words w = {reason, reason_bytes};
    struct wsrt_exec *e;
    int rc;

    if (!p || !out)
        return WSRT_EARG;
    *out = NULL;
    rc = has_binary(p, &w);
    if (rc != WSRT_OK)
        return rc;
    e = new_exec(p);
    if (!e)
        return cuda_refuse(&w, WSRT_ENOMEM, "out of memory");
    rc = driver ? take_driver(e, driver, &w) : load_driver(e, &w);
    if (rc == WSRT_OK)
        rc = look_at_device(e, &w);
    if (rc == WSRT_OK)
        *out = e;
    else
        wsrt_exec_close(e);
    return rc;
}

void wsrt_exec_close(struct wsrt_exec *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < e->pack->count[WSRT_S_IMAGES]; i++)
        if (e->module[i])
            e->driver.module_unload(e->module[i]);
    if (e->lib)
        dlclose(e->lib);
    free(e->module);
    free(e);
}

int wsrt_exec_driver_error(const struct wsrt_exec *e)
{
    return e ? atomic_load_explicit(&e->error, memory_order_relaxed) : 0;
}

/* ---- preparing ---------------------------------------------------------- */

static int load_image(struct wsrt_exec *e, uint32_t image,
                      const struct words *w)
{
    const struct wsrt_f_image *m = &e->pack->image[image];
    const char *target = e->pack->strings + m->target;
    int error;

    if (e->module[image])
        return WSRT_OK;
    error = e->driver.module_load_data(&e->module[image],
                                       e->pack->image_bytes + m->at);
    if (!error)
        return WSRT_OK;
    e->module[image] = NULL;
    atomic_store_explicit(&e->error, error, memory_order_relaxed);
    return cuda_refuse(w,
                       error == CUDA_NO_BINARY ? WSRT_ENOIMAGE : WSRT_EDRIVER,
                       "cannot load the binary for %s on a device of compute "
                       "capability %d.%d: %s (%d)",
                       target, e->major, e->minor,
                       error_name(&e->driver, error), error);
}

static int uses_shared(const struct wsrt_pack *p, const struct wsrt_f_launch *l)
{
    for (uint32_t i = 0; i < l->narg; i++)
        if (p->arg[l->first_arg + i].kind == WSRT_ARG_SHARED)
            return 1;
    return 0;
}

/* More than 48 KiB are given only to those who asked before. All that there
 * is, whatever the shape: it is a limit, and costs nothing. */
static int allow_shared(struct wsrt_exec *e, void *function, int fixed)
{
    if (e->shared_optin <= CUDA_SHARED_PLAIN)
        return 0;
    return e->driver.func_set_attribute(function, CUDA_FUNC_DYNAMIC,
                                        e->shared_optin - fixed);
}

static int ready_function(struct wsrt_exec *e, uint32_t image, uint32_t symbol,
                          const struct wsrt_f_launch *l, const struct words *w)
{
    const struct wsrt_cuda_driver *d = &e->driver;
    const char *name = e->pack->strings + e->pack->symbol[symbol];
    void *function = NULL;
    int fixed = 0, error;

    if (atomic_load_explicit(&e->function[symbol], memory_order_relaxed))
        return WSRT_OK;
    error = d->module_get_function(&function, e->module[image], name);
    if (!error && d->func_load)
        error = d->func_load(function);
    if (!error)
        error = d->func_get_attribute(&fixed, CUDA_FUNC_SHARED, function);
    if (!error && uses_shared(e->pack, l))
        error = allow_shared(e, function, fixed);
    if (error)
        return cuda_failed(e, w, error, "load the kernel ", name);
    atomic_store_explicit(&e->function[symbol], function, memory_order_release);
    return WSRT_OK;
}

static int ready_binary(struct wsrt_exec *e, uint32_t binary,
                        const struct words *w)
{
    const struct wsrt_pack *p = e->pack;
    const struct wsrt_f_binary *b = &p->binary[binary];
    const struct wsrt_f_plan *plan = &p->plan[p->variant[b->variant].kernel];
    int rc = load_image(e, b->image, w);

    for (uint32_t i = 0; i < plan->nlaunch && rc == WSRT_OK; i++)
        if (p->symbol[b->first_symbol + i] != WSRT_NONE)
            rc = ready_function(e, b->image, b->first_symbol + i,
                                &p->launch[plan->first_launch + i], w);
    return rc;
}

static int is_current(struct wsrt_exec *e, void *stream, const struct words *w)
{
    void *context = NULL;
    int status = 0, error = e->driver.ctx_get_current(&context);

    if (error)
        return cuda_failed(e, w, error, "ask for the context", "");
    if (context != e->context)
        return cuda_refuse(w, WSRT_EARG,
                           "another context is current than at opening");
    error = e->driver.stream_is_capturing(stream, &status);
    status = status || error == CUDA_CAPTURE_IMPLICIT;
    if (error && !status)
        return cuda_failed(e, w, error, "ask the stream", "");
    if (status)
        return cuda_refuse(w, WSRT_ECAPTURE,
                           "the stream is being captured: prepare before");
    return WSRT_OK;
}

/* Binaries first to last - 1. */
static int prepare_some(struct wsrt_exec *e, uint32_t first, uint32_t last,
                        void *stream, const struct words *w)
{
    int mode = CUDA_CAPTURE_RELAXED, rc, error;

    if (atomic_flag_test_and_set_explicit(&e->preparing, memory_order_acquire))
        return cuda_refuse(w, WSRT_EBUSY, "another thread is preparing");
    rc = is_current(e, stream, w);
    if (rc != WSRT_OK)
        goto done;
    error = e->driver.thread_exchange_capture_mode(&mode);
    if (error) {
        rc = cuda_failed(e, w, error, "leave captures alone", "");
        goto done;
    }
    for (uint32_t i = first; i < last && rc == WSRT_OK; i++)
        if (is_for_cuda(e->pack, e->pack->binary[i].image))
            rc = ready_binary(e, i, w);
    error = e->driver.thread_exchange_capture_mode(&mode);
    if (error && rc == WSRT_OK)
        rc = cuda_failed(e, w, error, "restore the capture mode", "");
done:
    atomic_flag_clear_explicit(&e->preparing, memory_order_release);
    return rc;
}

int wsrt_prepare(struct wsrt_exec *e, const struct wsrt_pick *pick,
                 const int64_t *axes, void *stream, char *reason,
                 size_t reason_bytes)
{
    const struct words w = {reason, reason_bytes};
    uint32_t binary;

    if (!e || wsrt__pick_check(e->pack, pick, axes))
        return cuda_refuse(&w, WSRT_EARG, "no pick, or no shape of this op");
    binary = wsrt__find_binary(e->pack, pick->variant, axes);
    if (binary == WSRT_NONE ||
        !is_for_cuda(e->pack, e->pack->binary[binary].image))
        return cuda_refuse(&w, WSRT_ENOIMAGE,
                           "the pack has no binary of this variant for the "
                           "values that are compiled in");
    return prepare_some(e, binary, binary + 1, stream, &w);
}

int wsrt_prepare_all(struct wsrt_exec *e, void *stream, char *reason,
                     size_t reason_bytes)
{
    const struct words w = {reason, reason_bytes};

    if (!e)
        return cuda_refuse(&w, WSRT_EARG, "no executor");
    return prepare_some(e, 0, e->pack->count[WSRT_S_BINARIES], stream, &w);
}
