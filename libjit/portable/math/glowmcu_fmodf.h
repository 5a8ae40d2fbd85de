/*
 * glowmcu_fmodf.h: remainder of float32 division, exact.
 */
#ifndef GLOWMCU_FMODF_H
#define GLOWMCU_FMODF_H

#include "glowmcu_math.h"

/* Mantissa, with `exponent` such that |x| = mantissa * 2^(exponent - 150), for finite x. */
GLOWMCU_CODE
static inline uint32_t glowmcu_mantissa(uint32_t bits, int32_t *exponent)
{
    *exponent = (int32_t)(bits >> 23);
    if (*exponent == 0) {
        *exponent = 1;
        return bits;
    }
    return (bits & 0x007fffffu) | 0x00800000u;
}

/* x - n * y with n towards zero: the sign of x. Not a number for y = 0 or infinite x. */
GLOWMCU_CODE
static inline float glowmcu_fmodf(float x, float y)
{
    const uint32_t a = glowmcu_float_bits(x) & 0x7fffffffu;
    const uint32_t b = glowmcu_float_bits(y) & 0x7fffffffu;
    int32_t exponent;
    int32_t last;
    uint32_t rest;
    uint32_t divisor;

    if (a >= 0x7f800000u || b > 0x7f800000u || b == 0u) {
        return glowmcu_not_a_number();
    }
    if (a < b) {
        return x;
    }
    rest = glowmcu_mantissa(a, &exponent);
    divisor = glowmcu_mantissa(b, &last);
    rest %= divisor;
    for (; exponent > last; --exponent) {
        rest <<= 1; /* rest < divisor < 2^24 */
        rest = rest >= divisor ? rest - divisor : rest;
    }
    /* rest * 2^(exponent - 150), exactly: it has as many bits as y. */
    for (; rest != 0u && rest < 0x00800000u && exponent > 1; --exponent) {
        rest <<= 1;
    }
    if (rest >= 0x00800000u) {
        rest = (rest & 0x007fffffu) | ((uint32_t)exponent << 23);
    }
    return glowmcu_copysignf(glowmcu_float_of_bits(rest), x);
}

/* The remainder with the sign of y, as Python's %. */
GLOWMCU_CODE
static inline float glowmcu_floor_modf(float x, float y)
{
    const float rest = glowmcu_fmodf(x, y);

    return rest != 0.0f && (rest < 0.0f) != (y < 0.0f) ? rest + y : rest;
}

#endif /* GLOWMCU_FMODF_H */
