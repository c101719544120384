/* See container/tensor.h. */
#pragma once
extern "C" void *TVMFFIEnvGetStream(int32_t, int32_t);
