/*
 * t_sass.c: instructions by class, on text in both tools' forms; what running
 * a disassembler does with tools that are missing, fail, hang or flood; and,
 * where a real one is installed, a real image.
 */
#include "base/t_base.h"
#include "base/t_fds.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/clock.h"
#include "profile/sass.h"

static const char NVDISASM[] =
    "\t.target\tsm_90\n"
    "//--------------------- .text.first --------------------------\n"
    "\t.section\t.text.first,\"ax\",@progbits\n"
    "        .size           first,(.L_x_9 - first)\n"
    "first:\n"
    ".text.first:\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
    "        /*0010*/              @!P0 LDG.E.U8 R4, desc[UR4][R2.64] ;\n"
    "        /*0020*/                   LDG.E R4, desc[UR4][R2.64] ;\n"
    "        /*0030*/                   LDG.E.64.CONSTANT R4, [R2.64] ;\n"
    "        /*0040*/              @P1  LDG.E.128 R4, desc[UR4][R2.64] ;\n"
    ".L_x_1:\n"
    "        /*0050*/                   LDG.E.ENL2.256 R4, R8, [R2.64] ;\n"
    "        /*0060*/                   STG.E.U16 desc[UR4][R2.64], R5 ;\n"
    "        /*0070*/                   STG.E.128 desc[UR4][R2.64], R4 ;\n"
    "        /*0080*/                   FFMA.FTZ R1, R2, R3, R4 ;\n"
    "        /*0090*/                   IMAD.MOV.U32 R1, RZ, RZ, R2 ;\n"
    "        /*0098*/                   IMAD.U32 R1, RZ, RZ, UR4 ;\n"
    "        /*00a0*/                   IMAD.WIDE R2, R3, 0x4, R4 ;\n"
    "        /*00b0*/                   HFMA2.MMA R22, -RZ, RZ, 0, 0 ;\n"
    "        /*00c0*/                   HFMA2 R22, R1, R2, R3 ;\n"
    "        /*00d0*/                   HADD2.F32 R3, -RZ, R3.H0_H0 ;\n"
    "        /*00e0*/             @UP0  UIADD3 UR4, UR4, 0x1, URZ ;\n"
    "        /*00f0*/                   NOP ;\n"
    "        /*0100*/              @P0  BRA `(.L_x_1) ;\n"
    "        /*0110*/                   EXIT ;\n"
    ".L_x_9:\n"
    ".text.$second$x:\n"
    "        /*0000*/                   HGMMA.64x64x16.F32 R24, gdesc[UR4] ;\n"
    "        /*0010*/                   UTMALDG.2D [UR8], [UR4] ;\n"
    "        /*0020*/                   FROBNICATE R1 ;\n";

static const char CUOBJDUMP[] =
    "\n\tcode for sm_80\n"
    "\t\tFunction : only\n"
    "\t.headerflags\t@\"EF_CUDA_SM80\"\n"
    "        /*0000*/     HMMA.16816.F32 R4, R8, R2, RZ ;   /* 0x2a0f */\n"
    "                                                       /* 0x0fe4 */\n"
    "        /*0010*/     DFMA R2, R4, R6, R8 ;             /* 0x0a01 */\n"
    "        /*0020*/     MUFU.EX2 R2, R3 ;                 /* 0x0a01 */\n"
    "        /*0030*/     LDS.128 R4, [R2] ;                /* 0x0a01 */\n"
    "        /*0040*/     STS [R2], R4 ;                    /* 0x0a01 */\n"
    "        /*0050*/     LDGSTS.E.128 [R2], [R4.64] ;      /* 0x0a01 */\n"
    "        /*0060*/     LDL R2, [R1+0x4] ;                /* 0x0a01 */\n"
    "        /*0070*/     STL.64 [R1], R2 ;                 /* 0x0a01 */\n"
    "        /*0080*/     RED.E.ADD.STRONG.GPU [R2.64], R4 ;/* 0x0a01 */\n"
    "        /*0090*/     ATOMS.ADD R2, [R4], R5 ;          /* 0x0a01 */\n"
    "        /*00a0*/     BAR.SYNC 0x0 ;                    /* 0x0a01 */\n"
    "        /*00b0*/     SHFL.DOWN P0, R2, R3, 0x1, 0x1f ; /* 0x0a01 */\n"
    "        /*00c0*/     FADD R2, R3, R4 ;                 /* 0x0a01 */\n"
    "        /*00d0*/     FMUL R2, R3, R4 ;                 /* 0x0a01 */\n"
    "        /*00e0*/     FSETP.GT.AND P0, PT, R2, R3, PT ; /* 0x0a01 */\n"
    "        /*00f0*/     { I2F.U32 R2, R3 ;                /* 0x0a01 */\n"
    "        /*0100*/     LD.E R2, [R4.64] ; }              /* 0x0a01 */\n"
    "        /*0110*/     ST.E [R4.64], R2 ;                /* 0x0a01 */\n"
    "        /*0120*/     ATOMG.E.ADD R2, [R4.64], R5 ;     /* 0x0a01 */\n";

