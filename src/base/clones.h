/*
 * clones.h: one function, compiled for several vector widths.
 *
 * WS__CLONES before a function makes the compiler emit it once for the base
 * instruction set and once for each wider one; the loader picks. Arithmetic
 * must not depend on the choice: a*b+c is not contracted in files that include
 * this header (gcc: by -std=c11), so every clone gives the same bits. Where the
 * compiler or the build cannot do it (other processors; sanitizers, whose
 * start-up does not mix with the resolvers) the plain function is left.
 */
#ifndef WS_CLONES_H
#define WS_CLONES_H

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(__has_feature)
#define WS__HAS_FEATURE(x) __has_feature(x)
#else
#define WS__HAS_FEATURE(x) 0
#endif

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) &&         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&         \
    !WS__HAS_FEATURE(address_sanitizer) &&                                     \
    !WS__HAS_FEATURE(thread_sanitizer) && !WS__HAS_FEATURE(memory_sanitizer)
#define WS__CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define WS__CLONES
#endif

#endif
