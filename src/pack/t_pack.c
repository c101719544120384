/*
 * t_pack.c: the writer: what it refuses and in which words, that equal
 * content gives equal bytes, that failures of memory and of the file system
 * leave nothing behind. What is in a pack is tested beside the runtime.
 */
#include "base/t_base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "pack/t_pack_gemm.h"

struct fixture {
    struct ws_ctx *ctx;
    struct sample s;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    f->ctx = t_ctx(NULL);
    return sample_make(f->ctx, &f->s, 12, 7);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    sample_free(&f->s);
    ws_ctx_free(f->ctx);
    free(f);
    return 0;
}

static void refused(struct fixture *f, int code, const char *word)
{
    void *image;
    size_t bytes;

    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &image, &bytes),
                     code);
    assert_null(image);
    if (!strstr(ws_ctx_error(f->ctx)->message, word))
        fail_msg("'%s' is not in: %s", word, ws_ctx_error(f->ctx)->message);
}

static void equal_content_equal_bytes(void **state)
{
    struct fixture *f = *state;
    struct ws__pack_entry turned[12];
    void *a, *b;
    size_t na, nb;

    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &a, &na), 0);
    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &b, &nb), 0);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    ws__free(f->ctx, b);
    /* The order in which entries come decides variant numbers at most. */
    for (size_t i = 0; i < 12; i++)
        turned[i] = f->s.entry[11 - i];
    f->s.content.entry = turned;
    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &b, &nb), 0);
    assert_int_equal(na, nb);
    ws__free(f->ctx, a);
    ws__free(f->ctx, b);
}

static void twice_the_same_shape(void **state)
{
    struct fixture *f = *state;

    memcpy(f->s.workload[5].axis, f->s.workload[3].axis,
           sizeof(f->s.workload[5].axis));
    f->s.entry[5].candidate = f->s.entry[3].candidate;
    refused(f, WS_ESPEC, "the same shape");
}

static void shape_outside(void **state)
{
    struct fixture *f = *state;
    struct ws__workload *w = &f->s.workload[2];

    w->axis[AXIS_M] = 0;
    refused(f, WS_ESPEC, "bad value 0 for axis 'M'");
    w->axis[AXIS_M] = 1 << 21;
    refused(f, WS_ESPEC, "made for");
    w->axis[AXIS_M] = 16;
    w->axis[AXIS_K] = 4095;
    refused(f, WS_ESPEC, "axis 'K'");
    w->axis[AXIS_K] = 4096;
    w->axis[AXIS_T] = WS__DT_F16;
    refused(f, WS_ESPEC, "axis 'T'");
}

static void constraint_does_not_hold(void **state)
{
    struct fixture *f = *state;

    f->s.workload[0].axis[AXIS_M] = 256;
    f->s.workload[0].axis[AXIS_N] = 20;
    f->s.entry[0].candidate.kernel = 0;
    ws__config_default(&f->s.kernel[0], &f->s.entry[0].candidate.config);
    refused(f, WS_ESPEC, "constraint 'N % BM == 0' does not hold");
    f->s.workload[0].axis[AXIS_M] = 1 << 20;
    f->s.workload[0].axis[AXIS_N] = 1 << 20;
    refused(f, WS_ESPEC, "condition 'M * N <= 2**38' does not hold");
}

