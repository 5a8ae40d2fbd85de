/*
 * glowmcu_mve.h: Helium, the integer vector extension of Armv8.1-M, as kernels use it.
 *
 * With GLOWMCU_HAS_MVE 0 (another core, or GLOWMCU_PORTABLE defined) every kernel is C99 on the
 * same packed constants, so a computer runs what a core runs.
 */
#ifndef GLOWMCU_MVE_H
#define GLOWMCU_MVE_H

#include <string.h>

#include "glowmcu_little_endian.h"
#include "glowmcu_thumb.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1) && GLOWMCU_THUMB == 2
#define GLOWMCU_HAS_MVE 1
#include <arm_mve.h>
#else
#define GLOWMCU_HAS_MVE 0
#endif

#if GLOWMCU_HAS_MVE
/* `bytes` bytes, at least 1; moves both pointers. The compiler makes no loops with LETP. */
#define GLOWMCU_MVE_COPY(to, from, bytes)    \
    __asm__ volatile(                        \
        "   dlstp.8 lr, %2\n"                \
        "1: vldrb.8 q0, [%1], #16\n"         \
        "   vstrb.8 q0, [%0], #16\n"         \
        "   letp    lr, 1b\n"                \
        : "+r"(to), "+r"(from)               \
        : "r"(bytes)                         \
        : "lr", "q0", "memory")
#endif

/* `bytes` bytes, at any address; 0 or fewer: nothing. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_mve_copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    if (bytes > 0) {
#if GLOWMCU_HAS_MVE
        GLOWMCU_MVE_COPY(to, from, bytes);
#else
        (void)memcpy(to, from, (size_t)bytes);
#endif
    }
}

/* `rows` rows, at least 1, of `bytes` bytes, at least 1, `step` apart, to one after the other. */
GLOWMCU_CODE
static inline void glowmcu_mve_copy_rows(int8_t *to, const int8_t *from, int32_t bytes,
    int32_t step, int32_t rows)
{
    do {
#if GLOWMCU_HAS_MVE
        int8_t *at = to;
        const int8_t *next = from;
        GLOWMCU_MVE_COPY(at, next, bytes);
#else
        (void)memcpy(to, from, (size_t)bytes);
#endif
        to += bytes;
        from += step;
        --rows;
    } while (rows > 0);
}

/* The same byte `bytes` times; 0 or fewer: nothing. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_mve_fill(int8_t *to, int32_t value, int32_t bytes)
{
    if (bytes > 0) {
#if GLOWMCU_HAS_MVE
        __asm__ volatile(
            "   vdup.8  q0, %1\n"
            "   dlstp.8 lr, %2\n"
            "1: vstrb.8 q0, [%0], #16\n"
            "   letp    lr, 1b\n"
            : "+r"(to)
            : "r"(value), "r"(bytes)
            : "lr", "q0", "memory");
#else
        (void)memset(to, (int)((uint32_t)value & 0xFFu), (size_t)bytes);
#endif
    }
}

#endif /* GLOWMCU_MVE_H */
