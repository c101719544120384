/*
 * t_wsrt_pack.c: what the writer put in comes out, through a file and through
 * memory; many threads at once; what is no pack is refused by its proper
 * name; the seeds of the fuzzer are packs of this version.
 *
 * `t_wsrt_pack --write FOLDER` writes those seeds anew, for when the format
 * changes.
 */
#include "base/t_base.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "pack/t_pack_gemm.h"
#include "wsrt_format.h"

#define NENTRY 40

struct fixture {
    struct ws_ctx *ctx;
    struct sample s;
    void *image;
    size_t bytes;
    struct wsrt_pack *p;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    f->ctx = t_ctx(NULL);
    if (sample_make(f->ctx, &f->s, NENTRY, 3) ||
        ws__pack_image(f->ctx, &f->s.content, &f->image, &f->bytes))
        return -1;
    return wsrt_open_memory(f->image, f->bytes, &f->p, NULL, 0);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    wsrt_close(f->p);
    ws__free(f->ctx, f->image);
    sample_free(&f->s);
    ws_ctx_free(f->ctx);
    free(f);
    return 0;
}

static void names(void **state)
{
    struct fixture *f = *state;
    size_t n;

    assert_int_equal(wsrt_axis_count(f->p), SAMPLE_AXES);
    assert_string_equal(wsrt_axis_name(f->p, AXIS_N), "N");
    assert_int_equal(wsrt_axis_find(f->p, "N"), AXIS_N);
    assert_int_equal(wsrt_axis_find(f->p, "none"), WSRT_EARG);
    assert_int_equal(wsrt_kernel_count(f->p), 2);
    assert_string_equal(wsrt_kernel_name(f->p, 1), "plain");
    assert_int_equal(wsrt_param_count(f->p, 0), 4);
    assert_string_equal(wsrt_param_name(f->p, 0, 1), "ORDER");
    assert_string_equal(wsrt_text(f->p, "op", &n), "name: sample\n");
    assert_int_equal(n, strlen("name: sample\n"));
    assert_string_equal(wsrt_text(f->p, "tool", NULL), "");
    assert_null(wsrt_text(f->p, "device", &n));
}

/* By shape, whatever stands around: a text that is cut short, other shapes, an
 * index beyond the end. */
static void gates(void **state)
{
    static const char *const rest[] = {": result shapes\n", ":\n", ": result",
                                       ""};
    static const int want[] = {13, 0, -1, -1};
    struct fixture *f = *state;
    const int64_t *axes = wsrt_entry_axes(f->p, 5);
    size_t n = 7;

    assert_null(wsrt_entry_gates(f->p, 0, &n)); /* a pack without */
    assert_int_equal(n, 0);
    for (size_t i = 0; i < WS_COUNT(rest); i++) {
        const char *text[] = {"gates", NULL, NULL};
        char line[600] = "asked few\n9", *at = line + strlen(line);
        struct wsrt_pack *p;
        const char *got;
        size_t bytes;
        void *image;

        /* Of a shape whose text ends alike; then the one. */
        for (int k = 0; k < 2; k++) {
            for (uint32_t a = 0; a < wsrt_axis_count(f->p); a++)
                at += sprintf(at, "%s%lld", a ? " " : "", (long long)axes[a]);
            at += sprintf(at, "%s", k ? rest[i] : ": filter\n");
        }
        text[1] = line;
        f->s.content.text = text;
        assert_int_equal(ws__pack_image(f->ctx, &f->s.content, &image, &bytes),
                         0);
        assert_int_equal(wsrt_open_memory(image, bytes, &p, NULL, 0), WSRT_OK);
        got = wsrt_entry_gates(p, 5, &n);
        assert_int_equal(got ? (int)n : -1, want[i]);
        if (want[i] > 0)
            assert_memory_equal(got, "result shapes", n);
        assert_null(wsrt_entry_gates(p, 6, &n));
        assert_null(wsrt_entry_gates(p, UINT32_MAX, &n));
        wsrt_close(p);
        ws__free(f->ctx, image);
    }
}