/* One that only thins the search bars nothing. */
static void pruning_is_no_guard(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pack *p;
    struct wsrt_pick pick;
    int64_t axes[SAMPLE_AXES] = {
        [AXIS_M] = 256, [AXIS_T] = WS__DT_F32, [AXIS_K] = 4096, [AXIS_N] = 20};
    void *image;
    size_t bytes;

    for (size_t i = 0; i < f->s.kernel[0].nconstraint; i++)
        f->s.kernel[0].constraint[i].prune = true;
    f->s.workload[0].axis[AXIS_M] = 256;
    f->s.workload[0].axis[AXIS_N] = 20;
    f->s.workload[0].axis[AXIS_T] = WS__DT_F32;
    f->s.entry[0].candidate.kernel = 0;
    ws__config_default(&f->s.kernel[0], &f->s.entry[0].candidate.config);
    f->s.content.device[WS__DV_THREADS].i = 1;
    f->s.content.nentry = 1;
    f->s.content.nbinary = 0;
    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &image, &bytes), 0);
    assert_int_equal(wsrt_open_memory(image, bytes, &p, NULL, 0), WSRT_OK);
    assert_int_equal(wsrt_pick(p, axes, &pick), WSRT_OK);
    assert_int_equal(pick.how, WSRT_EXACT);
    axes[AXIS_N] = 21;
    assert_int_equal(wsrt_pick(p, axes, &pick), WSRT_OK);
    assert_int_equal(pick.how, WSRT_NEAREST);
    wsrt_close(p);
    ws__free(f->ctx, image);
}

/* A constraint on the device is settled when the pack is written. */
static void device_decides(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pack *p;
    struct wsrt_pick pick;
    int64_t axes[SAMPLE_AXES] = {[AXIS_M] = 128,
                                 [AXIS_T] = WS__DT_F32,
                                 [AXIS_K] = 4096,
                                 [AXIS_N] = 4096};
    void *image;
    size_t bytes;

    f->s.content.device[WS__DV_THREADS].i = 32;
    refused(f, WS_ESPEC, "device_max_threads");
    f->s.content.nentry = 0;
    f->s.content.nbinary = 0;
    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &image, &bytes), 0);
    assert_int_equal(wsrt_open_memory(image, bytes, &p, NULL, 0), WSRT_OK);
    /* The tiled default needs 64 threads, the plain kernel M <= 64. */
    assert_int_equal(wsrt_variant_count(p), 2);
    assert_int_equal(wsrt_pick(p, axes, &pick), WSRT_ENONE);
    axes[AXIS_M] = 64;
    assert_int_equal(wsrt_pick(p, axes, &pick), WSRT_OK);
    assert_int_equal(pick.how, WSRT_DEFAULT);
    assert_int_equal(pick.variant, 1);
    wsrt_close(p);
    ws__free(f->ctx, image);
}

static void floats_in_guards(void **state)
{
    struct fixture *f = *state;
    struct ws__constraint *c = &f->s.kernel[0].constraint[0];
    static const char text[] = "N / BM >= 0.5";
    void *image;
    size_t bytes;

    assert_int_equal(sample_compile(f->ctx, &f->s, &f->s.kernel[0].scope, text,
                                    &c->expr),
                     0);
    refused(f, WS_ESPEC, text);
    assert_string_not_equal(ws_ctx_error(f->ctx)->hint, "");
    assert_int_equal(ws_ctx_error(f->ctx)->line, 1);
    /* Without axes the same arithmetic is fine: it is done here. */
    assert_int_equal(sample_compile(f->ctx, &f->s, &f->s.kernel[0].scope,
                                    "BM / 4 >= 0.5", &c->expr),
                     0);
    c->needs_axes = false;
    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &image, &bytes), 0);
    ws__free(f->ctx, image);
}

static void bad_arguments(void **state)
{
    static const char *const twice[] = {"op", "a", "op", "b", NULL};
    struct fixture *f = *state;

    f->s.content.text = twice;
    refused(f, WS_EINVAL, "'op' is given twice");
    f->s.content.text = NULL;
    f->s.entry[4].time_ns = -1;
    refused(f, WS_EINVAL, "time");
    f->s.entry[4].time_ns = 1;
    f->s.entry[4].candidate.config.at[0] = 99;
    refused(f, WS_EINVAL, "config");
    f->s.entry[4].candidate.kernel = 2;
    refused(f, WS_EINVAL, "kernel");
    f->s.content.nentry = 0;
    f->s.content.nkernel = 0;
    refused(f, WS_EINVAL, "needs a kernel");
    f->s.content.nkernel = 2;
    f->s.kernel[1].op = NULL;
    refused(f, WS_EINVAL, "is not of op");
}

