/*
 * glowmcu_atan2f.h: angle of a vector of two float32 coordinates.
 */
#ifndef GLOWMCU_ATAN2F_H
#define GLOWMCU_ATAN2F_H

#include "glowmcu_atanf.h"

/* The angle of (x, y) in radians, in [-pi, pi]; not a number where a coordinate is none. */
GLOWMCU_CODE
static inline float glowmcu_atan2f(float y, float x)
{
    const float rise = glowmcu_absf(y);
    const float run = glowmcu_absf(x);
    float angle;

    if (glowmcu_float_bits(rise) > 0x7f800000u || glowmcu_float_bits(run) > 0x7f800000u) {
        return glowmcu_not_a_number();
    }
    if (rise > run) {
        angle = 1.57079633f - glowmcu_atanf(run / rise);
    } else if (rise < run) {
        angle = glowmcu_atanf(rise / run);
    } else {
        angle = (rise > 0.0f) ? 0.785398163f : 0.0f; /* infinite ones, too: no quotient */
    }
    if ((glowmcu_float_bits(x) >> 31) != 0u) {
        angle = 3.14159265f - angle;
    }
    return glowmcu_copysignf(angle, y);
}

#endif /* GLOWMCU_ATAN2F_H */