struct expect {
    enum ws__sass_class c;
    uint32_t n;
};

/* These classes have these counts, all others none. */
static void expect_counts(const struct ws__sass_function *f,
                          const struct expect *e, size_t n)
{
    uint32_t total = 0;

    for (enum ws__sass_class c = 0; c < WS__NSASS; c++) {
        uint32_t want = 0;

        for (size_t i = 0; i < n; i++)
            want = e[i].c == c ? e[i].n : want;
        if (f->count[c] != want)
            print_error("%s: %s\n", f->name, ws__sass_key(c));
        assert_int_equal(f->count[c], want);
        total += want;
    }
    assert_int_equal(f->total, total);
}

static void nvdisasm_text(void **state)
{
    static const struct expect FIRST[] = {{WS__SASS_GLOBAL_LD_NARROW, 1},
                                          {WS__SASS_GLOBAL_LD_4, 1},
                                          {WS__SASS_GLOBAL_LD_8, 1},
                                          {WS__SASS_GLOBAL_LD_16, 1},
                                          {WS__SASS_GLOBAL_LD_32, 1},
                                          {WS__SASS_GLOBAL_ST_NARROW, 1},
                                          {WS__SASS_GLOBAL_ST_16, 1},
                                          {WS__SASS_FP32_FMA, 1},
                                          {WS__SASS_MOVE, 4},
                                          {WS__SASS_INT, 2},
                                          {WS__SASS_HALF, 1},
                                          {WS__SASS_CONVERT, 1},
                                          {WS__SASS_BRANCH, 2}};
    static const struct expect SECOND[] = {{WS__SASS_TENSOR_WIDE, 1},
                                           {WS__SASS_ASYNC_COPY, 1},
                                           {WS__SASS_OTHER, 1}};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__sass *s;

    (void)state;
    assert_int_equal(ws__sass_parse(ctx, NVDISASM, sizeof(NVDISASM) - 1, &s),
                     0);
    assert_int_equal(s->n, 2);
    expect_counts(ws__sass_find(s, "first"), FIRST, WS_COUNT(FIRST));
    assert_int_equal(s->function[0].predicated, 4);
    expect_counts(ws__sass_find(s, "$second$x"), SECOND, WS_COUNT(SECOND));
    assert_null(ws__sass_find(s, "third"));
    ws__sass_free(s);
    ws_ctx_free(ctx);
}

