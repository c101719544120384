/*
 * fake_driver.h: what the files of the fake driver share: fake_cuda.c
 * (devices, contexts, handles), fake_memory.c, fake_stream.c, fake_module.c.
 */
#ifndef WS_FAKE_DRIVER_H
#define WS_FAKE_DRIVER_H

#include "core/trial.h"
#include "device/cuda/cuda_api.h"
#include "tests/fakecuda/fake.h"

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
CU_FUNCTIONS(WS_X)
CU_OPTIONAL(WS_X)
RUNTIME_FUNCTIONS(WS_X)
#undef WS_X

#define CAPTURING 900 /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
#define SPOILED 901   /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED */

enum op_kind { OP_KERNEL, OP_COPY, OP_FILL, OP_EVENT };

struct fake_op {
    struct fake_op *next;
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

struct fake_ops {
    struct fake_op *first, **end;
};

struct fake_live {
    struct fake_live *next;
    enum fake_kind kind;
    const void *handle;
};

struct cu_context_s {
    int device, refs;
};
struct cu_stream_s {
    struct fake_ops ops;
    cu_graph capture; /* NULL: none */
    bool spoiled;
};
struct cu_event_s {
    uint64_t ns;
    bool recorded, done;
};
struct cu_graph_s {
    struct fake_ops ops;
};
struct cu_graph_exec_s {
    struct fake_ops ops;
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
struct fake_memory {
    struct fake_memory *next;
    unsigned char *at, *map; /* map NULL: somebody else's, registered */
    size_t bytes, mapped;
    bool host;
};

/* ---- fake_cuda.c -------------------------------------------------------- */

extern bool fake_started;
extern struct fake_live *fake_lives; /* everything that has a handle */
extern _Thread_local cu_context fake_current;
/* How captures and this thread's calls get along. */
enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED };
extern _Thread_local cu_enum fake_capture_mode;

unsigned long long fake_device_bytes(void);
void fake_born(enum fake_kind kind, const void *handle);
bool fake_is_live(enum fake_kind kind, const void *handle);
/* False: there was none. */
bool fake_gone(enum fake_kind kind, const void *handle);
/* Breaks the captures that a call may break; false: there are none. */
bool fake_spoil(void);

/* Of every call after cuInit: an error that stays comes first. */
#define BEGIN()                                                                \
    do {                                                                       \
        if (!fake_started)                                                     \
            return CU__E_NOT_INITIALIZED;                                      \
        if (fake_state()->dead)                                                \
            return fake_state()->dead;                                         \
        TURN();                                                                \
    } while (0)
/* Of what works in a context. */
#define BEGIN_CONTEXT()                                                        \
    do {                                                                       \
        BEGIN();                                                               \
        if (!fake_current || !fake_current->refs)                              \
            return CU__E_INVALID_CONTEXT;                                      \
    } while (0)
#define CHECK(kind, handle)                                                    \
    do {                                                                       \
        if (!fake_is_live(kind, handle))                                       \
            return CU__E_INVALID_HANDLE;                                       \
    } while (0)
/* What must not be called by somebody whose stream is being captured. */
#define NO_CAPTURE()                                                           \
    do {                                                                       \
        if (fake_spoil())                                                      \
            return CAPTURING;                                                  \
    } while (0)

/* ---- fake_memory.c ------------------------------------------------------ */

/* The memory that has all of it, or NULL. */
struct fake_memory *fake_memory_of(uintptr_t at, size_t bytes);
void fake_give_all(void);

/* ---- fake_stream.c ------------------------------------------------------ */

extern struct cu_stream_s fake_default_stream;
void fake_drop_all(struct fake_ops *list);
/* Works off what is queued: 0 or the error that stays. */
int fake_drain(cu_stream s);
int fake_drain_all(void);
/* To the stream, or to what captures it. */
int fake_enqueue(cu_stream s, const struct fake_op *o);

/* ---- fake_module.c ------------------------------------------------------ */

void fake_drop_module(cu_module m);

#endif
