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
 * version; any other change raises the major version. Packs of major version
 * 1 are read as well: what they lay out otherwise is ENTRIES (struct
 * wsrt_f_entry), SHAPES (all axes, 64 bits), LOGS and INDEX (empty since then:
 * opening makes them). docs/pack.md describes the format in words.
 */
#ifndef WSRT_FORMAT_H
#define WSRT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "wsrt.h"
#include "wsrt_eval.h"
#include "wsrt_wave.h"

/* A byte over 127, both line ends and an end-of-text mark: a transfer that
 * treats the file as text breaks at least one of them. */
#define WSRT_MAGIC "\x89WSP\r\n\x1a\n"
#define WSRT_MAGIC_BYTES 8
#define WSRT_MAGIC_STEM 4 /* bytes that survive a transfer as text */
#define WSRT_MAJOR 2      /* 2: entries take less room, models */
#define WSRT_MINOR 0
#define WSRT_MAJOR_1 1 /* still read */
#define WSRT_MINOR_1 1 /* of major 1, its last: launch plans and binaries */
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
#define WSRT_MAX_MODELS 256
#define WSRT_MAX_FORMS 256   /* of a model */
#define WSRT_MAX_COORDS 2048 /* of a model */
#define WSRT_MAX_LIST 16     /* candidates of a cell */

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
    X(ENTRIES, struct wsrt_f_row)                                              \
    X(SHAPES, uint32_t)            /* entry * nvar + nth var axis, low bits */ \
    X(LOGS, int32_t)               /* empty */                                 \
    X(GROUPS, struct wsrt_f_group) /* entries of equal type axes */            \
    X(INDEX, uint32_t)             /* empty */                                 \
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
    X(IMAGE, uint8_t) /* their bytes */                                        \
    /* Since 2.0. */                                                           \
    X(SHAPEHIGH, uint32_t) /* high bits of SHAPES; empty if all are 0 */       \
    X(GROUPTYPES, int64_t) /* group * ntype + nth type axis */                 \
    X(COUNTS, struct wsrt_f_counts) /* axes derived from counts, in order */   \
    X(MODELS, struct wsrt_f_model)  /* in the order of their types */          \
    X(MODELTYPES, int64_t)          /* model * ntype + nth type axis */        \
    X(SPANS, struct wsrt_f_range)   /* model * nvar + nth var axis */          \
    X(LAWS, struct wsrt_f_law)      /* of the models, in order */              \
    X(FORMS, struct wsrt_f_form)    /* the same */                             \
    X(COORDS, struct wsrt_f_coord)  /* the same */                             \
    X(COORDCODE, uint8_t)           /* their programs, in order */             \
    X(NODES, struct wsrt_f_node)    /* of the models, in order */              \
    X(LISTS, uint16_t)              /* the same; each: n, n candidates */

enum wsrt_section {
#define WSRT_X(name, type) WSRT_S_##name,
    WSRT_SECTION_MAP(WSRT_X)
#undef WSRT_X
        WSRT_NSECTIONS
};
#define WSRT_NSECTIONS_0 (WSRT_S_TEXT + 1)  /* of version 1.0 */
#define WSRT_NSECTIONS_1 (WSRT_S_IMAGE + 1) /* of version 1.1 */

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

/* As files of major version 1 have it, and as it is in memory. */
struct wsrt_f_entry {
    double time_ns, default_ns; /* finite, not negative; 0: unknown */
    uint32_t variant, zero;
};

