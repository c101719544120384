/*
 * device.h: what every device member implements.
 *
 * A member is src/device/<name>/device_<name>.c with one const ops struct
 * ws__device_<name>; the table is generated from the folder names. Members
 * that talk to hardware run inside a worker; the tool reaches them through
 * the wrapper `isolate`, which has the same operations and turns a crash or
 * a hang of the member into WS_ECRASH or WS_ETIMEOUT. After either, every
 * handle of that device is gone and the device must be closed and opened
 * again (cheap: a new worker).
 *
 * Handles (modules, buffers) are small integers that the member gives out;
 * 0 is none. One thread at a time uses a device.
 *
 * The batched operation `run` is the heart: everything between two samples
 * (restore, poison, flush, rotation, hashing of outputs) happens at the
 * device's side, so that no message falls into a timed region.
 */
#ifndef WS_DEVICE_H
#define WS_DEVICE_H

#include "base/turn.h"
#include "core/trial.h"

#define WS__DEVICE_ABI 1u

/* One device found, or one that is not usable and why. */
struct ws__device_info {
    char name[32];          /* what --device takes: "opencl:0" */
    struct ws__identity id; /* sealed; empty if not usable */
    bool usable;
    char reason[512]; /* not usable: why, and what to install or do */
    uint64_t max_alloc_bytes;
    uint32_t max_block[3];
    uint64_t max_grid[3]; /* 0: no limit known */
    char extra[512];      /* anything else worth showing, "key: value; ..." */
    /* Which piece of hardware it is, the same for every driver: "cpu",
     * "pci 0000:1b:00". Empty: its name is all that is known. */
    char place[64];
};

struct ws__device_list {
    struct ws__device_info *item; /* ws__free */
    size_t n;
};

struct ws__build {
    const char *source; /* final text */
    const char *const *option;
    size_t noption;
    enum ws__dialect dialect;
    const char *const *entry; /* kernels that must exist; launches name them */
    size_t nentry;
    /* The launches that will follow: what resources are asked for. With
     * `rehearse`, so that members that compile at the first launch do it now,
     * and a kernel that hangs or crashes is found here, each is run once on
     * zeroed buffers of these sizes (0: the tensor is not bound). Errors then
     * are those of a launch, not WS_EBUILD. */
    const struct ws__plan_launch *hint;
    size_t nhint;
    const uint64_t *tensor_bytes, *scratch_bytes; /* by the hints' index */
    size_t ntensor, nscratch;
    /* CUBIN: what is loaded; `source` only names it. PTX is in `source`.
     * Entries of CUDA C may be C++ name expressions
     * (ws__entry_is_expression): the compiler tells their real names, and
     * launches go on saying the expression. */
    const void *binary;
    size_t binary_bytes;
    bool rehearse;
    /* Only the compiler: its result goes to the cache on disk, the module is
     * 0. A hint; members that cannot build as ever. */
    bool compile_only;
    bool want_image; /* what can be loaded without a compiler, to be kept */
};

/* All but the module by ws__built_free. */
struct ws__built {
    uint32_t module; /* 0: compile_only */
    struct ws__resources res;
    char *log; /* compiler's words, may be NULL */
    /* With want_image, where the member has such a thing; else NULL. */
    void *image;
    size_t image_bytes;
    char **symbol; /* the build's entries as the image names them: nentry
                      strings, in one block with them; NULL: no image */
    size_t nsymbol;
};

/* What a compiler says of a kernel in a source. */
enum ws__arg_space {
    WS__SPACE_VALUE,
    WS__SPACE_GLOBAL,
    WS__SPACE_CONSTANT,
    WS__SPACE_LOCAL,
    WS__SPACE_OTHER /* images and the like */
};
struct ws__arg_info {
    char name[64], type[96]; /* type: "float*", "int" */
    enum ws__arg_space space;
    bool constant; /* data behind a pointer is only read */
};
struct ws__entry_info {
    char name[128];
    uint64_t block[3]; /* required by the source; 0: not */
    size_t narg;
    struct ws__arg_info arg[WS__MAX_ARGS];
};

/* One execution of a candidate on one set of buffers. */
struct ws__dev_arg {
    enum ws__arg_kind kind; /* TENSOR, SCRATCH: buffer; VALUE; SHARED */
    uint32_t buffer; /* SCRATCH 0: a null pointer, the plan does not use it */
    uint32_t bytes;  /* value: size; shared: bytes */
    unsigned char value[8];
};
struct ws__dev_launch {
    uint32_t module;
    const char *entry;
    uint64_t grid[3];
    uint32_t block[3];
    const struct ws__dev_arg *arg;
    size_t narg;
};
struct ws__dev_copy {
    uint32_t to, from;
};
struct ws__dev_fill {
    uint32_t buffer;
    uint32_t pattern; /* repeated 32-bit word */
    bool timed;       /* scratch that the plan wants zeroed: inside */
};
struct ws__dev_seq {
    const struct ws__dev_launch *launch;
    size_t nlaunch;
    const struct ws__dev_copy *restore; /* before each sample, untimed */
    size_t nrestore;
    const struct ws__dev_fill *fill; /* untimed ones before the sample (after
                                        restore), timed ones inside */
    size_t nfill;
    const uint32_t *hash; /* buffers hashed after each sample, untimed */
    size_t nhash;
};

