/*
 * cuda_compile.h: from CUDA C to something that can be loaded, by NVRTC.
 *
 * NVRTC serialises inside one process, so who wants to compile side by side
 * has several workers; nothing here starts any. No device and no driver is
 * needed: a target is a name. What was compiled is kept in a folder of the
 * cache, keyed by everything that the result depends on, and shared by all
 * workers of all processes.
 */
#ifndef WS_CUDA_COMPILE_H
#define WS_CUDA_COMPILE_H

#include "device/device.h"

struct ws__cuda_compiler;

/* Finds NVRTC and its headers. cache_dir: NULL, nothing is kept. WS_ENODRIVER
 * in words, with what to install. Compiles nothing yet. */
int ws__cuda_compiler_open(struct ws_ctx *ctx, const char *cache_dir,
                           struct ws__cuda_compiler **out);
void ws__cuda_compiler_close(struct ws__cuda_compiler *c); /* NULL: no-op */
/* "NVRTC 13.0", or longer: what two results must share to be equal. */
const char *ws__cuda_compiler_version(const struct ws__cuda_compiler *c);

/* The architecture to compile for: "sm_90" for 9.0, "sm_90a" if the source or
 * its options ask for what only that has. The newest that the compiler knows
 * if the device is newer (*ptx: then it must be PTX). */
struct ws__cuda_target {
    char arch[24];
    bool ptx;
};
int ws__cuda_target(struct ws__cuda_compiler *c, const struct ws__build *b,
                    int major, int minor, struct ws__cuda_target *out);

struct ws__cuda_code {
    void *image; /* cubin or PTX (NUL-terminated) */
    size_t bytes;
    char **symbol; /* the build's entries as the image names them: one block */
    size_t nsymbol;
    char *log; /* the compiler's words; may be NULL */
    bool cached;
};
void ws__cuda_code_free(struct ws_ctx *ctx, struct ws__cuda_code *code);

/* b: PORTABLE or CUDA. WS_EBUILD with the compiler's words from the first
 * error on. */
int ws__cuda_compile(struct ws__cuda_compiler *c, const struct ws__build *b,
                     const struct ws__cuda_target *target,
                     struct ws__cuda_code *out);

#endif