static void axis_values(void **state)
{
    struct fixture *f = *state;
    int64_t v = 7;

    assert_int_equal(wsrt_axis_default(f->p, AXIS_M, &v), WSRT_EARG);
    assert_int_equal(v, 7);
    assert_int_equal(wsrt_axis_default(f->p, AXIS_K, &v), WSRT_OK);
    assert_int_equal(v, 4096);
    assert_int_equal(wsrt_axis_default(f->p, AXIS_T, &v), WSRT_OK);
    assert_string_equal(wsrt_axis_value_text(f->p, AXIS_T, v), "float32");
    assert_null(wsrt_axis_value_text(f->p, AXIS_T, WS__DT_F16));
    assert_null(wsrt_axis_value_text(f->p, AXIS_M, 2));
    assert_int_equal(wsrt_axis_value(f->p, AXIS_T, "bfloat16", &v), WSRT_OK);
    assert_int_equal(v, WS__DT_BF16);
    assert_int_equal(wsrt_axis_value(f->p, AXIS_T, "2", &v), WSRT_OK);
    assert_int_equal(v, WS__DT_F32);
    assert_int_equal(wsrt_axis_value(f->p, AXIS_M, "9223372036854775807", &v),
                     WSRT_OK);
    assert_true(v == INT64_MAX);
    assert_int_equal(wsrt_axis_value(f->p, AXIS_K, "4096", &v), WSRT_OK);
}

static void axis_values_that_are_none(void **state)
{
    static const struct {
        uint32_t axis;
        const char *text;
    } bad[] = {{AXIS_M, ""},
               {AXIS_M, "-"},
               {AXIS_M, "0"},
               {AXIS_M, "-5"},
               {AXIS_M, "12x"},
               {AXIS_M, " 12"},
               {AXIS_M, "float32"},
               {AXIS_K, "4097"},
               {AXIS_T, "float16"},
               {AXIS_T, "3"},
               {SAMPLE_AXES, "1"},
               {AXIS_M, NULL},
               {AXIS_M, "9223372036854775808"}};
    struct fixture *f = *state;
    int64_t v = 7;

    for (size_t i = 0; i < WS_COUNT(bad); i++)
        assert_int_equal(wsrt_axis_value(f->p, bad[i].axis, bad[i].text, &v),
                         WSRT_EARG);
    assert_int_equal(wsrt_axis_value(NULL, 0, "1", &v), WSRT_EARG);
    assert_int_equal(v, 7);
}

static void past_the_end(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pick pick;

    assert_null(wsrt_axis_name(f->p, SAMPLE_AXES));
    assert_null(wsrt_kernel_name(f->p, 2));
    assert_null(wsrt_param_name(f->p, 0, 4));
    assert_null(wsrt_param_name(f->p, 2, 0));
    assert_null(wsrt_param_text(f->p, UINT32_MAX, 0));
    assert_null(wsrt_param_text(f->p, 0, 4));
    assert_null(wsrt_entry_axes(f->p, NENTRY));
    assert_int_equal(wsrt_param_count(f->p, 2), 0);
    assert_int_equal(wsrt_entry(f->p, NENTRY, &pick), WSRT_EARG);
    assert_int_equal(wsrt_axis_count(NULL), 0);
    assert_null(wsrt_text(NULL, "op", NULL));
    assert_int_equal(wsrt_pick(NULL, (int64_t[]){1}, &pick), WSRT_EARG);
    wsrt_close(NULL);
}

