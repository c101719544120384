/*
 * fake_cuda.c: the driver of fake.h: devices, contexts, memory, streams,
 * events and graphs.
 *
 * A stream is a list of what was asked for; it is worked off when somebody
 * waits for it, so that errors come out late, as they do on a GPU. What is
 * captured goes to the list of a graph. Every handle is in one list of all
 * that lives: one that is not there is CUDA_ERROR_INVALID_HANDLE.
 */
#include "tests/fakecuda/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/trial.h"
#include "device/cuda/cuda_api.h"

#define WS_X(name, suffix, args) FAKE_EXPORT int cu##name##suffix args;
CU_FUNCTIONS(WS_X)
CU_OPTIONAL(WS_X)
#undef WS_X

/* The linker says which one is missing. */
#define WS_X(name, suffix, args) (void (*)(void)) cu##name##suffix,
FAKE_EXPORT void (*const fake_functions[])(void) = {CU_FUNCTIONS(WS_X)
                                                        CU_OPTIONAL(WS_X)};
#undef WS_X

/* What the runtime (runtime/wsrt_cuda.c) and programs that launch from packs
 * call beside that. */
#define RUNTIME_FUNCTIONS(X)                                                   \
    X(CtxGetCurrent, , (cu_context *))                                         \
    X(CtxGetDevice, , (cu_device *))                                           \
    X(ModuleLoadData, , (cu_module *, const void *))                           \
    X(FuncLoad, , (cu_function))                                               \
    X(StreamIsCapturing, , (cu_stream, cu_enum *))                             \
    X(ThreadExchangeStreamCaptureMode, , (cu_enum *))                          \
    X(GraphGetNodes, , (cu_graph, void **, size_t *))                          \
    X(MemcpyHtoD, _v2, (cu_ptr, const void *, size_t))                         \
    X(MemcpyDtoH, _v2, (void *, cu_ptr, size_t))                               \
    X(MemsetD32, _v2, (cu_ptr, unsigned, size_t))
#define WS_X(name, suffix, args) FAKE_EXPORT int cu##name##suffix args;
RUNTIME_FUNCTIONS(WS_X)
#undef WS_X

#define MAX_DEVICES 8
#define CAPTURING 900 /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
#define SPOILED 901   /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED */
#define DEFAULT_SHARED 49152

enum op_kind { OP_KERNEL, OP_COPY, OP_FILL, OP_EVENT };

struct op {
    struct op *next;
    enum op_kind kind;
    struct fake_launch launch;
    size_t offset[WS__MAX_ARGS]; /* of each parameter in `param` */
    unsigned char param[WS__MAX_ARGS * 16];
    unsigned char *to;
    const unsigned char *from;
    unsigned char *staged; /* what was copied from pageable memory, or NULL */
    size_t bytes, unit;
    unsigned value;
    cu_event event;
};

struct ops {
    struct op *first, **end;
};

struct live {
    struct live *next;
    enum fake_kind kind;
    const void *handle;
};

struct cu_context_s {
    int device, refs;
};
struct cu_stream_s {
    struct ops ops;
    cu_graph capture; /* NULL: none */
    bool spoiled;
};
struct cu_event_s {
    uint64_t ns;
    bool recorded, done;
};
struct cu_graph_s {
    struct ops ops;
};
struct cu_graph_exec_s {
    struct ops ops;
};
struct cu_function_s {
    struct cu_function_s *next;
    struct fake_module *module;
    const struct fake_kernel *kernel;
    int dynamic; /* bytes of shared memory that a launch may ask for */
};
struct cu_module_s {
    struct fake_module *loaded;
    struct cu_function_s *function;
};
struct memory {
    struct memory *next;
    unsigned char *at, *map; /* map NULL: somebody else's, registered */
    size_t bytes, mapped;
    bool host;
};

static bool started;
static struct live *lives;
static struct memory *memories;
static struct cu_context_s primary[MAX_DEVICES];
static struct cu_stream_s default_stream;
static _Thread_local cu_context current;
/* How captures and this thread's calls get along. */
enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED };
static _Thread_local cu_enum capture_mode;