struct ws__dev_batch {
    /* prog[p * nset + s]: program p (1 or 2 interleaved) on buffer set s. */
    const struct ws__dev_seq *prog;
    size_t nprog, nset;
    uint32_t first_round; /* numbering of rounds over several batches: picks
                             the set (round % nset) and who goes first */
    uint32_t rounds;      /* each round: one sample of every program, order
                             reversed in odd rounds */
    uint32_t inner;       /* launches of the whole sequence in one sample;
                             > 1 only without restore; the time is divided */
    uint64_t flush_bytes; /* cold: a buffer of this size is written before
                             each sample; 0: none */
    uint64_t limit_ns;    /* stop after the round in which this is spent */
    bool graph; /* launch by replaying a recorded graph, where there is such a
                   thing; else one by one */
};

/* Why a device ran slower than it could while a sample was taken. */
enum {
    WS__SLOW_POWER = 1,   /* at its power limit */
    WS__SLOW_THERMAL = 2, /* too hot */
    WS__SLOW_HARDWARE = 4 /* a brake from outside: power supply, sensors */
};

struct ws__dev_sample {
    double ns; /* of one launch of the sequence */
    uint32_t prog, set, round;
    uint64_t hash;   /* over the seq's hash list; 0 without */
    uint32_t mhz;    /* clock of the units after the sample; 0: unknown */
    uint32_t slowed; /* WS__SLOW_* */
    /* The same as ns, by the host's clock: from when the launches could begin
     * to when nothing ran any more. A few microseconds longer, unless work
     * goes on outside of what the device times. 0: not taken. */
    double host_ns;
};

/* What a watched launch must not do: the first that was seen. */
enum ws__touch_kind {
    WS__TOUCH_NONE,
    WS__TOUCH_INPUT, /* writes to what it may only read */
    WS__TOUCH_READ,  /* reads outside of what it was given */
    WS__TOUCH_WRITE, /* writes there */
    WS__TOUCH_SOME   /* one of these two */
};
#define WS__TOUCH_NOWHERE INT64_MIN
struct ws__dev_touch {
    enum ws__touch_kind kind;
    uint32_t buffer; /* the one hit or missed; 0: unknown */
    int64_t offset;  /* of the byte, from the buffer's start, which may be
                        before it; WS__TOUCH_NOWHERE: unknown */
};

/* Per-call failures of a candidate: WS_EBUILD, WS_ELAUNCH, WS_EDEVMEM,
 * WS_EDEVICE, WS_ECRASH, WS_ETIMEOUT: the context's error has the words. */
