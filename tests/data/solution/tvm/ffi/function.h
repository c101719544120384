/* See container/tensor.h. */
#pragma once
#define TVM_FFI_THROW(kind) tvm::ffi::thrown()
#define TVM_FFI_DLL_EXPORT_TYPED_FUNC(name, f) extern "C" void exported_##name() { (void)&f; }
