/*
 * cuda.h: what the files of the CUDA member share. Private to the folder.
 *
 * One open device: the compiler, and once something is loaded or allocated the
 * primary context with one stream. A worker that only compiles never makes a
 * context, which would cost 0.1 s and half a gigabyte of the card.
 *
 * An error of class WS_ECRASH (an illegal address, ...) stays with the process
 * for ever, whatever is reset: `dead` is set, nothing is freed or called any
 * more, and the worker is replaced.
 */
#ifndef WS_CUDA_H
#define WS_CUDA_H

#include "device/cuda/cuda_api.h"
#include "device/cuda/cuda_compile.h"
#include "device/device.h"

/* [guard][shift][content][guard]; everything but the content holds the guard
 * pattern, from the start of the memory on. */
struct cu_buffer {
    cu_ptr mem; /* 0: free place */
    uint64_t total, lead, bytes;
    bool exact; /* nothing but the content; never a spare */
};

/* Memory that was released and waits for the next buffer of its size:
 * questions come with the same sizes again, and the driver takes up to
 * milliseconds for one. */
struct cu_spare {
    cu_ptr mem;
    uint64_t total, used; /* used: larger is later */
};
#define CU_SPARES 48
#define CU_SPARE_BYTES ((uint64_t)4 << 30)

struct cu_entry {
    char *name; /* as launches say it */
    cu_function function;
    uint32_t shared, dynamic; /* static bytes; dynamic ones allowed so far */
    uint32_t nparam;          /* WS__MAX_ARGS + 1: the driver cannot tell */
    uint32_t param_bytes[WS__MAX_ARGS];
};

struct cu_loaded {
    cu_module module; /* NULL: free place */
    struct cu_entry *entry;
    size_t nentry;
};

/* Of the batch that runs. */
struct cu_graphs {
    cu_graph_exec *exec; /* by place in the batch; NULL: not made yet */
    const struct ws__dev_seq *first;
    size_t n;
};

struct ws__cuda {
    struct ws_ctx *ctx;
    struct cu_api api;
    struct nvml_api nvml; /* lib NULL: no clocks are known */
    nvml_device watched;
    uint64_t watched_ns; /* when it was asked last */
    uint32_t mhz, slowed;
    struct ws__cuda_compiler *compiler;
    struct ws__device_info info;
    cu_device device;
    int major, minor;
    uint32_t shared_optin;
    bool dead;
    cu_context context; /* NULL: not made yet */
    cu_stream stream;
    cu_event begin, end;
    uint32_t *flag; /* what the spinning kernel waits for, in host memory */
    uint64_t *host; /* behind it: where small results arrive */
    void *area;     /* pinned with the context; NULL: nobody named any */
    size_t area_bytes;
    bool pinned;
    cu_ptr flag_ptr, word; /* as the device sees it; 8 bytes of the device */
    struct cu_buffer *buffer;
    size_t nbuffer, buffer_cap;
    struct cu_spare spare[CU_SPARES];
    uint64_t spare_bytes, tick;
    struct cu_loaded *module;
    size_t nmodule, module_cap;
    struct cu_graphs graphs;
    cu_module tools;
    cu_function hash, flush, spin, check;
    cu_ptr flush_mem;
    uint64_t flush_bytes;
    struct ws__cuda_counters *counters; /* NULL: not asked for yet */
    struct ws_error uncounted;          /* why there are none; code 0 */
};

/* device_cuda.c: opens with functions and a compiler that the caller found, as
 * tests that put others in between do. Takes the libraries and the compiler,
 * also on failure. nvml has begun, or is NULL. */
int ws__cuda_open_with(struct ws_ctx *ctx, struct cu_api *api,
                       struct nvml_api *nvml,
                       struct ws__cuda_compiler *compiler, uint32_t index,
                       void **dev);
/* Makes the context and what belongs to it, if there is none yet. */
int ws__cuda_ready(struct ws__cuda *d);
/* As ws__cu_fail; notes that the process is lost. 0 stays 0. */
int ws__cuda_check(struct ws__cuda *d, int stage, int error, const char *what);
/* Waits for all that was queued. */
int ws__cuda_sync(struct ws__cuda *d, int stage, const char *what);

