/*
 * glowmcu_leaky_relu_s16.h: leaky_relu of one int16 element.
 */
#ifndef GLOWMCU_LEAKY_RELU_S16_H
#define GLOWMCU_LEAKY_RELU_S16_H

#include "glowmcu_requantize.h"

typedef struct {
    int32_t in_zero_point;
    int32_t positive_multiplier; /* of x >= 0 */
    int32_t positive_shift;
    int32_t negative_multiplier; /* of x < 0 */
    int32_t negative_shift;
    int32_t negate;              /* 1: the slope of x < 0 is negative */
    int32_t out_zero_point;
} glowmcu_leaky_relu;

/* |x - in_zero_point| * scale + |out_zero_point| < 2^31: the compiler has checked it. */
GLOWMCU_CODE
static inline int32_t glowmcu_leaky_relu_s16_one(const glowmcu_leaky_relu *p, int32_t x)
{
    int32_t value = x - p->in_zero_point;

    if (value >= 0) {
        value = glowmcu_requantize(value, p->positive_multiplier, p->positive_shift);
    } else {
        value = glowmcu_requantize(value, p->negative_multiplier, p->negative_shift);
        value = p->negate ? -value : value;
    }
    return glowmcu_clamp(value + p->out_zero_point, -32768, 32767);
}

#endif /* GLOWMCU_LEAKY_RELU_S16_H */
