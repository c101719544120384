/*
 * fake_build.c: runs the host's compiler for the fakes of NVRTC and of the
 * driver (which compiles PTX).
 *
 * Two runs: the first only expands macros, so that fake_text.c sees the
 * kernels as they are; the second compiles to a shared library. The result
 * gets the head of a cubin: its machine, and in its flags the architecture.
 */
#include "tests/fakecuda/fake.h"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cuda/cuda_nvrtc.h"

#ifndef FAKE_SHIM
#error "FAKE_SHIM names fake_shim.h"
#endif

#define MAX_ARGS 128

extern char **environ;

struct job {
    char dir[200], text[256], out[256], log[256];
    const char *arg[MAX_ARGS];
    size_t narg;
};

static void add(struct job *j, const char *arg)
{
    if (j->narg + 1 < MAX_ARGS)
        j->arg[j->narg++] = arg;
    j->arg[j->narg] = NULL;
}

/* Its exit code, or -1 if there is no compiler. */
static int run(struct job *j)
{
    posix_spawn_file_actions_t to;
    int status = 0, rc;
    pid_t pid;

    posix_spawn_file_actions_init(&to);
    posix_spawn_file_actions_addopen(&to, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&to, 2, j->log,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    rc = posix_spawnp(&pid, j->arg[0], &to, NULL,
                      (char *const *)(uintptr_t)j->arg, environ);
    posix_spawn_file_actions_destroy(&to);
    if (rc || waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* malloc, with a NUL behind it; NULL: not there. */
static char *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    long n = -1;

    if (f && !fseek(f, 0, SEEK_END))
        n = ftell(f);
    if (n >= 0) {
        rewind(f);
        text = calloc(1, (size_t)n + 1);
        *bytes = fread(text, 1, (size_t)n, f);
    }
    if (f)
        fclose(f);
    return text;
}

static bool write_file(const char *path, const char *a, const char *b)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return false;
    fputs(a, f);
    fputs(b, f);
    return fclose(f) == 0;
}

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* 90 of "sm_90a"; 0: PTX, whose options name a virtual one. */
static unsigned arch_of(const char *const *option, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *sm = strstr(option[i], "sm_");

        if (sm)
            return (unsigned)atoi(sm + 3);
    }
    return (unsigned)fake_setting("FAKECUDA_CAPABILITY", 90);
}

/* Its headers are for other compilers. */
static bool is_toolkit(const char *option)
{
    return starts(option, "-I") && strstr(option, "/cuda");
}

/* Options of NVRTC: what is the same here, what means nothing here. */
static int add_options(struct job *j, const char *const *option, size_t n)
{
    static const char *const same[] = {"-D", "-U", "-I", "-O"};
    static const char *const nothing[] = {"--gpu-architecture=",
                                          "-arch=",
                                          "--std=",
                                          "-std=",
                                          "--pch",
                                          "-pch",
                                          "--use_fast_math",
                                          "-use_fast_math",
                                          "--ftz=",
                                          "-ftz=",
                                          "--fmad=",
                                          "-fmad=",
                                          "--prec-",
                                          "-prec-",
                                          "--maxrregcount=",
                                          "-maxrregcount=",
                                          "--extra-device-vectorization",
                                          "--generate-line-info",
                                          "-lineinfo",
                                          "--device-as-default-execution-space",
                                          "-default-device",
                                          "-w",
                                          "--ptxas-options",
                                          "-Xptxas",
                                          "--restrict",
                                          "--minimal",
                                          "--split",
                                          "--display-error-number",
                                          "--no-display-error-number",
                                          "-diag",
                                          "--diag",
                                          "--device-int128",
                                          "--brief-diagnostics",
                                          "--no-cache",
                                          "--frandom-seed=",
                                          "--relocatable"};

    for (size_t i = 0; i < n; i++) {
        bool known = false;

        for (size_t k = 0; k < sizeof(same) / sizeof(*same); k++)
            if (starts(option[i], same[k])) {
                known = true;
                if (is_toolkit(option[i]))
                    break;
                add(j, option[i]);
            }
        if (starts(option[i], "--include-path=")) {
            add(j, "-I");
            add(j, strchr(option[i], '=') + 1);
            known = true;
        }
        if (starts(option[i], "--define-macro=")) {
            add(j, "-D");
            add(j, strchr(option[i], '=') + 1);
            known = true;
        }
        for (size_t k = 0; k < sizeof(nothing) / sizeof(*nothing); k++)
            known = known || starts(option[i], nothing[k]);
        if (!known)
            return NVRTC__E_INVALID_OPTION;
    }
    return 0;
}

