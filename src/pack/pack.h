/*
 * pack.h: writes packs. The format is in runtime/wsrt_format.h, shared by the
 * writer and the runtime; docs/pack.md describes it.
 */
#ifndef WS_PACK_H
#define WS_PACK_H

#include "core/trial.h"
#include "wsrt.h"
#include "wsrt_wave.h"

struct ws__pack_entry {
    const struct ws__workload *workload;
    struct ws__candidate candidate;
    double time_ns, default_ns; /* 0: unknown */
};

struct ws__pack_blob {
    const char *name;
    const void *data;
    size_t bytes;
};

/* What a candidate is launched from, for the shapes that share the values of
 * its baked axes (ws__kernel_baked) with the workload. */
struct ws__pack_binary {
    struct ws__candidate candidate;
    const struct ws__workload *workload;
    const void *image;
    size_t bytes;
    /* The image's name for each launch of the kernel's plan; NULL: it has none,
     * the launch cannot happen for these shapes. */
    const char *const *symbol;
    const char *family, *target; /* "cuda", "sm_90" */
};

/* A candidate of a model: the constants of its formula, and how much less than
 * the default's its predicted time must be, log2 with WSRT_WAVE_Q bits behind
 * the point. */
struct ws__pack_form {
    struct ws__candidate candidate;
    struct wsrt_wave_form form;
    int64_t resident_blocks; /* that name in the coordinates */
    int32_t margin;
};

/*
 * What predicts times for the shapes with these types. Coordinates are whole
 * numbers over axes, parameters, device variables and resident_blocks, in the
 * scope of their kernel. The defaults of the kernels that have candidates here
 * must be among them, where they may run on the device.
 */
struct ws__pack_model {
    int64_t type[WS__MAX_AXES]; /* of the type axes; by axis */
    const struct ws__pack_form *form;
    size_t nform;                    /* at most WSRT_MAX_FORMS, each once */
    const struct wsrt_wave_law *law; /* by kernel of the content */
    struct ws__expr *const *const
        *coord; /* the same: WSRT_NWAVE each; NULL: 0 */
    /* The sizes for which the choice is compiled, by axis; 0, 0: as far as the
     * kernels are made for. */
    int64_t lo[WS__MAX_AXES], hi[WS__MAX_AXES];
    size_t portfolio; /* candidates that are kept; 0: 64 */
    size_t nodes;     /* of the decision structure; 0: 901 */
    size_t shapes;    /* that it is made from; 0: 60000 */
    size_t points;    /* shapes on which losses are looked for; 0: 20000 */
};

struct ws__pack_content {
    const struct ws__op *op;
    const struct ws__kernel *kernel; /* those that entries index */
    size_t nkernel;
    const struct ws__pack_entry *entry;
    size_t nentry;
    /* Text sections, NULL-terminated list of name, text pairs; may be NULL. */
    const char *const *text;
    /* The device that was measured: constraints see these values. */
    union wsrt_value device[WS__NDEVICE_VARS];
    /* Sections that are no text: ready-made kernels. */
    const struct ws__pack_blob *blob;
    size_t nblob;
    /* Of variants of the pack: those of entries, models, the kernels' defaults.
     * The second of a candidate with the same baked values is left out, and
     * equal images are kept once. */
    const struct ws__pack_binary *binary;
    size_t nbinary;
    const struct ws__pack_model *model; /* of different types each */
    size_t nmodel;
};

/*
 * Guards of every variant (constraints that read axes, op's require, ranges)
 * are written as bytecode, so that the runtime never picks a variant that may
 * not run the shape; a constraint that reads no axis is decided here. A range
 * is the kernel's, within the op's, else the hull of the entries' workloads.
 * The default config of every kernel is always among the variants, and the
 * last resort where its constraints hold on the device. The file appears
 * whole or not at all; it is opened and checked by the runtime before it gets
 * its name.
 *
 * Of a model's candidates those are kept that are worth it, the defaults in
 * any case, and its choice over the ranges is compiled into a tree; how much
 * either loses by the model's own numbers is measured and stated. Binaries of
 * candidates that were not kept are left out.
 *
 * Errors: WS_ESPEC (what cannot be in a pack, at its place in the
 * specification), WS_EINVAL, WS_ELIMIT, WS_ENOMEM, those of files.
 */
int ws__pack_write(struct ws_ctx *ctx, const char *path,
                   const struct ws__pack_content *c);
/* The bytes of the file, checked; freed by ws__free. */
int ws__pack_image(struct ws_ctx *ctx, const struct ws__pack_content *c,
                   void **image, size_t *bytes);
/* May it run on the content's device, whatever the shape? op, kernel and device
 * are set. */
bool ws__pack_fits_device(const struct ws__pack_content *c,
                          const struct ws__candidate *v);
/* Which candidates of a model would be kept (keep: one for each form). */
int ws__pack_portfolio(struct ws_ctx *ctx, const struct ws__pack_content *c,
                       size_t model, bool *keep);

#endif
