/*
 * wsrt.h: the runtime: map a pack, ask it for a shape, launch the answer.
 *
 * Needs libc and nothing else. After wsrt_open nothing allocates and no lock
 * is taken; an open pack is read-only and may be used by any number of
 * threads. A pack is checked whole when it is opened: a damaged, truncated or
 * foreign file is refused with a reason, and no later call can crash on it.
 * Decisions are integer arithmetic; floating point appears only in times and
 * in arguments that are floats.
 *
 * Launching (below) is for packs that carry binaries. The driver is found at
 * run time; only opening, preparing and closing an executor allocate.
 */
#ifndef WSRT_H
#define WSRT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WSRT_API __attribute__((visibility("default")))
#else
#define WSRT_API
#endif

enum wsrt_status {
    WSRT_OK = 0,
    WSRT_EIO = -1,      /* cannot be read */
    WSRT_EFORMAT = -2,  /* not a pack */
    WSRT_EVERSION = -3, /* made for a newer runtime */
    WSRT_EDAMAGED = -4, /* check sum or structure is wrong */
    WSRT_EARG = -5,     /* unknown axis, missing axis, bad value */
    WSRT_ENONE = -6,    /* no variant may run this shape */
    WSRT_ENOMEM = -7,
    WSRT_ENOIMAGE = -8,   /* the pack has no binary for this shape */
    WSRT_ENOTREADY = -9,  /* not prepared */
    WSRT_ECAPTURE = -10,  /* a stream is being captured: prepare before */
    WSRT_EBUSY = -11,     /* another thread is preparing */
    WSRT_EPLAN = -12,     /* the launch plan cannot be used for this shape */
    WSRT_ENODRIVER = -13, /* no driver, or nothing to use it on */
    WSRT_EDRIVER = -14    /* the driver failed: wsrt_exec_driver_error */
};

struct wsrt_pack;

/* Opens and checks a pack. reason (may be NULL) gets words on failure. */
WSRT_API int wsrt_open(const char *path, struct wsrt_pack **out, char *reason,
                       size_t reason_bytes);
/* The same over memory that the caller keeps alive and unchanged; it must be
 * aligned to 8 bytes. */
WSRT_API int wsrt_open_memory(const void *data, size_t bytes,
                              struct wsrt_pack **out, char *reason,
                              size_t reason_bytes);
WSRT_API void wsrt_close(struct wsrt_pack *p); /* NULL: no-op */
WSRT_API const char *wsrt_status_text(int status);

/* What is in the pack. Strings live as long as the pack. */
WSRT_API uint32_t wsrt_axis_count(const struct wsrt_pack *p);
WSRT_API const char *wsrt_axis_name(const struct wsrt_pack *p, uint32_t axis);
/* The axis's index, or WSRT_EARG. */
WSRT_API int wsrt_axis_find(const struct wsrt_pack *p, const char *name);
/* The value where a caller names none: the op's constant, or the first of its
 * types. WSRT_EARG: the axis has none, the shape decides. */
WSRT_API int wsrt_axis_default(const struct wsrt_pack *p, uint32_t axis,
                               int64_t *value);
/* Reads a value: a whole number in decimal, or the name of a type. WSRT_EARG:
 * it cannot be a value of this axis. */
WSRT_API int wsrt_axis_value(const struct wsrt_pack *p, uint32_t axis,
                             const char *text, int64_t *value);
/* The name of a type; NULL for the plain numbers of all other axes. */
WSRT_API const char *wsrt_axis_value_text(const struct wsrt_pack *p,
                                          uint32_t axis, int64_t value);
WSRT_API uint32_t wsrt_kernel_count(const struct wsrt_pack *p);
WSRT_API const char *wsrt_kernel_name(const struct wsrt_pack *p,
                                      uint32_t kernel);
/* A variant is a kernel with a value for each of its parameters. */
WSRT_API uint32_t wsrt_variant_count(const struct wsrt_pack *p);
WSRT_API uint32_t wsrt_variant_kernel(const struct wsrt_pack *p,
                                      uint32_t variant);
WSRT_API uint32_t wsrt_param_count(const struct wsrt_pack *p, uint32_t kernel);
WSRT_API const char *wsrt_param_name(const struct wsrt_pack *p, uint32_t kernel,
                                     uint32_t i);
/* The value of parameter i of a variant, as text. */
WSRT_API const char *wsrt_param_text(const struct wsrt_pack *p,
                                     uint32_t variant, uint32_t i);
/* A text section by name: "op", "kernel:0", "source:0" (by kernel), "device",
 * "evidence", "gates", "tool"; NULL if absent. *bytes (may be NULL) without the
 * final NUL. */
