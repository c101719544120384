/*
 * fake_nvrtc.c: the compiler of fake.h. A cubin is a shared library of the
 * host with another head, PTX is CUDA C with one.
 */
#include "tests/fakecuda/fake.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda/cuda_nvrtc.h"

#define WS_X(name, suffix, args) FAKE_EXPORT int nvrtc##name##suffix args;
NVRTC_FUNCTIONS(WS_X)
#undef WS_X
FAKE_EXPORT const char *nvrtcGetErrorString(int error);

#define MAX_EXPR 32

struct nvrtc_program_s {
    char *source, *name;
    char *expr[MAX_EXPR], *lowered[MAX_EXPR];
    size_t nexpr;
    struct fake_header *header;
    size_t nheader;
    void *image;
    char *ptx, *log;
    size_t bytes;
};

int nvrtcVersion(int *major, int *minor)
{
    TURN();
    *major = 13;
    *minor = 0;
    return 0;
}

static const int archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120};

int nvrtcGetNumSupportedArchs(int *n)
{
    TURN();
    *n = (int)(sizeof(archs) / sizeof(*archs));
    return 0;
}

int nvrtcGetSupportedArchs(int *list)
{
    TURN();
    memcpy(list, archs, sizeof(archs));
    return 0;
}

const char *nvrtcGetErrorString(int error)
{
    return error ? "an error of the fake NVRTC" : "none";
}

int nvrtcCreateProgram(nvrtc_program *out, const char *source, const char *name,
                       int nheader, const char *const *header,
                       const char *const *include)
{
    TURN();
    *out = calloc(1, sizeof(**out));
    (*out)->source = strdup(source);
    (*out)->name = strdup(name ? name : "default_program");
    (*out)->nheader = (size_t)nheader;
    (*out)->header = calloc((size_t)nheader + 1, sizeof(*(*out)->header));
    for (int i = 0; i < nheader; i++)
        (*out)->header[i] =
            (struct fake_header){strdup(include[i]), strdup(header[i])};
    fake_state()->live[FAKE_PROGRAM]++;
    return 0;
}

int nvrtcDestroyProgram(nvrtc_program *program)
{
    nvrtc_program p = *program;

    if (!p)
        return NVRTC__E_INVALID_PROGRAM;
    for (size_t i = 0; i < p->nexpr; i++) {
        free(p->expr[i]);
        free(p->lowered[i]);
    }
    for (size_t i = 0; i < p->nheader; i++) {
        free((char *)(uintptr_t)p->header[i].name);
        free((char *)(uintptr_t)p->header[i].text);
    }
    free(p->header);
    free(p->source);
    free(p->name);
    free(p->image);
    free(p->ptx);
    free(p->log);
    free(p);
    *program = NULL;
    fake_state()->live[FAKE_PROGRAM]--;
    TURN_AFTER();
}

int nvrtcAddNameExpression(nvrtc_program p, const char *expr)
{
    TURN();
    if (p->nexpr == MAX_EXPR)
        return NVRTC__E_OUT_OF_MEMORY;
    p->expr[p->nexpr++] = strdup(expr);
    return 0;
}

/* The names of the kernels, where a cubin and PTX have them; and which of them
 * each expression is. */
static int note_symbols(nvrtc_program p, FILE *elf, FILE *ptx)
{
    struct fake_module *m;
    int e = fake_module_load(p->image, false, &m, NULL, 0);

    if (e)
        return NVRTC__E_INTERNAL_ERROR;
    for (const struct fake_kernel *k = fake_module_kernels(m); k->name; k++) {
        Dl_info info;

        if (!dladdr(k->address, &info) || !info.dli_sname)
            continue;
        fprintf(elf, ".text.%s%c", info.dli_sname, 0);
        fprintf(ptx, "// .entry %s(\n", info.dli_sname);
        for (size_t i = 0; i < p->nexpr; i++)
            if (!strcmp(p->expr[i], k->name) && !p->lowered[i])
                p->lowered[i] = strdup(info.dli_sname);
    }
    fake_module_free(m);
    return 0;
}

/* What the source needs to be compiled by the driver: the names of expressions
 * and what the options define. */
static void put_source(nvrtc_program p, int n, const char *const *option,
                       FILE *f)
{
    for (size_t i = 0; i < p->nexpr; i++)
        fprintf(f, "//! %s\n", p->expr[i]);
    for (int i = 0; i < n; i++) {
        const char *define = !strncmp(option[i], "-D", 2) ? option[i] + 2
                             : !strncmp(option[i], "--define-macro=", 15)
                                 ? option[i] + 15
                                 : NULL;
        size_t name = define ? strcspn(define, "=") : 0;

        if (define)
            fprintf(f, "#define %.*s %s\n", (int)name, define,
                    define[name] ? define + name + 1 : "1");
    }
    fputs(p->source, f);
}

