/*
 * t_opencl_abi.c: our declarations of OpenCL against the real header.
 *
 * All of it is compared by the compiler; where the header is not installed,
 * the test says so. The program itself has nothing left to do.
 */
#include "base/t_base.h"

#include "device/opencl/opencl_api.h"

#if defined(__has_include)
#if __has_include(<CL/cl.h>)
#define HAVE_CL 1
#endif
#endif

#ifdef HAVE_CL
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#define WS_X(name, value)                                                      \
    _Static_assert((uint64_t)(value) == (uint64_t)CL_##name, #name);
OCL_CONSTANTS(WS_X)
#undef WS_X
#define WS_X(name, value, code) _Static_assert((value) == CL_##name, #name);
OCL_ERRORS(WS_X)
#undef WS_X
_Static_assert(OCL_DEVICE_TYPE_ALL == CL_DEVICE_TYPE_ALL, "type");
_Static_assert(OCL_PLATFORM_NOT_FOUND == CL_PLATFORM_NOT_FOUND_KHR, "error");

#define SAME_SIZE(ours, theirs)                                                \
    _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
SAME_SIZE(ocl_platform, cl_platform_id);
SAME_SIZE(ocl_device, cl_device_id);
SAME_SIZE(ocl_context, cl_context);
SAME_SIZE(ocl_queue, cl_command_queue);
SAME_SIZE(ocl_mem, cl_mem);
SAME_SIZE(ocl_program, cl_program);
SAME_SIZE(ocl_kernel, cl_kernel);
SAME_SIZE(ocl_event, cl_event);
SAME_SIZE(int32_t, cl_int);
SAME_SIZE(uint32_t, cl_uint);
SAME_SIZE(uint32_t, cl_bool);
SAME_SIZE(uint64_t, cl_ulong);
SAME_SIZE(uint64_t, cl_device_type);
SAME_SIZE(uint64_t, cl_mem_flags);
SAME_SIZE(uint64_t, cl_command_queue_properties);
SAME_SIZE(intptr_t, cl_context_properties);
SAME_SIZE(struct ocl_region, cl_buffer_region);
_Static_assert(offsetof(struct ocl_region, size) ==
                   offsetof(cl_buffer_region, size),
               "region");
#endif

static void errors_have_names(void **state)
{
    (void)state;
    assert_string_equal(ws__ocl_error_name(-54), "CL_INVALID_WORK_GROUP_SIZE");
    assert_null(ws__ocl_error_name(-9999));
#ifndef HAVE_CL
    SKIP("the header <CL/cl.h> is not installed; nothing was compared");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
