/*
 * cuda_cupti.h: the part of CUPTI, NVIDIA's library of counters, that we use,
 * declared by us: of CUDA 13 its host interface (which metrics there are, and
 * what a set of them takes; needs no device) and its range profiler.
 *
 * As for the driver (cuda_api.h), functions are found at run time, names are
 * of our own, and everything is a list, so that a test can compare it with the
 * toolkit's headers (tests/conformance/t_cuda_abi.c). Each function
 * takes one structure of arguments, which begins with its own size; both come
 * from one row here.
 */
#ifndef WS_CUDA_CUPTI_H
#define WS_CUDA_CUPTI_H

#include "device/cuda/cuda_api.h"

typedef struct cupti_host_s *cupti_host;
typedef struct cupti_ranges_s *cupti_ranges;

/* Our name after CUPTI__, the header's name, value. */
#define CUPTI_CONSTANTS(X)                                                     \
    X(RANGE_PROFILER, CUPTI_PROFILER_TYPE_RANGE_PROFILER, 0)                   \
    X(RANGE_PROFILING, CUPTI_PROFILER_RANGE_PROFILING, 0)                      \
    X(SUPPORTED, CUPTI_PROFILER_CONFIGURATION_SUPPORTED, 3)                    \
    X(AUTO_RANGE, CUPTI_AutoRange, 1)                                          \
    X(KERNEL_REPLAY, CUPTI_KernelReplay, 2)                                    \
    X(USER_REPLAY, CUPTI_UserReplay, 3)

enum cupti_constant {
#define WS_X(name, theirs, value) CUPTI__##name = (value),
    CUPTI_CONSTANTS(WS_X)
#undef WS_X
};

/* Errors: name after CUPTI_ERROR_, value, what each says (a WS_E), what to do.
 * ENOTSUP: there are no counters here, whatever is asked. */
#define CUPTI_ERRORS(X)                                                        \
    X(INVALID_PARAMETER, 1, EDEVICE, NULL)                                     \
    X(INVALID_OPERATION, 7, EDEVICE, NULL)                                     \
    X(OUT_OF_MEMORY, 8, EDEVICE, NULL)                                         \
    X(HARDWARE, 9, EDEVICE, NULL)                                              \
    X(API_NOT_IMPLEMENTED, 11, ENOTSUP, CUPTI_HINT_UPDATE)                     \
    X(NOT_COMPATIBLE, 14, ENOTSUP, CUPTI_HINT_UPDATE)                          \
    X(NOT_INITIALIZED, 15, ENOTSUP, CUPTI_HINT_UPDATE)                         \
    X(HARDWARE_BUSY, 26, ENOTSUP, CUPTI_HINT_OTHER)                            \
    X(NOT_SUPPORTED, 27, ENOTSUP, CUPTI_HINT_UPDATE)                           \
    X(VIRTUALIZED_DEVICE_NOT_SUPPORTED, 33, ENOTSUP, CUPTI_HINT_VGPU)          \
    X(INSUFFICIENT_PRIVILEGES, 35, ENOTSUP, CUPTI_HINT_RIGHTS)                 \
    X(OLD_PROFILER_API_INITIALIZED, 36, ENOTSUP, CUPTI_HINT_OTHER)             \
    X(LEGACY_PROFILER_NOT_SUPPORTED, 38, ENOTSUP, CUPTI_HINT_UPDATE)           \
    X(MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39, ENOTSUP, CUPTI_HINT_OTHER)       \
    X(VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, 40, ENOTSUP,                 \
      CUPTI_HINT_VGPU)                                                         \
    X(CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, 41, ENOTSUP, CUPTI_HINT_SECRET)    \
    X(CMP_DEVICE_NOT_SUPPORTED, 42, ENOTSUP, CUPTI_HINT_NONE)                  \
    X(MIG_DEVICE_NOT_SUPPORTED, 43, ENOTSUP, CUPTI_HINT_NONE)                  \
    X(SLI_DEVICE_NOT_SUPPORTED, 44, ENOTSUP, CUPTI_HINT_NONE)                  \
    X(WSL_DEVICE_NOT_SUPPORTED, 45, ENOTSUP, CUPTI_HINT_NONE)                  \
    X(INVALID_CHIP_NAME, 46, ENOTSUP, CUPTI_HINT_UPDATE)                       \
    X(UNKNOWN, 999, EDEVICE, NULL)

#define CUPTI_HINT_UPDATE                                                      \
    "this CUPTI, driver and device do not fit: install a CUDA 13 toolkit "     \
    "that "                                                                    \
    "is no newer than the driver; without counters a diagnosis rests on "      \
    "resources and times"
#define CUPTI_HINT_OTHER                                                       \
    "only one program can read them: end ncu, nsys, cuda-gdb or whatever "     \
    "else reads counters of this device or looks into this process"
#define CUPTI_HINT_RIGHTS                                                      \
    "run as root or with CAP_SYS_ADMIN, or let the administrator load the "    \
    "driver's module nvidia with NVreg_RestrictProfilingToAdminUsers=0 (of a " \
    "container: on its host)"