static unsigned long long used_bytes(void)
{
    unsigned long long n = 0;

    for (const struct memory *m = memories; m; m = m->next)
        n += m->host ? 0 : m->bytes;
    return n;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what lives --------------------------------------------------------- */

static void born(enum fake_kind kind, const void *handle)
{
    struct live *l = calloc(1, sizeof(*l));

    l->kind = kind;
    l->handle = handle;
    l->next = lives;
    lives = l;
    fake_state()->live[kind]++;
}

static bool is_live(enum fake_kind kind, const void *handle)
{
    for (const struct live *l = lives; l; l = l->next)
        if (l->handle == handle)
            return l->kind == kind;
    return false;
}

/* False: there was none. */
static bool gone(enum fake_kind kind, const void *handle)
{
    if (!is_live(kind, handle))
        return false;
    for (struct live **l = &lives; *l; l = &(*l)->next)
        if ((*l)->handle == handle) {
            struct live *old = *l;

            *l = old->next;
            free(old);
            break;
        }
    fake_state()->live[kind]--;
    return true;
}

/* Of every call after cuInit: an error that stays comes first. */
#define BEGIN()                                                                \
    do {                                                                       \
        if (!started)                                                          \
            return CU__E_NOT_INITIALIZED;                                      \
        if (fake_state()->dead)                                                \
            return fake_state()->dead;                                         \
        TURN();                                                                \
    } while (0)
/* Of what works in a context. */
#define BEGIN_CONTEXT()                                                        \
    do {                                                                       \
        BEGIN();                                                               \
        if (!current || !current->refs)                                        \
            return CU__E_INVALID_CONTEXT;                                      \
    } while (0)
#define CHECK(kind, handle)                                                    \
    do {                                                                       \
        if (!is_live(kind, handle))                                            \
            return CU__E_INVALID_HANDLE;                                       \
    } while (0)
/* What must not be called by somebody whose stream is being captured. */
#define NO_CAPTURE()                                                           \
    do {                                                                       \
        if (spoil())                                                           \
            return CAPTURING;                                                  \
    } while (0)

static bool spoil(void)
{
    bool any = false;

    for (const struct live *l = lives; l; l = l->next) {
        cu_stream s = (cu_stream)(uintptr_t)l->handle;

        if (l->kind == FAKE_STREAM && s->capture &&
            capture_mode != MODE_RELAXED)
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

static unsigned long long device_bytes(void)
{
    return fake_setting("FAKECUDA_MEMORY", 1ull << 30);
}

int cuInit(unsigned flags)
{
    TURN();
    if (flags)
        return CU__E_INVALID_VALUE;
    if (!device_count())
        return CU__E_NO_DEVICE;
    started = true;
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
    *n = device_bytes();
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
    current = c;
    return 0;
}

/* ---- memory ------------------------------------------------------------- */

static struct memory *take(size_t bytes, bool host)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (bytes + page - 1) / page * page;
    struct memory *m = calloc(1, sizeof(*m));

    m->mapped = inner + 2 * page;
    m->map = mmap(NULL, m->mapped, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->map == MAP_FAILED ||
        mprotect(m->map + page, inner, PROT_READ | PROT_WRITE)) {
        free(m);
        return NULL;
    }
    m->at = m->map + page;
    m->bytes = bytes;
    m->host = host;
    m->next = memories;
    memories = m;
    fake_state()->live[host ? FAKE_HOST : FAKE_MEMORY]++;
    return m;
}

/* The memory that has all of it, or NULL. */
static struct memory *memory_of(uintptr_t at, size_t bytes)
{
    for (struct memory *m = memories; m; m = m->next)
        if (at >= (uintptr_t)m->at && at - (uintptr_t)m->at <= m->bytes &&
            bytes <= m->bytes - (at - (uintptr_t)m->at))
            return m;
    return NULL;
}

static bool give(uintptr_t at, bool host)
{
    for (struct memory **p = &memories; *p; p = &(*p)->next) {
        struct memory *m = *p;

        if ((uintptr_t)m->at != at || m->host != host)
            continue;
        *p = m->next;
        if (m->map)
            munmap(m->map, m->mapped);
        free(m);
        fake_state()->live[host ? FAKE_HOST : FAKE_MEMORY]--;
        return true;
    }
    return false;
}

int cuMemAlloc_v2(cu_ptr *out, size_t bytes)
{
    struct memory *m;

    BEGIN_CONTEXT();
    NO_CAPTURE();
    if (!bytes)
        return CU__E_INVALID_VALUE;
    if (bytes > device_bytes() - used_bytes())
        return CU__E_OUT_OF_MEMORY;
    m = take(bytes, false);
    if (!m)
        return CU__E_OUT_OF_MEMORY;
    *out = (cu_ptr)(uintptr_t)m->at;
    return 0;
}

static int drain_all(void);

int cuMemFree_v2(cu_ptr p)
{
    int e = drain_all();

    if (e)
        return e;
    if (!memory_of((uintptr_t)p, 0))
        return CU__E_INVALID_VALUE;
    TURN_AFTER(give((uintptr_t)p, false));
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    struct memory *m;

    BEGIN_CONTEXT();
    NO_CAPTURE();
    (void)flags;
    m = bytes ? take(bytes, true) : NULL;
    *out = m ? m->at : NULL;
    return m ? 0 : CU__E_INVALID_VALUE;
}

int cuMemFreeHost(void *p)
{
    int e = drain_all();

    if (e)
        return e;
    if (!memory_of((uintptr_t)p, 0))
        return CU__E_INVALID_VALUE;
    TURN_AFTER(give((uintptr_t)p, true));
}

int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
    struct memory *m;

    BEGIN_CONTEXT();
    NO_CAPTURE();
    if (flags || !bytes || memory_of((uintptr_t)p, 0))
        return CU__E_INVALID_VALUE;
    m = calloc(1, sizeof(*m));
    m->at = p;
    m->bytes = bytes;
    m->host = true;
    m->next = memories;
    memories = m;
    fake_state()->live[FAKE_HOST]++;
    return 0;
}

int cuMemHostUnregister(void *p)
{
    int e = drain_all();

    if (e)
        return e;
    if (!memory_of((uintptr_t)p, 0))
        return CU__E_INVALID_VALUE;
    TURN_AFTER(give((uintptr_t)p, true));
}

int cuMemHostGetDevicePointer_v2(cu_ptr *out, void *p, unsigned flags)
{
    BEGIN_CONTEXT();
    *out = (cu_ptr)(uintptr_t)p;
    return flags || !memory_of((uintptr_t)p, 0) ? CU__E_INVALID_VALUE : 0;
}

/* ---- lists of work ------------------------------------------------------ */

static void append(struct ops *list, const struct op *op)
{
    struct op *o = malloc(sizeof(*o));

    *o = *op;
    o->next = NULL;
    if (!list->first)
        list->end = &list->first;
    *list->end = o;
    list->end = &o->next;
}

static void drop_first(struct ops *list)
{
    struct op *o = list->first;

    list->first = o->next;
    if (!list->first)
        list->end = &list->first;
    free(o->staged);
    free(o);
}

static void drop_all(struct ops *list)
{
    while (list->first)
        drop_first(list);
}

static int run_kernel(struct op *o)
{
    void *param[WS__MAX_ARGS];

    for (unsigned i = 0; i < o->launch.kernel->nparam; i++)
        param[i] = o->param + o->offset[i];
    return fake_run(&o->launch, param);
}

static int run_op(struct op *o)
{
    switch (o->kind) {
    case OP_KERNEL:
        return run_kernel(o);
    case OP_COPY:
        memmove(o->to, o->staged ? o->staged : o->from, o->bytes);
        return 0;
    case OP_FILL:
        for (size_t i = 0; i < o->bytes; i += o->unit)
            memcpy(o->to + i, &o->value, o->unit);
        return 0;
    case OP_EVENT:
        if (is_live(FAKE_EVENT, o->event)) {
            o->event->ns = now_ns() / 32 * 32;
            o->event->done = true;
        }
        return 0;
    }
    return CU__E_UNKNOWN;
}

static int drain(cu_stream s)
{
    while (s->ops.first && !fake_state()->dead) {
        int e = run_op(s->ops.first);

        drop_first(&s->ops);
        if (e)
            fake_state()->dead = e;
    }
    return fake_state()->dead;
}

static int drain_all(void)
{
    int e = drain(&default_stream);

    for (const struct live *l = lives; l && !e; l = l->next)
        if (l->kind == FAKE_STREAM)
            e = drain((cu_stream)(uintptr_t)l->handle);
    return e;
}

/* To the stream, or to what captures it. */
static int enqueue(cu_stream s, const struct op *o)
{
    s = s ? s : &default_stream;
    if (s != &default_stream && !is_live(FAKE_STREAM, s)) {
        free(o->staged);
        return CU__E_INVALID_HANDLE;
    }
    if (s->spoiled) {
        free(o->staged);
        return SPOILED;
    }
    append(s->capture ? &s->capture->ops : &s->ops, o);
    return 0;
}

int cuMemcpyHtoDAsync_v2(cu_ptr to, const void *from, size_t n, cu_stream s)
{
    struct op o = {.kind = OP_COPY, .from = from, .bytes = n};

    BEGIN_CONTEXT();
    if (!memory_of((uintptr_t)to, n))
        return CU__E_INVALID_VALUE;
    o.to = (unsigned char *)(uintptr_t)to;
    if (!memory_of((uintptr_t)from, n)) {
        o.staged = malloc(n + 1);
        memcpy(o.staged, from, n);
    }
    return enqueue(s, &o);
}

int cuMemcpyDtoHAsync_v2(void *to, cu_ptr from, size_t n, cu_stream s)
{
    struct op o = {.kind = OP_COPY, .to = to, .bytes = n};
    int e;

    BEGIN_CONTEXT();
    if (!memory_of((uintptr_t)from, n))
        return CU__E_INVALID_VALUE;
    o.from = (const unsigned char *)(uintptr_t)from;
    e = enqueue(s, &o);
    /* Pageable memory: the call waits. */
    if (!e && !memory_of((uintptr_t)to, n))
        e = s && s->capture ? CAPTURING : drain(s ? s : &default_stream);
    return e;
}

int cuMemcpyDtoDAsync_v2(cu_ptr to, cu_ptr from, size_t n, cu_stream s)
{
    struct op o = {.kind = OP_COPY, .bytes = n};

    BEGIN_CONTEXT();
    if (!memory_of((uintptr_t)to, n) || !memory_of((uintptr_t)from, n))
        return CU__E_INVALID_VALUE;
    o.to = (unsigned char *)(uintptr_t)to;
    o.from = (const unsigned char *)(uintptr_t)from;
    return enqueue(s, &o);
}

static int fill(cu_ptr to, unsigned v, size_t unit, size_t n, cu_stream s)
{
    struct op o = {.kind = OP_FILL,
                   .value = v,
                   .unit = unit,
                   .bytes = n * unit};

    if (to % unit || !memory_of((uintptr_t)to, o.bytes))
        return CU__E_INVALID_VALUE;
    o.to = (unsigned char *)(uintptr_t)to;
    return enqueue(s, &o);
}

int cuMemsetD32Async(cu_ptr to, unsigned v, size_t n, cu_stream s)
{
    BEGIN_CONTEXT();
    return fill(to, v, 4, n, s);
}

int cuMemsetD8Async(cu_ptr to, unsigned char v, size_t n, cu_stream s)
{
    BEGIN_CONTEXT();
    return fill(to, v, 1, n, s);
}

/* ---- streams, events, graphs -------------------------------------------- */

int cuStreamCreate(cu_stream *out, unsigned flags)
{
    BEGIN_CONTEXT();
    (void)flags;
    *out = calloc(1, sizeof(**out));
    born(FAKE_STREAM, *out);
    return 0;
}

int cuStreamDestroy_v2(cu_stream s)
{
    if (fake_state()->dead)
        return fake_state()->dead;
    if (!gone(FAKE_STREAM, s))
        return CU__E_INVALID_HANDLE;
    drop_all(&s->ops);
    free(s);
    TURN_AFTER();
}

int cuStreamSynchronize(cu_stream s)
{
    int e = 0;

    BEGIN_CONTEXT();
    if (s)
        CHECK(FAKE_STREAM, s);
    NO_CAPTURE();
    e = drain(s ? s : &default_stream);
    return e;
}

int cuStreamBeginCapture_v2(cu_stream s, cu_enum mode)
{
    BEGIN_CONTEXT();
    (void)mode;
    CHECK(FAKE_STREAM, s);
    if (s->capture)
        return CU__E_INVALID_VALUE;
    s->capture = calloc(1, sizeof(*s->capture));
    s->spoiled = false;
    return 0;
}

int cuStreamEndCapture(cu_stream s, cu_graph *out)
{
    int turn, dead = fake_state()->dead;

    *out = NULL;
    if (dead)
        return dead;
    CHECK(FAKE_STREAM, s);
    turn = fake_turn(__func__);
    if (!s->capture)
        return CU__E_INVALID_VALUE;
    if (turn || s->spoiled) {
        drop_all(&s->capture->ops);
        free(s->capture);
        turn = turn ? turn : SPOILED;
    } else {
        *out = s->capture;
        born(FAKE_GRAPH, *out);
    }
    s->capture = NULL;
    s->spoiled = false;
    return turn;
}

static void copy_ops(struct ops *to, const struct ops *from)
{
    for (const struct op *o = from->first; o; o = o->next) {
        struct op own = *o;

        if (o->staged) {
            own.staged = malloc(o->bytes + 1);
            memcpy(own.staged, o->staged, o->bytes);
        }
        append(to, &own);
    }
}

int cuGraphInstantiateWithFlags(cu_graph_exec *out, cu_graph g,
                                unsigned long long flags)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_GRAPH, g);
    if (flags)
        return CU__E_INVALID_VALUE;
    *out = calloc(1, sizeof(**out));
    copy_ops(&(*out)->ops, &g->ops);
    born(FAKE_EXEC, *out);
    return 0;
}

