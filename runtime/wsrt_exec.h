/*
 * wsrt_exec.h: what an executor is made of. Private to the runtime.
 *
 * Preparing writes, launching reads: a function is published by one atomic
 * store once everything about it is done, and never changes after that. So
 * launches need no lock, whatever is being prepared beside them.
 */
#ifndef WSRT_EXEC_H
#define WSRT_EXEC_H

#include <stdatomic.h>

#include "wsrt_format.h"

/* What the driver calls so; compared with its header by t_cuda_abi. */
enum {
    CUDA_ATTR_MAJOR = 75,
    CUDA_ATTR_MINOR = 76,
    CUDA_ATTR_SHARED_OPTIN = 97,
    CUDA_FUNC_SHARED = 1,  /* static bytes a block */
    CUDA_FUNC_DYNAMIC = 8, /* most dynamic bytes a block */
    CUDA_CAPTURE_RELAXED = 2,
    CUDA_NO_BINARY = 209,       /* what is loaded is for another GPU */
    CUDA_CAPTURE_IMPLICIT = 906 /* the default stream, while another one is
                                   captured that waits for it */
};

struct wsrt_exec {
    const struct wsrt_pack *pack;
    struct wsrt_cuda_driver driver;
    void *lib;        /* of dlopen, or NULL */
    void *context;    /* of the driver, as it was current at opening */
    int shared_optin; /* bytes a block may have if it asks for them */
    int major, minor; /* compute capability */
    atomic_int error; /* the driver's last */
    atomic_flag preparing;
    void **module;              /* by image; NULL: not loaded */
    _Atomic(void *) function[]; /* by symbol; NULL: not ready */
};

#endif
