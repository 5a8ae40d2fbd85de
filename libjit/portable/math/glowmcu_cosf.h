/*
 * glowmcu_cosf.h: cosine of float32.
 */
#ifndef GLOWMCU_COSF_H
#define GLOWMCU_COSF_H

#include "glowmcu_trigonometry.h"

GLOWMCU_CODE
static inline float glowmcu_cosf(float x)
{
    const glowmcu_angle angle = glowmcu_angle_of(x);
    const float value = (angle.quadrant & 1) != 0 ? glowmcu_sine_near_0(angle.rest)
                                                  : glowmcu_cosine_near_0(angle.rest);

    return ((angle.quadrant + 1) & 2) != 0 ? -value : value;
}

#endif /* GLOWMCU_COSF_H */