/* Ready-made kernels come back byte for byte. */
static void blobs_are_kept(void **state)
{
    static const char bytes[] = "\177ELF\0\1\2\0\0\377";
    const struct ws__pack_blob blob[] = {{"file:0:a.cubin", bytes,
                                          sizeof(bytes) - 1},
                                         {"file:1:b", "", 0}};
    struct fixture *f = *state;
    char dir[] = "/tmp/t_pack.XXXXXX", path[64];
    struct wsrt_pack *p;
    size_t n = 99;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/p", dir);
    f->s.content.blob = blob;
    f->s.content.nblob = 2;
    assert_int_equal(ws__pack_write(f->ctx, path, &f->s.content), 0);
    assert_int_equal(wsrt_open(path, &p, NULL, 0), WSRT_OK);
    assert_memory_equal(wsrt_text(p, "file:0:a.cubin", &n), bytes,
                        sizeof(bytes));
    assert_int_equal(n, sizeof(bytes) - 1);
    assert_string_equal(wsrt_text(p, "file:1:b", &n), "");
    assert_int_equal(n, 0);
    assert_null(wsrt_text(p, "file:2:c", &n));
    wsrt_close(p);
    unlink(path);
    rmdir(dir);
}

static int write_sample(struct ws_ctx *ctx, void *user)
{
    struct sample s;
    int rc = sample_make(ctx, &s, 3, 1);

    if (rc == 0)
        rc = ws__pack_write(ctx, user, &s.content);
    sample_free(&s);
    return rc;
}

/* One of each candidate and set of compiled-in values; equal images once. */
static void binaries(void **state)
{
    struct fixture *f = *state;
    size_t bytes, distinct = 0;
    struct wsrt_image m;
    struct wsrt_pack *p;
    void *image;

    for (size_t i = 0; i < f->s.content.nbinary; i++) {
        size_t k = 0;

        while (k < i && strcmp(f->s.binary[k].image, f->s.binary[i].image))
            k++;
        distinct += k == i;
    }
    assert_true(distinct > 4 && distinct < f->s.content.nbinary);
    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &image, &bytes), 0);
    assert_int_equal(wsrt_open_memory(image, bytes, &p, NULL, 0), WSRT_OK);
    assert_int_equal(wsrt_image_count(p), distinct);
    wsrt_close(p);
    ws__free(f->ctx, image);
    /* The same bytes for all: one image, and as many binaries. */
    for (size_t i = 0; i < f->s.content.nbinary; i++) {
        f->s.binary[i].image = "12345678";
        f->s.binary[i].bytes = 8;
    }
    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &image, &bytes), 0);
    assert_int_equal(wsrt_open_memory(image, bytes, &p, NULL, 0), WSRT_OK);
    assert_int_equal(wsrt_image_count(p), 1);
    assert_int_equal(wsrt_image(p, 0, &m), WSRT_OK);
    assert_int_equal(m.bytes, 8);
    assert_string_equal(m.data, "12345678");
    wsrt_close(p);
    ws__free(f->ctx, image);
}

static void bad_binaries(void **state)
{
    struct fixture *f = *state;
    struct ws__pack_binary keep = f->s.binary[0];

    f->s.binary[0].bytes = 0;
    refused(f, WS_EINVAL, "without a part");
    f->s.binary[0] = keep;
    f->s.binary[0].candidate.config.at[0] ^= 1;
    f->s.binary[0].candidate.config.at[1] ^= 1;
    refused(f, WS_EINVAL, "no variant");
    f->s.binary[0] = keep;
}

