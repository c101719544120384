/*
 * cuda_api.h: the part of NVIDIA's driver API and of NVML that we use, declared
 * by us.
 *
 * No toolkit is needed to build, and no driver to start: functions are found
 * at run time (cuda_api.c). Types and constants have names of our own (cu_,
 * CU__), so that a test can include <cuda.h> and <nvml.h> beside this file and
 * compare every one of them (tests/conformance/t_cuda_abi.c). Functions,
 * constants and errors are lists, so that nothing is compared by hand.
 *
 * The compiler has a file of its own, cuda_nvrtc.h: a worker that only
 * compiles needs no driver, and one that only launches no compiler.
 */
#ifndef WS_CUDA_API_H
#define WS_CUDA_API_H

#include "base/ctx.h"

typedef int cu_device;
typedef int cu_enum;     /* one of their enumerations */
typedef uint64_t cu_ptr; /* an address of the device */
typedef struct cu_context_s *cu_context;
typedef struct cu_module_s *cu_module;
typedef struct cu_function_s *cu_function;
typedef struct cu_stream_s *cu_stream;
typedef struct cu_event_s *cu_event;
typedef struct cu_graph_s *cu_graph;
typedef struct cu_graph_exec_s *cu_graph_exec;

/* Memory by pages: a piece of it, what it is to be, who may do what. */
typedef unsigned long long cu_memory;
typedef struct cu_mem_prop {
    cu_enum type, handle_types, location, device;
    void *unused;
    unsigned char flags[8];
} cu_mem_prop;
typedef struct cu_mem_access {
    cu_enum location, device, access;
} cu_mem_access;

