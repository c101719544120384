/*
 * fake.h: a CUDA driver, compiler, NVML and CUPTI without a GPU, for tests.
 *
 * Four shared libraries with the names of the real ones, to be found first
 * on the library path. They do what they say: device memory is memory of the
 * host between pages that nobody may touch, streams run when somebody waits
 * for them, kernels are CUDA C that the host's compiler translates
 * (fake_text.c, fake_shim.h), each thread of a block in turn (fake_exec.c). An
 * access outside of the device's memory is CUDA_ERROR_ILLEGAL_ADDRESS, comes
 * out at the next call that waits, and stays; a kernel that never ends never
 * ends. What is used without being made, or not by its rules (no context, a
 * capture that is broken), is the error that the real thing gives.
 *
 * Tests steer them by the environment, or in their own process by the struct
 * below, which each library has for itself:
 *
 *   FAKECUDA_FAIL      "cuMemAlloc_v2:3:2,nvrtcVersion:*:11": the third call
 *                      returns error 2; every call returns 11
 *   FAKECUDA_DEVICES   how many; 1 by default
 *   FAKECUDA_VERSION   of the driver; 13000 by default
 *   FAKECUDA_CAPABILITY of the devices; 90 by default
 *   FAKECUDA_MEMORY    bytes of each; 1 GiB by default
 *   FAKECUDA_REASONS   what NVML says slows the clock; 0 by default
 *   FAKECUDA_MODE      their compute mode; 2 is "prohibited"
 *   FAKECUDA_NO_COUNTERS what forbids counters, a bit each: 1 architecture, 2
 *                      SLI, 4 virtual, 8 confidential, 16 mining, 32 Windows
 *   FAKECUDA_DROPPED   so many launches are lost by the profiler
 *   FAKECUDA_MORE_RANGES so many more launches are seen than there were
 *   FAKECUDA_ENDLESS   1: the profiler always wants one more pass
 *   FAKECUDA_REPORT    a file to which a process adds a line when it releases
 *                      its last context: what is left of the driver's
 */
#ifndef WS_FAKE_H
#define WS_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

enum fake_kind {
    FAKE_CONTEXT,
    FAKE_MODULE,
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_GRAPH,
    FAKE_EXEC,
    FAKE_MEMORY,
    FAKE_HOST,
    FAKE_PROGRAM,  /* of NVRTC */
    FAKE_NVML,     /* initialised and not shut down */
    FAKE_PROFILER, /* of CUPTI: likewise */
    FAKE_METRICS,  /* host objects */
    FAKE_RANGES,   /* enabled */
    FAKE_KINDS
};

struct fake_state {
    unsigned calls, fail_at; /* the call that fails; 0: none */
    int error;               /* with what */
    const char *failed;      /* its name */
    int dead;                /* the error that stays; 0: none */
    int live[FAKE_KINDS];
};

/* Exported by each library, for dlsym. */
typedef struct fake_state *fake_state_fn(void);
FAKE_EXPORT struct fake_state *fake_state(void);

/* Of the driver: everything is gone, and no error stays. */
typedef void fake_reset_fn(void);
FAKE_EXPORT void fake_reset(void);

/* Counts a call; the error that it must return instead of doing its work. */
int fake_turn(const char *name);
/* Kernels that the driver was asked to launch. */
FAKE_EXPORT unsigned fake_launches(void);
/* What CUPTI says of a metric of the i-th launch: NaN if its name begins with
 * "nan", infinite if with "inf". */
static inline double fake_metric_value(const char *name, size_t i)
{
    double v = 0;

    if (name[0] == 'n' && name[1] == 'a' && name[2] == 'n')
        return (double)__builtin_nanf("");
    if (name[0] == 'i' && name[1] == 'n' && name[2] == 'f')
        return (double)__builtin_inff();
    while (*name)
        v = v * 3 + *name++;
    return v + (double)i;
}
/* Writes the line of FAKECUDA_REPORT. */
void fake_report(void);
/* What the environment says, else the other. */
unsigned long long fake_setting(const char *name, unsigned long long other);

#define TURN()                                                                 \
    do {                                                                       \
        int turn_error = fake_turn(__func__);                                  \
                                                                               \
        if (turn_error)                                                        \
            return turn_error;                                                 \
    } while (0)
/* Of what releases: it is gone even if the call says that it failed. */
#define TURN_AFTER(work)                                                       \
    do {                                                                       \
        int turn_error = fake_turn(__func__);                                  \
                                                                               \
        work;                                                                  \
        return turn_error;                                                     \
    } while (0)

/* ---- modules and kernels: fake_exec.c ----------------------------------- */

#define FAKE_SHARED_BYTES 101376u /* that a block can ask for */
#define FAKE_MAX_THREADS 1024u

struct fake_module;

/* What the compiled text has for each kernel; the same in fake_shim.h. */
struct fake_kernel {
    const char *name; /* as the source or an expression says it */
    void (*call)(void **params);
    const void *address; /* whose symbol is the kernel's name */
    const size_t *param_bytes;
    unsigned nparam, max_threads;
};

struct fake_launch {
    const struct fake_kernel *kernel;
    struct fake_module *module;
    unsigned grid[3], block[3];
};

/* image: as fake NVRTC makes it, or its PTX. picky: as the driver is, which
 * takes what its version and its devices can. 0 or an error; log: the
 * compiler's words, in a buffer of the caller. */
int fake_module_load(const void *image, bool picky, struct fake_module **out,
                     char *log, size_t log_bytes);
void fake_module_free(struct fake_module *m);
const struct fake_kernel *fake_module_find(struct fake_module *m,
                                           const char *name);
const struct fake_kernel *fake_module_kernels(const struct fake_module *m);
/* Runs all blocks; 0 or what went wrong. */
int fake_run(const struct fake_launch *l, void **params);

/* ---- the compiler: fake_text.c, fake_build.c ---------------------------- */

/* How a fake PTX begins; then lines for its kernels and CUDA C. A fake cubin is
 * an ELF file with another machine in its head. */
#define FAKE_PTX                                                               \
    "//\n// Cuda compilation tools, release 13.0, V13.0.0 (fake)\n.version "   \
    "9.0\n"

/* Text that the host's compiler takes, from preprocessed CUDA C; expr: C++
 * names of kernels beside those that are found. malloc. */
char *fake_translate(const char *text, const char *const *expr, size_t nexpr);
struct fake_header {
    const char *name, *text;
};
/* Compiles CUDA C to a library in memory: 0 or an error of NVRTC. *image, *log
 * by malloc, NULL or not. */
int fake_compile(const char *name, const char *source,
                 const char *const *option, size_t noption,
                 const char *const *expr, size_t nexpr,
                 const struct fake_header *header, size_t nheader, void **image,
                 size_t *bytes, char **log);

#endif