static int make_results(nvrtc_program p, int n, const char *const *option)
{
    size_t len = 0, ptx_len = 0;
    char *elf_text = NULL;
    FILE *elf = open_memstream(&elf_text, &len);
    FILE *ptx = open_memstream(&p->ptx, &ptx_len);
    int e;

    fwrite(p->image, 1, p->bytes, elf);
    fputs(FAKE_PTX, ptx);
    e = note_symbols(p, elf, ptx);
    put_source(p, n, option, ptx);
    fclose(elf);
    fclose(ptx);
    free(p->image);
    p->image = elf_text;
    p->bytes = len;
    return e;
}

/* What was compiled in this process, so that a test that does the same a
 * thousand times takes no minutes. */
static struct memo {
    struct memo *next;
    char *key, *ptx, *log, *lowered[MAX_EXPR];
    void *image;
    size_t bytes;
} * memos;

/* All that the result depends on. malloc. */
static char *memo_key(nvrtc_program p, int n, const char *const *option)
{
    char *key = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&key, &len);

    for (int i = 0; i < n; i++)
        fprintf(f, "%s\n", option[i]);
    for (size_t i = 0; i < p->nexpr; i++)
        fprintf(f, "//! %s\n", p->expr[i]);
    fputs(p->source, f);
    fclose(f);
    return key;
}

static void *copy(const void *from, size_t bytes)
{
    return from ? memcpy(malloc(bytes + 1), from, bytes) : NULL;
}

static bool recall(nvrtc_program p, const char *key)
{
    const struct memo *m = memos;

    while (m && strcmp(m->key, key))
        m = m->next;
    if (!m)
        return false;
    p->image = copy(m->image, m->bytes);
    p->bytes = m->bytes;
    p->ptx = strdup(m->ptx);
    p->log = m->log ? strdup(m->log) : NULL;
    for (size_t i = 0; i < p->nexpr; i++)
        p->lowered[i] = m->lowered[i] ? strdup(m->lowered[i]) : NULL;
    return true;
}

static void remember(nvrtc_program p, char *key)
{
    struct memo *m = calloc(1, sizeof(*m));

    m->key = key;
    m->image = copy(p->image, p->bytes);
    m->bytes = p->bytes;
    m->ptx = strdup(p->ptx);
    m->log = p->log ? strdup(p->log) : NULL;
    for (size_t i = 0; i < p->nexpr; i++)
        m->lowered[i] = p->lowered[i] ? strdup(p->lowered[i]) : NULL;
    m->next = memos;
    memos = m;
}

int nvrtcCompileProgram(nvrtc_program p, int n, const char *const *option)
{
    const char *expr[MAX_EXPR];
    bool virtual = false;
    char *key;
    int e;

    TURN();
    key = memo_key(p, n, option);
    if (recall(p, key)) {
        free(key);
        return 0;
    }
    for (size_t i = 0; i < p->nexpr; i++)
        expr[i] = p->expr[i];
    for (int i = 0; i < n; i++)
        virtual = virtual || strstr(option[i], "compute_");
    e = fake_compile(p->name, p->source, option, (size_t)n, expr, p->nexpr,
                     p->header, p->nheader, &p->image, &p->bytes, &p->log);
    if (!e)
        e = make_results(p, n, option);
    if (!e && virtual) { /* no cubin then */
        free(p->image);
        p->image = NULL;
        p->bytes = 0;
    }
    if (e)
        free(key);
    else
        remember(p, key);
    return e;
}

int nvrtcGetLoweredName(nvrtc_program p, const char *expr, const char **out)
{
    TURN();
    for (size_t i = 0; i < p->nexpr; i++)
        if (!strcmp(p->expr[i], expr) && p->lowered[i]) {
            *out = p->lowered[i];
            return 0;
        }
    return NVRTC__E_NAME_EXPRESSION_NOT_VALID;
}

int nvrtcGetPTXSize(nvrtc_program p, size_t *n)
{
    TURN();
    *n = p->ptx ? strlen(p->ptx) + 1 : 0;
    return p->ptx ? 0 : NVRTC__E_INVALID_PROGRAM;
}

int nvrtcGetPTX(nvrtc_program p, char *out)
{
    TURN();
    if (!p->ptx)
        return NVRTC__E_INVALID_PROGRAM;
    memcpy(out, p->ptx, strlen(p->ptx) + 1);
    return 0;
}

int nvrtcGetCUBINSize(nvrtc_program p, size_t *n)
{
    TURN();
    *n = p->bytes;
    return 0;
}

int nvrtcGetCUBIN(nvrtc_program p, char *out)
{
    TURN();
    memcpy(out, p->image, p->bytes);
    return 0;
}

int nvrtcGetProgramLogSize(nvrtc_program p, size_t *n)
{
    TURN();
    *n = (p->log ? strlen(p->log) : 0) + 1;
    return 0;
}

int nvrtcGetProgramLog(nvrtc_program p, char *out)
{
    TURN();
    memcpy(out, p->log ? p->log : "", (p->log ? strlen(p->log) : 0) + 1);
    return 0;
}