/* Constants: our name after CU__, the header's name, value. */
#define CU_CONSTANTS(X)                                                        \
    X(MAX_THREADS, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)               \
    X(MAX_BLOCK_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2)                     \
    X(MAX_BLOCK_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3)                     \
    X(MAX_BLOCK_Z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4)                     \
    X(MAX_GRID_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5)                       \
    X(MAX_GRID_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6)                       \
    X(MAX_GRID_Z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7)                       \
    X(WARP, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                 \
    X(CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                           \
    X(UNITS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                     \
    X(COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20)                      \
    X(L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                         \
    X(UNIT_THREADS, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)    \
    X(MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                 \
    X(MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                 \
    X(UNIT_SHARED, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,   \
      81)                                                                      \
    X(UNIT_REGISTERS, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,    \
      82)                                                                      \
    X(SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97) \
    X(UNIT_BLOCKS, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106)     \
    X(SHARED_RESERVED, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,   \
      111)                                                                     \
    X(MODE_PROHIBITED, CU_COMPUTEMODE_PROHIBITED, 2)                           \
    X(FUNC_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                \
    X(FUNC_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                     \
    X(FUNC_LOCAL, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                       \
    X(FUNC_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                           \
    X(FUNC_DYNAMIC, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)        \
    X(STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, 1)                          \
    X(EVENT_DEFAULT, CU_EVENT_DEFAULT, 0)                                      \
    X(HOST_MAPPED, CU_MEMHOSTALLOC_DEVICEMAP, 2)                               \
    X(CAPTURE_THREAD, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                  \
    X(PINNED, CU_MEM_ALLOCATION_TYPE_PINNED, 1)                                \
    X(ON_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE, 1)                               \
    X(LEAST_PIECE, CU_MEM_ALLOC_GRANULARITY_MINIMUM, 0)                        \
    X(READ_ONLY, CU_MEM_ACCESS_FLAGS_PROT_READ, 1)                             \
    X(READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3)                       \
    X(JIT_INFO, CU_JIT_INFO_LOG_BUFFER, 3)                                     \
    X(JIT_INFO_BYTES, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 4)                    \
    X(JIT_ERROR, CU_JIT_ERROR_LOG_BUFFER, 5)                                   \
    X(JIT_ERROR_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)

enum cu_constant {
#define WS_X(name, theirs, value) CU__##name = (value),
    CU_CONSTANTS(WS_X)
#undef WS_X
};

/* Errors: name after CUDA_ERROR_, value, what each says by itself (a WS_E).
 * ECRASH: the process has lost the device and must go; nothing brings it back,
 * no reset either. ELAUNCH, EBUILD and EDEVMEM concern what was asked for,
 * EINVAL says nothing by itself. */
#define CU_ERRORS(X)                                                           \
    X(INVALID_VALUE, 1, EINVAL)                                                \
    X(OUT_OF_MEMORY, 2, EDEVMEM)                                               \
    X(NOT_INITIALIZED, 3, ENODRIVER)                                           \
    X(DEINITIALIZED, 4, ENODRIVER)                                             \
    X(STUB_LIBRARY, 34, ENODRIVER)                                             \
    X(DEVICE_UNAVAILABLE, 46, ENODEVICE)                                       \
    X(NO_DEVICE, 100, ENODEVICE)                                               \
    X(INVALID_DEVICE, 101, ENODEVICE)                                          \
    X(INVALID_IMAGE, 200, EBUILD)                                              \
    X(INVALID_CONTEXT, 201, EDEVICE)                                           \
    X(NO_BINARY_FOR_GPU, 209, EBUILD)                                          \
    X(ECC_UNCORRECTABLE, 214, ECRASH)                                          \
    X(INVALID_PTX, 218, EBUILD)                                                \
    X(JIT_COMPILER_NOT_FOUND, 221, ENODRIVER)                                  \
    X(UNSUPPORTED_PTX_VERSION, 222, EBUILD)                                    \
    X(INVALID_SOURCE, 300, EBUILD)                                             \
    X(FILE_NOT_FOUND, 301, EBUILD)                                             \
    X(OPERATING_SYSTEM, 304, EDEVICE)                                          \
    X(INVALID_HANDLE, 400, EDEVICE)                                            \
    X(NOT_FOUND, 500, EBUILD)                                                  \
    X(NOT_READY, 600, EDEVICE)                                                 \
    X(ILLEGAL_ADDRESS, 700, ECRASH)                                            \
    X(LAUNCH_OUT_OF_RESOURCES, 701, ELAUNCH)                                   \
    X(LAUNCH_TIMEOUT, 702, ECRASH)                                             \
    X(CONTEXT_IS_DESTROYED, 709, ECRASH)                                       \
    X(ASSERT, 710, ECRASH)                                                     \
    X(HARDWARE_STACK_ERROR, 714, ECRASH)                                       \
    X(ILLEGAL_INSTRUCTION, 715, ECRASH)                                        \
    X(MISALIGNED_ADDRESS, 716, ECRASH)                                         \
    X(INVALID_ADDRESS_SPACE, 717, ECRASH)                                      \
    X(INVALID_PC, 718, ECRASH)                                                 \
    X(LAUNCH_FAILED, 719, ECRASH)                                              \
    X(NOT_PERMITTED, 800, EINVAL)                                              \
    X(NOT_SUPPORTED, 801, EINVAL)                                              \
    X(SYSTEM_NOT_READY, 802, ENODEVICE)                                        \
    X(SYSTEM_DRIVER_MISMATCH, 803, ENODRIVER)                                  \
    X(COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, ENODRIVER)                          \
    X(UNKNOWN, 999, EDEVICE)

enum cu_error {
#define WS_X(name, value, code) CU__E_##name = (value),
    CU_ERRORS(WS_X)
#undef WS_X
};

/* Name after cu, what the library appends to it, arguments; all return an
 * error or 0. */
#define CU_FUNCTIONS(X)                                                        \
    X(Init, , (unsigned))                                                      \
    X(DriverGetVersion, , (int *))                                             \
    X(GetErrorName, , (cu_enum, const char **))                                \
    X(GetErrorString, , (cu_enum, const char **))                              \
    X(DeviceGetCount, , (int *))                                               \
    X(DeviceGet, , (cu_device *, int))                                         \
    X(DeviceGetName, , (char *, int, cu_device))                               \
    X(DeviceGetAttribute, , (int *, cu_enum, cu_device))                       \
    X(DeviceTotalMem, _v2, (size_t *, cu_device))                              \
    X(DeviceGetPCIBusId, , (char *, int, cu_device))                           \
    X(DevicePrimaryCtxRetain, , (cu_context *, cu_device))                     \
    X(DevicePrimaryCtxRelease, _v2, (cu_device))                               \
    X(CtxSetCurrent, , (cu_context))                                           \
    X(ModuleLoadDataEx, ,                                                      \
      (cu_module *, const void *, unsigned, cu_enum *, void **))               \
    X(ModuleUnload, , (cu_module))                                             \
    X(ModuleGetFunction, , (cu_function *, cu_module, const char *))           \
    X(FuncGetAttribute, , (int *, cu_enum, cu_function))                       \
    X(FuncSetAttribute, , (cu_function, cu_enum, int))                         \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, ,                             \
      (int *, cu_function, int, size_t))                                       \
    X(LaunchKernel, ,                                                          \
      (cu_function, unsigned, unsigned, unsigned, unsigned, unsigned,          \
       unsigned, unsigned, cu_stream, void **, void **))                       \
    X(StreamCreate, , (cu_stream *, unsigned))                                 \
    X(StreamDestroy, _v2, (cu_stream))                                         \
    X(StreamSynchronize, , (cu_stream))                                        \
    X(StreamBeginCapture, _v2, (cu_stream, cu_enum))                           \
    X(StreamEndCapture, , (cu_stream, cu_graph *))                             \
    X(GraphInstantiateWithFlags, ,                                             \
      (cu_graph_exec *, cu_graph, unsigned long long))                         \
    X(GraphUpload, , (cu_graph_exec, cu_stream))                               \
    X(GraphLaunch, , (cu_graph_exec, cu_stream))                               \
    X(GraphExecDestroy, , (cu_graph_exec))                                     \
    X(GraphDestroy, , (cu_graph))                                              \
    X(EventCreate, , (cu_event *, unsigned))                                   \
    X(EventDestroy, _v2, (cu_event))                                           \
    X(EventRecord, , (cu_event, cu_stream))                                    \
    X(EventElapsedTime, , (float *, cu_event, cu_event))                       \
    X(MemAlloc, _v2, (cu_ptr *, size_t))                                       \
    X(MemFree, _v2, (cu_ptr))                                                  \
    X(MemHostAlloc, , (void **, size_t, unsigned))                             \
    X(MemHostRegister, _v2, (void *, size_t, unsigned))                        \
    X(MemHostUnregister, , (void *))                                           \
    X(MemFreeHost, , (void *))                                                 \
    X(MemHostGetDevicePointer, _v2, (cu_ptr *, void *, unsigned))              \
    X(MemcpyHtoDAsync, _v2, (cu_ptr, const void *, size_t, cu_stream))         \
    X(MemcpyDtoHAsync, _v2, (void *, cu_ptr, size_t, cu_stream))               \
    X(MemcpyDtoDAsync, _v2, (cu_ptr, cu_ptr, size_t, cu_stream))               \
    X(MemsetD32Async, , (cu_ptr, unsigned, size_t, cu_stream))                 \
    X(MemsetD8Async, , (cu_ptr, unsigned char, size_t, cu_stream))

/* Of newer drivers; NULL where there is none. */
#define CU_OPTIONAL(X)                                                         \
    X(FuncGetParamInfo, , (cu_function, size_t, size_t *, size_t *))           \
    X(MemGetAllocationGranularity, , (size_t *, const cu_mem_prop *, cu_enum)) \
    X(MemAddressReserve, ,                                                     \
      (cu_ptr *, size_t, size_t, cu_ptr, unsigned long long))                  \
    X(MemAddressFree, , (cu_ptr, size_t))                                      \
    X(MemCreate, ,                                                             \
      (cu_memory *, size_t, const cu_mem_prop *, unsigned long long))          \
    X(MemRelease, , (cu_memory))                                               \
    X(MemMap, , (cu_ptr, size_t, size_t, cu_memory, unsigned long long))       \
    X(MemUnmap, , (cu_ptr, size_t))                                            \
    X(MemSetAccess, , (cu_ptr, size_t, const cu_mem_access *, size_t))

struct cu_api {
    void *lib;
#define WS_X(name, suffix, args) int(*name) args;
    CU_FUNCTIONS(WS_X)
    CU_OPTIONAL(WS_X)
#undef WS_X
};

/* WS_ENODRIVER in words, with what to install. Does not initialise. */
int ws__cu_load(struct ws_ctx *ctx, struct cu_api *api);
void ws__cu_unload(struct cu_api *api);
/* Sets the error "cannot <what>: CUDA_ERROR_NAME (the driver's words)" and
 * returns its code. stage: WS_EBUILD, WS_EDEVMEM or WS_ELAUNCH where what was
 * asked for may be to blame, else WS_EDEVICE: what an error means that says
 * nothing by itself. */
int ws__cu_fail(struct ws_ctx *ctx, const struct cu_api *api, int stage,
                int error, const char *what);
const char *ws__cu_error_name(int error); /* "CUDA_ERROR_..." or NULL */

/* ---- NVML: clocks and what slows them ----------------------------------- */

typedef struct nvml_device_s *nvml_device;

#define NVML_CONSTANTS(X)                                                      \
    X(CLOCK_SM, NVML_CLOCK_SM, 1)                                              \
    X(CLOCK_MEM, NVML_CLOCK_MEM, 2)                                            \
    X(SLOW_POWER_CAP, nvmlClocksThrottleReasonSwPowerCap, 0x4)                 \
    X(SLOW_HW, nvmlClocksThrottleReasonHwSlowdown, 0x8)                        \
    X(SLOW_SW_THERMAL, nvmlClocksThrottleReasonSwThermalSlowdown, 0x20)        \
    X(SLOW_HW_THERMAL, nvmlClocksThrottleReasonHwThermalSlowdown, 0x40)        \
    X(SLOW_HW_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown, 0x80)

enum nvml_constant {
#define WS_X(name, theirs, value) NVML__##name = (value),
    NVML_CONSTANTS(WS_X)
#undef WS_X
};

/* Name after nvml, suffix, arguments; all return 0 or an error. */
#define NVML_FUNCTIONS(X)                                                      \
    X(Init, _v2, (void))                                                       \
    X(Shutdown, , (void))                                                      \
    X(SystemGetDriverVersion, , (char *, unsigned))                            \
    X(DeviceGetHandleByPciBusId, _v2, (const char *, nvml_device *))           \
    X(DeviceGetClockInfo, , (nvml_device, cu_enum, unsigned *))                \
    X(DeviceGetMaxClockInfo, , (nvml_device, cu_enum, unsigned *))             \
    X(DeviceGetPowerUsage, , (nvml_device, unsigned *))                        \
    X(DeviceGetTemperature, , (nvml_device, cu_enum, unsigned *))              \
    X(DeviceGetCurrentClocksThrottleReasons, ,                                 \
      (nvml_device, unsigned long long *))

struct nvml_api {
    void *lib;
#define WS_X(name, suffix, args) int(*name) args;
    NVML_FUNCTIONS(WS_X)
#undef WS_X
};

/* Loads and initialises it; lib stays NULL if either fails: everything works
 * without it but clocks. */
void ws__nvml_begin(struct ws_ctx *ctx, struct nvml_api *api);
void ws__nvml_end(struct nvml_api *api);

#endif