/* Every variant's parameters as text are those of the entry's config. */
static void entries(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(wsrt_entry_count(f->p), NENTRY);
    for (size_t i = 0; i < NENTRY; i++) {
        const struct ws__pack_entry *e = &f->s.entry[i];
        const struct ws__kernel *k = &f->s.kernel[e->candidate.kernel];
        struct wsrt_pick pick, again;

        assert_int_equal(wsrt_pick(f->p, e->workload->axis, &pick), WSRT_OK);
        assert_int_equal(pick.how, WSRT_EXACT);
        assert_int_equal(pick.distance, 0);
        assert_true(pick.time_ns == e->time_ns);
        assert_true(pick.default_ns == e->default_ns);
        assert_memory_equal(wsrt_entry_axes(f->p, pick.entry),
                            e->workload->axis, SAMPLE_AXES * sizeof(int64_t));
        assert_int_equal(wsrt_entry(f->p, pick.entry, &again), WSRT_OK);
        assert_int_equal(again.variant, pick.variant);
        assert_int_equal(wsrt_variant_kernel(f->p, pick.variant),
                         e->candidate.kernel);
        for (uint32_t a = 0; a < k->nparam; a++) {
            struct ws__buf b;

            ws__buf_init(&b, f->ctx, 100);
            ws__value_print(&b, &k->param[a].value[e->candidate.config.at[a]]);
            assert_string_equal(wsrt_param_text(f->p, pick.variant, a), b.data);
            ws__buf_free(&b);
        }
    }
}

static void variants_are_shared(void **state)
{
    struct fixture *f = *state;
    uint32_t distinct = 2;
    struct ws__candidate seen[NENTRY + 2];

    memset(seen, 0, sizeof(seen));
    for (uint32_t k = 0; k < 2; k++) {
        seen[k].kernel = k;
        ws__config_default(&f->s.kernel[k], &seen[k].config);
    }
    for (size_t i = 0; i < NENTRY; i++) {
        uint32_t k = 0;

        while (k < distinct &&
               memcmp(&seen[k], &f->s.entry[i].candidate, sizeof(seen[k])))
            k++;
        seen[k] = f->s.entry[i].candidate;
        distinct = k == distinct ? k + 1 : distinct;
    }
    assert_int_equal(wsrt_variant_count(f->p), distinct);
}

