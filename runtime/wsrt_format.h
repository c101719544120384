/*
 * wsrt_format.h: the bytes of a pack, shared by the writer and the runtime.
 *
 * A pack is a header, a table of sections and the sections. Everything is
 * little-endian, of fixed size and aligned to 8 bytes, so that a mapped file
 * is used where it lies. The layout is canonical: sections follow each other
 * in the order of enum wsrt_section with nothing but zero padding between,
 * and slices of one section by another (parameters of a kernel, values of a
 * variant, code of a guard) follow each other without a gap or an overlap.
 * That leaves one valid file for one content, makes the check at opening
 * linear in the size of the file, and leaves no byte that nobody looks at.
 *
 * A change that old readers may ignore appends a section and raises the minor
 * version; any other change raises the major version. docs/pack.md describes
 * the format in words.
 */
#ifndef WSRT_FORMAT_H
#define WSRT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "wsrt.h"
#include "wsrt_eval.h"

/* A byte over 127, both line ends and an end-of-text mark: a transfer that
 * treats the file as text breaks at least one of them. */
#define WSRT_MAGIC "\x89WSP\r\n\x1a\n"
#define WSRT_MAGIC_BYTES 8
#define WSRT_MAGIC_STEM 4 /* bytes that survive a transfer as text */
#define WSRT_MAJOR 1
#define WSRT_MINOR 1 /* 1: launch plans and binaries */
#define WSRT_BYTE_ORDER UINT64_C(0x0807060504030201)

#define WSRT_ALIGN 8
#define WSRT_NONE UINT32_MAX

/* What a reader accepts. They keep the stack use of a pick bounded. */
#define WSRT_MAX_SECTIONS 64
#define WSRT_MAX_AXES WSRT_MEMO_AXES
#define WSRT_MAX_KERNELS 4096
#define WSRT_MAX_VARIANTS 16384
#define WSRT_MAX_ENTRIES (1u << 20)
#define WSRT_MAX_SLOTS 128 /* axes + parameters + device variables */
#define WSRT_MAX_CODE_BYTES (1u << 16) /* of a kernel's guards together */
#define WSRT_MAX_PROBES 64             /* an entry's place in the index */
#define WSRT_MAX_TENSORS 32
#define WSRT_MAX_ALIGN 4096 /* of a tensor */

/* name, element */
#define WSRT_SECTION_MAP(X)                                                    \
    X(STRINGS, char) /* NUL-terminated, for names and values */                \
    X(AXES, struct wsrt_f_axis)                                                \
    X(TYPES, struct wsrt_f_type)    /* of the type axes, in axis order */      \
    X(DEVICE, struct wsrt_f_device) /* device variables, in slot order */      \
    X(KERNELS, struct wsrt_f_kernel)                                           \
    X(RANGES, struct wsrt_f_range)   /* kernel * naxis + axis */               \
    X(PARAMS, struct wsrt_f_param)   /* of the kernels, in kernel order */     \
    X(REQUIRES, struct wsrt_f_guard) /* the op's conditions: axes only */      \
    X(GUARDS, struct wsrt_f_guard)   /* of the kernels, in kernel order */     \
    X(CODE, uint8_t)                 /* bytecode of requires, of guards */     \
    X(VARIANTS, struct wsrt_f_variant)                                         \
    X(VALUES, struct wsrt_f_value) /* of the variants, in order */             \
    X(ENTRIES, struct wsrt_f_entry)                                            \
    X(SHAPES, int64_t)             /* entry * naxis + axis */                  \
    X(LOGS, int32_t)               /* nth var axis * nentry + entry */         \
    X(GROUPS, struct wsrt_f_group) /* entries of equal type axes */            \
    X(INDEX, uint32_t)             /* hash table: entry + 1, 0 is free */      \
    X(TEXTS, struct wsrt_f_text)                                               \
    X(TEXT, char) /* the text sections' bytes */                               \
    /* Since 1.1: how it is launched. */                                       \
    X(TENSORS, struct wsrt_f_tensor) /* of the op, in its order */             \
    X(PLANS, struct wsrt_f_plan)     /* one a kernel, or none at all */        \
    X(BAKED, uint32_t)               /* axes that are compiled in */           \
    X(SCRATCH, struct wsrt_f_scratch)                                          \
    X(LAUNCHES, struct wsrt_f_launch)                                          \
    X(ARGS, struct wsrt_f_arg)                                                 \
    X(PROGRAMS, struct wsrt_f_guard)  /* in the order of their use */          \
    X(PROGRAMCODE, uint8_t)           /* their bytecode */                     \
    X(BINARIES, struct wsrt_f_binary) /* by variant, then by keys */           \
    X(KEYS, int64_t)     /* values of the baked axes, of the binaries */       \
    X(SYMBOLS, uint32_t) /* a launch's name in its image; WSRT_NONE */         \
    X(IMAGES, struct wsrt_f_image)                                             \
    X(IMAGE, uint8_t) /* their bytes */

