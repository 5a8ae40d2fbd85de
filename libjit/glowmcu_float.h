/*
 * glowmcu_float.h: float32 at the border of an integer model, without a maths library.
 */
#ifndef GLOWMCU_FLOAT_H
#define GLOWMCU_FLOAT_H

#include "glowmcu_requantize.h"

typedef struct {
    float scale;
    int32_t zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_affine;

/* round(x / scale) + zero_point, halves away from zero, saturated; NaN becomes the zero point. */
static inline int32_t glowmcu_quantize_one(const glowmcu_affine *p, float x)
{
    const float quotient = x / p->scale;
    int32_t whole = 0;

    /* All results are within 16 bits and so is the zero point: 2^17 saturates as more would do. */
    if (quotient >= 131072.0f) {
        whole = 131072;
    } else if (quotient <= -131072.0f) {
        whole = -131072;
    } else if (quotient == quotient) {
        float rest; /* exact: |quotient| < 2^24 */
        whole = (int32_t)quotient;
        rest = quotient - (float)whole;
        whole += (rest >= 0.5f) ? 1 : ((rest <= -0.5f) ? -1 : 0);
    }
    return glowmcu_clamp(whole + p->zero_point, p->clamp_min, p->clamp_max);
}

/* |x - zero_point| < 2^24 is exact in float, the product is rounded once. */
static inline float glowmcu_dequantize_one(const glowmcu_affine *p, int32_t x)
{
    return (float)(x - p->zero_point) * p->scale;
}

#endif /* GLOWMCU_FLOAT_H */