static void cuobjdump_text(void **state)
{
    static const struct expect ONLY[] = {
        {WS__SASS_TENSOR, 1},        {WS__SASS_FP64, 1},
        {WS__SASS_SPECIAL, 1},       {WS__SASS_SHARED_LD, 1},
        {WS__SASS_SHARED_ST, 1},     {WS__SASS_ASYNC_COPY, 1},
        {WS__SASS_LOCAL_LD, 1},      {WS__SASS_LOCAL_ST, 1},
        {WS__SASS_ATOMIC_GLOBAL, 2}, {WS__SASS_ATOMIC_SHARED, 1},
        {WS__SASS_BARRIER, 1},       {WS__SASS_WARP, 1},
        {WS__SASS_FP32_ADD, 1},      {WS__SASS_FP32_MUL, 1},
        {WS__SASS_FP32_OTHER, 1},    {WS__SASS_CONVERT, 1},
        {WS__SASS_GENERIC_LD, 1},    {WS__SASS_GENERIC_ST, 1}};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__sass *s;

    (void)state;
    assert_int_equal(ws__sass_parse(ctx, CUOBJDUMP, sizeof(CUOBJDUMP) - 1, &s),
                     0);
    assert_int_equal(s->n, 1);
    assert_string_equal(s->function[0].name, "only");
    expect_counts(&s->function[0], ONLY, WS_COUNT(ONLY));
    ws__sass_free(s);
    ws_ctx_free(ctx);
}

static void no_instruction(void **state)
{
    static const char *const TEXT[] = {"", ".text.f:\n",
                                       ".text.f:\n/*00*/ NOP;",
                                       "/*0000*/ EXIT ;\n", ".text.:\n/*0*/"};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__sass *s;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(TEXT); i++) {
        assert_int_equal(ws__sass_parse(ctx, TEXT[i], strlen(TEXT[i]), &s),
                         WS_EPARSE);
        assert_null(s);
        assert_non_null(strstr(ws_ctx_error(ctx)->hint, "nvdisasm -c"));
    }
    for (enum ws__sass_class c = 0; c < WS__NSASS; c++)
        assert_true(*ws__sass_key(c) && *ws__sass_words(c));
    ws_ctx_free(ctx);
}

static int parse_body(struct ws_ctx *ctx, void *user)
{
    struct ws__sass *s;
    int rc = ws__sass_parse(ctx, user, strlen(user), &s);

    ws__sass_free(s);
    return rc;
}

/* --- running a tool ------------------------------------------------------ */

static char dir[64];

static void put_tool(const char *name, const char *script)
{
    char path[128], text[8192];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void drop_tools(void)
{
    static const char *const NAME[] = {"nvdisasm", "cuobjdump"};
    char path[128];

    for (size_t i = 0; i < WS_COUNT(NAME); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, NAME[i]);
        unlink(path);
    }
}

static const char IMAGE[] = "\177ELF of a test";

static int read_with(struct ws_ctx *ctx, uint64_t limit_ns, size_t max)
{
    struct ws__sass *s;
    int rc =
        ws__sass_read_within(ctx, dir, IMAGE, sizeof(IMAGE), limit_ns, max, &s);

    if (rc == 0)
        assert_int_equal(ws__sass_find(s, "f")->count[WS__SASS_BRANCH], 1);
    else
        assert_null(s);
    ws__sass_free(s);
    return rc;
}

#define SECOND ((uint64_t)1000000000u)
#define PRINT "printf '.text.f:\\n/*0000*/ EXIT ;\\n'"
/* the tool sees the image, as a file */
#define SEES "test \"$1\" = -c && grep -q 'of a test' \"$2\" && " PRINT

