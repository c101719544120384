/*
 * t_cuda_abi.c: our declarations of CUDA's driver, of NVRTC, NVML and CUPTI
 * against the toolkit's headers; those of the runtime, too, whose table of
 * functions (wsrt.h) has pointers and numbers in the place of their types.
 *
 * All of it is compared by the compiler: every constant and error by its
 * value, every function by its whole type. For that our names of their types
 * are macros below, so that the lists of functions expand to types of theirs;
 * an enumeration is compatible with an unsigned integer and with nothing else,
 * so an argument that we have at another place, with another width or behind
 * one pointer less is another type. Where a header is not installed, the test
 * says so; the program itself then has nothing left to do.
 */
#include "base/t_base.h"

#include "device/cuda/cuda_api.h"
#include "device/cuda/cuda_cupti.h"
#include "device/cuda/cuda_nvrtc.h"
#include "runtime/wsrt_exec.h"

#include "tests/conformance/cuda_headers.h"

/* What the macros below stand in for has the same size: calls pass it on. */
#define SAME_SIZE(ours, theirs)                                                \
    _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)

/* result: what the functions of the library return. */
#define SAME_TYPE(name, result, args)                                          \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name),              \
                                                result args),                  \
                   #name);

/* Field, name after cu, arguments in our words for their types. */
#define RUNTIME_FUNCTIONS(X)                                                   \
    X(ctx_get_current, CtxGetCurrent, (cu_context *))                          \
    X(ctx_get_device, CtxGetDevice, (cu_device *))                             \
    X(device_get_attribute, DeviceGetAttribute, (int *, cu_enum, cu_device))   \
    X(module_load_data, ModuleLoadData, (cu_module *, const void *))           \
    X(module_unload, ModuleUnload, (cu_module))                                \
    X(module_get_function, ModuleGetFunction,                                  \
      (cu_function *, cu_module, const char *))                                \
    X(func_get_attribute, FuncGetAttribute, (int *, cu_enum, cu_function))     \
    X(func_set_attribute, FuncSetAttribute, (cu_function, cu_enum, int))       \
    X(launch_kernel, LaunchKernel,                                             \
      (cu_function, unsigned, unsigned, unsigned, unsigned, unsigned,          \
       unsigned, unsigned, cu_stream, void **, void **))                       \
    X(memset_d32_async, MemsetD32Async, (cu_ptr, unsigned, size_t, cu_stream)) \
    X(stream_is_capturing, StreamIsCapturing, (cu_stream, cu_enum *))          \
    X(thread_exchange_capture_mode, ThreadExchangeStreamCaptureMode,           \
      (cu_enum *))                                                             \
    X(get_error_name, GetErrorName, (cu_enum, const char **))                  \
    X(func_load, FuncLoad, (cu_function))

