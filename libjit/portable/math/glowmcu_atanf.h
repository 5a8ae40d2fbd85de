/*
 * glowmcu_atanf.h: arc tangent of float32.
 */
#ifndef GLOWMCU_ATANF_H
#define GLOWMCU_ATANF_H

#include "glowmcu_math.h"

GLOWMCU_CODE
static inline float glowmcu_atanf(float x)
{
    float a = glowmcu_absf(x);
    float offset = 0.0f;
    float z;

    if (a > 2.41421356f) { /* tan(3 pi/8) */
        offset = 1.57079633f;
        a = -1.0f / a;
    } else if (a > 0.414213562f) { /* tan(pi/8) */
        offset = 0.785398163f;
        a = (a - 1.0f) / (a + 1.0f);
    } else {
        /* the polynomial holds */
    }
    z = a * a;
    a += a * z * (((0.080598116f * z - 0.13879706f) * z + 0.19977914f) * z - 0.33332956f);
    return glowmcu_copysignf(offset + a, x);
}

#endif /* GLOWMCU_ATANF_H */