static void tools(void **state)
{
    static const struct {
        const char *name, *script;
        int code;
        const char *word;
    } CASE[] = {
        {"nvdisasm", SEES, 0, NULL},
        {"cuobjdump", "test \"$1\" = -sass && " PRINT, 0, NULL},
        {"nvdisasm", "echo bad arch sm_777 >&2; exit 3", WS_ENOTSUP, "sm_777"},
        {"nvdisasm", "exit 3", WS_ENOTSUP, "exit status 3"},
        {"nvdisasm", "kill -SEGV $$", WS_ECRASH, "signal 11"},
        {"nvdisasm", "echo words", WS_EPARSE, "no instruction"},
        {"nvdisasm", "sleep 60", WS_ETIMEOUT, "not ended"},
        {"nvdisasm", "sleep 60 & exec sleep 60", WS_ETIMEOUT, "not ended"},
        {"nvdisasm", "exec yes", WS_ELIMIT, "more than 10000"},
    };
    struct ws_ctx *ctx = t_ctx(NULL);

    (void)state;
    for (size_t i = 0; i < WS_COUNT(CASE); i++) {
        bool hangs = CASE[i].code == WS_ETIMEOUT;

        drop_tools();
        put_tool(CASE[i].name, CASE[i].script);
        assert_int_equal(read_with(ctx, hangs ? SECOND / 10 : 20 * SECOND,
                                   10000),
                         CASE[i].code);
        if (CASE[i].word)
            assert_non_null(strstr(ws_ctx_error(ctx)->message, CASE[i].word));
    }
    drop_tools();
    ws_ctx_free(ctx);
}

static void refusals(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__sass *s;

    (void)state;
    drop_tools();
    assert_int_equal(ws__sass_read(ctx, dir, ".version 8.0", 12, &s),
                     WS_EINVAL);
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "not to PTX"));
    assert_int_equal(ws__sass_read(ctx, dir, "", 0, &s), WS_EINVAL);
    put_tool("nvdisasm", "sleep 60");
    ws_ctx_cancel(ctx);
    assert_int_equal(read_with(ctx, 20 * SECOND, 10000), WS_ECANCEL);
    drop_tools();
    ws_ctx_free(ctx);
    /* relative folders and folders of that name are no tools */
    if (!access("/usr/local/cuda/bin/nvdisasm", X_OK) ||
        !access("/usr/local/cuda/bin/cuobjdump", X_OK))
        SKIP("the CUDA toolkit has a disassembler, so none can be missing");
    ctx = t_ctx(NULL);
    for (size_t i = 0; i < 4; i++) {
        static const char *const FOLDERS[] = {NULL, "", ".::bin:/nowhere",
                                              "/proc:/dev/null"};

        assert_int_equal(ws__sass_read(ctx, FOLDERS[i], IMAGE, sizeof(IMAGE),
                                       &s),
                         WS_ENOTSUP);
        assert_non_null(strstr(ws_ctx_error(ctx)->hint, "install"));
    }
    ws_ctx_free(ctx);
}

static void sums(void **state)
{
    static const char TEXT[] = ".text.a:\n /*0000*/ HGMMA.64x8x16.F32 R1 ;\n"
                               " /*0010*/ @P0 HMMA.16816.F32 R1, R2 ;\n"
                               ".text.b:\n /*0000*/ HMMA.16816.F32 R1, R2 ;\n"
                               ".text.c:\n /*0000*/ FFMA R1, R2, R3, R4 ;\n";
    static const char *const BOTH[] = {"b", NULL, "a", "b"}, *const NONE[] = {
                                                                 "d"};
    struct ws_ctx *ctx = t_ctx(NULL);
    struct ws__sass_function sum;
    struct ws__sass *s;

    (void)state;
    assert_int_equal(ws__sass_parse(ctx, TEXT, sizeof(TEXT) - 1, &s), 0);
    ws__sass_sum(s, BOTH, WS_COUNT(BOTH), &sum);
    assert_int_equal(sum.total, 3);
    assert_int_equal(sum.predicated, 1);
    assert_int_equal(sum.count[WS__SASS_TENSOR], 2);
    assert_int_equal(sum.count[WS__SASS_TENSOR_WIDE], 1);
    assert_int_equal(sum.count[WS__SASS_FP32_FMA], 0);
    assert_null(sum.name);
    ws__sass_sum(s, NONE, 1, &sum);
    assert_int_equal(sum.total, 4);
    ws__sass_free(s);
    ws_ctx_free(ctx);
}

