/*
 * cuda_headers.h: the toolkit's own headers, where this machine has them, for
 * t_cuda_abi.c alone. HAVE_CUDA_H, HAVE_NVRTC_H, HAVE_NVML_H, HAVE_CUPTI_H say
 * which were found: on the compiler's path (CPATH=$CUDA_HOME/include), else
 * where the toolkit installs itself. Their own style is not checked.
 */
#ifndef WS_T_CUDA_HEADERS_H
#define WS_T_CUDA_HEADERS_H

#pragma GCC system_header

/* All versions of a function that has several are declared, each by its name
 * in the library, and no macro turns one into another. */
#define __CUDA_API_VERSION_INTERNAL

#if __has_include(<cuda.h>)
#include <cuda.h>
#define HAVE_CUDA_H 1
#elif __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"
#define HAVE_CUDA_H 1
#endif

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define HAVE_NVRTC_H 1
#elif __has_include("/usr/local/cuda/include/nvrtc.h")
#include "/usr/local/cuda/include/nvrtc.h"
#define HAVE_NVRTC_H 1
#endif

#if __has_include(<nvml.h>)
#include <nvml.h>
#define HAVE_NVML_H 1
#elif __has_include("/usr/local/cuda/include/nvml.h")
#include "/usr/local/cuda/include/nvml.h"
#define HAVE_NVML_H 1
#endif

/* They include each other by name: only from the path. The build adds where the
 * toolkit installs itself, and a header for <string> (mk/cupti.mk). */
#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#define HAVE_CUPTI_H 1
#endif

#endif
