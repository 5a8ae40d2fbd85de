/*
 * glowmcu_sinf.h: sine of float32.
 */
#ifndef GLOWMCU_SINF_H
#define GLOWMCU_SINF_H

#include "glowmcu_trigonometry.h"

GLOWMCU_CODE
static inline float glowmcu_sinf(float x)
{
    const glowmcu_angle angle = glowmcu_angle_of(x);
    const float value = (angle.quadrant & 1) != 0 ? glowmcu_cosine_near_0(angle.rest)
                                                  : glowmcu_sine_near_0(angle.rest);
    const float folded = (angle.quadrant & 2) != 0 ? -value : value;

    return (glowmcu_float_bits(x) >> 31) != 0u ? -folded : folded;
}

#endif /* GLOWMCU_SINF_H */