struct wsrt_f_row {
    float time_ns, default_ns; /* the same */
    uint32_t variant;
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

/* Numbers are stored: they are for ever. */
enum wsrt_counts_kind {
    WSRT_COUNTS_NONZERO = 1, /* how many are above 0 */
    WSRT_COUNTS_MAX,         /* the largest */
    WSRT_COUNTS_BLOCKS,      /* the sum of ceil(count / block) */
    WSRT_NCOUNTS
};

struct wsrt_f_counts {
    uint32_t axis, kind;
    int64_t block; /* BLOCKS: at least 1; else 0 */
};

/* What predicts the times of the shapes with certain types, and the decision
 * structure that was compiled from it. Losses are log2 ratios of predicted
 * times, WSRT_WAVE_Q bits behind the point. */
struct wsrt_f_model {
    uint32_t first_law, nlaw;
    uint32_t first_form, nform; /* the portfolio */
    uint32_t ndflt; /* its first ones: defaults of kernels, in their order */
    uint32_t first_coord, ncoord;
    uint32_t first_node, nnode; /* 0: the formula decides everywhere */
    uint32_t first_list, nlist;
    uint32_t considered; /* candidates before the portfolio was pruned */
    uint32_t points;     /* shapes on which the losses were looked for */
    uint32_t at_once;    /* permille of them where nothing was predicted */
    int32_t tree_worst, tree_mean;   /* structure against formula */
    int32_t prune_worst, prune_mean; /* portfolio against all considered */
};

struct wsrt_f_law {
    struct wsrt_wave_law law;
};

struct wsrt_f_form {
    uint32_t variant;
    uint32_t law;   /* of the model */
    int32_t margin; /* log2: what it must gain over the default */
    uint16_t coord[WSRT_NWAVE + WSRT_NWAVE % 2]; /* of the model; then 0 */
    struct wsrt_wave_form form;
};

/* A coordinate of one or more candidates. What is over WSRT_MAX_COORD, or has
 * no value, counts as that, what is negative as 0. One of three kinds, the
 * first that applies: bytes not 0:  a program over axes; axis: ceil(axis /
 * value); else:         value times some coordinates before it that are no such
 *                 products, or alone. */
#define WSRT_FACTORS 4
#define WSRT_NO_FACTOR UINT16_MAX
struct wsrt_f_coord {
    int64_t value; /* not over WSRT_MAX_COORD; of a program 0 */
    uint32_t at;   /* slice of COORDCODE */
    uint16_t bytes;
    uint16_t axis;                 /* or WSRT_NO_FACTOR */
    uint16_t factor[WSRT_FACTORS]; /* of the model; then WSRT_NO_FACTOR */
};

/* The nodes of a tree in preorder. A branch: a shape whose axis is over the
 * limit goes `skip` nodes on, another to the next node. A leaf: a cell. The
 * formula decides between the candidates of its list and the default. */
#define WSRT_LEAF UINT16_MAX
struct wsrt_f_node {
    uint32_t limit; /* leaf: entry whose choice serves all the cell: the one
                       candidate of the list; or WSRT_NONE */
    uint16_t axis;  /* WSRT_MAX_AXES + n: coordinate n; or WSRT_LEAF */
    uint16_t skip;  /* leaf: where its list begins in the model's LISTS */
};

/* An open pack: where things are. */
struct wsrt_pack {
    const unsigned char *base;
    size_t bytes;
    int mapped;
    uint32_t tag; /* from the check sum, not 0: tells memos apart */
    int major;
    void *table; /* what opening made of the entries, or NULL; freed */
    struct wsrt__ready *ready;      /* the same of FORMS: one each */
    uint32_t count[WSRT_NSECTIONS]; /* INDEX: as it is in memory */
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
    const struct wsrt_f_row *row;
    const uint32_t *row_shape, *row_high;
    const int64_t *group_type;
    const struct wsrt_f_counts *counts;
    const struct wsrt_f_model *model;
    const int64_t *model_type;
    const struct wsrt_f_range *span;
    const struct wsrt_f_law *law;
    const struct wsrt_f_form *form;
    const struct wsrt_f_coord *coord;
    const uint8_t *coord_code;
    const struct wsrt_f_node *node;
    const uint16_t *list;
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

/* Fills in the pack from base and bytes: header, check sum, sections. */
int wsrt__check_file(struct wsrt_pack *p, char *reason, size_t reason_bytes);
/* Everything else, once the entries' table is there. */
int wsrt__check(struct wsrt_pack *p, char *reason, size_t reason_bytes);

/* wsrt_table.c: the entries of major version 2 as those of version 1. */

/* Bytes that wsrt__table_fill needs; 0: none. SIZE_MAX: the sections do not
 * fit each other. */
size_t wsrt__table_bytes(const struct wsrt_pack *p);
/* Zeroed memory of this size. */
void wsrt__table_fill(struct wsrt_pack *p, void *table);

/* wsrt_ready.c: what opening knows of a candidate ahead of any shape. */
struct wsrt__ready {
    struct wsrt_wave_ready wave;
    struct wsrt_wave_coords c; /* its coordinates that are numbers; others 0 */
    uint8_t vary[WSRT_NWAVE], nvary; /* the others */
    /* As a number times coordinates that are no products; perhaps itself. */
    struct wsrt__product {
        int64_t value;
        int32_t log; /* of the number */
        uint16_t n, factor[WSRT_FACTORS];
    } grid, steps;
};
/* One for each element of FORMS, of a pack that is checked. */
void wsrt__ready_fill(const struct wsrt_pack *p, struct wsrt__ready *out);
/* Is it the same number for all shapes? */
int wsrt__coord_is_number(const struct wsrt_f_coord *c);

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
/* The entries with the same types, or NULL. */
const struct wsrt_f_group *wsrt__find_group(const struct wsrt_pack *p,
                                            const int64_t *axes);
/* The entry of exactly this shape, or WSRT_NONE. */
uint32_t wsrt__find_entry(const struct wsrt_pack *p, const int64_t *axes,
                          uint64_t hash);

/* wsrt_model.c */

/* The coordinates of one shape, as far as they are known. */
struct wsrt__work {
    const struct wsrt_pack *p;
    const struct wsrt_f_model *m;
    const int64_t *axes;
    union wsrt_value slot[WSRT_MAX_AXES];
    int32_t log_axis[WSRT_MAX_AXES];
    uint64_t known[WSRT_MAX_COORDS / 64];
    int64_t value[WSRT_MAX_COORDS];
    int32_t log[WSRT_MAX_COORDS]; /* of the value */
};
void wsrt__work_start(struct wsrt__work *w, const struct wsrt_pack *p,
                      const struct wsrt_f_model *m, const int64_t *axes);
/* What is predicted for a candidate: log2 of ns. */
int32_t wsrt__work_guess(struct wsrt__work *w, const struct wsrt_f_form *f);
/* What a node compares: an axis or a coordinate. */
int64_t wsrt__model_feature(const struct wsrt_pack *p,
                            const struct wsrt_f_model *m, uint16_t axis,
                            const int64_t *axes);

/* The times that a model predicts for one shape. */
struct wsrt__guess {
    const struct wsrt_pack *p;
    const struct wsrt_f_model *m;
    const int64_t *axes;
    struct wsrt__work *w; /* where the rest is predicted; NULL: all is */
    uint32_t n, ndflt;    /* candidates looked at; first of them the defaults */
    const struct wsrt_f_form *form[WSRT_MAX_FORMS];
    int32_t log2_ns[WSRT_MAX_FORMS]; /* WSRT__NEVER: it may not run */
    /* Which of these are predictions; others are not above them. */
    uint64_t known[WSRT_MAX_FORMS / 64];
};
#define WSRT__NEVER INT32_MAX

/* The model of the shape's types, or NULL. */
const struct wsrt_f_model *wsrt__model_find(const struct wsrt_pack *p,
                                            const int64_t *axes);
/* Does the shape lie where the decision structure was compiled? */
int wsrt__model_covers(const struct wsrt_pack *p, const struct wsrt_f_model *m,
                       const int64_t *axes);
/* The cell that the shape is in; the model has nodes. */
const struct wsrt_f_node *wsrt__model_cell(struct wsrt__work *w);
/* The default and the candidates of a cell, or the whole portfolio (cell NULL);
 * no times yet. */
void wsrt__model_list(struct wsrt__work *w, const struct wsrt_f_node *cell,
                      struct wsrt__guess *out);
/* The times of the whole portfolio. */
void wsrt__model_guess(struct wsrt__work *w, struct wsrt__guess *out);
/* What the guess leads to: the place in it of the least time that may run,
 * unless it gains no more than its margin over the default. WSRT_NONE: nothing
 * may run. Forgets the guesses of what may not run. */
uint32_t wsrt__model_choose(struct wsrt__guess *g);
/* What the model says where no entry has this shape. WSRT_EARG: there is no
 * model for these types; WSRT_ENONE: nothing of its portfolio may run. */
int wsrt__pick_model(const struct wsrt_pack *p, const int64_t *axes,
                     struct wsrt_pick *out);
/* The same by the formula over the whole portfolio, wherever the shape is. */
int wsrt__pick_formula(const struct wsrt_pack *p, const struct wsrt_f_model *m,
                       const int64_t *axes, struct wsrt_pick *out);

/* wsrt_pick.c */

void wsrt__take_entry(const struct wsrt_pack *p, uint32_t e, enum wsrt_how how,
                      uint32_t distance, struct wsrt_pick *out);

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