/* cuda_probe.c */
int ws__cuda_probe(struct ws_ctx *ctx, struct ws__device_list *out);
/* Finds the index-th usable device and describes it. */
int ws__cuda_pick(struct ws__cuda *d, uint32_t index);

/* cuda_buffer.c: operations, and: */
int ws__cuda_alloc(void *dev, uint64_t bytes, uint32_t guard, uint32_t shift,
                   uint32_t *handle);
void ws__cuda_release(void *dev, uint32_t handle);
int ws__cuda_write(void *dev, uint32_t handle, uint64_t offset,
                   const void *from, uint64_t bytes);
int ws__cuda_read(void *dev, uint32_t handle, uint64_t offset, void *to,
                  uint64_t bytes);
int ws__cuda_fill(void *dev, uint32_t handle, uint32_t pattern);
int ws__cuda_copy(void *dev, uint32_t to, uint32_t from);
int ws__cuda_guard(void *dev, uint32_t handle, int64_t *offset);
struct cu_buffer *ws__cuda_buffer(struct ws__cuda *d, uint32_t handle);
/* Takes memory, from what was released if it fits. WS_EDEVMEM. */
int ws__cuda_take(struct ws__cuda *d, uint64_t bytes, cu_ptr *mem);
void ws__cuda_free_buffers(struct ws__cuda *d);

/* cuda_module.c */
int ws__cuda_build(void *dev, const struct ws__build *b, struct ws__built *out);
void ws__cuda_unload(void *dev, uint32_t module);
struct cu_entry *ws__cuda_entry(struct ws__cuda *d, uint32_t module,
                                const char *name); /* NULL: error set */
/* Allows so many dynamic bytes of shared memory. */
int ws__cuda_shared(struct ws__cuda *d, struct cu_entry *e, uint32_t bytes);
/* From an image; stage as for ws__cu_fail. */
int ws__cuda_load(struct ws__cuda *d, int stage, const void *image,
                  cu_module *out, char **log);

/* cuda_tools.c: kernels of our own. */
int ws__cuda_tools(struct ws__cuda *d); /* makes them, when first needed */
int ws__cuda_hash(void *dev, uint32_t handle, uint64_t *out);
int ws__cuda_flush(void *dev, uint64_t bytes);
/* Offset from the start of the memory of the first 4-byte word in [from, to)
 * that is not the guard pattern; UINT64_MAX: none. Multiples of 4. */
int ws__cuda_scan(struct ws__cuda *d, cu_ptr mem, uint64_t from, uint64_t to,
                  uint64_t *at);
/* Queues a kernel that holds back what follows until ws__cuda_go. */
int ws__cuda_hold(struct ws__cuda *d);
void ws__cuda_go(struct ws__cuda *d);

/* cuda_run.c */
int ws__cuda_run(void *dev, const struct ws__dev_batch *b,
                 struct ws__dev_sample *samples, size_t *n);
/* Restores, untimed fills and the flush (bytes > 0) before a sequence. */
int ws__cuda_prepare(struct ws__cuda *d, const struct ws__dev_seq *seq,
                     uint64_t flush_bytes);
/* Timed fills and launches, so many times; ended by ws__cuda_finish. */
int ws__cuda_enqueue(struct ws__cuda *d, const struct ws__dev_seq *seq,
                     uint32_t inner);
int ws__cuda_finish(struct ws__cuda *d, const struct ws__dev_seq *seq);

/* cuda_counters.c */
int ws__cuda_run_watched(void *dev, const struct ws__dev_seq *seq,
                         const uint32_t *input, size_t ninput,
                         struct ws__dev_touch *out); /* cuda_watch.c */
int ws__cuda_count(void *dev, const struct ws__dev_seq *seq,
                   uint64_t flush_bytes, const char *const *metric, size_t n,
                   double *value, uint32_t *passes);
/* Before the context goes. Does nothing if nothing was counted. */
void ws__cuda_counters_close(struct ws__cuda *d);

/* cuda_nvml.c: all do nothing without NVML. */
void ws__cuda_watch(struct ws__cuda *d, const char *bus_id); /* finds it */
/* Clock and what slows it, asked for at most every few milliseconds. */
void ws__cuda_look(struct ws__cuda *d, struct ws__dev_sample *s);

#endif
