/*
 * glowmcu_asinhf.h: inverse hyperbolic functions of float32.
 */
#ifndef GLOWMCU_ASINHF_H
#define GLOWMCU_ASINHF_H

#include "glowmcu_log1pf.h"
#include "glowmcu_sqrtf.h"

GLOWMCU_CODE
static inline float glowmcu_asinhf(float x)
{
    const float a = glowmcu_absf(x);

    if (!(a < 4096.0f)) {
        return x != x ? x : glowmcu_copysignf(glowmcu_logf(a) + 0.693147181f, x);
    }
    return glowmcu_copysignf(
        glowmcu_log1pf(a + a * a / (1.0f + glowmcu_sqrtf(a * a + 1.0f))), x);
}

/* Not a number below 1. */
GLOWMCU_CODE
static inline float glowmcu_acoshf(float x)
{
    const float t = x - 1.0f;

    if (x > 4096.0f) {
        return glowmcu_logf(x) + 0.693147181f;
    }
    if (t < 0.0f) {
        return glowmcu_not_a_number();
    }
    return glowmcu_log1pf(t + glowmcu_sqrtf(t * (t + 2.0f)));
}

/* Not a number outside of [-1, 1]. */
GLOWMCU_CODE
static inline float glowmcu_atanhf(float x)
{
    const float a = glowmcu_absf(x);

    if (a >= 1.0f) {
        return a > 1.0f ? glowmcu_not_a_number() : glowmcu_copysignf(glowmcu_infinity(), x);
    }
    return x != x ? x : glowmcu_copysignf(0.5f * glowmcu_log1pf(2.0f * a / (1.0f - a)), x);
}

#endif /* GLOWMCU_ASINHF_H */
