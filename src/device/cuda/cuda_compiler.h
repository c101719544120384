/*
 * cuda_compiler.h: what the files of the compiler share. Private to them:
 * cuda_compile.c (opening, one compilation from the key to the result),
 * cuda_program.c (one run of NVRTC), cuda_target.c, cuda_headers.c,
 * cuda_cache.c.
 */
#ifndef WS_CUDA_COMPILER_H
#define WS_CUDA_COMPILER_H

#include "base/hash.h"
#include "device/cuda/cuda_compile.h"
#include "device/cuda/cuda_nvrtc.h"

#define WS__CUDA_MAX_ARCHS 64
#define WS__CUDA_MAX_INCLUDES 2

struct ws__cuda_compiler {
    struct ws_ctx *ctx;
    struct nvrtc_api api;
    char version[64];             /* "NVRTC 13.0.88" */
    int number;                   /* 1300 for 13.0 */
    bool takes_seed;              /* knows --frandom-seed */
    struct ws__hash identity;     /* of the library and the headers */
    int arch[WS__CUDA_MAX_ARCHS]; /* 90 for sm_90; ascending */
    size_t narch;
    char *include[WS__CUDA_MAX_INCLUDES]; /* "-I/usr/local/cuda/include" */
    size_t ninclude;
    struct ws__cuda_cache *cache; /* NULL: none */
    struct ws__cuda_pch {         /* see cuda_pch.c */
        struct ws__hash seen;     /* what came last, compiled without */
        struct ws__hash made;     /* what the file is good for */
        int fd;                   /* -1: no file */
        bool off;                 /* it does not work here */
    } pch;
};

/* Opens with functions that the caller found, as tests do. Takes the library
 * of *api, also on failure. headers: the toolkit's include folder, NULL: it is
 * looked for. cache_bytes: the most that the cache may hold, 0: the default. */
int ws__cuda_compiler_open_with(struct ws_ctx *ctx, struct nvrtc_api *api,
                                const char *headers, const char *cache_dir,
                                uint64_t cache_bytes,
                                struct ws__cuda_compiler **out);

/* cuda_headers.c: fills in `include`, and mixes what is there into the
 * identity. None at all is fine: not all kernels need headers. */
int ws__cuda_headers_find(struct ws__cuda_compiler *c, const char *folder);
/* Headers of the C library that NVRTC lacks, for a source: how many. */
#define WS__CUDA_MAX_SHIMS 32
int ws__cuda_shims(const char *source, const char *name[WS__CUDA_MAX_SHIMS],
                   const char *text[WS__CUDA_MAX_SHIMS]);
struct ws__hash ws__cuda_shims_hash(struct ws__hash h);

/* One run of NVRTC. */
enum ws__cuda_pch_mode {
    WS__CUDA_PCH_NONE,
    WS__CUDA_PCH_MAKE,
    WS__CUDA_PCH_USE
};
struct ws__cuda_run {
    const char *text;
    size_t lines; /* of ours, before the source */
    enum ws__cuda_pch_mode pch;
    char *pch_option;
    bool plain_names; /* ask for the names of plain entries, too */
};

/* cuda_pch.c. The source with its includes in front, where that is worth it:
 * text NULL if not. WS_ENOMEM. */
struct ws__cuda_hoisted {
    char *text;
    size_t lines;           /* that were put in front */
    struct ws__hash prefix; /* of them */
};
int ws__cuda_hoist(struct ws__cuda_compiler *c, const char *source,
                   struct ws__cuda_hoisted *out);
void ws__cuda_unshift_lines(char *words, size_t lines);
void ws__cuda_pch_drop(struct ws__cuda_pch *pch);
/* Sets pch and pch_option (freed by the caller). prefix: of the text and the
 * options. WS_ENOMEM. */
int ws__cuda_pch_begin(struct ws__cuda_compiler *c, struct ws__hash prefix,
                       struct ws__cuda_run *run);
/* After the compiler ran. */
void ws__cuda_pch_end(struct ws__cuda_compiler *c, nvrtc_program p,
                      const struct ws__cuda_run *run, struct ws__hash prefix,
                      bool compiled);
/* Not here: no more of it, and no error. */
void ws__cuda_pch_give_up(struct ws__cuda_compiler *c, const char *why);

/* cuda_program.c: compiles once. plain_names: ask for the names of entries
 * that are no expressions, too. WS_EBUILD: *words are the compiler's (NULL: it
 * said nothing), the error has them from the first one on. */
int ws__cuda_program(struct ws__cuda_compiler *c, const struct ws__build *b,
                     const struct ws__cuda_target *target, bool plain_names,
                     struct ws__cuda_code *out, char **words);
/* The options, as they go to the compiler: WS__CUDA_MAX_OPTIONS at most; the
 * first stands in `arch`. WS_ELIMIT. */
#define WS__CUDA_MAX_OPTIONS 128
int ws__cuda_options(const struct ws__cuda_compiler *c,
                     const struct ws__build *b,
                     const struct ws__cuda_target *target, char arch[64],
                     const char *option[WS__CUDA_MAX_OPTIONS], size_t *n);
/* Sets WS_EBUILD "no kernel 'x' in the source", with what the compiler said
 * of the name, if it did. */
int ws__cuda_no_kernel(struct ws_ctx *ctx, const char *entry,
                       const char *words);
/* Is an image without this kernel? false where that cannot be seen. */
bool ws__cuda_lacks_kernel(const struct ws__cuda_code *code,
                           const char *symbol);

/* cuda_target.c: do the words say that only an architecture's own variant
 * ("sm_90a") has what is asked for? */
bool ws__cuda_wants_variant(const char *words);
bool ws__cuda_is_variant(const char *arch);

/* cuda_cache.c. A cache may be shared by any number of processes. */
struct ws__cuda_cache;
int ws__cuda_cache_open(struct ws_ctx *ctx, const char *cache_dir,
                        uint64_t limit_bytes, struct ws__cuda_cache **out);
void ws__cuda_cache_close(struct ws__cuda_cache *cache); /* NULL: no-op */
/* 1: *out is filled in; 0: not there, or damaged; WS_ENOMEM. */
int ws__cuda_cache_get(struct ws__cuda_cache *cache, struct ws__hash key,
                       struct ws__cuda_code *out);
/* The path of a new temporary file, which is removed some time if its maker
 * did not get to it. NULL: no folder, or no memory; the error is set. */
char *ws__cuda_cache_temp(struct ws__cuda_cache *cache, struct ws__hash name);
/* What cannot be kept is not: a warning in the log. */
void ws__cuda_cache_put(struct ws__cuda_cache *cache, struct ws__hash key,
                        const struct ws__cuda_code *code);

#endif