static void through_a_file(void **state)
{
    struct fixture *f = *state;
    char dir[] = "/tmp/t_wsrt.XXXXXX", path[64], reason[100];
    struct wsrt_pack *p;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/p", dir);
    assert_int_equal(ws__fs_write(f->ctx, path, f->image, f->bytes), 0);
    assert_int_equal(wsrt_open(path, &p, reason, sizeof(reason)), WSRT_OK);
    assert_int_equal(wsrt_entry_count(p), NENTRY);
    wsrt_close(p);
    assert_int_equal(ws__fs_write(f->ctx, path, "", 0), 0);
    assert_int_equal(wsrt_open(path, &p, reason, sizeof(reason)), WSRT_EFORMAT);
    assert_null(p);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(wsrt_open(path, &p, reason, sizeof(reason)), WSRT_EIO);
    assert_string_not_equal(reason, "");
    assert_int_equal(wsrt_open(dir, &p, reason, sizeof(reason)), WSRT_EIO);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(wsrt_open(path, &p, NULL, 0), WSRT_EIO);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static int open_status(struct fixture *f, char *reason, size_t n)
{
    struct wsrt_pack *p;
    int rc = wsrt_open_memory(f->image, f->bytes, &p, reason, n);

    assert_true((p != NULL) == (rc == WSRT_OK));
    wsrt_close(p);
    return rc;
}

static void foreign_and_newer(void **state)
{
    struct fixture *f = *state;
    struct wsrt_f_header *h = f->image, keep = *h;
    char reason[100];

    /* As an old file transfer would do. */
    memmove((char *)f->image + 4, (char *)f->image + 5, 3);
    assert_int_equal(open_status(f, reason, sizeof(reason)), WSRT_EDAMAGED);
    assert_non_null(strstr(reason, "moved as text"));
    *h = keep;
    h->magic[0] = 0x7f;
    assert_int_equal(open_status(f, NULL, 0), WSRT_EFORMAT);
    *h = keep;
    h->byte_order = __builtin_bswap64(h->byte_order);
    assert_int_equal(open_status(f, reason, sizeof(reason)), WSRT_EFORMAT);
    assert_non_null(strstr(reason, "byte order"));
    *h = keep;
    h->major++;
    assert_int_equal(open_status(f, reason, sizeof(reason)), WSRT_EVERSION);
    *h = keep;
    /* A minor version may add sections, and adds none here. */
    h->minor++;
    h->check_sum = wsrt__file_sum(h, f->bytes);
    assert_int_equal(open_status(f, NULL, 0), WSRT_OK);
    *h = keep;
    /* A reason of one byte is cut, not overrun. */
    h->check_sum++;
    reason[1] = 'x';
    assert_int_equal(open_status(f, reason, 1), WSRT_EDAMAGED);
    assert_int_equal(reason[0], 0);
    assert_int_equal(reason[1], 'x');
}

static void unaligned(void **state)
{
    struct fixture *f = *state;
    char *copy = malloc(f->bytes + 8);
    struct wsrt_pack *p;

    memcpy(copy + 4, f->image, f->bytes);
    assert_int_equal(wsrt_open_memory(copy + 4, f->bytes, &p, NULL, 0),
                     WSRT_EARG);
    assert_null(p);
    assert_int_equal(wsrt_open_memory(NULL, 0, &p, NULL, 0), WSRT_EARG);
    free(copy);
}

static void statuses_have_text(void **state)
{
    (void)state;
    for (int s = WSRT_EDRIVER; s <= WSRT_OK; s++)
        assert_string_not_equal(wsrt_status_text(s), "unknown status");
    assert_string_equal(wsrt_status_text(1), "unknown status");
    assert_string_equal(wsrt_status_text(WSRT_EDRIVER - 1), "unknown status");
}

struct thread {
    pthread_t id;
    const struct wsrt_pack *p;
    uint64_t sum;
};

static void some_shape(const struct wsrt_pack *p, struct ws__rng *r,
                       int64_t *axes)
{
    if (p->count[WSRT_S_MODELS]) {
        gemm_shape(r, axes);
        return;
    }
    sample_shape(r, axes);
    axes[AXIS_M] %= 300;
}

static void *pick_a_lot(void *arg)
{
    struct thread *t = arg;
    struct wsrt_memo *memo = calloc(1, sizeof(*memo));
    struct ws__rng r;

    ws__rng_seed(&r, 99);
    for (int i = 0; memo && i < 20000; i++) {
        struct wsrt_pick a, b;
        int64_t axes[WS__MAX_AXES];
        int rc;

        some_shape(t->p, &r, axes);
        rc = wsrt_pick(t->p, axes, &a);
        if (rc != wsrt_pick_memo(t->p, memo, axes, &b) ||
            (rc == WSRT_OK && a.variant != b.variant))
            break;
        t->sum = t->sum * 31 + (rc ? 0 : a.variant + a.distance) + 1;
    }
    free(memo);
    return NULL;
}

static void use_threads(const struct wsrt_pack *p)
{
    struct thread t[8] = {{.p = p}};

    pick_a_lot(&t[0]);
    assert_true(t[0].sum != 0);
    for (int i = 1; i < 8; i++) {
        t[i].p = p;
        assert_int_equal(pthread_create(&t[i].id, NULL, pick_a_lot, &t[i]), 0);
    }
    for (int i = 1; i < 8; i++) {
        pthread_join(t[i].id, NULL);
        assert_true(t[i].sum == t[0].sum);
    }
}

static void many_threads(void **state)
{
    struct fixture *f = *state;
    struct wsrt_pack *p;
    struct gemm g;
    void *image;
    size_t bytes;

    use_threads(f->p);
    assert_int_equal(gemm_make(f->ctx, &g, 20, 12), 0);
    gemm_small(&g);
    assert_int_equal(ws__pack_image(f->ctx, &g.s.content, &image, &bytes), 0);
    assert_int_equal(wsrt_open_memory(image, bytes, &p, NULL, 0), 0);
    use_threads(p);
    wsrt_close(p);
    ws__free(f->ctx, image);
    gemm_free(&g);
}

/* Name and number of entries of each seed, and what wrote it. */
static const struct seed {
    const char *name;
    size_t n;
    int major, minor;
} seeds[] = {{"none", 0, 1, 0},       {"one", 1, 1, 0},
             {"few", 9, 1, 0},        {"many", 60, 1, 0},
             {"launch_one", 1, 1, 1}, {"launch_few", 5, 1, 1},
             {"rows", 5, 2, 0},       {"model", 3, 2, 0}};

static void seeds_are_packs(void **state)
{
    const char *root = getenv("WS_ROOT");

    (void)state;
    for (size_t i = 0; i < WS_COUNT(seeds); i++) {
        char path[512], reason[200] = "";
        struct wsrt_pack *p;

        snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/pack/%s",
                 root ? root : ".", seeds[i].name);
        if (wsrt_open(path, &p, reason, sizeof(reason)))
            fail_msg("%s: %s; if the format changed: t_wsrt_pack --write "
                     "tests/fuzz/corpus/pack",
                     path, reason);
        assert_int_equal(wsrt_entry_count(p), seeds[i].n);
        assert_int_equal(p->major, seeds[i].major);
        assert_int_equal(
            ((const struct wsrt_f_header *)(const void *)p->base)->minor,
            seeds[i].minor);
        wsrt_close(p);
    }
}