int cuGraphUpload(cu_graph_exec x, cu_stream s)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_EXEC, x);
    CHECK(FAKE_STREAM, s);
    return 0;
}

int cuGraphLaunch(cu_graph_exec x, cu_stream s)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_EXEC, x);
    CHECK(FAKE_STREAM, s);
    copy_ops(s->capture ? &s->capture->ops : &s->ops, &x->ops);
    return 0;
}

int cuGraphExecDestroy(cu_graph_exec x)
{
    if (fake_state()->dead)
        return fake_state()->dead;
    if (!gone(FAKE_EXEC, x))
        return CU__E_INVALID_HANDLE;
    drop_all(&x->ops);
    free(x);
    TURN_AFTER();
}

int cuGraphDestroy(cu_graph g)
{
    if (fake_state()->dead)
        return fake_state()->dead;
    if (!gone(FAKE_GRAPH, g))
        return CU__E_INVALID_HANDLE;
    drop_all(&g->ops);
    free(g);
    TURN_AFTER();
}

int cuEventCreate(cu_event *out, unsigned flags)
{
    BEGIN_CONTEXT();
    (void)flags;
    *out = calloc(1, sizeof(**out));
    born(FAKE_EVENT, *out);
    return 0;
}

int cuEventDestroy_v2(cu_event e)
{
    if (fake_state()->dead)
        return fake_state()->dead;
    if (!gone(FAKE_EVENT, e))
        return CU__E_INVALID_HANDLE;
    free(e);
    TURN_AFTER();
}

