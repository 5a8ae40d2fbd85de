/*
 * glowmcu_sinhf.h: hyperbolic sine and cosine of float32.
 */
#ifndef GLOWMCU_SINHF_H
#define GLOWMCU_SINHF_H

#include "glowmcu_expf.h"

GLOWMCU_CODE
static inline float glowmcu_sinhf(float x)
{
    const float a = glowmcu_absf(x);
    float t;

    if (a < 2.0e-4f || x != x) {
        return x;
    }
    if (a > 20.0f) { /* exp(-a) does not count; in halves, since exp(a) may overflow */
        t = glowmcu_expf(0.5f * a);
        return glowmcu_copysignf(0.5f * t * t, x);
    }
    t = glowmcu_expm1f(a);
    return glowmcu_copysignf(0.5f * (t + t / (t + 1.0f)), x);
}

GLOWMCU_CODE
static inline float glowmcu_coshf(float x)
{
    const float a = glowmcu_absf(x);
    const float t = glowmcu_expf(0.5f * a);
    const float square = t * t;

    return a > 20.0f ? 0.5f * t * t : 0.5f * (square + 1.0f / square);
}

#endif /* GLOWMCU_SINHF_H */
