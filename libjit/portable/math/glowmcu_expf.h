/*
 * glowmcu_expf.h: exp(x) and exp(x) - 1 of float32.
 */
#ifndef GLOWMCU_EXPF_H
#define GLOWMCU_EXPF_H

#include "glowmcu_math.h"

typedef struct {
    int32_t exponent;
    float fraction; /* exp(x) = (1 + fraction) * 2^exponent, |fraction| < 0.42 */
} glowmcu_exp_parts;

/* For |x| < 128. log(2) is taken off in two parts, of which the first has 9 bits. */
GLOWMCU_CODE
static inline glowmcu_exp_parts glowmcu_exp_split(float x)
{
    glowmcu_exp_parts parts;
    float r;

    parts.exponent = (int32_t)(x * 1.44269504f + (x < 0.0f ? -0.5f : 0.5f));
    r = x - (float)parts.exponent * 0.693359375f;
    r = r + (float)parts.exponent * 2.12194440e-4f;
    parts.fraction = r + r * r * ((((0.0013946445f * r + 0.008366583f) * r + 0.04166628f) * r
        + 0.16666543f) * r + 0.5f);
    return parts;
}

GLOWMCU_CODE
static inline float glowmcu_expf(float x)
{
    glowmcu_exp_parts parts;
    int32_t half;

    if (x != x) {
        return x;
    }
    if (x > 88.72284f) {
        return glowmcu_infinity();
    }
    if (x < -103.98f) {
        return 0.0f;
    }
    parts = glowmcu_exp_split(x);
    /* In two steps: 2^exponent itself may be no normal number. */
    half = parts.exponent >> 1;
    return (1.0f + parts.fraction) * glowmcu_power_of_two(half)
        * glowmcu_power_of_two(parts.exponent - half);
}

/* exp(x) - 1, also where x is so small that exp(x) rounds to 1. */
GLOWMCU_CODE
static inline float glowmcu_expm1f(float x)
{
    glowmcu_exp_parts parts;
    float scale;

    if (!(x < 87.0f)) {
        return glowmcu_expf(x);
    }
    if (x < -18.0f) {
        return -1.0f;
    }
    parts = glowmcu_exp_split(x);
    if (parts.exponent == 0) {
        return parts.fraction;
    }
    scale = glowmcu_power_of_two(parts.exponent);
    return parts.fraction * scale + (scale - 1.0f);
}

#endif /* GLOWMCU_EXPF_H */
