/*
 * glowmcu_rsqrt_s16.h: 1 / sqrt of one int16 element, as TensorFlow Lite Micro computes it.
 */
#ifndef GLOWMCU_RSQRT_S16_H
#define GLOWMCU_RSQRT_S16_H

#include "glowmcu_inverse_sqrt.h"

typedef struct {
    int32_t multiplier; /* from 1 / sqrt of a stored value to the result's scale */
    int32_t shift;
} glowmcu_rsqrt_scale;

/* The zero points are 0. What is not positive gives the greatest result. */
GLOWMCU_CODE
static inline int32_t glowmcu_rsqrt_s16_one(const glowmcu_rsqrt_scale *p, int32_t x)
{
    glowmcu_factor inverse;
    int32_t fixed;

    if (x <= 0) {
        return 32767;
    }
    inverse = glowmcu_inverse_sqrt(x);
    fixed = glowmcu_requantize(1, inverse.multiplier, inverse.shift + 20); /* 20 bits of fraction */
    return glowmcu_clamp(glowmcu_requantize(fixed, p->multiplier, p->shift - 20), -32768, 32767);
}

#endif /* GLOWMCU_RSQRT_S16_H */
