/*
 * fake_cuda.c: the driver of fake.h: devices, contexts and handles.
 *
 * Every handle is in one list of all that lives: one that is not there is
 * CUDA_ERROR_INVALID_HANDLE.
 */
#include "tests/fakecuda/fake_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The linker says which one is missing. */
#define WS_X(name, suffix, args) (void (*)(void)) cu##name##suffix,
FAKE_EXPORT void (*const fake_functions[])(void) = {CU_FUNCTIONS(WS_X)
                                                        CU_OPTIONAL(WS_X)};
#undef WS_X

#define MAX_DEVICES 8

bool fake_started;
struct fake_live *fake_lives;
_Thread_local cu_context fake_current;
_Thread_local cu_enum fake_capture_mode;
static struct cu_context_s primary[MAX_DEVICES];

/* ---- what lives --------------------------------------------------------- */

void fake_born(enum fake_kind kind, const void *handle)
{
    struct fake_live *l = calloc(1, sizeof(*l));

    l->kind = kind;
    l->handle = handle;
    l->next = fake_lives;
    fake_lives = l;
    fake_state()->live[kind]++;
}

bool fake_is_live(enum fake_kind kind, const void *handle)
{
    for (const struct fake_live *l = fake_lives; l; l = l->next)
        if (l->handle == handle)
            return l->kind == kind;
    return false;
}

/* False: there was none. */
bool fake_gone(enum fake_kind kind, const void *handle)
{
    if (!fake_is_live(kind, handle))
        return false;
    for (struct fake_live **l = &fake_lives; *l; l = &(*l)->next)
        if ((*l)->handle == handle) {
            struct fake_live *old = *l;

            *l = old->next;
            free(old);
            break;
        }
    fake_state()->live[kind]--;
    return true;
}

bool fake_spoil(void)
{
    bool any = false;

    for (const struct fake_live *l = fake_lives; l; l = l->next) {
        cu_stream s = (cu_stream)(uintptr_t)l->handle;

        if (l->kind == FAKE_STREAM && s->capture &&
            fake_capture_mode != MODE_RELAXED)
            any = s->spoiled = true;
    }
    return any;
}

/* ---- devices ------------------------------------------------------------ */

static int device_count(void)
{
    unsigned long long n = fake_setting("FAKECUDA_DEVICES", 1);

    return n < MAX_DEVICES ? (int)n : MAX_DEVICES;
}

static bool is_device(cu_device d)
{
    return d >= 0 && d < device_count();
}

int cuInit(unsigned flags)
{
    TURN();
    if (flags)
        return CU__E_INVALID_VALUE;
    if (!device_count())
        return CU__E_NO_DEVICE;
    fake_started = true;
    return 0;
}

int cuDriverGetVersion(int *v)
{
    TURN();
    *v = (int)fake_setting("FAKECUDA_VERSION", 13000);
    return 0;
}

static const struct {
    int error;
    const char *name, *words;
} errors[] = {
#define WS_X(name, value, code)                                                \
    {(value), "CUDA_ERROR_" #name, "in the driver's words: " #name},
    CU_ERRORS(WS_X)
#undef WS_X
};

int cuGetErrorName(cu_enum error, const char **name)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (errors[i].error == error) {
            *name = errors[i].name;
            return 0;
        }
    *name = NULL;
    return CU__E_INVALID_VALUE;
}

int cuGetErrorString(cu_enum error, const char **words)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (errors[i].error == error) {
            *words = errors[i].words;
            return 0;
        }
    *words = NULL;
    return CU__E_INVALID_VALUE;
}

int cuDeviceGetCount(int *n)
{
    BEGIN();
    *n = device_count();
    return 0;
}

int cuDeviceGet(cu_device *d, int i)
{
    BEGIN();
    *d = i;
    return is_device(i) ? 0 : CU__E_INVALID_DEVICE;
}

int cuDeviceGetName(char *name, int n, cu_device d)
{
    BEGIN();
    if (!is_device(d))
        return CU__E_INVALID_DEVICE;
    snprintf(name, (size_t)n, "Fake GPU");
    return 0;
}