enum wsrt_section {
#define WSRT_X(name, type) WSRT_S_##name,
    WSRT_SECTION_MAP(WSRT_X)
#undef WSRT_X
        WSRT_NSECTIONS
};
#define WSRT_NSECTIONS_0 (WSRT_S_TEXT + 1) /* of version 1.0 */

struct wsrt_f_span {
    uint64_t at; /* from the start of the file */
    uint64_t count;
    uint32_t element_bytes;
    uint32_t zero;
};

struct wsrt_f_header {
    uint8_t magic[WSRT_MAGIC_BYTES];
    uint16_t major, minor;
    uint32_t nsection;
    uint64_t byte_order;
    uint64_t bytes;               /* of the whole file */
    uint64_t check_sum;           /* wsrt__file_sum */
    struct wsrt_f_span section[]; /* nsection of them */
};

/* Numbers are stored: they are for ever. */
enum wsrt_axis_kind { WSRT_AXIS_VAR, WSRT_AXIS_CONST, WSRT_AXIS_TYPE };

struct wsrt_f_axis {
    int64_t dflt;   /* const: the value; type: the default's code; var: 0 */
    int64_t lo, hi; /* declared by the op, inclusive; 0, 0: none */
    uint32_t name;  /* offset into STRINGS, as all names */
    uint32_t kind;
    uint32_t first_type, ntype; /* slice of TYPES, for type axes */
};

struct wsrt_f_type {
    int64_t code;
    uint32_t name, zero;
};

struct wsrt_f_device {
    int64_t value;
    uint32_t name, zero;
};

struct wsrt_f_kernel {
    uint32_t name;
    uint32_t first_param, nparam;
    uint32_t first_guard, nguard;
    uint32_t dflt; /* variant of the default config; WSRT_NONE: it may not
                      run on this device */
};

struct wsrt_f_range {
    int64_t lo, hi; /* inclusive */
};

struct wsrt_f_param {
    uint32_t name, zero;
};

struct wsrt_f_guard {
    uint32_t at, bytes; /* slice of CODE */
};

struct wsrt_f_variant {
    uint32_t kernel, first_value; /* nparam values of the kernel */
};

struct wsrt_f_value {
    int64_t slot; /* the bits of union wsrt_value */
    uint32_t text, zero;
};

struct wsrt_f_entry {
    double time_ns, default_ns; /* finite, not negative; 0: unknown */
    uint32_t variant, zero;
};

struct wsrt_f_group {
    uint32_t first, n; /* slice of ENTRIES */
};

struct wsrt_f_text {
    uint32_t name, zero;
    uint64_t at, bytes; /* slice of TEXT; a NUL follows and is not counted */
};

/* Numbers are stored: they are for ever. */
enum wsrt_role_kind { WSRT_R_INPUT, WSRT_R_OUTPUT, WSRT_R_INOUT };

struct wsrt_f_tensor {
    uint32_t name, role;
    uint32_t dtype;     /* code; 0: type_axis says */
    uint32_t type_axis; /* or WSRT_NONE */
    uint32_t by_value;  /* 1: the argument is the number itself */
    uint32_t align;     /* bytes, a power of two */
};

/* Programs of a plan are numbered in this order: of each scratch buffer bytes
 * and when; of each launch when, grid, block, then those of its arguments.
 * Where there is none, WSRT_NONE. */
struct wsrt_f_plan {
    uint32_t first_scratch, nscratch;
    uint32_t first_launch, nlaunch; /* 0: it cannot be launched */
    uint32_t first_baked, nbaked;
};

struct wsrt_f_scratch {
    uint32_t name, bytes; /* bytes: a program */
    uint32_t when;        /* or WSRT_NONE: always */
    uint32_t zero;        /* 1: zeroed before the first launch */
};

struct wsrt_f_launch {
    uint32_t entry;             /* as the specification calls it */
    uint32_t when;              /* or WSRT_NONE: always */
    uint32_t grid[3], block[3]; /* or WSRT_NONE: 1 */
    uint32_t first_arg, narg;
};

enum wsrt_arg_kind {
    WSRT_ARG_TENSOR,
    WSRT_ARG_SCRATCH,
    WSRT_ARG_INT,    /* a whole number as dtype */
    WSRT_ARG_FLOAT,  /* a float as dtype, one of the float types */
    WSRT_ARG_SHARED, /* no argument: so many bytes more of a block's memory */
    WSRT_NARGKINDS
};

struct wsrt_f_arg {
    uint32_t kind, index, dtype, program;
};

struct wsrt_f_binary {
    uint32_t variant;
    uint32_t image;     /* the first that names an image names the next one */
    uint32_t first_key; /* nbaked of the kernel's plan */
    uint32_t first_symbol; /* nlaunch of it */
};