static int write_seed(struct ws_ctx *ctx, const char *path, size_t n)
{
    struct sample s;
    int rc = sample_make(ctx, &s, n, n);

    if (rc == 0)
        rc = ws__pack_write(ctx, path, &s.content);
    sample_free(&s);
    return rc;
}

static int write_model(struct ws_ctx *ctx, const char *path, size_t n)
{
    struct gemm g;
    int rc = gemm_make(ctx, &g, n, 12);

    gemm_small(&g);
    g.model[0].lo[GEMM_M] = 1; /* beyond that the formula is asked */
    g.model[0].hi[GEMM_M] = 512;
    g.s.op.axis[GEMM_K].counts = WS__COUNTS_BLOCKS;
    g.s.op.axis[GEMM_K].counts_block = 16;
    if (rc == 0)
        rc = ws__pack_write(ctx, path, &g.s.content);
    gemm_free(&g);
    return rc;
}

/* Those of this version; older ones stay as they are. */
static int write_seeds(const char *dir)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    int rc = 0;

    for (size_t i = 0; i < WS_COUNT(seeds) && rc == 0; i++) {
        char path[512];

        if (seeds[i].major != WSRT_MAJOR)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, seeds[i].name);
        rc = strcmp(seeds[i].name, "model")
                 ? write_seed(ctx, path, seeds[i].n)
                 : write_model(ctx, path, seeds[i].n);
    }
    if (rc)
        fprintf(stderr, "%s\n", ws_ctx_error(ctx)->message);
    ws_ctx_free(ctx);
    return rc ? 1 : 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(names),
        TEST(gates),
        TEST(axis_values),
        TEST(axis_values_that_are_none),
        TEST(past_the_end),
        TEST(entries),
        TEST(variants_are_shared),
        TEST(through_a_file),
        TEST(foreign_and_newer),
        TEST(unaligned),
        cmocka_unit_test(statuses_have_text),
        TEST(many_threads),
        cmocka_unit_test(seeds_are_packs),
    };

    if (argc == 3 && !strcmp(argv[1], "--write"))
        return write_seeds(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
