/*
 * t_hostile.c: kernels that mean harm, on the OpenCL device. Where it is a
 * processor they run in the worker's process and do system calls by inline
 * assembly; they write where they like, exhaust stack, memory, time and output,
 * and talk to the tool in the worker's place. Each must end in a verdict; what
 * must not change (files, modes, other processes) has not; the same evaluator
 * then finds a good kernel good; and in the end no process is left.
 */
#include "measure/t_measure_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define MARK "WS_T_HOSTILE"

#ifdef __SANITIZE_ADDRESS__
#define ASAN_RUNS 1
#else
#define ASAN_RUNS 0
#endif

static struct ws_ctx *ctx;
static char folder[] = "/tmp/ws_hostile_XXXXXX", canary[64], cache_dir[64],
            trusted_dir[80];
static volatile sig_atomic_t signals;

/* What each kernel is made of: the attack sets r, in one thread. Assembly is
 * refused before a source comes here (spec_source.c); these go on as if it were
 * not. */
#define HEAD                                                                   \
    "#undef asm\n#undef __asm__\n"                                             \
    "static long sc(long n, long a, long b, long c)\n"                         \
    "{\n"                                                                      \
    "    long r;\n"                                                            \
    "    __asm__ volatile(\"xor %%%%r10, %%%%r10\\n syscall\" : \"=a\"(r)\n"   \
    "        : \"a\"(n), \"D\"(a), \"S\"(b), \"d\"(c)\n"                       \
    "        : \"rcx\", \"r10\", \"r11\", \"memory\");\n"                      \
    "    return r;\n"                                                          \
    "}\n"                                                                      \
    "#define S(text) ((long)(__constant char *)(text))\n"
#define KERNEL                                                                 \
    "__kernel void k(__global float *A, __global float *C, int N)\n"           \
    "{\n"                                                                      \
    "    int i = get_global_id(0);\n"                                          \
    "    long r = 7777;\n"                                                     \
    "    if (i == 0) { %s }\n"                                                 \
    "    C[i] = i == 0 && r != 7777 ? (float)r : 2.0f * A[i];\n"               \
    "}\n"

static const char good[] =
    "__kernel void k(__global float *A, __global float *C, int N)\n"
    "{ int i = get_global_id(0); C[i] = 2.0f * A[i]; }\n";

/* --- the world around ------------------------------------------------------
 */