int cuEventRecord(cu_event e, cu_stream s)
{
    struct op o = {.kind = OP_EVENT, .event = e};

    BEGIN_CONTEXT();
    CHECK(FAKE_EVENT, e);
    e->recorded = true;
    e->done = false;
    return enqueue(s, &o);
}

int cuEventElapsedTime(float *ms, cu_event a, cu_event b)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_EVENT, a);
    CHECK(FAKE_EVENT, b);
    if (!a->recorded || !b->recorded)
        return CU__E_INVALID_HANDLE;
    if (!a->done || !b->done)
        return CU__E_NOT_READY;
    /* As coarse as a GPU's, and not 0: something takes time there. */
    *ms = (float)((double)(b->ns - a->ns + 32) / 1e6);
    return 0;
}

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
    born(FAKE_MODULE, *out);
    return 0;
}

static void drop_module(cu_module m)
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
    int e = drain_all();

    if (e)
        return e;
    if (!gone(FAKE_MODULE, m))
        return CU__E_INVALID_HANDLE;
    drop_module(m);
    TURN_AFTER();
}

void fake_reset(void)
{
    drop_all(&default_stream.ops);
    while (lives) {
        const struct live l = *lives;
        void *handle = (void *)(uintptr_t)l.handle;

        gone(l.kind, handle);
        if (l.kind == FAKE_MODULE) {
            drop_module(handle);
            continue;
        }
        if (l.kind == FAKE_STREAM && ((cu_stream)handle)->capture) {
            drop_all(&((cu_stream)handle)->capture->ops);
            free(((cu_stream)handle)->capture);
        }
        if (l.kind == FAKE_STREAM)
            drop_all(&((cu_stream)handle)->ops);
        if (l.kind == FAKE_GRAPH)
            drop_all(&((cu_graph)handle)->ops);
        if (l.kind == FAKE_EXEC)
            drop_all(&((cu_graph_exec)handle)->ops);
        free(handle);
    }
    while (memories)
        give((uintptr_t)memories->at, memories->host);
    memset(primary, 0, sizeof(primary));
    memset(fake_state(), 0, sizeof(*fake_state()));
    current = NULL;
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
    for (const struct live *l = lives; l; l = l->next) {
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

static bool fill_params(struct op *o, const struct fake_kernel *k,
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

int cuLaunchKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   cu_stream s, void **params, void **extra)
{
    struct op o = {.kind = OP_KERNEL};
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
    return enqueue(s, &o);
}

/* ---- for the runtime ---------------------------------------------------- */

int cuCtxGetCurrent(cu_context *c)
{
    BEGIN();
    *c = current;
    return 0;
}

int cuCtxGetDevice(cu_device *d)
{
    BEGIN_CONTEXT();
    *d = current->device;
    return 0;
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

int cuStreamIsCapturing(cu_stream s, cu_enum *status)
{
    BEGIN_CONTEXT();
    if (s)
        CHECK(FAKE_STREAM, s);
    *status = s && s->capture ? 1 + s->spoiled : 0;
    return 0;
}

int cuThreadExchangeStreamCaptureMode(cu_enum *mode)
{
    cu_enum old = capture_mode;

    BEGIN();
    if (*mode > MODE_RELAXED)
        return CU__E_INVALID_VALUE;
    capture_mode = *mode;
    *mode = old;
    return 0;
}

/* Counts them only. */
int cuGraphGetNodes(cu_graph g, void **node, size_t *n)
{
    BEGIN_CONTEXT();
    CHECK(FAKE_GRAPH, g);
    *n = 0;
    for (const struct op *o = g->ops.first; o; o = o->next)
        ++*n;
    return node ? CU__E_INVALID_VALUE : 0;
}

/* Those that wait are the others on the default stream. */
int cuMemcpyHtoD_v2(cu_ptr to, const void *from, size_t n)
{
    int e = cuMemcpyHtoDAsync_v2(to, from, n, NULL);

    return e ? e : drain(&default_stream);
}

int cuMemcpyDtoH_v2(void *to, cu_ptr from, size_t n)
{
    int e = cuMemcpyDtoHAsync_v2(to, from, n, NULL);

    return e ? e : drain(&default_stream);
}

int cuMemsetD32_v2(cu_ptr to, unsigned v, size_t n)
{
    int e = cuMemsetD32Async(to, v, n, NULL);

    return e ? e : drain(&default_stream);
}
