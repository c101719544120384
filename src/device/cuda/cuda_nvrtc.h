/*
 * cuda_nvrtc.h: the part of NVRTC, NVIDIA's compiler as a library, that we
 * use, declared by us.
 *
 * No toolkit is needed to build: functions are found at run time
 * (cuda_nvrtc.c). Names are of our own (nvrtc_, NVRTC__), so that a test can
 * include <nvrtc.h> beside this file and compare every one of them
 * (tests/conformance/t_cuda_abi.c). Functions and errors are lists, so that
 * nothing is compared by hand. Oldest that has all of NVRTC_FUNCTIONS:
 * NVRTC 11.2.
 */
#ifndef WS_CUDA_NVRTC_H
#define WS_CUDA_NVRTC_H

#include "base/ctx.h"

typedef struct nvrtc_program_s *nvrtc_program;

/* Errors: name after NVRTC_ERROR_, value, what each says (a WS_E). EDEVICE is
 * a compiler that does not work, whatever the source. */
#define NVRTC_ERRORS(X)                                                        \
    X(OUT_OF_MEMORY, 1, EBUILD)                                                \
    X(PROGRAM_CREATION_FAILURE, 2, EDEVICE)                                    \
    X(INVALID_INPUT, 3, EBUILD)                                                \
    X(INVALID_PROGRAM, 4, EDEVICE)                                             \
    X(INVALID_OPTION, 5, EBUILD)                                               \
    X(COMPILATION, 6, EBUILD)                                                  \
    X(BUILTIN_OPERATION_FAILURE, 7, ENODRIVER)                                 \
    X(NO_NAME_EXPRESSIONS_AFTER_COMPILATION, 8, EDEVICE)                       \
    X(NO_LOWERED_NAMES_BEFORE_COMPILATION, 9, EDEVICE)                         \
    X(NAME_EXPRESSION_NOT_VALID, 10, EBUILD)                                   \
    X(INTERNAL_ERROR, 11, EBUILD)                                              \
    X(TIME_FILE_WRITE_FAILED, 12, EDEVICE)                                     \
    X(NO_PCH_CREATE_ATTEMPTED, 13, EDEVICE)                                    \
    X(PCH_CREATE_HEAP_EXHAUSTED, 14, EDEVICE)                                  \
    X(PCH_CREATE, 15, EDEVICE)                                                 \
    X(CANCELLED, 16, ECANCEL)                                                  \
    X(TIME_TRACE_FILE_WRITE_FAILED, 17, EDEVICE)

enum nvrtc_error {
#define WS_X(name, value, code) NVRTC__E_##name = (value),
    NVRTC_ERRORS(WS_X)
#undef WS_X
};

/* Name after nvrtc, what the library appends to it (nothing), arguments; all
 * return an error or 0. */
#define NVRTC_FUNCTIONS(X)                                                     \
    X(Version, , (int *, int *))                                               \
    X(GetNumSupportedArchs, , (int *))                                         \
    X(GetSupportedArchs, , (int *))                                            \
    X(CreateProgram, ,                                                         \
      (nvrtc_program *, const char *, const char *, int, const char *const *,  \
       const char *const *))                                                   \
    X(DestroyProgram, , (nvrtc_program *))                                     \
    X(CompileProgram, , (nvrtc_program, int, const char *const *))             \
    X(GetPTXSize, , (nvrtc_program, size_t *))                                 \
    X(GetPTX, , (nvrtc_program, char *))                                       \
    X(GetCUBINSize, , (nvrtc_program, size_t *))                               \
    X(GetCUBIN, , (nvrtc_program, char *))                                     \
    X(GetProgramLogSize, , (nvrtc_program, size_t *))                          \
    X(GetProgramLog, , (nvrtc_program, char *))                                \
    X(AddNameExpression, , (nvrtc_program, const char *))                      \
    X(GetLoweredName, , (nvrtc_program, const char *, const char **))

/* Of NVRTC 12.8 and newer: precompiled headers. NULL where there is none. */
#define NVRTC_OPTIONAL(X)                                                      \
    X(GetPCHHeapSize, , (size_t *))                                            \
    X(SetPCHHeapSize, , (size_t))                                              \
    X(GetPCHCreateStatus, , (nvrtc_program))                                   \
    X(GetPCHHeapSizeRequired, , (nvrtc_program, size_t *))

struct nvrtc_api {
    void *lib;
#define WS_X(name, suffix, args) int(*name) args;
    NVRTC_FUNCTIONS(WS_X)
    NVRTC_OPTIONAL(WS_X)
#undef WS_X
};

/* WS_ENODRIVER in words, with what to install. */
int ws__nvrtc_load(struct ws_ctx *ctx, struct nvrtc_api *api);
void ws__nvrtc_unload(struct nvrtc_api *api);
/* Sets the error "cannot <what>: NVRTC_ERROR_NAME" and returns its code. */
int ws__nvrtc_fail(struct ws_ctx *ctx, int error, const char *what);
const char *ws__nvrtc_error_name(int error); /* "NVRTC_ERROR_..." or NULL */

#endif
