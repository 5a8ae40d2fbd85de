/*
 * glowmcu_erff.h: error function of float32.
 */
#ifndef GLOWMCU_ERFF_H
#define GLOWMCU_ERFF_H

#include "glowmcu_expf.h"

GLOWMCU_CODE
static inline float glowmcu_erff(float x)
{
    const float a = glowmcu_absf(x);
    float q;

    if (!(a > 1.0f)) {
        const float z = x * x;
        return x * ((((((7.889119e-05f * z - 0.0008020841f) * z + 0.005189535f) * z
            - 0.026854444f) * z + 0.112836f) * z - 0.37612626f) * z + 1.1283791f);
    }
    if (!(a < 4.0f)) {
        return x != x ? x : glowmcu_copysignf(1.0f, x);
    }
    /* -log(1 - erf(a)) */
    q = ((((((2.1496115e-05f * a - 0.00043910637f) * a + 0.004193611f) * a - 0.025178967f) * a
        + 0.10837248f) * a + 0.63326263f) * a + 1.1295568f) * a - 0.00018344416f;
    return glowmcu_copysignf(1.0f - glowmcu_expf(-q), x);
}

#endif /* GLOWMCU_ERFF_H */
