/*
 * glowmcu_tanhf.h: hyperbolic tangent of float32.
 */
#ifndef GLOWMCU_TANHF_H
#define GLOWMCU_TANHF_H

#include "glowmcu_expf.h"

GLOWMCU_CODE
static inline float glowmcu_tanhf(float x)
{
    const float magnitude = glowmcu_absf(x);
    float t;

    if (magnitude < 2.0e-4f || x != x) {
        return x;
    }
    if (magnitude > 9.02f) {
        return glowmcu_copysignf(1.0f, x);
    }
    t = glowmcu_expm1f(2.0f * magnitude);
    return glowmcu_copysignf(t / (t + 2.0f), x);
}

#endif /* GLOWMCU_TANHF_H */
