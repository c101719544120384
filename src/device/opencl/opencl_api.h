/*
 * opencl_api.h: the part of OpenCL that we use, declared by us.
 *
 * No vendor's header is needed to build, and no library to start: functions
 * are found at run time (opencl_api.c). Types and constants have names of our
 * own (ocl_, OCL_), so that a test can include <CL/cl.h> beside this file and
 * compare every one of them (tests/conformance/t_opencl_abi.c). Functions,
 * constants and errors are lists, so that nothing is compared by hand.
 */
#ifndef WS_OPENCL_API_H
#define WS_OPENCL_API_H

#include "base/ctx.h"

typedef struct ocl_platform_s *ocl_platform;
typedef struct ocl_device_s *ocl_device;
typedef struct ocl_context_s *ocl_context;
typedef struct ocl_queue_s *ocl_queue;
typedef struct ocl_mem_s *ocl_mem;
typedef struct ocl_program_s *ocl_program;
typedef struct ocl_kernel_s *ocl_kernel;
typedef struct ocl_event_s *ocl_event;

struct ocl_region {
    size_t origin, size;
};

/* Constants: name after OCL_ (and after CL_), value. */
#define OCL_CONSTANTS(X)                                                       \
    X(PLATFORM_VERSION, 0x0901)                                                \
    X(PLATFORM_NAME, 0x0902)                                                   \
    X(DEVICE_TYPE_CPU, 1 << 1)                                                 \
    X(DEVICE_TYPE_GPU, 1 << 2)                                                 \
    X(DEVICE_TYPE, 0x1000)                                                     \
    X(DEVICE_MAX_COMPUTE_UNITS, 0x1002)                                        \
    X(DEVICE_MAX_WORK_ITEM_DIMENSIONS, 0x1003)                                 \
    X(DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)                                      \
    X(DEVICE_MAX_WORK_ITEM_SIZES, 0x1005)                                      \
    X(DEVICE_MAX_CLOCK_FREQUENCY, 0x100C)                                      \
    X(DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010)                                       \
    X(DEVICE_MEM_BASE_ADDR_ALIGN, 0x1019)                                      \
    X(DEVICE_GLOBAL_MEM_CACHE_SIZE, 0x101E)                                    \
    X(DEVICE_GLOBAL_MEM_SIZE, 0x101F)                                          \
    X(DEVICE_LOCAL_MEM_SIZE, 0x1023)                                           \
    X(DEVICE_ENDIAN_LITTLE, 0x1026)                                            \
    X(DEVICE_AVAILABLE, 0x1027)                                                \
    X(DEVICE_COMPILER_AVAILABLE, 0x1028)                                       \
    X(DEVICE_NAME, 0x102B)                                                     \
    X(DRIVER_VERSION, 0x102D)                                                  \
    X(DEVICE_VERSION, 0x102F)                                                  \
    X(DEVICE_EXTENSIONS, 0x1030)                                               \
    X(DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 0x103A)                                \
    X(DEVICE_OPENCL_C_VERSION, 0x103D)                                         \
    X(QUEUE_PROFILING_ENABLE, 1 << 1)                                          \
    X(MEM_READ_WRITE, 1 << 0)                                                  \
    X(MEM_USE_HOST_PTR, 1 << 3)                                                \
    X(BUFFER_CREATE_TYPE_REGION, 0x1220)                                       \
    X(PROGRAM_BINARY_SIZES, 0x1165)                                            \
    X(PROGRAM_BINARIES, 0x1166)                                                \
    X(PROGRAM_BUILD_LOG, 0x1183)                                               \
    X(DEVICE_PCI_BUS_INFO_KHR, 0x410F)                                         \
    X(KERNEL_FUNCTION_NAME, 0x1190)                                            \
    X(KERNEL_NUM_ARGS, 0x1191)                                                 \
    X(KERNEL_ARG_ADDRESS_QUALIFIER, 0x1196)                                    \
    X(KERNEL_ARG_ACCESS_QUALIFIER, 0x1197)                                     \
    X(KERNEL_ARG_TYPE_NAME, 0x1198)                                            \
    X(KERNEL_ARG_TYPE_QUALIFIER, 0x1199)                                       \
    X(KERNEL_ARG_NAME, 0x119A)                                                 \
    X(KERNEL_ARG_ADDRESS_GLOBAL, 0x119B)                                       \
    X(KERNEL_ARG_ADDRESS_LOCAL, 0x119C)                                        \
    X(KERNEL_ARG_ADDRESS_CONSTANT, 0x119D)                                     \
    X(KERNEL_ARG_ACCESS_NONE, 0x11A3)                                          \
    X(KERNEL_ARG_TYPE_CONST, 1 << 0)                                           \
    X(KERNEL_WORK_GROUP_SIZE, 0x11B0)                                          \
    X(KERNEL_COMPILE_WORK_GROUP_SIZE, 0x11B1)                                  \
    X(KERNEL_LOCAL_MEM_SIZE, 0x11B2)                                           \
    X(KERNEL_PRIVATE_MEM_SIZE, 0x11B4)                                         \
    X(PROFILING_COMMAND_START, 0x1282)                                         \
    X(PROFILING_COMMAND_END, 0x1283)                                           \
    X(TRUE, 1)