WSRT_API const char *wsrt_text(const struct wsrt_pack *p, const char *name,
                               size_t *bytes);

enum wsrt_how {
    WSRT_EXACT = 1,   /* this shape was tuned */
    WSRT_NEAREST = 2, /* as a tuned shape: one whose choice serves the cell that
                         both lie in; in packs without a model the nearest
                         whose variant may run it */
    WSRT_DEFAULT = 3, /* nothing else applies: a kernel's default */
    WSRT_MODEL = 4,   /* what the model chooses of the shape's cell and the
                         default */
    WSRT_FORMULA = 5  /* what the model chooses of the whole portfolio: outside
                         of the ranges that were compiled, or where nothing of
                         the cell may run */
};

#define WSRT_NO_ENTRY UINT32_MAX

struct wsrt_pick {
    uint32_t variant;
    enum wsrt_how how;
    uint32_t entry;    /* EXACT, NEAREST: the entry that decided; else
                          WSRT_NO_ENTRY */
    uint32_t distance; /* NEAREST: sum over axes of |log2 ratio| * 2^16 */
    double time_ns;    /* measured time of the entry's shape; MODEL, FORMULA:
                          the predicted time; 0: unknown */
    double default_ns; /* the same of the default; 0: unknown, or nothing had
                          to be predicted: wsrt_explain tells it */
};

/* The choice for a shape: one value an axis, in the pack's order, constant
 * ones too. WSRT_EARG: a value below 1, another value than the op's constant,
 * a type that the op does not have. WSRT_ENONE: outside of what the kernels
 * are made for; the caller has to use something else. *out is written only on
 * success. No allocation, no lock, any thread. */
WSRT_API int wsrt_pick(const struct wsrt_pack *p, const int64_t *axes,
                       struct wsrt_pick *out);

/*
 * How a choice came about, in whole numbers: predicted times are log2 of ns,
 * losses and margins log2 of a ratio of times, all with 20 bits behind the
 * point. Of shapes and packs without a model only `pick` says something.
 */
#define WSRT_NO_LOG2 INT32_MAX
struct wsrt_explanation {
    struct wsrt_pick pick;
    uint32_t model;     /* number of the model; WSRT_NO_ENTRY: there is none */
    uint32_t covered;   /* 1: within the ranges that were compiled */
    uint32_t cell;      /* number of the shape's cell, or WSRT_NO_ENTRY */
    uint32_t asked;     /* candidates that the formula decided between */
    uint32_t dflt;      /* the default that may run, or WSRT_NO_ENTRY */
    uint32_t runner_up; /* the best variant but for the choice; likewise */
    int32_t log2_ns, dflt_log2_ns, runner_up_log2_ns; /* or WSRT_NO_LOG2 */
    int32_t margin; /* what the choice must gain over the default */
    /* Of the model. The worst and the mean loss of the decision structure
     * against the formula, and of the portfolio against all candidates that
     * were considered, over so many shapes. */
    uint32_t portfolio, considered, points;
    int32_t tree_worst, tree_mean, portfolio_worst, portfolio_mean;
};
/* As wsrt_pick, with the reasons; takes microseconds. */
WSRT_API int wsrt_explain(const struct wsrt_pack *p, const int64_t *axes,
                          struct wsrt_explanation *out);
/* The same in words, some lines; cut off at n bytes, always with a NUL if n is
 * not 0. The bytes that all of it needs, without the NUL. */
WSRT_API size_t wsrt_explain_text(const struct wsrt_pack *p,
                                  const struct wsrt_explanation *e, char *text,
                                  size_t n);

/*
 * Axes that are facts about a list of counts that the caller has at hand, such
 * as the tokens that each expert of a mixture gets: how many are above 0, the
 * largest, or the sum of ceil(count / block). Fills in those axes (of room for
 * wsrt_axis_count values) and leaves the others alone. WSRT_EARG: a count is
 * below 0, or none is above 0 (there is nothing to launch); nothing is filled
 * in then. No allocation, no lock, any thread; one pass for each such axis.
 */
WSRT_API int wsrt_counts(const struct wsrt_pack *p, const int32_t *counts,
                         uint32_t n, int64_t *axes);
/* 1: wsrt_counts fills in this axis. */
WSRT_API int wsrt_axis_is_counted(const struct wsrt_pack *p, uint32_t axis);

/* A memo that the caller owns: one a thread, zero-initialised. It may be used
 * with several packs; it holds none open. */
#define WSRT_MEMO_SLOTS 64
#define WSRT_MEMO_AXES 24
struct wsrt_memo {
    struct {
        int64_t axes[WSRT_MEMO_AXES];
        struct wsrt_pick pick;
        uint32_t used;
    } slot[WSRT_MEMO_SLOTS];
};
WSRT_API int wsrt_pick_memo(const struct wsrt_pack *p, struct wsrt_memo *memo,
                            const int64_t *axes, struct wsrt_pick *out);