static int tool_body(struct ws_ctx *ctx, void *user)
{
    (void)user;
    return read_with(ctx, 20 * SECOND, 10000);
}

static void torture(void **state)
{
    (void)state;
    assert_true(t_torture(parse_body, (void *)NVDISASM) > 3);
    put_tool("nvdisasm", PRINT);
    assert_true(t_torture(tool_body, NULL) > 6);
    drop_tools();
}

/* Without descriptors: our calls fail in words and leave none behind. With a
 * few more it is the tool that has too few, for it inherits the limit. */
static void descriptors(void **state)
{
    int before = t_count_fds(), failed = 0, rc = WS_EIO;
    struct rlimit kept;

    (void)state;
    put_tool("nvdisasm", PRINT);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    for (rlim_t most = 3; rc < 0; most++) {
        struct ws_ctx *ctx = t_ctx(NULL);
        struct rlimit few = {most, kept.rlim_max};

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        rc = read_with(ctx, 20 * SECOND, 10000);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
        assert_int_equal(t_count_fds(), before);
        if (rc == WS_EIO) {
            assert_non_null(strstr(ws_ctx_error(ctx)->message, "Too many"));
            assert_non_null(strstr(ws_ctx_error(ctx)->hint, "ulimit -n"));
            failed++;
        } else if (rc < 0) {
            assert_int_equal(rc, WS_ENOTSUP);
        }
        ws_ctx_free(ctx);
    }
    assert_true(failed >= 5); /* the image, a pipe, a pair of sockets */
    drop_tools();
}

/* Those on the PATH, and what `make deps-cupti` installed. */
static void where_tools_are(char *out, size_t n)
{
    const char *path = getenv("PATH");
    glob_t found;

    snprintf(out, n, "%s", path ? path : "");
    if (!glob("build/venv-cupti/lib/python*/site-packages/nvidia/cu13/bin", 0,
              NULL, &found)) {
        char full[PATH_MAX];

        if (realpath(found.gl_pathv[0], full))
            snprintf(out, n, "%s:%s", full, path ? path : "");
        globfree(&found);
    }
}

/* A real disassembler on a real image. */
static void real(void **state)
{
    static const char *const IMAGES[] = {
        "tests/data/triton/twice.triton/sm_90/move_5f432acb42e00c1e.cubin"};
    const char *root = getenv("WS_ROOT");
    struct ws_ctx *ctx = t_ctx(NULL);
    char path[4096], folders[8192], *image;
    struct ws__sass *s;
    size_t n;
    int rc;

    (void)state;
    where_tools_are(folders, sizeof(folders));
    snprintf(path, sizeof(path), "%s/%s", root ? root : ".", IMAGES[0]);
    assert_int_equal(ws__fs_read(ctx, path, 1 << 24, &image, &n), 0);
    rc = ws__sass_read(ctx, folders, image, n, &s);
    ws__free(ctx, image);
    if (rc == WS_ENOTSUP) {
        ws_ctx_free(ctx);
        SKIP("no disassembler of the CUDA toolkit ('make deps-cupti' installs "
             "one)");
    }
    assert_int_equal(rc, 0);
    assert_int_equal(s->n, 1);
    assert_true(s->function[0].total > 10);
    assert_int_equal(s->function[0].count[WS__SASS_OTHER], 0);
    assert_int_equal(s->function[0].count[WS__SASS_LOCAL_LD], 0);
    assert_true(s->function[0].count[WS__SASS_BRANCH] > 0);
    ws__sass_free(s);
    ws_ctx_free(ctx);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/t_sass.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    drop_tools();
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nvdisasm_text),
                                       cmocka_unit_test(cuobjdump_text),
                                       cmocka_unit_test(no_instruction),
                                       cmocka_unit_test(sums),
                                       cmocka_unit_test(tools),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(torture),
                                       cmocka_unit_test(descriptors),
                                       cmocka_unit_test(real)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
