/*
 * opencl.h: what the files of the OpenCL member share. Private to the folder.
 *
 * One open device: a context, one in-order queue with profiling, tables of
 * buffers and modules whose index + 1 is the handle, and a program of our own
 * for hashing and flushing.
 */
#ifndef WS_OPENCL_H
#define WS_OPENCL_H

#include "device/device.h"
#include "device/opencl/opencl_api.h"

/* One place in memory: [guard][shift][content][guard]; everything but the
 * content holds the guard pattern, from the start of the memory on. */
struct ocl_buffer {
    ocl_mem mem; /* NULL: free place */
    ocl_mem sub; /* the content, what kernels get */
    uint64_t total, lead, bytes;
    char *host; /* on processors: where it lies, pages of ours; else NULL */
};

struct ocl_module {
    ocl_program program; /* NULL: free place */
    struct ocl_entry {
        char *name;
        ocl_kernel kernel;
        uint32_t nargs;
    } * entry;
    size_t nentry, entry_cap;
};

/* Buffers for first launches, kept from build to build. */
struct ocl_pool {
    enum ws__arg_kind kind;
    size_t index;
    uint64_t bytes;
    uint32_t buffer;
};

struct ws__ocl {
    struct ws_ctx *ctx;
    struct ocl_api api;
    struct ws__device_info info;
    ocl_device device;
    ocl_context context;
    ocl_queue queue;
    uint64_t align;     /* bytes, of the start of sub-buffers */
    bool binaries_vary; /* two builds of one source differ */
    bool copies;        /* does not work in the memory that it is given */
    struct ocl_buffer *buffer;
    size_t nbuffer, buffer_cap;
    struct ocl_module *module;
    size_t nmodule, module_cap;
    struct ocl_pool *pool;
    size_t npool, pool_cap;
    /* tools, made when first needed */
    ocl_program tools;
    ocl_kernel hash, flush;
    ocl_mem part, flush_mem;
    uint64_t flush_bytes;
};

/* device_opencl.c: opens with functions that the caller found, as tests that
 * put others in between do. Takes the library of *api, also on failure. */
int ws__ocl_open_with(struct ws_ctx *ctx, struct ocl_api *api, uint32_t index,
                      void **dev);

/* opencl_probe.c */
int ws__ocl_probe(struct ws_ctx *ctx, struct ws__device_list *out);
/* Finds the index-th usable device. */
int ws__ocl_pick(struct ws__ocl *d, uint32_t index);

/* opencl_vendors.c: sets WS_ENODRIVER with the reason, from the files that
 * name the drivers in `folder`. */
#define OCL_VENDORS "/etc/OpenCL/vendors"
int ws__ocl_no_platform(struct ws_ctx *ctx, const char *folder);

/* opencl_buffer.c: operations, and: */
int ws__ocl_alloc(void *dev, uint64_t bytes, uint32_t guard, uint32_t shift,
                  uint32_t *handle);
void ws__ocl_release(void *dev, uint32_t handle);
int ws__ocl_write(void *dev, uint32_t handle, uint64_t offset, const void *from,
                  uint64_t bytes);
int ws__ocl_read(void *dev, uint32_t handle, uint64_t offset, void *to,
                 uint64_t bytes);
int ws__ocl_fill(void *dev, uint32_t handle, uint32_t pattern);
/* The same; *event (if not NULL) gets the event of the command. */
int ws__ocl_fill_event(struct ws__ocl *d, uint32_t handle, uint32_t pattern,
                       ocl_event *event);
int ws__ocl_copy(void *dev, uint32_t to, uint32_t from);
int ws__ocl_guard(void *dev, uint32_t handle, int64_t *offset);
struct ocl_buffer *ws__ocl_buffer(struct ws__ocl *d, uint32_t handle);
/* stage: as for ws__ocl_fail. */
int ws__ocl_finish(struct ws__ocl *d, int stage, const char *what);

/* opencl_watch.c */
int ws__ocl_watch(void *dev, const struct ws__dev_seq *seq,
                  const uint32_t *input, size_t ninput,
                  struct ws__dev_touch *out);

/* opencl_tools.c */
int ws__ocl_hash(void *dev, uint32_t handle, uint64_t *out);
int ws__ocl_flush(void *dev, uint64_t bytes);
void ws__ocl_tools_free(struct ws__ocl *d);

/* opencl_build.c */
int ws__ocl_build(void *dev, const struct ws__build *b, struct ws__built *out);
void ws__ocl_unload_module(void *dev, uint32_t module);
/* Compiles text; the error has the compiler's words. log may be NULL. */
int ws__ocl_compile(struct ws__ocl *d, const char *source, const char *options,
                    ocl_program *out, char **log);
/* A kernel of a module, made when first asked for; NULL: error set. */
struct ocl_entry *ws__ocl_entry(struct ws__ocl *d, uint32_t module,
                                const char *name);

/* opencl_describe.c */
int ws__ocl_describe(void *dev, const struct ws__build *b,
                     struct ws__entry_info **list, size_t *n);

/* opencl_run.c */
int ws__ocl_launch(struct ws__ocl *d, const struct ws__dev_launch *l,
                   ocl_event *event);
/* Restores and fills as before a sample, then launches once and waits. */
int ws__ocl_prepare(struct ws__ocl *d, const struct ws__dev_seq *seq);
int ws__ocl_once(struct ws__ocl *d, const struct ws__dev_seq *seq);
int ws__ocl_run(void *dev, const struct ws__dev_batch *b,
                struct ws__dev_sample *samples, size_t *n);

#endif