#define cu_device int
#define cu_ptr uint64_t
#define cu_context void *
#define cu_module void *
#define cu_function void *
#define cu_stream void *
#define cu_enum int
#define WS_X(field, name, args)                                                \
    _Static_assert(__builtin_types_compatible_p(                               \
                       __typeof__(((struct wsrt_cuda_driver *)0)->field),      \
                       int(*) args),                                           \
                   #field);
RUNTIME_FUNCTIONS(WS_X)
#undef WS_X
#undef cu_device
#undef cu_ptr
#undef cu_context
#undef cu_module
#undef cu_function
#undef cu_stream
#undef cu_enum

#ifdef HAVE_CUDA_H
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(CUDA_ATTR_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CUDA_ATTR_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CUDA_ATTR_SHARED_OPTIN,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(CUDA_FUNC_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(CUDA_FUNC_DYNAMIC, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(CUDA_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(CUDA_NO_BINARY, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(CUDA_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(0, CU_STREAM_CAPTURE_STATUS_NONE);

#define WS_X(name, theirs, value) _Static_assert((value) == (theirs), #theirs);
CU_CONSTANTS(WS_X)
#undef WS_X
#define WS_X(name, value, code)                                                \
    _Static_assert((value) == CUDA_ERROR_##name, #name);
CU_ERRORS(WS_X)
#undef WS_X

SAME_SIZE(cu_device, CUdevice);
SAME_SIZE(cu_ptr, CUdeviceptr);
SAME_SIZE(cu_enum, CUresult);
SAME_SIZE(cu_enum, CUdevice_attribute);
SAME_SIZE(cu_enum, CUfunction_attribute);
SAME_SIZE(cu_enum, CUjit_option);
SAME_SIZE(cu_enum, CUstreamCaptureMode);

SAME_SIZE(cu_memory, CUmemGenericAllocationHandle);
SAME_SIZE(cu_mem_prop, CUmemAllocationProp);
SAME_SIZE(cu_mem_access, CUmemAccessDesc);
#define SAME_OFFSET(ours, name, theirs, field)                                 \
    _Static_assert(offsetof(ours, name) == offsetof(theirs, field), #field)
SAME_OFFSET(cu_mem_prop, type, CUmemAllocationProp, type);
SAME_OFFSET(cu_mem_prop, location, CUmemAllocationProp, location.type);
SAME_OFFSET(cu_mem_prop, device, CUmemAllocationProp, location.id);
SAME_OFFSET(cu_mem_prop, flags, CUmemAllocationProp, allocFlags);
SAME_OFFSET(cu_mem_access, location, CUmemAccessDesc, location.type);
SAME_OFFSET(cu_mem_access, device, CUmemAccessDesc, location.id);
SAME_OFFSET(cu_mem_access, access, CUmemAccessDesc, flags);

#define cu_memory CUmemGenericAllocationHandle
#define cu_mem_prop CUmemAllocationProp
#define cu_mem_access CUmemAccessDesc
#define cu_device CUdevice
#define cu_ptr CUdeviceptr
#define cu_context CUcontext
#define cu_module CUmodule
#define cu_function CUfunction
#define cu_stream CUstream
#define cu_event CUevent
#define cu_graph CUgraph
#define cu_graph_exec CUgraphExec
#define cu_enum unsigned
#define WS_X(name, suffix, args) SAME_TYPE(cu##name##suffix, unsigned, args)
CU_FUNCTIONS(WS_X)
CU_OPTIONAL(WS_X)
#undef WS_X
#define WS_X(field, name, args) SAME_TYPE(cu##name, unsigned, args)
RUNTIME_FUNCTIONS(WS_X)
#undef WS_X
#undef cu_device
#undef cu_ptr
#undef cu_context
#undef cu_module
#undef cu_function
#undef cu_stream
#undef cu_event
#undef cu_graph
#undef cu_graph_exec
#undef cu_enum
#undef cu_memory
#undef cu_mem_prop
#undef cu_mem_access
#endif

#ifdef HAVE_NVRTC_H
#define WS_X(name, value, code)                                                \
    _Static_assert((value) == NVRTC_ERROR_##name, #name);
NVRTC_ERRORS(WS_X)
#undef WS_X

SAME_SIZE(cu_enum, nvrtcResult);

#define nvrtc_program nvrtcProgram
#define WS_X(name, suffix, args) SAME_TYPE(nvrtc##name##suffix, unsigned, args)
NVRTC_FUNCTIONS(WS_X)
NVRTC_OPTIONAL(WS_X)
#undef WS_X
#undef nvrtc_program
#endif

#ifdef HAVE_NVML_H
#define WS_X(name, theirs, value) _Static_assert((value) == (theirs), #theirs);
NVML_CONSTANTS(WS_X)
#undef WS_X

SAME_SIZE(cu_enum, nvmlReturn_t);
SAME_SIZE(cu_enum, nvmlClockType_t);
SAME_SIZE(cu_enum, nvmlTemperatureSensors_t);

#define nvml_device nvmlDevice_t
#define cu_enum unsigned
#define WS_X(name, suffix, args) SAME_TYPE(nvml##name##suffix, unsigned, args)
NVML_FUNCTIONS(WS_X)
#undef WS_X
#undef nvml_device
#undef cu_enum
#endif

#ifdef HAVE_CUPTI_H
#define WS_X(name, theirs, value) _Static_assert((value) == (theirs), #theirs);
CUPTI_CONSTANTS(WS_X)
#undef WS_X
#define WS_X(name, value, code, hint)                                          \
    _Static_assert((value) == CUPTI_ERROR_##name, #name);
CUPTI_ERRORS(WS_X)
#undef WS_X

#define cu_device CUdevice
#define cu_context CUcontext
#define cu_enum unsigned
#define cupti_host CUpti_Profiler_Host_Object *
#define cupti_ranges CUpti_RangeProfiler_Object *
#define SAME_FIELD(type, name)                                                 \
    _Static_assert(offsetof(ours_of, name) == offsetof(theirs_of, name),       \
                   #name);                                                     \
    _Static_assert(__builtin_types_compatible_p(                               \
                       __typeof__(((theirs_of *)NULL)->name), type),           \
                   #name);
#define WS_X(name, theirs, fields, last)                                       \
    SAME_TYPE(cupti##name, unsigned, (CUpti_##theirs##_Params *))              \
    SAME_SIZE(struct cupti_##name, CUpti_##theirs##_Params);                   \
    _Static_assert((size_t)CUPTI_SIZE_##name ==                                \
                       CUpti_##theirs##_Params_STRUCT_SIZE,                    \
                   #name);                                                     \
    static inline void fields_of_##name(void)                                  \
    {                                                                          \
        typedef CUpti_##theirs##_Params theirs_of;                             \
        typedef struct cupti_##name ours_of;                                   \
                                                                               \
        SAME_FIELD(size_t, structSize)                                         \
        SAME_FIELD(void *, pPriv)                                              \
        fields(SAME_FIELD)                                                     \
    }
CUPTI_FUNCTIONS(WS_X)
#undef WS_X
#undef cu_device
#undef cu_context
#undef cu_enum
#undef cupti_host
#undef cupti_ranges
#endif

static void the_driver_is_as_declared(void **state)
{
    (void)state;
#ifndef HAVE_CUDA_H
    SKIP("<cuda.h> is not installed; nothing was compared");
#endif
}

static void the_compiler_is_as_declared(void **state)
{
    (void)state;
#ifndef HAVE_NVRTC_H
    SKIP("<nvrtc.h> is not installed; nothing was compared");
#endif
}

static void nvml_is_as_declared(void **state)
{
    (void)state;
#ifndef HAVE_NVML_H
    SKIP("<nvml.h> is not installed; nothing was compared");
#endif
}

static void cupti_is_as_declared(void **state)
{
    (void)state;
#ifndef HAVE_CUPTI_H
    SKIP("<cupti_range_profiler.h> is not installed; nothing was compared");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_is_as_declared),
        cmocka_unit_test(the_compiler_is_as_declared),
        cmocka_unit_test(nvml_is_as_declared),
        cmocka_unit_test(cupti_is_as_declared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