/* Entries, for tools: axis values (wsrt_axis_count of them) and times. */
WSRT_API uint32_t wsrt_entry_count(const struct wsrt_pack *p);
WSRT_API const int64_t *wsrt_entry_axes(const struct wsrt_pack *p,
                                        uint32_t entry);
WSRT_API int wsrt_entry(const struct wsrt_pack *p, uint32_t entry,
                        struct wsrt_pick *out);
/* What an entry's choice passed before it went into the pack: names of gates
 * with a blank between, *bytes of them and no NUL behind ("filter build result
 * timed state values shapes again"). Without "shapes" and "values", as of
 * `tune --gates few`, it was tried on no other shapes or values. NULL: the pack
 * does not say. */
WSRT_API const char *wsrt_entry_gates(const struct wsrt_pack *p, uint32_t entry,
                                      size_t *bytes);

/* ---- launching ---------------------------------------------------------- */

#define WSRT_MAX_LAUNCHES 16 /* of one plan */
#define WSRT_MAX_ARGS 48     /* of one launch */
#define WSRT_MAX_SCRATCH 16
#define WSRT_SCRATCH_ALIGN 256 /* of the caller's scratch memory */

/* The op's tensors, in the order in which a launch takes them. */
enum wsrt_role { WSRT_INPUT, WSRT_OUTPUT, WSRT_INOUT };
struct wsrt_tensor {
    const char *name;
    enum wsrt_role role;
    uint32_t dtype;     /* code of the element type; 0: a type axis says */
    uint32_t type_axis; /* that axis, else UINT32_MAX */
    uint32_t by_value;  /* 1: a number, given by a pointer to it in host memory;
                           0: a device pointer */
    uint32_t align;     /* bytes, of the device pointer */
};
WSRT_API uint32_t wsrt_tensor_count(const struct wsrt_pack *p);
WSRT_API int wsrt_tensor(const struct wsrt_pack *p, uint32_t tensor,
                         struct wsrt_tensor *out);
/* The tensor's index, or WSRT_EARG. */
WSRT_API int wsrt_tensor_find(const struct wsrt_pack *p, const char *name);

/* What can be loaded: one for each variant and each set of values that are
 * compiled in (types, and axes that the kernel is specialised for). None in
 * packs of devices whose drivers compile sources themselves. */
struct wsrt_image {
    const char *family; /* "cuda" */
    const char *target; /* "sm_90a" */
    const void *data;   /* a NUL follows */
    size_t bytes;
};
WSRT_API uint32_t wsrt_image_count(const struct wsrt_pack *p);
WSRT_API int wsrt_image(const struct wsrt_pack *p, uint32_t image,
                        struct wsrt_image *out);
/* The image that a pick for this shape is launched from, or WSRT_ENOIMAGE. */
WSRT_API int wsrt_pick_image(const struct wsrt_pack *p,
                             const struct wsrt_pick *pick, const int64_t *axes,
                             uint32_t *image);
/* Scratch memory that the pick needs for this shape, 0: none. Needs no driver
 * and no binary. */
WSRT_API int wsrt_scratch_bytes(const struct wsrt_pack *p,
                                const struct wsrt_pick *pick,
                                const int64_t *axes, uint64_t *bytes);

/*
 * The functions of the driver that are used, so that a program may hand over
 * its own (already loaded, wrapped, or pretended). All return 0 or the
 * driver's error number. Handles are pointers.
 */
struct wsrt_cuda_driver {
    size_t size; /* of this struct, as the caller was compiled */
    int (*ctx_get_current)(void **context);
    int (*ctx_get_device)(int *device);
    int (*device_get_attribute)(int *value, int attribute, int device);
    int (*module_load_data)(void **module, const void *image);
    int (*module_unload)(void *module);
    int (*module_get_function)(void **function, void *module, const char *name);
    int (*func_get_attribute)(int *value, int attribute, void *function);
    int (*func_set_attribute)(void *function, int attribute, int value);
    int (*launch_kernel)(void *function, unsigned grid_x, unsigned grid_y,
                         unsigned grid_z, unsigned block_x, unsigned block_y,
                         unsigned block_z, unsigned shared_bytes, void *stream,
                         void **params, void **extra);
    int (*memset_d32_async)(uint64_t address, unsigned value, size_t n,
                            void *stream);
    int (*stream_is_capturing)(void *stream, int *status);
    int (*thread_exchange_capture_mode)(int *mode);
    int (*get_error_name)(int error, const char **name);
    int (*func_load)(void *function); /* newer drivers; may be NULL */
};

