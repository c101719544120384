/*
 * t_opencl_faults.c: every call of the driver fails once, in turn.
 *
 * A device is opened with functions of our own that count calls, refuse the
 * n-th one, and otherwise pass on to the real driver. One life (open, use,
 * close) is repeated for n = 1, 2, ... until it passes untouched, with several
 * errors where a call is met for the first time in a step, else with one. Each
 * failure must come out as the right code and in words that say which call
 * failed and how; the device must be usable afterwards; and everything that was
 * created must have been released. The few calls that the member can do without
 * are listed: there, nothing may happen at all.
 */
#include "device/opencl/t_opencl.h"

/* --- functions that fail ------------------------------------------------- */

enum kind { CONTEXT, QUEUE, MEM, PROGRAM, KERNEL, EVENT, KINDS };

static struct {
    struct ocl_api real;
    unsigned calls, fail_at; /* 0: never */
    int32_t error;
    const char *failed; /* name of the call that was refused */
    const char *step, *failed_step;
    int live[KINDS];
} t;

/* The error to return instead of calling the driver, or 0. */
static int32_t turn(const char *name)
{
    if (++t.calls != t.fail_at)
        return 0;
    t.failed = name;
    t.failed_step = t.step;
    return t.error;
}

#define PLAIN(name, params, args)                                              \
    static int32_t f_##name params                                             \
    {                                                                          \
        int32_t e = turn(#name);                                               \
                                                                               \
        return e ? e : t.real.name args;                                       \
    }
/* The last parameter is `int32_t *error`. */
#define CREATE(type, name, kind, params, args)                                 \
    static type f_##name params                                                \
    {                                                                          \
        type made = NULL;                                                      \
                                                                               \
        *error = turn(#name);                                                  \
        if (!*error)                                                           \
            made = t.real.name args;                                           \
        t.live[kind] += made != NULL;                                          \
        return made;                                                           \
    }
/* Releases even when it says that it did not. */
#define RELEASE(type, name, kind)                                              \
    static int32_t f_##name(type p)                                            \
    {                                                                          \
        int32_t e = turn(#name), own = t.real.name(p);                         \
                                                                               \
        t.live[kind]--;                                                        \
        return e ? e : own;                                                    \
    }
/* The last parameter is `ocl_event *event`. */
#define ENQUEUE(name, params, args)                                            \
    static int32_t f_##name params                                             \
    {                                                                          \
        int32_t e = turn(#name);                                               \
                                                                               \
        if (!e)                                                                \
            e = t.real.name args;                                              \
        t.live[EVENT] += event && !e;                                          \
        return e;                                                              \
    }

typedef void context_fn(const char *, const void *, size_t, void *);
typedef void build_fn(ocl_program, void *);

PLAIN(GetPlatformIDs, (uint32_t n, ocl_platform *p, uint32_t *got), (n, p, got))
PLAIN(GetPlatformInfo,
      (ocl_platform o, uint32_t what, size_t n, void *p, size_t *got),
      (o, what, n, p, got))
PLAIN(GetDeviceIDs,
      (ocl_platform o, uint64_t type, uint32_t n, ocl_device *p, uint32_t *got),
      (o, type, n, p, got))
PLAIN(GetDeviceInfo,
      (ocl_device o, uint32_t what, size_t n, void *p, size_t *got),
      (o, what, n, p, got))
CREATE(ocl_context, CreateContext, CONTEXT,
       (const intptr_t *how, uint32_t n, const ocl_device *p, context_fn *fn,
        void *user, int32_t *error),
       (how, n, p, fn, user, error))
RELEASE(ocl_context, ReleaseContext, CONTEXT)
CREATE(ocl_queue, CreateCommandQueue, QUEUE,
       (ocl_context o, ocl_device d, uint64_t how, int32_t *error),
       (o, d, how, error))
RELEASE(ocl_queue, ReleaseCommandQueue, QUEUE)
CREATE(ocl_mem, CreateBuffer, MEM,
       (ocl_context o, uint64_t how, size_t n, void *p, int32_t *error),
       (o, how, n, p, error))
CREATE(ocl_mem, CreateSubBuffer, MEM,
       (ocl_mem o, uint64_t how, uint32_t what, const void *p, int32_t *error),
       (o, how, what, p, error))
RELEASE(ocl_mem, ReleaseMemObject, MEM)
CREATE(ocl_program, CreateProgramWithSource, PROGRAM,
       (ocl_context o, uint32_t n, const char **p, const size_t *len,
        int32_t *error),
       (o, n, p, len, error))
PLAIN(BuildProgram,
      (ocl_program o, uint32_t n, const ocl_device *p, const char *how,
       build_fn *fn, void *user),
      (o, n, p, how, fn, user))
PLAIN(GetProgramInfo,
      (ocl_program o, uint32_t what, size_t n, void *p, size_t *got),
      (o, what, n, p, got))
PLAIN(GetProgramBuildInfo,
      (ocl_program o, ocl_device d, uint32_t what, size_t n, void *p,
       size_t *got),
      (o, d, what, n, p, got))
RELEASE(ocl_program, ReleaseProgram, PROGRAM)
CREATE(ocl_kernel, CreateKernel, KERNEL,
       (ocl_program o, const char *name, int32_t *error), (o, name, error))
RELEASE(ocl_kernel, ReleaseKernel, KERNEL)
static int32_t f_CreateKernelsInProgram(ocl_program o, uint32_t n,
                                        ocl_kernel *p, uint32_t *got)
{
    int32_t e = turn("CreateKernelsInProgram");

    if (!e)
        e = t.real.CreateKernelsInProgram(o, n, p, got);
    t.live[KERNEL] += p && !e ? (long)n : 0;
    return e;
}
PLAIN(GetKernelArgInfo,
      (ocl_kernel o, uint32_t i, uint32_t what, size_t n, void *p, size_t *got),
      (o, i, what, n, p, got))
PLAIN(SetKernelArg, (ocl_kernel o, uint32_t i, size_t n, const void *p),
      (o, i, n, p))
PLAIN(GetKernelInfo,
      (ocl_kernel o, uint32_t what, size_t n, void *p, size_t *got),
      (o, what, n, p, got))
PLAIN(GetKernelWorkGroupInfo,
      (ocl_kernel o, ocl_device d, uint32_t what, size_t n, void *p,
       size_t *got),
      (o, d, what, n, p, got))
ENQUEUE(EnqueueNDRangeKernel,
        (ocl_queue o, ocl_kernel k, uint32_t dims, const size_t *from,
         const size_t *global, const size_t *local, uint32_t nwait,
         const ocl_event *wait, ocl_event *event),
        (o, k, dims, from, global, local, nwait, wait, event))
ENQUEUE(EnqueueReadBuffer,
        (ocl_queue o, ocl_mem m, uint32_t block, size_t at, size_t n, void *p,
         uint32_t nwait, const ocl_event *wait, ocl_event *event),
        (o, m, block, at, n, p, nwait, wait, event))
ENQUEUE(EnqueueWriteBuffer,
        (ocl_queue o, ocl_mem m, uint32_t block, size_t at, size_t n,
         const void *p, uint32_t nwait, const ocl_event *wait,
         ocl_event *event),
        (o, m, block, at, n, p, nwait, wait, event))
ENQUEUE(EnqueueCopyBuffer,
        (ocl_queue o, ocl_mem a, ocl_mem b, size_t at, size_t to, size_t n,
         uint32_t nwait, const ocl_event *wait, ocl_event *event),
        (o, a, b, at, to, n, nwait, wait, event))
ENQUEUE(EnqueueFillBuffer,
        (ocl_queue o, ocl_mem m, const void *p, size_t len, size_t at, size_t n,
         uint32_t nwait, const ocl_event *wait, ocl_event *event),
        (o, m, p, len, at, n, nwait, wait, event))
PLAIN(Finish, (ocl_queue o), (o))
PLAIN(GetEventProfilingInfo,
      (ocl_event o, uint32_t what, size_t n, void *p, size_t *got),
      (o, what, n, p, got))
RELEASE(ocl_event, ReleaseEvent, EVENT)

/* Without a library: the real one stays open. */
static const struct ocl_api faulty = {
#define WS_X(result, name, args) .name = f_##name,
    OCL_FUNCTIONS(WS_X)
#undef WS_X
};

/* --- what must come of it ------------------------------------------------ */

/* stage as for ws__ocl_fail, in the words of the message. Several rows of one
 * call: one of them. */
static const struct {
    const char *step, *call;
    int stage;
    const char *words;
} expected[] = {
    {"open", "GetPlatformIDs", WS_EDEVICE, "list OpenCL platforms"},
    {"open", "GetPlatformInfo", WS_ENODEVICE, "ask for CL_PLATFORM_"},
    {"open", "GetDeviceIDs", WS_ENODEVICE, "list its devices"},
    {"open", "GetDeviceInfo", WS_ENODEVICE, "ask for CL_D"},
    {"open", "CreateContext", WS_EDEVICE, "make a context"},
    {"open", "CreateCommandQueue", WS_EDEVICE, "make a queue"},
    {"alloc", "CreateBuffer", WS_EDEVMEM, "make a buffer of"},
    {"alloc", "CreateSubBuffer", WS_EDEVMEM, "make a sub-buffer"},
    {"alloc", "EnqueueFillBuffer", WS_EDEVMEM, "fill memory"},
    {"alloc", "Finish", WS_EDEVMEM, "fill a guard zone"},
    {"write", "EnqueueWriteBuffer", WS_EDEVICE, "write to the device"},
    {"build", "CreateProgramWithSource", WS_EBUILD, "make a program"},
    {"build", "BuildProgram", WS_EBUILD, "build the kernel"},
    {"build", "CreateKernel", WS_EBUILD, "make the kernel 'k'"},
    {"build", "GetKernelInfo", WS_EBUILD, "count the arguments of 'k'"},
    {"build", "CreateBuffer", WS_EDEVMEM, "make a buffer of"},
    {"build", "CreateSubBuffer", WS_EDEVMEM, "make a sub-buffer"},
    {"build", "EnqueueFillBuffer", WS_EDEVMEM, "fill memory"},
    {"build", "EnqueueFillBuffer", WS_EDEVICE, "fill memory"},
    {"build", "Finish", WS_EDEVMEM, "fill a guard zone"},
    {"build", "Finish", WS_EDEVICE, "prepare the first launch"},
    {"build", "Finish", WS_ELAUNCH, "first launch of 'k': cannot run"},
    {"build", "SetKernelArg", WS_ELAUNCH, "argument"},
    {"build", "EnqueueNDRangeKernel", WS_ELAUNCH, "launch 'k'"},
    {"build", "EnqueueReadBuffer", WS_EDEVICE, "read from the device"},
    {"run", "EnqueueCopyBuffer", WS_EDEVICE, "copy on the device"},
    {"run", "EnqueueFillBuffer", WS_EDEVICE, "fill memory"},
    {"run", "Finish", WS_EDEVICE, "prepare a launch"},
    {"run", "Finish", WS_ELAUNCH, "run the kernel"},
    {"run", "SetKernelArg", WS_ELAUNCH, "argument"},
    {"run", "EnqueueNDRangeKernel", WS_ELAUNCH, "launch 'k'"},
    {"run", "GetEventProfilingInfo", WS_EDEVICE, "time of a command"},
    /* kernels of our own: no candidate is to blame */
    {"run", "CreateProgramWithSource", WS_EDEVICE, "our own kernels"},
    {"run", "BuildProgram", WS_EDEVICE, "our own kernels"},
    {"run", "CreateKernel", WS_EDEVICE, "make a kernel of our own"},
    {"run", "CreateBuffer", WS_EDEVICE, "make"},
    {"run", "SetKernelArg", WS_EDEVICE, "run a kernel of our own"},
    {"run", "EnqueueNDRangeKernel", WS_EDEVICE, "run a kernel of our own"},
    {"run", "EnqueueReadBuffer", WS_EDEVICE, "read a hash"},
    {"hash", "SetKernelArg", WS_EDEVICE, "run a kernel of our own"},
    {"hash", "EnqueueNDRangeKernel", WS_EDEVICE, "run a kernel of our own"},
    {"hash", "EnqueueReadBuffer", WS_EDEVICE, "read a hash"},
    {"guard", "EnqueueReadBuffer", WS_EDEVICE, "read from the device"},
    {"read", "EnqueueReadBuffer", WS_EDEVICE, "read from the device"},
    {"describe", "CreateProgramWithSource", WS_EBUILD, "make a program"},
    {"describe", "BuildProgram", WS_EBUILD, "build the kernel"},
    {"describe", "CreateKernelsInProgram", WS_EBUILD, "make the kernels"},
    {"describe", "GetKernelInfo", WS_EDEVICE, "ask about a kernel"},
};

#define OUT_OF_RESOURCES (-5)
#define OUT_OF_MEMORY (-6)
#define NO_TIMES (-7)
#define UNKNOWN (-9999)

/* What the member can do without: what a compiler says beside its result,
 * whether something went away as it should, and times if the driver keeps
 * none. */
static bool is_harmless(const char *call)
{
    return !strncmp(call, "Release", 7) || !strcmp(call, "GetProgramInfo") ||
           !strcmp(call, "GetProgramBuildInfo") ||
           !strcmp(call, "GetKernelArgInfo") ||
           !strcmp(call, "GetKernelWorkGroupInfo") ||
           (!strcmp(call, "GetEventProfilingInfo") && t.error == NO_TIMES) ||
           /* memory that goes is waited for; the last step's does so then */
           (!strcmp(call, "Finish") && !strcmp(t.failed_step, "describe"));
}

static bool is_code(int stage, int code)
{
    if (stage == WS_ENODEVICE)
        return code == stage;
    if (t.error == OUT_OF_RESOURCES)
        return code == stage;
    if (t.error == OUT_OF_MEMORY) /* or the text of our own did not compile */
        return code == (stage == WS_EBUILD ? stage : WS_EDEVMEM) ||
               (stage == WS_EDEVICE && code == stage);
    return code == WS_EDEVICE;
}

/* A rehearsal of the launch may lack memory: the real run will tell. */
static bool is_excused(int rc)
{
    return rc == 0 && !strcmp(t.failed_step, "build") &&
           (t.error == OUT_OF_MEMORY || t.error == OUT_OF_RESOURCES);
}

static void check_failure(const struct ws_error *e, int rc)
{
    char name[32];

    if (is_harmless(t.failed)) {
        if (rc)
            fail_msg("%s: %s is not harmless: %s", t.failed_step, t.failed,
                     e->message);
        return;
    }
    if (is_excused(rc))
        return;
    assert_string_equal(t.step, t.failed_step);
    assert_int_equal(rc, e->code);
    snprintf(name, sizeof(name), "%d", t.error);
    if (!strstr(e->message, ws__ocl_error_name(t.error)
                                ? ws__ocl_error_name(t.error)
                                : name))
        fail_msg("%s: %s, error %d: '%s' lacks it", t.step, t.failed, t.error,
                 e->message);
    for (size_t i = 0; i < WS_COUNT(expected); i++)
        if (!strcmp(expected[i].step, t.step) &&
            !strcmp(expected[i].call, t.failed) &&
            strstr(e->message, expected[i].words) &&
            is_code(expected[i].stage, rc))
            return;
    fail_msg("%s: %s, error %d: unexpected %s '%s'", t.step, t.failed, t.error,
             ws_status_name(rc), e->message);
}

/* Whether no call of this name has failed in this step before. */
static bool is_new(void)
{
    static struct {
        const char *step, *call;
    } seen[100];
    static size_t n;

    for (size_t i = 0; i < n; i++)
        if (!strcmp(seen[i].step, t.failed_step) &&
            !strcmp(seen[i].call, t.failed))
            return false;
    assert_true(n < WS_COUNT(seen));
    seen[n].step = t.failed_step;
    seen[n++].call = t.failed;
    return true;
}

/* True if it was the first time that this call failed in this step. */
static bool one_life(unsigned n, int32_t error)
{
    struct t_alloc a = {0};
    struct ws_ctx *ctx = t_ctx(&a);
    struct ocl_api api = faulty;
    void *dev = NULL;
    bool first;
    int rc;

    t.calls = 0;
    t.fail_at = n;
    t.error = error;
    t.failed = NULL;
    t.step = "open";
    rc = ws__ocl_open_with(ctx, &api, 0, &dev);
    if (rc == 0)
        rc = t_ocl_use(dev, &t.step);
    if (t.failed)
        check_failure(ws_ctx_error(ctx), rc);
    else
        assert_int_equal(rc, 0);
    first = t.failed && is_new();
    if (dev && first) /* it goes on working */
        assert_int_equal(t_ocl_use(dev, &t.step), 0);
    t.step = "close";
    ws__device_find("opencl")->close(dev);
    if (t.failed && !strcmp(t.failed_step, "close"))
        assert_true(is_harmless(t.failed));
    for (int i = 0; i < KINDS; i++)
        assert_int_equal(t.live[i], 0);
    ws_ctx_free(ctx);
    assert_int_equal(a.live, 0);
    return first;
}

static void every_call_may_fail(void **state)
{
    static const int32_t error[] = {OUT_OF_RESOURCES, OUT_OF_MEMORY, NO_TIMES,
                                    UNKNOWN};
    struct ws_ctx *ctx = t_ctx(NULL);
    unsigned n = 0;
    bool first;
    void *dev;

    (void)state;
    memset(&t, 0, sizeof(t));
    if (ws__device_find("opencl")->open(ctx, 0, NULL, &dev) < 0) {
        ws_ctx_free(ctx);
        SKIP("no OpenCL device");
    }
    ws__device_find("opencl")->close(dev);
    assert_int_equal(ws__ocl_load(ctx, &t.real), 0);
    do {
        n++;
        first = one_life(n, error[n % WS_COUNT(error)]);

        for (size_t i = 1; first && i < WS_COUNT(error); i++)
            one_life(n, error[(n + i) % WS_COUNT(error)]);
    } while (t.failed);
    assert_true(n > WS_COUNT(expected));
    ws__ocl_unload(&t.real);
    ws_ctx_free(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_call_may_fail),
};

T_OCL_MAIN(tests)