#define CUPTI_HINT_VGPU                                                        \
    "this is a virtual GPU: whoever runs its host must enable profiling for "  \
    "it"
#define CUPTI_HINT_SECRET                                                      \
    "confidential computing hides counters: use a device without it; a "       \
    "diagnosis then rests on resources and times"
#define CUPTI_HINT_NONE                                                        \
    "devices of this kind have none; a diagnosis then rests on resources and " \
    "times"

enum cupti_error {
#define WS_X(name, value, code, hint) CUPTI__E_##name = (value),
    CUPTI_ERRORS(WS_X)
#undef WS_X
};

/* Functions: name after cupti, what the header calls its structure (between
 * CUpti_ and _Params), its fields after the first two, the last of them. */
#define CUPTI_FUNCTIONS(X)                                                     \
    X(ProfilerInitialize, Profiler_Initialize, CUPTI_F_NONE, pPriv)            \
    X(ProfilerDeInitialize, Profiler_DeInitialize, CUPTI_F_NONE, pPriv)        \
    X(ProfilerDeviceSupported, Profiler_DeviceSupported, CUPTI_F_SUPPORTED,    \
      api)                                                                     \
    X(DeviceGetChipName, Device_GetChipName, CUPTI_F_CHIP, pChipName)          \
    X(ProfilerGetCounterAvailability, Profiler_GetCounterAvailability,         \
      CUPTI_F_AVAILABLE, pCounterAvailabilityImage)                            \
    X(ProfilerHostInitialize, Profiler_Host_Initialize, CUPTI_F_HOST,          \
      pHostObject)                                                             \
    X(ProfilerHostDeinitialize, Profiler_Host_Deinitialize, CUPTI_F_HOST_END,  \
      pHostObject)                                                             \
    X(ProfilerHostConfigAddMetrics, Profiler_Host_ConfigAddMetrics,            \
      CUPTI_F_ADD, numMetrics)                                                 \
    X(ProfilerHostGetConfigImageSize, Profiler_Host_GetConfigImageSize,        \
      CUPTI_F_CONFIG_SIZE, configImageSize)                                    \
    X(ProfilerHostGetConfigImage, Profiler_Host_GetConfigImage,                \
      CUPTI_F_CONFIG, pConfigImage)                                            \
    X(ProfilerHostGetNumOfPasses, Profiler_Host_GetNumOfPasses,                \
      CUPTI_F_PASSES, numOfPasses)                                             \
    X(ProfilerHostEvaluateToGpuValues, Profiler_Host_EvaluateToGpuValues,      \
      CUPTI_F_VALUES, pMetricValues)                                           \
    X(RangeProfilerEnable, RangeProfiler_Enable, CUPTI_F_ENABLE,               \
      pRangeProfilerObject)                                                    \
    X(RangeProfilerDisable, RangeProfiler_Disable, CUPTI_F_RANGES,             \
      pRangeProfilerObject)                                                    \
    X(RangeProfilerGetCounterDataSize, RangeProfiler_GetCounterDataSize,       \
      CUPTI_F_DATA_SIZE, counterDataSize)                                      \
    X(RangeProfilerCounterDataImageInitialize,                                 \
      RangeProfiler_CounterDataImage_Initialize, CUPTI_F_DATA, pCounterData)   \
    X(RangeProfilerSetConfig, RangeProfiler_SetConfig, CUPTI_F_SET,            \
      targetNestingLevel)                                                      \
    X(RangeProfilerStart, RangeProfiler_Start, CUPTI_F_RANGES,                 \
      pRangeProfilerObject)                                                    \
    X(RangeProfilerStop, RangeProfiler_Stop, CUPTI_F_STOP, isAllPassSubmitted) \
    X(RangeProfilerDecodeData, RangeProfiler_DecodeData, CUPTI_F_DECODE,       \
      numOfRangeDropped)                                                       \
    X(RangeProfilerGetCounterDataInfo, RangeProfiler_GetCounterDataInfo,       \
      CUPTI_F_INFO, numTotalRanges)

/* Fields: type, name as in the header. */
#define CUPTI_F_NONE(F)
#define CUPTI_F_SUPPORTED(F)                                                   \
    F(cu_device, cuDevice)                                                     \
    F(cu_enum, isSupported)                                                    \
    F(cu_enum, architecture)                                                   \
    F(cu_enum, sli)                                                            \
    F(cu_enum, vGpu)                                                           \
    F(cu_enum, confidentialCompute)                                            \
    F(cu_enum, cmp)                                                            \
    F(cu_enum, wsl)                                                            \
    F(cu_enum, api)
#define CUPTI_F_CHIP(F)                                                        \
    F(size_t, deviceIndex)                                                     \
    F(const char *, pChipName)
#define CUPTI_F_AVAILABLE(F)                                                   \
    F(cu_context, ctx)                                                         \
    F(size_t, counterAvailabilityImageSize)                                    \
    F(uint8_t *, pCounterAvailabilityImage)