/* A plan that no device could run is no plan; the pack is one all the same. */
static void no_plan(void **state)
{
    struct fixture *f = *state;
    int64_t axes[SAMPLE_AXES] = {
        [AXIS_M] = 64, [AXIS_T] = WS__DT_F32, [AXIS_K] = 4096, [AXIS_N] = 1024};
    struct wsrt_pack *p;
    struct wsrt_pick pick;
    uint64_t scratch;
    void *image;
    size_t bytes;

    f->s.kernel[0].launch[0].arg[7].dtype = WS__DT_I32; /* of a float */
    f->s.content.nentry = 0;
    f->s.content.nbinary = 0;
    assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &image, &bytes), 0);
    assert_int_equal(wsrt_open_memory(image, bytes, &p, NULL, 0), WSRT_OK);
    assert_int_equal(wsrt_pick(p, axes, &pick), WSRT_OK);
    assert_int_equal(wsrt_variant_kernel(p, pick.variant), 0);
    assert_int_equal(wsrt_scratch_bytes(p, &pick, axes, &scratch), WSRT_EPLAN);
    wsrt_close(p);
    ws__free(f->ctx, image);
}

static void model_refused(struct ws_ctx *ctx, struct gemm *g, int code,
                          const char *word)
{
    void *image;
    size_t bytes;

    assert_int_equal(ws__pack_image(ctx, &g->s.content, &image, &bytes), code);
    assert_null(image);
    if (!strstr(ws_ctx_error(ctx)->message, word))
        fail_msg("'%s' is not in: %s", word, ws_ctx_error(ctx)->message);
}

static void bad_models(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    static struct ws__pack_model many[WSRT_MAX_MODELS + 1];
    struct ws__pack_form keep;
    struct ws__expr *e;
    struct gemm g;

    (void)state;
    assert_int_equal(gemm_make(ctx, &g, 4, 20), 0);
    gemm_small(&g);
    for (size_t i = 0; i < WS_COUNT(many); i++)
        many[i] = g.model[0];
    g.s.content.model = many;
    g.s.content.nmodel = WS_COUNT(many);
    model_refused(ctx, &g, WS_ELIMIT, "257 models are too many");
    g.s.content.model = g.model;
    g.s.content.nmodel = 1;
    keep = g.form[0];
    g.form[0] = g.form[1];
    model_refused(ctx, &g, WS_EINVAL, "same candidate twice");
    g.form[0] = keep;
    g.form[0].candidate.config.at[0] = 99;
    model_refused(ctx, &g, WS_EINVAL, "config");
    g.form[0].candidate.kernel = 7;
    model_refused(ctx, &g, WS_EINVAL, "kernel");
    g.form[0] = keep;
    g.form[3].margin = -1;
    model_refused(ctx, &g, WS_EINVAL, "margin");
    g.form[3].margin = 1;
    g.model[0].nform = 2; /* the default is not among the first two */
    model_refused(ctx, &g, WS_EINVAL, "lacks the default of kernel 'tiled'");
    g.model[0].nform = 0;
    model_refused(ctx, &g, WS_ELIMIT, "0 candidates");
    g.model[0].nform = 20;
    g.model[1] = g.model[0];
    g.s.content.nmodel = 2;
    model_refused(ctx, &g, WS_EINVAL, "same types");
    g.s.content.nmodel = 1;
    assert_int_equal(sample_expr(ctx, &g.s, &g.s.kernel[0].scope, "int(M / BM)",
                                 WS__INT, &e),
                     0);
    g.coord[0][WSRT_W_STORE] = e;
    model_refused(ctx, &g, WS_ESPEC, "'int(M / BM)' uses floats");
    g.coord[0][WSRT_W_STORE] = NULL;
    g.form[2].candidate.config.at[0] = 4; /* 256 x 256 */
    g.form[2].candidate.config.at[1] = 3;
    assert_int_equal(sample_compile(ctx, &g.s, &g.s.kernel[0].scope,
                                    "BM * BN <= 32768",
                                    &g.s.kernel[0].constraint[0].expr),
                     0);
    model_refused(ctx, &g, WS_ESPEC, "does not hold for a candidate");
    gemm_free(&g);
    ws_ctx_free(ctx);
}