struct ws__device_ops {
    uint32_t abi; /* WS__DEVICE_ABI */
    const char *name, *about;
    bool isolated; /* hardware: the tool uses it through a worker only */
    /* All devices of the family. A missing driver is one unusable entry with
     * the reason, not an error. */
    int (*probe)(struct ws_ctx *ctx, struct ws__device_list *out);
    /* index: of the probe's usable entries, as in "opencl:1". */
    int (*open)(struct ws_ctx *ctx, uint32_t index, const char *cache_dir,
                void **dev);
    void (*close)(void *dev); /* NULL: no-op; frees all handles */
    const struct ws__device_info *(*info)(void *dev);
    int (*build)(void *dev, const struct ws__build *b, struct ws__built *out);
    void (*unload)(void *dev, uint32_t module);
    /* A buffer with `guard` bytes on both sides (filled with the guard
     * pattern) and its start moved by `shift` bytes (rounded up to what the
     * device can do). Content undefined. */
    int (*alloc)(void *dev, uint64_t bytes, uint32_t guard, uint32_t shift,
                 uint32_t *buffer);
    void (*release)(void *dev, uint32_t buffer);
    int (*write)(void *dev, uint32_t buffer, uint64_t offset, const void *p,
                 uint64_t bytes);
    int (*read)(void *dev, uint32_t buffer, uint64_t offset, void *p,
                uint64_t bytes);
    int (*fill)(void *dev, uint32_t buffer, uint32_t pattern);
    int (*copy)(void *dev, uint32_t to, uint32_t from);
    /* Content hash, computed at the device; equal bytes, equal hash. */
    int (*hash)(void *dev, uint32_t buffer, uint64_t *out);
    /* 0 intact; 1 damaged, *offset relative to the buffer's start (negative:
     * before it). */
    int (*guard)(void *dev, uint32_t buffer, int64_t *offset);
    /* samples: room for rounds * nprog; *n says how many were taken (0 after
     * a failure). */
    int (*run)(void *dev, const struct ws__dev_batch *b,
               struct ws__dev_sample *samples, size_t *n);
    /* Time-out of the next operations in ns (0: none); isolate kills. A
     * member in the same process may ignore it. Optional. */
    void (*set_limit)(void *dev, uint64_t ns);
    /* "VARIABLE=folder": environment of the worker that sends the driver's
     * own caches below the cache folder; ends with NULL. Optional. */
    const char *const *cache_env;
    /* For tests: found by its name only, never the default device. */
    bool by_name;
    /* The time in ns by which the protocol decides how long to go on. NULL:
     * this process's clock. Recordings keep what it said, so that the same
     * decisions are made from them. Optional. */
    uint64_t (*clock)(void *dev);
    /* Its operations must come one after the other and in one order: no
     * second one is opened to build meanwhile. */
    bool ordered;
    /* Compiles and says what kernels there are; *list is freed by ws__free.
     * Of a build only source, options and dialect count. Optional: WS_ENOTSUP
     * of a member that cannot. */
    int (*describe)(void *dev, const struct ws__build *b,
                    struct ws__entry_info **list, size_t *n);
    /* Counts while each launch of the sequence runs, on its own. If that takes
     * several passes, all of the sequence runs again for each; before each come
     * restores and fills, and an emptied cache (flush_bytes > 0) or else a run
     * of the sequence that is not counted. value[launch * n + i] of metric[i],
     * in the metric's base unit; NaN if it is missing; all of them are set,
     * also on failure. *passes: 0 if no metric can be had. A candidate's
     * failure is as of run; WS_ENOTSUP: no counters here, with the reason;
     * WS_EDEVICE: they fail. Plain timing afterwards is as before. Optional. */
    int (*count)(void *dev, const struct ws__dev_seq *seq, uint64_t flush_bytes,
                 const char *const *metric, size_t n, double *value,
                 uint32_t *passes);
    /* Bit (1 << dialect) of each that it compiles; 0: any. */
    uint32_t dialects;
    /* Most reads and writes will be from and to this memory, which outlives
     * the device: it may be made fast. Optional. */
    void (*area)(void *dev, void *p, size_t bytes);
    /* One sample of the sequence, untimed, while the hardware looks on: the
     * buffers of `input` may only be read, and nothing may be touched but the
     * content of the sequence's own buffers. As near to the content as the
     * member's memory allows: *out says what was seen first. Afterwards the
     * buffers hold what a plain run leaves, but after a touch the device may
     * be unusable: close it. Failures are as of run; WS_ENOTSUP: it cannot be
     * done here or now. Optional. */
    int (*watch)(void *dev, const struct ws__dev_seq *seq,
                 const uint32_t *input, size_t ninput,
                 struct ws__dev_touch *out);
};

/* Generated; ends with NULL. */
extern const struct ws__device_ops *const ws__device_table[];

const struct ws__device_ops *ws__device_find(const char *family); /* or NULL */

void ws__built_free(struct ws_ctx *ctx, struct ws__built *b);

/* For probes: appends a copy. */
int ws__device_list_add(struct ws_ctx *ctx, struct ws__device_list *list,
                        const struct ws__device_info *info);

/* All devices of all families, each probed in a worker where isolated, so
 * that a crashing driver is one unusable entry. */
int ws__device_probe_all(struct ws_ctx *ctx, struct ws__device_list *out);

/* An open device behind its operations. */
struct ws__device {
    const struct ws__device_ops *ops;
    void *self;
};
/* "opencl:0", "opencl" (first usable), "null", or NULL: the first usable of
 * a GPU, else of a CPU. Isolated members come wrapped in a worker; others
 * with "isolate:" before the name ("isolate:null"). The error lists what was
 * found. A worker lives as long as the thread that opened it. Other wrappers
 * (shim.h): "record:FILE:DEVICE", "replay:FILE", "fault:SPEC:DEVICE". */
int ws__device_open(struct ws_ctx *ctx, const char *name,
                    struct ws__device *out);
void ws__device_close(struct ws__device *d);
/* Who uses this hardware takes turns with other processes (base/turn.h). Those
 * for tests stand for no hardware: *turn is none then. */
void ws__device_turn(struct ws_ctx *ctx, const struct ws__device_info *info,
                     struct ws__turn *turn);
/* "power, thermal" of WS__SLOW_* bits; "" of none. */
void ws__slow_text(uint32_t slowed, char out[32]);
/* What its clock says. */
uint64_t ws__device_clock(const struct ws__device *d);

/* Worker side: serves a device over the socket until end of file. The last
 * thing a member logs before it crashes or hangs ("first launch of 'gemm'")
 * is part of the error that the tool sees. */
int ws__device_serve(struct ws_ctx *ctx, int sock);

#define WS__GUARD_PATTERN 0xa5c35a3cu

#endif
