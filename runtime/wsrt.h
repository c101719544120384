/*
 * wsrt.h: the runtime: map a pack, ask it for a shape.
 *
 * Needs libc and nothing else. After wsrt_open nothing allocates and no lock
 * is taken; an open pack is read-only and may be used by any number of
 * threads. A pack is checked whole when it is opened: a damaged, truncated or
 * foreign file is refused with a reason, and no later call can crash on it.
 * Decisions are integer arithmetic; floating point appears only in times.
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
    WSRT_ENOMEM = -7
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
 * "evidence", "tool"; NULL if absent. *bytes (may be NULL) without the final
 * NUL. */
WSRT_API const char *wsrt_text(const struct wsrt_pack *p, const char *name,
                               size_t *bytes);

enum wsrt_how {
    WSRT_EXACT = 1,   /* this shape was tuned */
    WSRT_NEAREST = 2, /* the nearest tuned shape whose variant may run it */
    WSRT_DEFAULT = 3  /* no tuned shape applies: a kernel's default */
};

#define WSRT_NO_ENTRY UINT32_MAX

struct wsrt_pick {
    uint32_t variant;
    enum wsrt_how how;
    uint32_t entry;    /* index of the entry that decided; DEFAULT:
                          WSRT_NO_ENTRY */
    uint32_t distance; /* NEAREST: sum over axes of |log2 ratio| * 2^16 */
    double time_ns;    /* measured time of the entry's shape; 0: unknown */
    double default_ns; /* the default's time there; 0: unknown */
};

/* The choice for a shape: one value an axis, in the pack's order, constant
 * ones too. WSRT_EARG: a value below 1, another value than the op's constant,
 * a type that the op does not have. WSRT_ENONE: outside of what the kernels
 * are made for; the caller has to use something else. *out is written only on
 * success. No allocation, no lock, any thread. */
WSRT_API int wsrt_pick(const struct wsrt_pack *p, const int64_t *axes,
                       struct wsrt_pick *out);

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

#ifdef __cplusplus
}
#endif
#endif