/* A coordinate that is below 0 for a candidate is as none, one that cannot be
 * evaluated as large as can be: as where the model was fitted. */
static void odd_coordinates(void **state)
{
    static const char *const text[] = {"BM - 1000", "0", "1 // (BM - BM)",
                                       "1 << 60"};
    struct ws_ctx *ctx = t_ctx(NULL);
    void *image[WS_COUNT(text)];
    size_t bytes[WS_COUNT(text)];
    struct ws__expr *e;
    struct gemm g;

    (void)state;
    assert_int_equal(gemm_make(ctx, &g, 4, 20), 0);
    gemm_small(&g);
    for (size_t i = 0; i < WS_COUNT(text); i++) {
        assert_int_equal(sample_expr(ctx, &g.s, &g.s.kernel[0].scope, text[i],
                                     WS__INT, &e),
                         0);
        g.coord[0][WSRT_W_STORE] = e;
        assert_int_equal(ws__pack_image(ctx, &g.s.content, &image[i],
                                        &bytes[i]),
                         0);
    }
    for (size_t i = 0; i < WS_COUNT(text); i += 2) {
        assert_int_equal(bytes[i], bytes[i + 1]);
        assert_memory_equal(image[i], image[i + 1], bytes[i]);
    }
    assert_true(bytes[0] != bytes[2] || memcmp(image[0], image[2], bytes[0]));
    for (size_t i = 0; i < WS_COUNT(text); i++)
        ws__free(ctx, image[i]);
    gemm_free(&g);
    ws_ctx_free(ctx);
}

/* Two models, given in the wrong order; each decides for its types. Equal
 * content gives equal bytes, and the portfolio is what is asked for alone. */
static void two_models(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct wsrt_explanation e;
    int64_t axes[WS__MAX_AXES] = {50, 80, 700, WS__DT_BF16};
    bool keep[WSRT_MAX_FORMS];
    struct wsrt_pack *p;
    size_t bytes, again, kept = 0;
    void *image, *second;
    struct gemm g;

    (void)state;
    assert_int_equal(gemm_make(ctx, &g, 4, 64), 0);
    gemm_small(&g);
    g.model[1] = g.model[0];
    g.model[0].type[GEMM_T] = WS__DT_BF16;
    g.model[0].portfolio = 5;
    g.s.content.nmodel = 2;
    assert_int_equal(ws__pack_image(ctx, &g.s.content, &image, &bytes), 0);
    assert_int_equal(ws__pack_image(ctx, &g.s.content, &second, &again), 0);
    assert_int_equal(bytes, again);
    assert_memory_equal(image, second, bytes);
    assert_int_equal(wsrt_open_memory(image, bytes, &p, NULL, 0), WSRT_OK);
    assert_int_equal(wsrt_explain(p, axes, &e), WSRT_OK);
    assert_int_equal(e.model, 1);
    assert_true(e.portfolio <= 5 && e.considered == g.model[0].nform);
    axes[GEMM_T] = WS__DT_F16;
    assert_int_equal(wsrt_explain(p, axes, &e), WSRT_OK);
    assert_int_equal(e.model, 0);
    assert_true(e.portfolio > 5);
    assert_int_equal(ws__pack_portfolio(ctx, &g.s.content, 1, keep), 0);
    for (size_t i = 0; i < g.model[1].nform; i++)
        kept += keep[i];
    assert_int_equal(kept, e.portfolio);
    wsrt_close(p);
    ws__free(ctx, image);
    ws__free(ctx, second);
    gemm_free(&g);
    ws_ctx_free(ctx);
}

static int write_model(struct ws_ctx *ctx, void *user)
{
    struct gemm g;
    int rc = gemm_make(ctx, &g, 3, 12);

    gemm_small(&g);
    if (rc == 0)
        rc = ws__pack_write(ctx, user, &g.s.content);
    gemm_free(&g);
    return rc;
}

