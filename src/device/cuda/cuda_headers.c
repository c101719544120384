/*
 * cuda_headers.c: what `#include <...>` finds.
 *
 * NVRTC brings the language and its built-in functions; <cuda_fp16.h> and the
 * like are files of the toolkit, which must be those of the same version: so
 * they are looked for beside the library that was loaded, in the layouts that
 * installers use, and only then where a toolkit usually is.
 *
 * It brings no C library. The few headers of it that device code includes are
 * small, and what they declare is built in or a handful of types and numbers:
 * they are given to it as texts (ws__cuda_shims), so that a source written for
 * nvcc compiles as it is. The C++ ones stand for the toolkit's own library.
 */
#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "device/cuda/cuda_compiler.h"
#include "base/banned.h"

#define MARK "cuda_fp16.h" /* what is in every toolkit's include folder */

/* --- folders ------------------------------------------------------------- */

static bool has(const char *folder, const char *name)
{
    char path[PATH_MAX + 256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return ws__fs_exists(path);
}

static void mix_file(struct ws__cuda_compiler *c, const char *folder,
                     const char *name)
{
    char path[PATH_MAX + 256];
    struct stat st;

    snprintf(path, sizeof(path), "%s%s%s", folder, *name ? "/" : "", name);
    if (stat(path, &st) < 0)
        return;
    c->identity = ws__hash_str(c->identity, name);
    c->identity = ws__hash_u64(c->identity, (uint64_t)st.st_size);
    c->identity = ws__hash_u64(c->identity, (uint64_t)st.st_mtim.tv_sec);
    c->identity = ws__hash_u64(c->identity, (uint64_t)st.st_mtim.tv_nsec);
}

static int add(struct ws__cuda_compiler *c, const char *folder)
{
    const size_t n = strlen(folder) + sizeof("-I");
    char *text = ws__alloc(c->ctx, n, 1);

    if (!text)
        return WS_ENOMEM;
    snprintf(text, n, "-I%s", folder);
    c->include[c->ninclude++] = text;
    return 0;
}

static int use(struct ws__cuda_compiler *c, const char *folder)
{
    static const char *const marks[] = {MARK, "cuda_runtime_api.h",
                                        "cuda/std/detail/__config",
                                        "cccl/cuda/std/detail/__config"};
    char cccl[PATH_MAX + 8];

    WS_TRY(add(c, folder));
    snprintf(cccl, sizeof(cccl), "%s/cccl", folder);
    if (ws__fs_is_dir(cccl))
        WS_TRY(add(c, cccl));
    for (size_t i = 0; i < WS_COUNT(marks); i++)
        mix_file(c, folder, marks[i]);
    return 0;
}

/* Where the library lies, without links; empty if that is not known. */
static void library_folder(struct ws__cuda_compiler *c, char out[PATH_MAX])
{
    Dl_info info;
    char *slash;

    out[0] = '\0';
    if (!dladdr((void *)(uintptr_t)c->api.Version, &info) ||
        !realpath(info.dli_fname, out)) {
        out[0] = '\0';
        return;
    }
    mix_file(c, out, "");
    slash = strrchr(out, '/');
    *slash = '\0';
}

int ws__cuda_headers_find(struct ws__cuda_compiler *c, const char *folder)
{
    static const char *const beside[] = {
        "../include",
        "../targets/x86_64-linux/include",
        "../../targets/x86_64-linux/include",
        "../../include",
        "../../../include",
        "../../cuda_runtime/include", /* Python wheels of CUDA 12 */
    };
    char lib[PATH_MAX], path[PATH_MAX + 64], real[PATH_MAX];

    library_folder(c, lib);
    if (folder)
        return use(c, folder);
    for (size_t i = 0; *lib && i < WS_COUNT(beside); i++) {
        snprintf(path, sizeof(path), "%s/%s", lib, beside[i]);
        if (has(path, MARK) && realpath(path, real))
            return use(c, real);
    }
    if (has("/usr/local/cuda/include", MARK))
        return use(c, "/usr/local/cuda/include");
    return 0;
}

/* --- the C library ------------------------------------------------------- */

/* The toolkit's own where it has them, in namespace std as well. */
#define OF_TOOLKIT(name)                                                       \
    "#include <cuda/std/" name ">\n"                                           \
    "namespace std { using namespace ::cuda::std; }\n"

static const char shim_int[] =
    "#pragma once\n"
    "#if __has_include(<cuda/std/cstdint>)\n" OF_TOOLKIT(
        "cstdint") "#else\n"
                   "typedef signed char int8_t;\n"
                   "typedef short int16_t;\n"
                   "typedef int int32_t;\n"
                   "typedef long long int64_t;\n"
                   "typedef unsigned char uint8_t;\n"
                   "typedef unsigned short uint16_t;\n"
                   "typedef unsigned int uint32_t;\n"
                   "typedef unsigned long long uint64_t;\n"
                   "typedef long long intptr_t;\n"
                   "typedef unsigned long long uintptr_t;\n"
                   "#endif\n";

static const char shim_def[] =
    "#pragma once\n"
    "#ifndef NULL\n"
    "#define NULL 0\n"
    "#endif\n"
    "#ifndef offsetof\n"
    "#define offsetof(t, m) __builtin_offsetof(t, m)\n"
    "#endif\n"
    "typedef decltype(sizeof(0)) size_t;\n"
    "typedef long ptrdiff_t;\n"
    "namespace std { using ::size_t; "
    "using ::ptrdiff_t; }\n";

static const char shim_limits[] = "#pragma once\n"
                                  "#define CHAR_BIT 8\n"
                                  "#define SCHAR_MIN (-128)\n"
                                  "#define SCHAR_MAX 127\n"
                                  "#define UCHAR_MAX 255\n"
                                  "#define CHAR_MIN SCHAR_MIN\n"
                                  "#define CHAR_MAX SCHAR_MAX\n"
                                  "#define SHRT_MIN (-SHRT_MAX - 1)\n"
                                  "#define SHRT_MAX 0x7fff\n"
                                  "#define USHRT_MAX 0xffff\n"
                                  "#define INT_MIN (-INT_MAX - 1)\n"
                                  "#define INT_MAX 0x7fffffff\n"
                                  "#define UINT_MAX 0xffffffffu\n"
                                  "#define LONG_MIN (-LONG_MAX - 1)\n"
                                  "#define LONG_MAX 0x7fffffffffffffffl\n"
                                  "#define ULONG_MAX 0xfffffffffffffffful\n"
                                  "#define LLONG_MIN (-LLONG_MAX - 1)\n"
                                  "#define LLONG_MAX 0x7fffffffffffffffll\n"
                                  "#define ULLONG_MAX 0xffffffffffffffffull\n";

static const char shim_float[] = "#pragma once\n"
                                 "#define FLT_RADIX 2\n"
                                 "#define FLT_MANT_DIG 24\n"
                                 "#define FLT_DIG 6\n"
                                 "#define FLT_MIN 1.17549435e-38f\n"
                                 "#define FLT_MAX 3.40282347e+38f\n"
                                 "#define FLT_EPSILON 1.19209290e-7f\n"
                                 "#define DBL_MANT_DIG 53\n"
                                 "#define DBL_DIG 15\n"
                                 "#define DBL_MIN 2.2250738585072014e-308\n"
                                 "#define DBL_MAX 1.7976931348623157e+308\n"
                                 "#define DBL_EPSILON 2.2204460492503131e-16\n";

static const char shim_math[] =
    "#pragma once\n"
    "#ifndef INFINITY\n"
    "#define INFINITY (__int_as_float(0x7f800000))\n"
    "#endif\n"
    "#ifndef NAN\n"
    "#define NAN (__int_as_float(0x7fffffff))\n"
    "#endif\n"
    "#ifndef M_PI\n"
    "#define M_PI 3.14159265358979323846\n"
    "#endif\n";

static const char shim_cmath[] =
    "#pragma once\n"
    "#include <math.h>\n"
    "#if __has_include(<cuda/std/cmath>)\n" OF_TOOLKIT("cmath") "#endif\n";

/* What they declare is built in. */
static const char shim_none[] = "#pragma once\n";
static const char shim_std_limits[] = "#pragma once\n" OF_TOOLKIT("limits");
static const char shim_traits[] = "#pragma once\n" OF_TOOLKIT("type_traits");
static const char shim_utility[] = "#pragma once\n" OF_TOOLKIT("utility");

static const struct {
    const char *name, *text;
} shims[] = {
    {"assert.h", shim_none},      {"cassert", shim_none},
    {"cfloat", shim_float},       {"climits", shim_limits},
    {"cmath", shim_cmath},        {"cstddef", shim_def},
    {"cstdint", shim_int},        {"cstdio", shim_none},
    {"float.h", shim_float},      {"limits", shim_std_limits},
    {"limits.h", shim_limits},    {"math.h", shim_math},
    {"stdbool.h", shim_none},     {"stddef.h", shim_def},
    {"stdint.h", shim_int},       {"stdio.h", shim_none},
    {"type_traits", shim_traits}, {"utility", shim_utility},
};

/* A source that includes nothing is handed over as it is. */
int ws__cuda_shims(const char *source, const char *name[WS__CUDA_MAX_SHIMS],
                   const char *text[WS__CUDA_MAX_SHIMS])
{
    int n = 0;

    if (!strstr(source, "include"))
        return 0;
    for (size_t i = 0; i < WS_COUNT(shims); i++) {
        name[n] = shims[i].name;
        text[n++] = shims[i].text;
    }
    return n;
}

struct ws__hash ws__cuda_shims_hash(struct ws__hash h)
{
    for (size_t i = 0; i < WS_COUNT(shims); i++)
        h = ws__hash_str(ws__hash_str(h, shims[i].name), shims[i].text);
    return h;
}
