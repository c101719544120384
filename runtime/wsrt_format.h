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
#define WSRT_MINOR 0
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
    X(TEXT, char) /* the text sections' bytes */

enum wsrt_section {
#define WSRT_X(name, type) WSRT_S_##name,
    WSRT_SECTION_MAP(WSRT_X)
#undef WSRT_X
        WSRT_NSECTIONS
};

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
/* The entry of exactly this shape, or WSRT_NONE. */
uint32_t wsrt__find_entry(const struct wsrt_pack *p, const int64_t *axes,
                          uint64_t hash);

#endif