static int preprocess(struct job *j, const char *name, const char *source,
                      const char *const *option, size_t noption)
{
    char line[300];
    int e;

    snprintf(line, sizeof(line), "#line 1 \"%s\"\n", name ? name : "default");
    if (!write_file(j->text, line, source))
        return NVRTC__E_OUT_OF_MEMORY;
    j->narg = 0;
    add(j, "gcc");
    add(j, "-x");
    add(j, "c++");
    add(j, "-E");
    add(j, "-undef");
    add(j, "-nostdinc");
    add(j, "-D__CUDACC_RTC__=1");
    add(j, "-D__CUDACC__=1");
    add(j, "-D__CUDA_ARCH__=900");
    add(j, "-I");
    add(j, j->dir);
    e = add_options(j, option, noption);
    if (e)
        return e;
    add(j, "-o");
    add(j, j->out);
    add(j, j->text);
    e = run(j);
    return e < 0 ? NVRTC__E_BUILTIN_OPERATION_FAILURE
           : e   ? NVRTC__E_COMPILATION
                 : 0;
}

static int compile(struct job *j, const char *const *expr, size_t nexpr)
{
    static const char *const args[] = {"gcc",
                                       "-x",
                                       "c++",
                                       "-std=c++17",
                                       "-O1",
                                       "-w",
                                       "-fPIC",
                                       "-shared",
                                       "-fno-exceptions",
                                       "-fno-rtti",
                                       "-fvisibility=hidden",
                                       "-ffreestanding",
                                       "-fno-builtin",
                                       "-fno-stack-protector",
                                       "-fno-math-errno",
                                       "-fsanitize=alignment",
                                       "-Wl,--build-id=none",
                                       "-fsanitize-undefined-trap-on-error",
                                       "-o"};
    size_t bytes = 0;
    char *text = read_file(j->out, &bytes), *cxx;
    bool written;
    int e;

    if (!text)
        return NVRTC__E_INTERNAL_ERROR;
    cxx = fake_translate(text, expr, nexpr);
    written = write_file(j->text, "#include \"" FAKE_SHIM "\"\n", cxx);
    free(cxx);
    free(text);
    if (!written)
        return NVRTC__E_OUT_OF_MEMORY;
    j->narg = 0;
    for (size_t i = 0; i < sizeof(args) / sizeof(*args); i++)
        add(j, args[i]);
    add(j, j->out);
    add(j, j->text);
    add(j, "-lm");
    e = run(j);
    return e < 0 ? NVRTC__E_BUILTIN_OPERATION_FAILURE
           : e   ? NVRTC__E_COMPILATION
                 : 0;
}

/* Beside the text, or away again. */
static void put_headers(const struct job *j, const struct fake_header *h,
                        size_t n, bool there)
{
    for (size_t i = 0; i < n; i++) {
        char path[300];

        snprintf(path, sizeof(path), "%s/%.80s", j->dir, h[i].name);
        if (there)
            write_file(path, h[i].text, "");
        else
            unlink(path);
    }
}

static void make_cubin(void *image, unsigned arch)
{
    Elf64_Ehdr *head = image;

    head->e_ident[EI_NIDENT - 1] = (unsigned char)head->e_machine;
    head->e_machine = EM_CUDA;
    head->e_flags = arch;
}

int fake_compile(const char *name, const char *source,
                 const char *const *option, size_t noption,
                 const char *const *expr, size_t nexpr,
                 const struct fake_header *header, size_t nheader, void **image,
                 size_t *bytes, char **log)
{
    const char *tmp = getenv("TMPDIR");
    struct job j = {.narg = 0};
    size_t n;
    int e;

    *image = NULL;
    *log = NULL;
    snprintf(j.dir, sizeof(j.dir), "%.150s/fakecuda-XXXXXX",
             tmp ? tmp : "/tmp");
    if (!mkdtemp(j.dir))
        return NVRTC__E_OUT_OF_MEMORY;
    snprintf(j.text, sizeof(j.text), "%s/text", j.dir);
    snprintf(j.out, sizeof(j.out), "%s/out", j.dir);
    snprintf(j.log, sizeof(j.log), "%s/log", j.dir);
    put_headers(&j, header, nheader, true);
    e = preprocess(&j, name, source, option, noption);
    if (!e)
        e = compile(&j, expr, nexpr);
    *log = read_file(j.log, &n);
    if (!e) {
        *image = read_file(j.out, bytes);
        e = *image ? 0 : NVRTC__E_INTERNAL_ERROR;
    }
    if (!e)
        make_cubin(*image, arch_of(option, noption));
    put_headers(&j, header, nheader, false);
    unlink(j.text);
    unlink(j.out);
    unlink(j.log);
    rmdir(j.dir);
    return e;
}
