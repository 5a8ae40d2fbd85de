/*
 * glowmcu_math.h: what all float32 functions here share: bits and special values.
 */
#ifndef GLOWMCU_MATH_H
#define GLOWMCU_MATH_H

#include "glowmcu_base.h"

#include <string.h>

/* The other headers hold a function or two each, so that a bundle has only what it uses. */

/* Relative error of every function: at most 2e-6, subnormal results to half of their last place. */

GLOWMCU_CODE
static inline uint32_t glowmcu_float_bits(float x)
{
    uint32_t bits;

    (void)memcpy(&bits, &x, sizeof bits);
    return bits;
}

GLOWMCU_CODE
static inline float glowmcu_float_of_bits(uint32_t bits)
{
    float x;

    (void)memcpy(&x, &bits, sizeof x);
    return x;
}

GLOWMCU_CODE
static inline float glowmcu_infinity(void)
{
    return glowmcu_float_of_bits(0x7f800000u);
}

GLOWMCU_CODE
static inline float glowmcu_not_a_number(void)
{
    return glowmcu_float_of_bits(0x7fc00000u);
}

GLOWMCU_CODE
static inline float glowmcu_absf(float x)
{
    return glowmcu_float_of_bits(glowmcu_float_bits(x) & 0x7fffffffu);
}

/* |magnitude| with the sign of `sign`. */
GLOWMCU_CODE
static inline float glowmcu_copysignf(float magnitude, float sign)
{
    return glowmcu_float_of_bits((glowmcu_float_bits(magnitude) & 0x7fffffffu)
        | (glowmcu_float_bits(sign) & 0x80000000u));
}

/* 2^n for -126 <= n <= 127. */
GLOWMCU_CODE
static inline float glowmcu_power_of_two(int32_t n)
{
    return glowmcu_float_of_bits((uint32_t)(n + 127) << 23);
}

#endif /* GLOWMCU_MATH_H */
