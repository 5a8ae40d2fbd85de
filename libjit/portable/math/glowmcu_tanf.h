/*
 * glowmcu_tanf.h: tangent of float32.
 */
#ifndef GLOWMCU_TANF_H
#define GLOWMCU_TANF_H

#include "glowmcu_trigonometry.h"

GLOWMCU_CODE
static inline float glowmcu_tanf(float x)
{
    const glowmcu_angle angle = glowmcu_angle_of(x);
    const float sine = glowmcu_sine_near_0(angle.rest);
    const float cosine = glowmcu_cosine_near_0(angle.rest);
    const float value = (angle.quadrant & 1) != 0 ? -cosine / sine : sine / cosine;

    return (glowmcu_float_bits(x) >> 31) != 0u ? -value : value;
}

#endif /* GLOWMCU_TANF_H */