enum ocl_constant {
#define WS_X(name, value) OCL_##name = (value),
    OCL_CONSTANTS(WS_X)
#undef WS_X
};

#define OCL_DEVICE_TYPE_ALL ((uint64_t)0xffffffff) /* no enumerator fits */

/* Errors: name after CL_, value, what each says by itself (a WS_E); see
 * ws__ocl_fail for what the call that failed makes of it. */
#define OCL_ERRORS(X)                                                          \
    X(DEVICE_NOT_FOUND, -1, ENODEVICE)                                         \
    X(DEVICE_NOT_AVAILABLE, -2, ENODEVICE)                                     \
    X(COMPILER_NOT_AVAILABLE, -3, ENODRIVER)                                   \
    X(MEM_OBJECT_ALLOCATION_FAILURE, -4, EDEVMEM)                              \
    X(OUT_OF_RESOURCES, -5, ELAUNCH)                                           \
    X(OUT_OF_HOST_MEMORY, -6, EDEVMEM)                                         \
    X(PROFILING_INFO_NOT_AVAILABLE, -7, EDEVICE)                               \
    X(MEM_COPY_OVERLAP, -8, EDEVICE)                                           \
    X(BUILD_PROGRAM_FAILURE, -11, EBUILD)                                      \
    X(MAP_FAILURE, -12, EDEVICE)                                               \
    X(MISALIGNED_SUB_BUFFER_OFFSET, -13, EDEVICE)                              \
    X(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14, EDEVICE)                 \
    X(COMPILE_PROGRAM_FAILURE, -15, EBUILD)                                    \
    X(LINKER_NOT_AVAILABLE, -16, ENODRIVER)                                    \
    X(LINK_PROGRAM_FAILURE, -17, EBUILD)                                       \
    X(INVALID_VALUE, -30, EDEVICE)                                             \
    X(INVALID_PLATFORM, -32, ENODEVICE)                                        \
    X(INVALID_DEVICE, -33, ENODEVICE)                                          \
    X(INVALID_CONTEXT, -34, EDEVICE)                                           \
    X(INVALID_COMMAND_QUEUE, -36, EDEVICE)                                     \
    X(INVALID_MEM_OBJECT, -38, EDEVICE)                                        \
    X(INVALID_BINARY, -42, EBUILD)                                             \
    X(INVALID_BUILD_OPTIONS, -43, EBUILD)                                      \
    X(INVALID_PROGRAM, -44, EBUILD)                                            \
    X(INVALID_PROGRAM_EXECUTABLE, -45, EBUILD)                                 \
    X(INVALID_KERNEL_NAME, -46, EBUILD)                                        \
    X(INVALID_KERNEL_DEFINITION, -47, EBUILD)                                  \
    X(INVALID_KERNEL, -48, ELAUNCH)                                            \
    X(INVALID_ARG_INDEX, -49, ELAUNCH)                                         \
    X(INVALID_ARG_VALUE, -50, ELAUNCH)                                         \
    X(INVALID_ARG_SIZE, -51, ELAUNCH)                                          \
    X(INVALID_KERNEL_ARGS, -52, ELAUNCH)                                       \
    X(INVALID_WORK_DIMENSION, -53, ELAUNCH)                                    \
    X(INVALID_WORK_GROUP_SIZE, -54, ELAUNCH)                                   \
    X(INVALID_WORK_ITEM_SIZE, -55, ELAUNCH)                                    \
    X(INVALID_GLOBAL_OFFSET, -56, ELAUNCH)                                     \
    X(INVALID_EVENT_WAIT_LIST, -57, EDEVICE)                                   \
    X(INVALID_EVENT, -58, EDEVICE)                                             \
    X(INVALID_OPERATION, -59, EDEVICE)                                         \
    X(INVALID_BUFFER_SIZE, -61, EDEVMEM)                                       \
    X(INVALID_GLOBAL_WORK_SIZE, -63, ELAUNCH)

/* Of the loader, from an extension's header. */
#define OCL_PLATFORM_NOT_FOUND (-1001)

enum ocl_error {
#define WS_X(name, value, code) OCL_##name = (value),
    OCL_ERRORS(WS_X)
#undef WS_X
};

