/* What solutions that are written use of TVM-FFI. */
#pragma once
#include <stdint.h>
namespace tvm { namespace ffi {
struct device { int device_type; int device_id; };
struct TensorView {
    int64_t size(int64_t) const;
    void *data_ptr() const;
    tvm::ffi::device device() const;
};
struct thrown { thrown &operator<<(const char *); };
} }