struct wsrt_f_image {
    uint64_t at, bytes;      /* slice of IMAGE; then 1 to 8 zero bytes, up to a
                                multiple of 8 */
    uint32_t family, target; /* names: "cuda", "sm_90a" */
};

/* An open pack: where things are. */
struct wsrt_pack {
    const unsigned char *base;
    size_t bytes;
    int mapped;
    uint32_t tag; /* from the check sum, not 0: tells memos apart */
    uint32_t count[WSRT_NSECTIONS];
    const struct wsrt_f_axis *axis;
    const struct wsrt_f_type *type;
    const struct wsrt_f_device *device;
    const struct wsrt_f_kernel *kernel;
    const struct wsrt_f_range *range;
    const struct wsrt_f_param *param;
    const struct wsrt_f_guard *require, *guard;
    const uint8_t *code;
    const struct wsrt_f_variant *variant;
    const struct wsrt_f_value *value;
    const struct wsrt_f_entry *entry;
    const int64_t *shape;
    const int32_t *log;
    const struct wsrt_f_group *group;
    const uint32_t *index;
    const struct wsrt_f_text *text;
    const struct wsrt_f_tensor *tensor;
    const struct wsrt_f_plan *plan;
    const uint32_t *baked;
    const struct wsrt_f_scratch *scratch;
    const struct wsrt_f_launch *launch;
    const struct wsrt_f_arg *arg;
    const struct wsrt_f_guard *program;
    const uint8_t *program_code;
    const struct wsrt_f_binary *binary;
    const int64_t *key;
    const uint32_t *symbol;
    const struct wsrt_f_image *image;
    const uint8_t *image_bytes;
    const char *strings, *chars;
    uint32_t naxis, nvar, ntype;
    uint32_t var_axis[WSRT_MAX_AXES], type_axis[WSRT_MAX_AXES];
};

/* wsrt_bits.c: arithmetic that is part of the format. */

/* The check sum of a whole file: all bytes but those of the field itself.
 * bytes is a multiple of 8 and at least a header. */
uint64_t wsrt__file_sum(const void *file, size_t bytes);
/* log2(x) in 16.16 fixed point, x >= 1; off by less than 2^-16, exact for
 * powers of two, never falling. */
int32_t wsrt__log2(int64_t x);
/* The start of the index's probe for a shape. */
uint64_t wsrt__shape_hash(const int64_t *axes, uint32_t naxis);

/* wsrt_check.c */

/* Fills in the pack from base and bytes; everything is checked. */
int wsrt__check(struct wsrt_pack *p, char *reason, size_t reason_bytes);

/* wsrt_pick.c */

/* Can it be a value of this axis? */
int wsrt__is_value(const struct wsrt_pack *p, uint32_t axis, int64_t value);
/* WSRT_OK, or WSRT_EARG if a value cannot be one of its axis. */
int wsrt__axes_check(const struct wsrt_pack *p, const int64_t *axes);
/* The op's conditions: 1 they hold, 0 not. */
int wsrt__requires_hold(const struct wsrt_pack *p, const int64_t *axes);
/* Ranges and guards: 1 the variant may run this shape, 0 not. */
int wsrt__may_run(const struct wsrt_pack *p, uint32_t variant,
                  const int64_t *axes);
/* What programs of the variant's kernel see: room for WSRT_MAX_SLOTS. */
void wsrt__fill_slots(const struct wsrt_pack *p, uint32_t variant,
                      const int64_t *axes, union wsrt_value *slot);
/* The entry of exactly this shape, or WSRT_NONE. */
uint32_t wsrt__find_entry(const struct wsrt_pack *p, const int64_t *axes,
                          uint64_t hash);

/* wsrt_plan.c */

/* Evaluates the launch plan of a variant for a shape whose values are checked,
 * all but the functions. WSRT_ENOIMAGE: `binary` (wsrt__find_binary's) lacks
 * an entry that is launched. binary WSRT_NONE: it is not asked for. symbol
 * (may be NULL) gets the index of each launch's symbol. */
int wsrt__plan(const struct wsrt_pack *p, uint32_t variant, uint32_t binary,
               const int64_t *axes, struct wsrt_plan *out,
               uint32_t symbol[WSRT_MAX_LAUNCHES]);
/* The binary of the variant for a shape, or WSRT_NONE. */
uint32_t wsrt__find_binary(const struct wsrt_pack *p, uint32_t variant,
                           const int64_t *axes);
/* A pick and a shape as a caller gives them: WSRT_OK or WSRT_EARG. */
int wsrt__pick_check(const struct wsrt_pack *p, const struct wsrt_pick *pick,
                     const int64_t *axes);
/* Bytes of an element type, 0 if there is no such code. */
uint32_t wsrt__dtype_bytes(uint32_t dtype);
int wsrt__dtype_is_float(uint32_t dtype);
/* A finite number as a float type, low bytes first; ties to even. */
uint64_t wsrt__float_bits(double v, uint32_t dtype);

#endif