/* result, name after cl, arguments. Handles that we do not use are void *. */
#define OCL_FUNCTIONS(X)                                                       \
    X(int32_t, GetPlatformIDs, (uint32_t, ocl_platform *, uint32_t *))         \
    X(int32_t, GetPlatformInfo,                                                \
      (ocl_platform, uint32_t, size_t, void *, size_t *))                      \
    X(int32_t, GetDeviceIDs,                                                   \
      (ocl_platform, uint64_t, uint32_t, ocl_device *, uint32_t *))            \
    X(int32_t, GetDeviceInfo,                                                  \
      (ocl_device, uint32_t, size_t, void *, size_t *))                        \
    X(ocl_context, CreateContext,                                              \
      (const intptr_t *, uint32_t, const ocl_device *,                         \
       void (*)(const char *, const void *, size_t, void *), void *,           \
       int32_t *))                                                             \
    X(int32_t, ReleaseContext, (ocl_context))                                  \
    X(ocl_queue, CreateCommandQueue,                                           \
      (ocl_context, ocl_device, uint64_t, int32_t *))                          \
    X(int32_t, ReleaseCommandQueue, (ocl_queue))                               \
    X(ocl_mem, CreateBuffer,                                                   \
      (ocl_context, uint64_t, size_t, void *, int32_t *))                      \
    X(ocl_mem, CreateSubBuffer,                                                \
      (ocl_mem, uint64_t, uint32_t, const void *, int32_t *))                  \
    X(int32_t, ReleaseMemObject, (ocl_mem))                                    \
    X(ocl_program, CreateProgramWithSource,                                    \
      (ocl_context, uint32_t, const char **, const size_t *, int32_t *))       \
    X(int32_t, BuildProgram,                                                   \
      (ocl_program, uint32_t, const ocl_device *, const char *,                \
       void (*)(ocl_program, void *), void *))                                 \
    X(int32_t, GetProgramInfo,                                                 \
      (ocl_program, uint32_t, size_t, void *, size_t *))                       \
    X(int32_t, GetProgramBuildInfo,                                            \
      (ocl_program, ocl_device, uint32_t, size_t, void *, size_t *))           \
    X(int32_t, ReleaseProgram, (ocl_program))                                  \
    X(ocl_kernel, CreateKernel, (ocl_program, const char *, int32_t *))        \
    X(int32_t, CreateKernelsInProgram,                                         \
      (ocl_program, uint32_t, ocl_kernel *, uint32_t *))                       \
    X(int32_t, ReleaseKernel, (ocl_kernel))                                    \
    X(int32_t, SetKernelArg, (ocl_kernel, uint32_t, size_t, const void *))     \
    X(int32_t, GetKernelInfo,                                                  \
      (ocl_kernel, uint32_t, size_t, void *, size_t *))                        \
    X(int32_t, GetKernelArgInfo,                                               \
      (ocl_kernel, uint32_t, uint32_t, size_t, void *, size_t *))              \
    X(int32_t, GetKernelWorkGroupInfo,                                         \
      (ocl_kernel, ocl_device, uint32_t, size_t, void *, size_t *))            \
    X(int32_t, EnqueueNDRangeKernel,                                           \
      (ocl_queue, ocl_kernel, uint32_t, const size_t *, const size_t *,        \
       const size_t *, uint32_t, const ocl_event *, ocl_event *))              \
    X(int32_t, EnqueueReadBuffer,                                              \
      (ocl_queue, ocl_mem, uint32_t, size_t, size_t, void *, uint32_t,         \
       const ocl_event *, ocl_event *))                                        \
    X(int32_t, EnqueueWriteBuffer,                                             \
      (ocl_queue, ocl_mem, uint32_t, size_t, size_t, const void *, uint32_t,   \
       const ocl_event *, ocl_event *))                                        \
    X(int32_t, EnqueueCopyBuffer,                                              \
      (ocl_queue, ocl_mem, ocl_mem, size_t, size_t, size_t, uint32_t,          \
       const ocl_event *, ocl_event *))                                        \
    X(int32_t, EnqueueFillBuffer,                                              \
      (ocl_queue, ocl_mem, const void *, size_t, size_t, size_t, uint32_t,     \
       const ocl_event *, ocl_event *))                                        \
    X(int32_t, Finish, (ocl_queue))                                            \
    X(int32_t, GetEventProfilingInfo,                                          \
      (ocl_event, uint32_t, size_t, void *, size_t *))                         \
    X(int32_t, ReleaseEvent, (ocl_event))

struct ocl_api {
    void *lib;
#define WS_X(result, name, args) result(*name) args;
    OCL_FUNCTIONS(WS_X)
#undef WS_X
};

/* WS_ENODRIVER with the packages to install. */
int ws__ocl_load(struct ws_ctx *ctx, struct ocl_api *api);
void ws__ocl_unload(struct ocl_api *api);
/* Sets the error "cannot <what>: CL_NAME" and returns its code. Drivers use
 * one error for many things ("out of resources" is a kernel too large for the
 * compiler, no memory, a launch too wide, and a kernel that crashed), so the
 * call decides: `stage` is WS_EBUILD, WS_EDEVMEM or WS_ELAUNCH where what was
 * asked for may be to blame, else WS_EDEVICE. Errors of the device or the
 * driver, and those that we do not know, keep their own code; so does a lack
 * of memory outside of a build. */
int ws__ocl_fail(struct ws_ctx *ctx, int stage, int32_t error,
                 const char *what);
const char *ws__ocl_error_name(int32_t error); /* "CL_..." or NULL */
/* "CL_DEVICE_NAME": of what can be asked for, else "a property". */
const char *ws__ocl_constant_name(uint32_t value);

#endif
