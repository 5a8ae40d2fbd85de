/*
 * glowmcu_sqrtf.h: square root of float32.
 */
#ifndef GLOWMCU_SQRTF_H
#define GLOWMCU_SQRTF_H

#include "glowmcu_math.h"

/* Not a number below 0. */
GLOWMCU_CODE
static inline float glowmcu_sqrtf(float x)
{
#if defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4) && defined(__GNUC__) \
    && !defined(GLOWMCU_PORTABLE)
    float root;

    /* The builtin would call the maths library for negative arguments. */
    __asm__("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x));
    return root;
#else
    float scale = 1.0f;
    float y;
    float root;

    if (!(x > 0.0f) || x == glowmcu_infinity()) {
        return x < 0.0f ? glowmcu_not_a_number() : x;
    }
    if (x < 1.17549435e-38f) {
        x *= 16777216.0f;
        scale = 1.0f / 4096.0f;
    }
    y = glowmcu_float_of_bits(0x5f375a86u - (glowmcu_float_bits(x) >> 1)); /* 1 / sqrt(x) */
    for (int32_t step = 0; step < 3; ++step) {
        y = y * (1.5f - 0.5f * x * y * y);
    }
    root = x * y;
    return (root + 0.5f * y * (x - root * root)) * scale;
#endif
}

#endif /* GLOWMCU_SQRTF_H */