static void no_memory_for_models(void **state)
{
    char dir[] = "/tmp/t_pack.XXXXXX", path[64];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/p", dir);
    assert_true(t_torture(write_model, path) > 100);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void no_memory(void **state)
{
    char dir[] = "/tmp/t_pack.XXXXXX", path[64];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/p", dir);
    assert_true(t_torture(write_sample, path) > 20);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void file_appears_whole_or_not(void **state)
{
    struct fixture *f = *state;
    char dir[] = "/tmp/t_pack.XXXXXX", path[64];
    struct wsrt_pack *p;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/p", dir);
    f->s.entry[4].time_ns = -1;
    assert_int_equal(ws__pack_write(f->ctx, path, &f->s.content), WS_EINVAL);
    assert_int_equal(access(path, F_OK), -1);
    f->s.entry[4].time_ns = 1;
    assert_int_equal(ws__pack_write(f->ctx, path, &f->s.content), 0);
    assert_int_equal(wsrt_open(path, &p, NULL, 0), WSRT_OK);
    /* An open pack outlives its replacement. */
    f->s.content.nentry = 1;
    f->s.content.nbinary = 0;
    assert_int_equal(ws__pack_write(f->ctx, path, &f->s.content), 0);
    assert_int_equal(wsrt_entry_count(p), 12);
    wsrt_close(p);
    assert_int_equal(wsrt_open(path, &p, NULL, 0), WSRT_OK);
    assert_int_equal(wsrt_entry_count(p), 1);
    wsrt_close(p);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(ws__pack_write(f->ctx, path, &f->s.content), WS_ENOENT);
}

/* Counts down to the operation that fails. */
static int left;

static int no_space(void)
{
    if (--left != 0)
        return 0;
    errno = ENOSPC;
    return -1;
}

static int bad_open(const char *path, int flags, mode_t mode)
{
    return no_space() ? -1 : open(path, flags, mode);
}

static ssize_t bad_write(int fd, const void *p, size_t n)
{
    return no_space() ? -1 : write(fd, p, n);
}

static int bad_fsync(int fd)
{
    return no_space() ? -1 : fsync(fd);
}

static int bad_rename(const char *from, const char *to)
{
    return no_space() ? -1 : rename(from, to);
}

static void no_space_no_file(void **state)
{
    static const struct ws__fs_ops bad = {.open = bad_open,
                                          .read = read,
                                          .write = bad_write,
                                          .fsync = bad_fsync,
                                          .close = close,
                                          .rename = bad_rename,
                                          .mkdir = mkdir,
                                          .unlink = unlink};
    struct fixture *f = *state;
    char dir[] = "/tmp/t_pack.XXXXXX", path[64];
    int n, rc = -1;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/p", dir);
    for (n = 1; n < 20; n++) {
        bool renamed;

        left = n;
        ws__fs_set_ops(&bad);
        rc = ws__pack_write(f->ctx, path, &f->s.content);
        ws__fs_set_ops(NULL);
        if (rc == 0)
            break;
        assert_int_equal(rc, WS_EFULL);
        /* Only the folder's own sync comes after the file has its name. */
        renamed = access(path, F_OK) == 0;
        if (renamed)
            assert_int_equal(unlink(path), 0);
        /* Nothing else is left there. */
        assert_int_equal(rmdir(dir), 0);
        assert_int_equal(mkdir(dir, 0700), 0);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 4);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_content_equal_bytes),
        TEST(twice_the_same_shape),
        TEST(shape_outside),
        TEST(constraint_does_not_hold),
        TEST(pruning_is_no_guard),
        TEST(device_decides),
        TEST(floats_in_guards),
        TEST(bad_arguments),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(bad_models),
        cmocka_unit_test(odd_coordinates),
        cmocka_unit_test(two_models),
        cmocka_unit_test(no_memory_for_models),
        TEST(blobs_are_kept),
        TEST(binaries),
        TEST(bad_binaries),
        TEST(no_plan),
        TEST(file_appears_whole_or_not),
        TEST(no_space_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