#define CUPTI_F_HOST(F)                                                        \
    F(cu_enum, profilerType)                                                   \
    F(const char *, pChipName)                                                 \
    F(const uint8_t *, pCounterAvailabilityImage)                              \
    F(cupti_host, pHostObject)
#define CUPTI_F_HOST_END(F) F(cupti_host, pHostObject)
#define CUPTI_F_ADD(F)                                                         \
    F(cupti_host, pHostObject)                                                 \
    F(const char **, ppMetricNames)                                            \
    F(size_t, numMetrics)
#define CUPTI_F_CONFIG_SIZE(F)                                                 \
    F(cupti_host, pHostObject)                                                 \
    F(size_t, configImageSize)
#define CUPTI_F_CONFIG(F)                                                      \
    F(cupti_host, pHostObject)                                                 \
    F(size_t, configImageSize)                                                 \
    F(uint8_t *, pConfigImage)
#define CUPTI_F_PASSES(F)                                                      \
    F(size_t, configImageSize)                                                 \
    F(uint8_t *, pConfigImage)                                                 \
    F(size_t, numOfPasses)
#define CUPTI_F_VALUES(F)                                                      \
    F(cupti_host, pHostObject)                                                 \
    F(const uint8_t *, pCounterDataImage)                                      \
    F(size_t, counterDataImageSize)                                            \
    F(size_t, rangeIndex)                                                      \
    F(const char **, ppMetricNames)                                            \
    F(size_t, numMetrics)                                                      \
    F(double *, pMetricValues)
#define CUPTI_F_ENABLE(F)                                                      \
    F(cu_context, ctx)                                                         \
    F(cupti_ranges, pRangeProfilerObject)
#define CUPTI_F_RANGES(F) F(cupti_ranges, pRangeProfilerObject)
#define CUPTI_F_DATA_SIZE(F)                                                   \
    F(cupti_ranges, pRangeProfilerObject)                                      \
    F(const char **, pMetricNames)                                             \
    F(size_t, numMetrics)                                                      \
    F(size_t, maxNumOfRanges)                                                  \
    F(uint32_t, maxNumRangeTreeNodes)                                          \
    F(size_t, counterDataSize)
#define CUPTI_F_DATA(F)                                                        \
    F(cupti_ranges, pRangeProfilerObject)                                      \
    F(size_t, counterDataSize)                                                 \
    F(uint8_t *, pCounterData)
#define CUPTI_F_SET(F)                                                         \
    F(cupti_ranges, pRangeProfilerObject)                                      \
    F(size_t, configSize)                                                      \
    F(const uint8_t *, pConfig)                                                \
    F(size_t, counterDataImageSize)                                            \
    F(uint8_t *, pCounterDataImage)                                            \
    F(cu_enum, range)                                                          \
    F(cu_enum, replayMode)                                                     \
    F(size_t, maxRangesPerPass)                                                \
    F(uint16_t, numNestingLevels)                                              \
    F(uint16_t, minNestingLevel)                                               \
    F(size_t, passIndex)                                                       \
    F(uint16_t, targetNestingLevel)
#define CUPTI_F_STOP(F)                                                        \
    F(cupti_ranges, pRangeProfilerObject)                                      \
    F(size_t, passIndex)                                                       \
    F(size_t, targetNestingLevel)                                              \
    F(uint8_t, isAllPassSubmitted)
#define CUPTI_F_DECODE(F)                                                      \
    F(cupti_ranges, pRangeProfilerObject)                                      \
    F(size_t, numOfRangeDropped)
#define CUPTI_F_INFO(F)                                                        \
    F(const uint8_t *, pCounterDataImage)                                      \
    F(size_t, counterDataImageSize)                                            \
    F(size_t, numTotalRanges)

/* struct cupti_RangeProfilerStart and so on. */
#define CUPTI_FIELD(type, name) type name;
#define WS_X(name, theirs, fields, last)                                       \
    struct cupti_##name {                                                      \
        size_t structSize;                                                     \
        void *pPriv;                                                           \
        fields(CUPTI_FIELD)                                                    \
    };
CUPTI_FUNCTIONS(WS_X)
#undef WS_X

/* What the library wants to be told: up to the last field, without padding. */
enum {
#define WS_X(name, theirs, fields, last)                                       \
    CUPTI_SIZE_##name = offsetof(struct cupti_##name, last) +                  \
                        sizeof(((struct cupti_##name *)NULL)->last),
    CUPTI_FUNCTIONS(WS_X)
#undef WS_X
};

struct cupti_api {
    void *lib;
#define WS_X(name, theirs, fields, last) int (*name)(struct cupti_##name *);
    CUPTI_FUNCTIONS(WS_X)
#undef WS_X
};

/* WS_ENOTSUP in words, with what to install. */
int ws__cupti_load(struct ws_ctx *ctx, struct cupti_api *api);
void ws__cupti_unload(struct cupti_api *api);
/* Sets the error "cannot <what>: CUPTI_ERROR_NAME", with what to do, and
 * returns its code. */
int ws__cupti_fail(struct ws_ctx *ctx, int error, const char *what);
const char *ws__cupti_error_name(int error); /* "CUPTI_ERROR_..." or NULL */

#endif
