/*
 * t_fake_driver.h: a CUDA driver that keeps what it is told, for tests and
 * figures of launching: no GPU, no library.
 *
 * One call in a run can be made to fail. Modules are counted, launches copy
 * their arguments at once, as a driver does. A function is a small struct with
 * the sizes of the kernel's parameters, found by the name of the sample's
 * symbols (pack/t_pack_sample.h).
 */
#ifndef WSRT_T_FAKE_DRIVER_H
#define WSRT_T_FAKE_DRIVER_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "wsrt.h"

#define FAKE_ERROR 999
#define FAKE_ARGS 16
#define FAKE_LAUNCHES 8
#define FAKE_FUNCTIONS 256

struct fake_function {
    const char *name;
    const unsigned char *bytes; /* of the parameters; 0 ends */
    int loaded, dynamic;
    const void *image;
};

struct fake_launch {
    const struct fake_function *function;
    unsigned grid[3], block[3], shared;
    void *stream;
    unsigned char arg[FAKE_ARGS][8];
    size_t narg;
};

struct fake_memset {
    uint64_t address;
    size_t words;
    void *stream;
    int before; /* launches that came before it */
};

static struct fake {
    atomic_int calls;
    int fail_at; /* 1: the next; 0: none */
    void *context;
    int capturing, mode, optin;
    int implicit; /* another stream is captured that waits for this one */
    int module, loaded_while; /* live ones; those loaded while captured */
    int unloads;
    int (*on_load)(void);
    struct fake_function function[FAKE_FUNCTIONS];
    int nfunction;
    int record; /* keep launches */
    struct fake_launch launch[FAKE_LAUNCHES];
    struct fake_memset set[FAKE_LAUNCHES];
    int nlaunch, nset;
} fake;

static int fake_call(void)
{
    return atomic_fetch_add(&fake.calls, 1) + 1 == fake.fail_at ? FAKE_ERROR
                                                                : 0;
}

static int fake_ctx_get_current(void **context)
{
    int error = fake_call();

    *context = error ? NULL : fake.context;
    return error;
}

static int fake_ctx_get_device(int *device)
{
    *device = 3;
    return fake_call();
}

static int fake_device_get_attribute(int *value, int attribute, int device)
{
    *value = attribute == 75 ? 9 : attribute == 97 ? fake.optin : 0;
    return device == 3 ? fake_call() : 101;
}

static int fake_module_load_data(void **module, const void *image)
{
    int error = fake_call();

    if (error)
        return error;
    if (fake.on_load)
        return fake.on_load();
    fake.loaded_while += fake.capturing && fake.mode != 2;
    fake.module++;
    *module = (void *)(uintptr_t)image;
    return 0;
}

static int fake_module_unload(void *module)
{
    fake.module -= module != NULL;
    fake.unloads++;
    return fake_call();
}

static int fake_module_get_function(void **function, void *module,
                                    const char *name)
{
    /* A scale follows A of the first; see sample_plans. */
    static const unsigned char of_main[] = {8, 4, 8, 8, 8, 4, 8,
                                            4, 1, 2, 8, 1, 0};
    static const unsigned char of_add[] = {8, 8, 4, 0};
    static const unsigned char of_only[] = {8, 8, 2, 4, 0};
    struct fake_function *f;
    int error = fake_call();

    if (error)
        return error;
    if (fake.nfunction == FAKE_FUNCTIONS)
        return 2;
    f = &fake.function[fake.nfunction++];
    *f = (struct fake_function){.name = name, .image = module};
    f->bytes = !strcmp(name, "main_1")   ? of_main
               : !strcmp(name, "add_1")  ? of_add
               : !strcmp(name, "only_1") ? of_only
                                         : NULL;
    *function = f;
    return f->bytes ? 0 : 500;
}

static int fake_func_get_attribute(int *value, int attribute, void *function)
{
    (void)function;
    *value = attribute == 1 ? 1000 : 0;
    return fake_call();
}

static int fake_func_set_attribute(void *function, int attribute, int value)
{
    int error = fake_call();

    if (!error && attribute == 8)
        ((struct fake_function *)function)->dynamic = value;
    return error;
}

static int fake_func_load(void *function)
{
    int error = fake_call();

    if (!error)
        ((struct fake_function *)function)->loaded = 1;
    return error;
}

static int fake_launch_kernel(void *function, unsigned gx, unsigned gy,
                              unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared, void *stream,
                              void **params, void **extra)
{
    const struct fake_function *f = function;
    int error = fake_call();
    struct fake_launch *l;

    if (error || !fake.record || fake.nlaunch == FAKE_LAUNCHES)
        return error;
    l = &fake.launch[fake.nlaunch++];
    memset(l, 0, sizeof(*l));
    l->function = f;
    l->grid[0] = gx;
    l->grid[1] = gy;
    l->grid[2] = gz;
    l->block[0] = bx;
    l->block[1] = by;
    l->block[2] = bz;
    l->shared = shared;
    l->stream = stream;
    for (; f->bytes[l->narg]; l->narg++)
        memcpy(l->arg[l->narg], params[l->narg], f->bytes[l->narg]);
    return extra ? 1 : 0;
}

static int fake_memset_d32_async(uint64_t address, unsigned value, size_t n,
                                 void *stream)
{
    int error = fake_call();

    if (!error && fake.record && fake.nset < FAKE_LAUNCHES)
        fake.set[fake.nset++] =
            (struct fake_memset){address, n, stream, fake.nlaunch};
    return value ? 1 : error;
}

static int fake_stream_is_capturing(void *stream, int *status)
{
    (void)stream;
    *status = fake.implicit ? 0 : fake.capturing;
    return fake.implicit ? 906 : fake_call();
}

static int fake_exchange_mode(int *mode)
{
    int old = fake.mode, error = fake_call();

    if (error)
        return error;
    fake.mode = *mode;
    *mode = old;
    return 0;
}

static int fake_get_error_name(int error, const char **name)
{
    *name = error == FAKE_ERROR ? "FAKE_ERROR" : NULL;
    return *name ? 0 : 1;
}

static const struct wsrt_cuda_driver fake_driver = {
    .size = sizeof(struct wsrt_cuda_driver),
    .ctx_get_current = fake_ctx_get_current,
    .ctx_get_device = fake_ctx_get_device,
    .device_get_attribute = fake_device_get_attribute,
    .module_load_data = fake_module_load_data,
    .module_unload = fake_module_unload,
    .module_get_function = fake_module_get_function,
    .func_get_attribute = fake_func_get_attribute,
    .func_set_attribute = fake_func_set_attribute,
    .launch_kernel = fake_launch_kernel,
    .memset_d32_async = fake_memset_d32_async,
    .stream_is_capturing = fake_stream_is_capturing,
    .thread_exchange_capture_mode = fake_exchange_mode,
    .get_error_name = fake_get_error_name,
    .func_load = fake_func_load,
};

static void fake_reset(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.context = &fake;
    fake.optin = 232448; /* of an H100 */
    fake.mode = 1;
    fake.record = 1;
}

#endif