int cuDeviceGetAttribute(int *v, cu_enum what, cu_device d)
{
    const int cap = (int)fake_setting("FAKECUDA_CAPABILITY", 90);
    const struct {
        int what, value;
    } list[] = {
        {CU__MAX_THREADS, FAKE_MAX_THREADS},
        {CU__MAX_BLOCK_X, 1024},
        {CU__MAX_BLOCK_Y, 1024},
        {CU__MAX_BLOCK_Z, 64},
        {CU__MAX_GRID_X, 0x7fffffff},
        {CU__MAX_GRID_Y, 65535},
        {CU__MAX_GRID_Z, 65535},
        {CU__WARP, 32},
        {CU__CLOCK_KHZ, 1500000},
        {CU__UNITS, 4},
        {CU__COMPUTE_MODE, (int)fake_setting("FAKECUDA_MODE", 0)},
        {CU__L2_BYTES, 1 << 20},
        {CU__UNIT_THREADS, 2048},
        {CU__MAJOR, cap / 10},
        {CU__MINOR, cap % 10},
        {CU__UNIT_SHARED, 102400},
        {CU__UNIT_REGISTERS, 65536},
        {CU__SHARED_OPTIN, FAKE_SHARED_BYTES},
        {CU__UNIT_BLOCKS, 32},
        {CU__SHARED_RESERVED, 1024},
    };

    BEGIN();
    if (!is_device(d))
        return CU__E_INVALID_DEVICE;
    for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
        if (list[i].what == what) {
            *v = list[i].value;
            return 0;
        }
    return CU__E_INVALID_VALUE;
}

int cuDeviceTotalMem_v2(size_t *n, cu_device d)
{
    BEGIN();
    *n = fake_device_bytes();
    return is_device(d) ? 0 : CU__E_INVALID_DEVICE;
}

int cuDeviceGetPCIBusId(char *id, int n, cu_device d)
{
    BEGIN();
    if (!is_device(d))
        return CU__E_INVALID_DEVICE;
    snprintf(id, (size_t)n, "0000:%02x:00.0", 0xf0 + d);
    return 0;
}

unsigned long long fake_device_bytes(void)
{
    return fake_setting("FAKECUDA_MEMORY", 1ull << 30);
}

/* ---- contexts ----------------------------------------------------------- */

int cuDevicePrimaryCtxRetain(cu_context *c, cu_device d)
{
    BEGIN();
    if (!is_device(d))
        return CU__E_INVALID_DEVICE;
    primary[d].device = d;
    primary[d].refs++;
    fake_state()->live[FAKE_CONTEXT]++;
    *c = &primary[d];
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(cu_device d)
{
    if (!is_device(d) || !primary[d].refs)
        return CU__E_INVALID_CONTEXT;
    primary[d].refs--;
    if (--fake_state()->live[FAKE_CONTEXT] == 0)
        fake_report();
    TURN_AFTER();
}

int cuCtxSetCurrent(cu_context c)
{
    BEGIN();
    fake_current = c;
    return 0;
}

int cuCtxGetCurrent(cu_context *c)
{
    BEGIN();
    *c = fake_current;
    return 0;
}

int cuCtxGetDevice(cu_device *d)
{
    BEGIN_CONTEXT();
    *d = fake_current->device;
    return 0;
}

void fake_reset(void)
{
    fake_drop_all(&fake_default_stream.ops);
    while (fake_lives) {
        const struct fake_live l = *fake_lives;
        void *handle = (void *)(uintptr_t)l.handle;

        fake_gone(l.kind, handle);
        if (l.kind == FAKE_MODULE) {
            fake_drop_module(handle);
            continue;
        }
        if (l.kind == FAKE_STREAM && ((cu_stream)handle)->capture) {
            fake_drop_all(&((cu_stream)handle)->capture->ops);
            free(((cu_stream)handle)->capture);
        }
        if (l.kind == FAKE_STREAM)
            fake_drop_all(&((cu_stream)handle)->ops);
        if (l.kind == FAKE_GRAPH)
            fake_drop_all(&((cu_graph)handle)->ops);
        if (l.kind == FAKE_EXEC)
            fake_drop_all(&((cu_graph_exec)handle)->ops);
        free(handle);
    }
    fake_give_all();
    memset(primary, 0, sizeof(primary));
    memset(fake_state(), 0, sizeof(*fake_state()));
    fake_current = NULL;
}
