/*
 * glowmcu_requantize.h: int32 accumulators to int8, exactly as TensorFlow Lite does.
 *
 * A real scale is multiplier * 2^(shift - 31), multiplier in [2^30, 2^31) or 0, shift in [-31, 30].
 * Double rounding (TensorFlow Lite Micro) unless one of these is defined before this file:
 * GLOWMCU_SINGLE_ROUNDING (XNNPACK), or GLOWMCU_MIXED_ROUNDING (LiteRT's reference kernels), where
 * a layer that is rounded once has 64 added to its shifts.
 */
#ifndef GLOWMCU_REQUANTIZE_H
#define GLOWMCU_REQUANTIZE_H

#include "glowmcu_base.h"

/* round(a * b / 2^31), halves up; the caller never passes INT32_MIN twice. */
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1
/* Armv6-M has no 64-bit product: four of 16-bit halves, shorter than the library's call. */
GLOWMCU_CODE
__attribute__((noinline, unused)) static int32_t glowmcu_doubling_high_mul(int32_t a, int32_t b)
{
    const uint32_t a_low = (uint32_t)a & 0xFFFFu;
    const uint32_t b_low = (uint32_t)b & 0xFFFFu;
    const int32_t a_high = a >> 16;
    const int32_t b_high = b >> 16;
    const int32_t cross = a_high * (int32_t)b_low;
    const int32_t other = (int32_t)a_low * b_high;
    const uint32_t low = ((a_low * b_low) >> 16) + ((uint32_t)cross & 0x7FFFu)
        + ((uint32_t)other & 0x7FFFu) + 0x4000u;
    const uint32_t high = 2u * (uint32_t)(a_high * b_high);

    return (int32_t)(high + (uint32_t)(cross >> 15) + (uint32_t)(other >> 15) + (low >> 15));
}
#else
GLOWMCU_CODE
static inline int32_t glowmcu_doubling_high_mul(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}
#endif

/* round(x / 2^exponent), halves away from zero; exponent in [0, 31]. */
GLOWMCU_CODE
static inline int32_t glowmcu_divide_by_pot(int32_t x, int32_t exponent)
{
    const int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1u);
    const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);

    return (x >> exponent) + ((x & mask) > threshold ? 1 : 0);
}

#if defined(GLOWMCU_SINGLE_ROUNDING) || defined(GLOWMCU_MIXED_ROUNDING)
/* x * multiplier * 2^(shift - 31), rounded once, halves up. */
GLOWMCU_CODE
static inline int32_t glowmcu_requantize_once(int32_t x, int32_t multiplier, int32_t shift)
{
    const int32_t total = 31 - shift;
    const int64_t half = (int64_t)1 << (total - 1);

    return (int32_t)(((int64_t)x * multiplier + half) >> total);
}
#endif

/* x * multiplier * 2^(shift - 31), rounded. */
GLOWMCU_CODE
static inline int32_t glowmcu_requantize(int32_t x, int32_t multiplier, int32_t shift)
{
#ifdef GLOWMCU_SINGLE_ROUNDING
    return glowmcu_requantize_once(x, multiplier, shift);
#else
#ifdef GLOWMCU_MIXED_ROUNDING
    if (shift > 30) {
        return glowmcu_requantize_once(x, multiplier, shift - 64);
    }
#endif
    if (shift > 0) {
        /* Modulo 2^32, as the reference kernels do when a scale is absurdly large. */
        return glowmcu_doubling_high_mul((int32_t)((uint32_t)x << shift), multiplier);
    }
    return glowmcu_divide_by_pot(glowmcu_doubling_high_mul(x, multiplier), -shift);
#endif
}

GLOWMCU_CODE
static inline int32_t glowmcu_clamp(int32_t x, int32_t lowest, int32_t highest)
{
    return (x < lowest) ? lowest : ((x > highest) ? highest : x);
}

#endif /* GLOWMCU_REQUANTIZE_H */
