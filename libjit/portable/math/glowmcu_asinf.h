/*
 * glowmcu_asinf.h: arc sine and arc cosine of float32.
 */
#ifndef GLOWMCU_ASINF_H
#define GLOWMCU_ASINF_H

#include "glowmcu_sqrtf.h"

/* For 0 <= x <= 1/2. */
GLOWMCU_CODE
static inline float glowmcu_asin_near_0(float x)
{
    const float z = x * x;

    return x + x * z * ((((0.042218547f * z + 0.024147611f) * z + 0.045477096f) * z
        + 0.074952416f) * z + 0.16666754f);
}

/* asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)); not a number outside of [-1, 1]. */
GLOWMCU_CODE
static inline float glowmcu_asinf(float x)
{
    const float a = glowmcu_absf(x);
    float value;

    if (a <= 0.5f) {
        value = glowmcu_asin_near_0(a);
    } else {
        value = 1.57079633f - 2.0f * glowmcu_asin_near_0(glowmcu_sqrtf((1.0f - a) * 0.5f));
    }
    return value == value ? glowmcu_copysignf(value, x) : value;
}

GLOWMCU_CODE
static inline float glowmcu_acosf(float x)
{
    if (glowmcu_absf(x) <= 0.5f) {
        return 1.57079633f - glowmcu_asinf(x);
    }
    if (x < 0.0f) {
        return 3.14159265f - 2.0f * glowmcu_asin_near_0(glowmcu_sqrtf((1.0f + x) * 0.5f));
    }
    return 2.0f * glowmcu_asin_near_0(glowmcu_sqrtf((1.0f - x) * 0.5f));
}

#endif /* GLOWMCU_ASINF_H */