/* A pack with a driver: what is loaded. */
struct wsrt_exec;

/*
 * For the CUDA context that is current in the calling thread, and stays alive
 * as long as the executor; prepare, launch and close are called with the same
 * one current. The pack stays open as long. driver NULL: libcuda.so.1 is
 * opened. Loads no binary yet. reason (may be NULL) gets words on failure.
 * WSRT_ENODRIVER: no driver, or no context; WSRT_ENOIMAGE: the pack has no
 * binary for CUDA.
 */
WSRT_API int wsrt_exec_open_cuda(const struct wsrt_pack *p,
                                 const struct wsrt_cuda_driver *driver,
                                 struct wsrt_exec **out, char *reason,
                                 size_t reason_bytes);
/* Unloads what was loaded: nothing of it may be running. NULL: no-op. */
WSRT_API void wsrt_exec_close(struct wsrt_exec *e);
/* The last error number of the driver in any thread; 0: none. */
WSRT_API int wsrt_exec_driver_error(const struct wsrt_exec *e);

/*
 * Loads the binary of a pick for this shape; what is loaded already costs
 * nothing. Refused with WSRT_ECAPTURE while `stream`, where the launches will
 * go, is being captured; WSRT_ENOIMAGE: the pack has no binary for this shape,
 * or the driver says that it is for another GPU. Captures of other streams are
 * left alone. One thread at a time (a second gets WSRT_EBUSY); launches may go
 * on meanwhile. Other shapes of the same variant are ready with it unless
 * something else is compiled in for them.
 */
WSRT_API int wsrt_prepare(struct wsrt_exec *e, const struct wsrt_pick *pick,
                          const int64_t *axes, void *stream, char *reason,
                          size_t reason_bytes);
/* The same for every binary for CUDA in the pack. */
WSRT_API int wsrt_prepare_all(struct wsrt_exec *e, void *stream, char *reason,
                              size_t reason_bytes);

/*
 * A launch plan with its numbers filled in: of the caller, who may keep it and
 * launch it any number of times, until the executor is closed. Constant once
 * made: any thread may launch it. What is in it is not for the caller.
 */
struct wsrt_plan {
    const struct wsrt_pack *pack;
    struct wsrt_exec *exec;
    uint64_t scratch_bytes; /* as wsrt_scratch_bytes */
    uint32_t nlaunch, nzero;
    struct wsrt_plan_launch {
        void *function;
        uint32_t grid[3], block[3], shared_bytes;
        uint32_t first_arg, narg;
    } launch[WSRT_MAX_LAUNCHES];
    struct wsrt_plan_zero {
        uint64_t at, bytes;
    } zero[WSRT_MAX_SCRATCH];
    struct wsrt_plan_arg {
        uint64_t value; /* or the offset of a scratch buffer */
        uint32_t kind, index;
    } arg[WSRT_MAX_LAUNCHES * WSRT_MAX_ARGS];
};

/*
 * pick: as wsrt_pick gave it for these axes. WSRT_EARG: no values of the op's
 * axes. WSRT_ENOIMAGE: no binary for this shape. WSRT_ENOTREADY: it was not
 * prepared. WSRT_EPLAN: a size is not positive, or more than a launch can
 * have. *out is of use only after success. No allocation, no lock, any thread.
 */
WSRT_API int wsrt_plan_make(struct wsrt_exec *e, const struct wsrt_pick *pick,
                            const int64_t *axes, struct wsrt_plan *out);
/*
 * Puts the launches of a plan on `stream`, in order, and returns at once.
 * tensors: one an op's tensor, in its order: device pointers, or a pointer to
 * the number in host memory where it goes by value; what the plan does not use
 * may be NULL. scratch: scratch_bytes of device memory, aligned to
 * WSRT_SCRATCH_ALIGN, for this launch alone until it is over; NULL if the plan
 * needs none. WSRT_EARG: NULL or misaligned where that cannot be, or too
 * little scratch; nothing was launched then. WSRT_EDRIVER: launches before the
 * failing one are on the stream.
 *
 * No allocation, no lock, any thread, no wait. While a stream is captured the
 * launches become part of the graph, with these pointers.
 */
WSRT_API int wsrt_plan_launch(const struct wsrt_plan *plan,
                              void *const *tensors, void *scratch,
                              uint64_t scratch_bytes, void *stream);
/* Both in one; the plan lies on the stack meanwhile (13 KB). */
WSRT_API int wsrt_launch(struct wsrt_exec *e, const struct wsrt_pick *pick,
                         const int64_t *axes, void *const *tensors,
                         void *scratch, uint64_t scratch_bytes, void *stream);

#ifdef __cplusplus
}
#endif
#endif