static void on_signal(int sig)
{
    (void)sig;
    signals++;
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void make_world(void)
{
    FILE *f;

    chmod(canary, 0600);
    f = fopen(canary, "w");
    assert_non_null(f);
    fputs("intact", f);
    fclose(f);
    assert_int_equal(chmod(canary, 0600), 0);
    signals = 0;
}

/* The canary is as it was, and alone with the caches. */
static void look_around(const char *name)
{
    char text[16] = "";
    size_t n = 0;
    struct stat st;
    struct dirent *e;
    DIR *d = opendir(folder);
    FILE *f = fopen(canary, "r");

    while (d && (e = readdir(d)) != NULL)
        n += e->d_name[0] != '.';
    closedir(d);
    if (n != 3 || !f || !fgets(text, sizeof(text), f) ||
        strcmp(text, "intact") || stat(canary, &st) ||
        (st.st_mode & 0777) != 0600 || signals)
        fail_msg("%s: has changed the world (%zu files, '%s', %d signals)",
                 name, n, text, (int)signals);
    fclose(f);
}

/* Processes that came from this one, by what stands in their environment. */
static int count_marked(bool tell)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    int found = 0;

    while (d && (e = readdir(d)) != NULL) {
        static char env[1 << 17];
        char path[300];
        long pid = strtol(e->d_name, NULL, 10);
        ssize_t n;
        int fd;

        if (pid <= 0 || pid == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
        fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        n = read(fd, env, sizeof(env));
        close(fd);
        if (n <= 0 || !memmem(env, (size_t)n, folder, strlen(folder)))
            continue;
        found++;
        if (tell)
            print_message("# process %ld is left\n", pid);
    }
    if (d)
        closedir(d);
    return found;
}

/* What was killed may take a moment to be gone. */
static void nobody_is_left(void)
{
    for (int i = 0; i < 50 && count_marked(false); i++)
        ws__sleep_ns(100000000);
    assert_int_equal(count_marked(true), 0);
}

/* --- questions --------------------------------------------------------------
 */

static struct t_case *make_case(const char *source)
{
    struct t_case *c = t_case_new(ctx, source);
    struct ws__launch *l;

    assert_non_null(c);
    c->kernel.dialect = WS__DIALECT_OPENCL;
    l = &c->kernel.launch[0];
    l->narg = 3;
    l->arg[2].kind = WS__ARG_VALUE;
    l->arg[2].dtype = WS__DT_I32;
    l->arg[2].expr = t_expr(c, "N");
    return c;
}

static struct ws__measure *open_or_skip(struct t_case *c, uint64_t build_s)
{
    const struct ws__measure_opts opts = {
        .builders = 1,
        .cache = WS__CACHE_WARM,
        .seed = 3,
        .build_limit_ns = build_s * 1000000000u,
        .run_limit_ns = 2000000000u,
    };
    struct ws__measure *m = NULL;
    int rc = t_measure_open(c, &opts, &m);

    if (rc == 0 && ws__measure_device(m)->id.is_cpu)
        return m;
    ws__measure_close(m);
    t_case_free(c);
    if (rc == 0 || rc == WS_ENODEVICE || rc == WS_ENODRIVER)
        SKIP("no OpenCL device on a processor");
    fail_msg("%s", ctx->err.message);
    return NULL;
}

/* Asks for one text; the case is used again with another one. */
static int ask(struct t_case *c, struct ws__measure *m, const char *source,
               struct ws__trial t[2])
{
    struct ws__question q = t_question(1, 0, 0);

    c->kernel.source = source;
    return t_answer(m, &q, t);
}

static void must_be_good(struct t_case *c, struct ws__measure *m,
                         const char *after)
{
    struct ws__trial t[2];
    int rc = ask(c, m, good, t);

    if (rc < 0 || t[0].verdict != WS__V_OK)
        fail_msg("after '%s': %s %s", after,
                 rc < 0 ? ws_ctx_error(ctx)->message
                        : ws__verdict_key(t[0].verdict),
                 t[0].reason ? t[0].reason : "");
    t_clear(ctx, t);
}

/* --- system calls ------------------------------------------------------------
 */

/* A call on the canary, opened for reading. */
#define ON_FILE(call)                                                          \
    "{ long f = sc(2, S(\"%1$s\"), 0, 0), v[8] = {0};"                         \
    " r = f < 0 ? 0 : " call "; sc(3, f, 0, 0); }"

/* Each with arguments that do no harm: 0 or the first that the kernel saw. */
#define EACH(numbers)                                                          \
    "{ const short n[] = {" numbers "}; r = -1;"                               \
    " for (unsigned j = 0; j < sizeof(n) / sizeof(*n); j++)"                   \
    " if (sc(n[j], -1, -1, -1) != -1) r = n[j]; }"

/* Not by newer versions of Landlock alone, which answers -13. */
#define BY_FILTER " if (r == -13) r = 0;"

/* Numbers of x86-64. %1$s: the canary, %2$s: a file that is not there, %3$d:
 * this process, %4$s: the folder of both. */
static const struct {
    const char *name, *body;
} forbidden[] = {
    {"makes a file", "r = sc(2, S(\"%2$s\"), 0101, 0644);"},
    {"opens to write", "r = sc(2, S(\"%1$s\"), 01, 0);"},
    {"opens to cut", "r = sc(2, S(\"%1$s\"), 01000, 0);" BY_FILTER},
    {"opens to cut, oddly", "r = sc(2, S(\"%1$s\"), 01003, 0);" BY_FILTER},
    {"opens to cut, at", "r = sc(257, -100, S(\"%1$s\"), 01000);" BY_FILTER},
    {"opens in another way",
     "r = sc(437, -100, S(\"%1$s\"), 0); if (r == -38) r = -1;"},
    {"truncates", "r = sc(76, S(\"%1$s\"), 0, 0);" BY_FILTER},
    {"writes to the cache of trusted kernels",
     "r = sc(2, S(\"%4$s/cache.trusted/x\"), 0101, 0644);"},
    {"makes a file immutable", ON_FILE("sc(16, f, 0x40086602, (long)v)")},
    {"types for another", ON_FILE("sc(16, f, 0x5412, (long)v)")},
    {"asks for signals", ON_FILE("sc(16, f, 0x5452, (long)v)")},
    {"locks", ON_FILE("sc(72, f, 6, (long)v)")},
    {"waits for a lock", ON_FILE("sc(72, f, 7, (long)v)")},
    {"locks openly", ON_FILE("sc(72, f, 37, (long)v)")},
    {"locks as a whole", ON_FILE("sc(73, f, 5, 0)")},
    {"sends signals by a file", ON_FILE("sc(72, f, 8, %3$d)")},
    {"names the signal", ON_FILE("sc(72, f, 10, 10)")},
    {"takes a lease", ON_FILE("sc(72, f, 1024, 0)")},
    {"watches a folder",
     "{ long f = sc(2, S(\"%4$s\"), 0, 0); r = sc(72, f, 1026, 4);"
     " sc(3, f, 0, 0); }"},
    {"moves another to a processor",
     "{ long v = -1; r = sc(203, %3$d, 8, (long)&v); }"},
    {"schedules another", "{ int v = 0; r = sc(144, %3$d, 0, (long)&v); }"},
    {"sets another's priority",
     "{ int v = 0; r = sc(142, %3$d, (long)&v, 0);}"},
    {"schedules another in detail",
     "{ long v[8] = {48}; r = sc(314, %3$d, (long)v, 0); }"},
    {"mounts in new ways", EACH("428, 429, 430, 431, 432, 433, 442")},
    {"goes by handles, quotas and events",
     EACH("303, 304, 179, 443, 300, 301, 298, 321, 323, 306")},
    {"uses keys", EACH("248, 249, 250")},
    {"changes the system",
     EACH("246, 320, 175, 313, 176, 155, 167, 168, 169, 164, 227, 163, 153")},
    {"uses what processes share", EACH("29, 30, 31, 64, 65, 66, 220, 68, 69,"
                                       " 70, 71, 240, 241")},
    {"advises or moves another", EACH("440, 448, 279, 256")},
    {"shares its processor", "r = sc(157, 62, 1, %3$d);"},
    {"has a child for its parent",
     "r = sc(56, 0x8011, 0, 0); if (!r) sc(231, 0, 0, 0);"},
    {"changes a mode in a new way", EACH("452")},
    {"calls what is newer", "r = sc(463, 0, 0, 0); r = r == -38 ? -1 : 0;"},
    {"removes", "r = sc(87, S(\"%1$s\"), 0, 0);"},
    {"renames", "r = sc(82, S(\"%1$s\"), S(\"%2$s\"), 0);"},
    {"links", "r = sc(86, S(\"%1$s\"), S(\"%2$s\"), 0);"},
    {"makes a link", "r = sc(88, S(\"/etc\"), S(\"%2$s\"), 0);"},
    {"makes a folder", "r = sc(83, S(\"%2$s\"), 0755, 0);"},
    {"makes a pipe", "r = sc(133, S(\"%2$s\"), 010644, 0);"},
    {"changes a mode", "r = sc(90, S(\"%1$s\"), 0777, 0);"},
    {"changes an owner", "r = sc(92, S(\"%1$s\"), 1, 1);"},
    {"changes a time", "r = sc(280, -100, S(\"%1$s\"), 0);"},
    {"sets an attribute", "r = sc(188, S(\"%1$s\"), S(\"user.a\"), 0);"},
    {"asks for the network", "r = sc(41, 2, 1, 0);"},
    {"asks for a local socket", "r = sc(41, 1, 1, 0);"},
    {"sends a signal", "r = sc(62, %3$d, 10, 0);"},
    {"sends a signal to a thread", "r = sc(234, %3$d, %3$d, 10);"},
    {"traces", "r = sc(101, 16, %3$d, 0);"},
    {"reads another's memory", "r = sc(310, %3$d, 0, 0);"},
    {"opens another's memory", "r = sc(2, S(\"/proc/%3$d/mem\"), 2, 0);"},
    {"leaves its group", "r = sc(109, 0, 0, 0);"},
    {"begins a session", "r = sc(112, 0, 0, 0);"},
    {"takes namespaces", "r = sc(272, 0x10020000, 0, 0);"},
    {"mounts", "r = sc(165, S(\"none\"), S(\"/mnt\"), S(\"tmpfs\"));"},
    {"outlives the tool", "r = sc(157, 1, 0, 0);"},
    {"asks for a ring", "r = sc(425, 4, 0, 0);"},
    {"limits another", "r = sc(302, %3$d, 0, 0);"},
    {"loads a filter", "r = sc(321, 5, 0, 0);"},
};

#define ALL_DENIED (-1000)

/* All of them in one kernel, since building takes longest: r is the number of
 * the first that was not denied. */
static void write_calls(char *source, size_t n)
{
    static char body[24000];
    char none[80];
    size_t used = (size_t)snprintf(body, sizeof(body), "long bad = 0;\n");

    snprintf(none, sizeof(none), "%s/pwned", folder);
    for (size_t i = 0; i < WS_COUNT(forbidden); i++) {
        used += (size_t)snprintf(body + used, sizeof(body) - used,
                                 forbidden[i].body, canary, none, (int)getpid(),
                                 folder);
        used += (size_t)snprintf(body + used, sizeof(body) - used,
                                 " if (!bad && r != -%d && r != -%d)"
                                 " bad = %zu;\n",
                                 EPERM, EACCES, i + 1);
    }
    snprintf(body + used, sizeof(body) - used, "r = bad ? bad : %d;",
             ALL_DENIED);
    snprintf(source, n, HEAD KERNEL, body);
}

static void calls_are_denied(void **state)
{
    static char source[28000];
    struct t_case *c = make_case(good);
    struct ws__measure *m = open_or_skip(c, 10);
    struct ws__trial t[2];
    long got;

    (void)state;
#ifndef __x86_64__
    ws__measure_close(m);
    t_case_free(c);
    SKIP("system calls of another architecture");
#endif
    make_world();
    write_calls(source, sizeof(source));
    if (ask(c, m, source, t) < 0)
        fail_msg("%s", ctx->err.message);
    got = (long)t[0].mismatch.first_got;
    if (t[0].verdict != WS__V_WRONG || got != ALL_DENIED)
        fail_msg("verdict %s, the call that went through: %s (%ld): %s",
                 ws__verdict_key(t[0].verdict),
                 got > 0 && got <= (long)WS_COUNT(forbidden)
                     ? forbidden[got - 1].name
                     : "?",
                 got, t[0].reason ? t[0].reason : "");
    t_clear(ctx, t);
    look_around("calls");
    must_be_good(c, m, "calls");
    ws__measure_close(m);
    t_case_free(c);
    nobody_is_left();
}

/* --- the reference
 */

static int count_one(const char *path, const struct stat *st, int flag,
                     struct FTW *ftw)
{
    (void)path;
    (void)st;
    (void)ftw;
    return flag == FTW_F ? 1 : 0;
}

/* What a driver keeps is code, and what a candidate may write to is no place
 * for that of the kernel that judges it. */
static void a_trusted_kernel_has_its_own_cache(void **state)
{
    struct t_case *c = make_case(good);
    struct ws__kernel trusted = c->kernel;
    struct ws__measure *m;

    (void)state;
    trusted.name = "trusted";
    trusted.source =
        "__kernel void k(__global float *A, __global float *C, int N)\n"
        "{ int i = get_global_id(0); C[i] = A[i] + A[i]; }\n";
    c->op.trusted.kernel = &trusted;
    make_world();
    assert_int_equal(nftw(trusted_dir, count_one, 16, FTW_PHYS), 0);
    m = open_or_skip(c, 10);
    must_be_good(c, m, "nothing");
    assert_int_equal(nftw(trusted_dir, count_one, 16, FTW_PHYS), 1);
    ws__measure_close(m);
    t_case_free(c);
    look_around("a trusted kernel");
}

/* --- everything else
 * ---------------------------------------------------------- */

#define V(x) (1u << WS__V_##x)
#define ENDS (V(CRASH) | V(HANG))
#define QUICK (1u << 31)

/* verdicts: those that are right; QUICK: tried even without WS_SOAK. */
static const struct {
    const char *name, *body;
    unsigned verdicts;
} hostile[] = {
    {"writes to null", "*(volatile __global int *)(long)(r - 7777) = 1;",
     V(CRASH)},
    {"writes far away",
     "*(volatile __global int *)(0x10000000000 + r * 4096) = 1;", V(CRASH)},
    {"writes before", "for (long k = 1; k < 1 << 24; k++) C[-k] = 1.0f;",
     ENDS | V(WRONG)},
    {"writes behind", "for (long k = 1; k < 1 << 24; k++) C[N + k] = 1.0f;",
     ENDS | V(WRONG) | QUICK},
    {"has no stack left",
     "volatile float x[1 << 22]; for (int k = 0; k < 1 << 22; k++) x[k] = k;"
     "C[1] = x[N];",
     ENDS | V(WRONG) | V(OK) | V(BUILD) | V(LAUNCH)},
    {"smashes the stack",
     "volatile char x[16]; volatile char *p = x;"
     "for (int k = 0; k < 1 << 20; k++) p[k] = 65;",
     ENDS | QUICK},
    {"jumps away", "__asm__ volatile(\"xor %%rax, %%rax; jmp *%%rax\");",
     V(CRASH)},
    {"traps", "__builtin_trap();", V(CRASH)},
    {"divides by zero",
     "__asm__ volatile(\"xor %%%%ecx, %%%%ecx; idiv %%%%ecx\""
     " ::: \"rcx\", \"rdx\", \"rax\");",
     V(CRASH) | V(OK) /* this driver steps over it */},
    {"ends its thread", "sc(60, 0, 0, 0);", ENDS},
    {"ends the process", "sc(231, 0, 0, 0);", V(CRASH) | QUICK},
    {"closes the socket", "sc(3, 3, 0, 0);", ENDS},
    {"closes everything", "for (int k = 0; k < 99; k++) sc(3, k, 0, 0);",
     ENDS | V(WRONG) | V(OK) | V(BUILD) | V(LAUNCH)},
    {"answers rubbish", "sc(1, 3, S(\"0123456789abcdefghij\"), 20);",
     V(CRASH) | QUICK},
    {"answers without end",
     "sc(1, 3, S(\"\\377\\377\\377\\003\\034\\0\\0\\0\"), 8);"
     "for (;;) sc(1, 3, (long)C, 64);",
     ENDS},
    {"half an answer", "sc(1, 3, S(\"\\100\\0\\0\"), 3); for (;;);", ENDS},
    {"prints without end",
     "for (;;) printf(\"and another line of what nobody reads\\n\");", V(HANG)},
    {"writes to the error output",
     "for (int k = 0; k < 100000; k++) sc(1, 2, (long)A, 256);"
     "*(volatile __global int *)(long)(r - 7777) = 1;",
     V(CRASH)},
    {"runs for ever", "while (((volatile __global float *)A)[0] != -1.5f);",
     V(HANG)},
    {"runs for ever, checked only",
     "if (A[1] != 0) while (((volatile __global float *)A)[0] != -1.5f);",
     V(HANG) | QUICK},
    {"starts a child", "if (!sc(57, 0, 0, 0)) for (;;) sc(34, 0, 0, 0);",
     V(OK) | ENDS | V(WRONG)},
    {"starts many",
     "for (int k = 0; k < 40; k++) if (!sc(57, 0, 0, 0))"
     " for (;;) sc(34, 0, 0, 0);",
     V(OK) | ENDS | V(WRONG) | QUICK},
    {"starts a shell",
     "if (!sc(57, 0, 0, 0)) { long v[4] = {S(\"/bin/sh\"), S(\"-c\"),"
     " S(\"echo x >%s/pwned; sleep 1000\"), 0};"
     " sc(59, v[0], (long)v, 0); sc(231, 1, 0, 0); }",
     V(OK) | ENDS | V(WRONG)},
    {"becomes a shell",
     "long v[4] = {S(\"/bin/sh\"), S(\"-c\"),"
     " S(\"echo x >%s/pwned; kill -9 $PPID; sleep 1000\"), 0};"
     " sc(59, v[0], (long)v, 0);",
     ENDS},
    {"takes all memory",
     "for (;;) { long p = sc(9, 0, 1 << 28, 3); /* never succeeds: flags 0 */"
     " if (p < 0) break; } r = 1;",
     V(WRONG)},
    {"blocks signals and waits",
     "sc(14, 2, (long)A, 0); for (;;) sc(34, 0, 0, 0);", V(HANG)},
};

static void each_gets_a_verdict(void **state)
{
    struct t_case *c = make_case(good);
    struct ws__measure *m = open_or_skip(c, 10);

    (void)state;
#ifndef __x86_64__
    ws__measure_close(m);
    t_case_free(c);
    SKIP("system calls of another architecture");
#endif
    for (size_t i = 0; i < WS_COUNT(hostile); i++) {
        if (!(hostile[i].verdicts & QUICK) && !getenv("WS_SOAK"))
            continue;
        static char body[2000], source[6000];
        uint64_t t0 = ws__now_ns();
        struct ws__trial t[2];

        make_world();
        snprintf(body, sizeof(body), hostile[i].body, folder);
        snprintf(source, sizeof(source), HEAD KERNEL, body);
        if (ask(c, m, source, t) < 0)
            fail_msg("%s: %s", hostile[i].name, ctx->err.message);
        print_message("# %s: %s: %.120s (%.1f s)\n", hostile[i].name,
                      ws__verdict_key(t[0].verdict),
                      t[0].reason ? t[0].reason : "",
                      (double)(ws__now_ns() - t0) * 1e-9);
        if (!(hostile[i].verdicts & (1u << t[0].verdict)))
            fail_msg("%s: verdict %s: %s", hostile[i].name,
                     ws__verdict_key(t[0].verdict),
                     t[0].reason ? t[0].reason : "");
        t_clear(ctx, t);
        must_be_good(c, m, hostile[i].name);
        look_around(hostile[i].name);
    }
    ws__measure_close(m);
    t_case_free(c);
    nobody_is_left();
}

/* --- the compiler
 * --------------------------------------------------------------- */

/* In a process whose memory is limited, so that the machine bears it. */
static const char *const endless[] = {
    /* 2 to the 40th words */
    "#define a0 1 +\n#define a1 a0 a0 a0 a0\n#define a2 a1 a1 a1 a1\n"
    "#define a3 a2 a2 a2 a2\n#define a4 a3 a3 a3 a3\n#define a5 a4 a4 a4 a4\n"
    "#define a6 a5 a5 a5 a5\n#define a7 a6 a6 a6 a6\n#define a8 a7 a7 a7 a7\n"
    "#define a9 a8 a8 a8 a8\n#define b0 a9 a9 a9 a9\n#define b1 b0 b0 b0 b0\n"
    "__kernel void k(__global float *A, __global float *C, int N)\n"
    "{ C[0] = b1 b1 b1 1; }\n",
    /* a table of 256 MB */
    "__constant int t[1 << 26] = {[(1 << 26) - 1] = 1};\n"
    "__kernel void k(__global float *A, __global float *C, int N)\n"
    "{ C[0] = t[N]; }\n",
    /* a chain of types */
    "typedef struct { int x[2]; } s0; typedef struct { s0 x[1 << 9]; } s1;\n"
    "typedef struct { s1 x[1 << 9]; } s2; typedef struct { s2 x[512]; } s3;\n"
    "__kernel void k(__global float *A, __global float *C, int N)\n"
    "{ s3 v; s3 w = v; C[0] = w.x[N].x[1].x[2].x[0]; }\n",
    "#pragma OPENCL\n#error \n#line 1 \"/dev/zero\"\n#warning x\n#if (\n",
    "",
};

static int compile_all(void)
{
    struct rlimit limit = {(rlim_t)3 << 30, (rlim_t)3 << 30};
    struct t_case *c = make_case(good);
    bool all = getenv("WS_SOAK") != NULL;
    struct ws__measure *m;
    struct ws__trial t[2];

    if (setrlimit(RLIMIT_AS, &limit))
        return 1;
    m = open_or_skip(c, 6);
    for (size_t i = 0; i < (all ? WS_COUNT(endless) : 1); i++) {
        if (ask(c, m, endless[i], t) < 0) {
            print_message("# %zu: %s\n", i, ctx->err.message);
            return 2;
        }
        print_message("# compiles for ever %zu: %s: %.120s\n", i,
                      ws__verdict_key(t[0].verdict),
                      t[0].reason ? t[0].reason : "");
        if (t[0].verdict == WS__V_OK || t[0].verdict == WS__V_NONE)
            return 3;
        t_clear(ctx, t);
    }
    ws__measure_close(m);
    m = open_or_skip(c, 10);
    must_be_good(c, m, "compiling");
    ws__measure_close(m);
    t_case_free(c);
    return 0;
}

static void the_compiler_is_borne(void **state)
{
    struct t_case *c = make_case(good);
    struct ws__measure *m = open_or_skip(c, 10);
    int status = 0;
    pid_t pid;

    (void)state;
    ws__measure_close(m);
    t_case_free(c);
    if (ASAN_RUNS)
        SKIP("the sanitiser needs more addresses than a limit leaves");
    fflush(NULL);
    pid = fork();
    if (!pid) {
        status = compile_all();
        fflush(NULL);
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    nobody_is_left();
}

/* --- the whole
 * -------------------------------------------------------------------- */

static int setup(void **state)
{
    struct ws_ctx_opts o = {.size = sizeof(o), .cache_dir = cache_dir};

    (void)state;
    if (!mkdtemp(folder) || setenv(MARK, folder, 1))
        return -1;
    snprintf(canary, sizeof(canary), "%s/canary", folder);
    snprintf(cache_dir, sizeof(cache_dir), "%s/cache", folder);
    snprintf(trusted_dir, sizeof(trusted_dir), "%s.trusted", cache_dir);
    if (mkdir(trusted_dir, 0700))
        return -1;
    signal(SIGUSR1, on_signal);
    ctx = ws_ctx_new(&o);
    memset(&t_script, 0, sizeof(t_script));
    t_script.inner = "opencl";
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_denied),
        cmocka_unit_test(a_trusted_kernel_has_its_own_cache),
        cmocka_unit_test(each_gets_a_verdict),
        cmocka_unit_test(the_compiler_is_borne),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
