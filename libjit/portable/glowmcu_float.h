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

/* Parts of x / scale: `whole` towards zero, and what is left of it. */
typedef struct {
    int32_t whole;
    float rest;
} glowmcu_quotient_parts;

/* 0 for what is not a number. */
GLOWMCU_CODE
static inline glowmcu_quotient_parts glowmcu_quotient_of(const glowmcu_affine *p, float x)
{
    const float quotient = x / p->scale;
    glowmcu_quotient_parts parts = { 0, 0.0f };

    /* All results are within 16 bits and so is the zero point: 2^17 saturates as more would do. */
    if (quotient >= 131072.0f) {
        parts.whole = 131072;
    } else if (quotient <= -131072.0f) {
        parts.whole = -131072;
    } else if (quotient == quotient) {
        parts.whole = (int32_t)quotient;
        parts.rest = quotient - (float)parts.whole; /* exact: |quotient| < 2^24 */
    } else {
        /* NaN: nothing */
    }
    return parts;
}

/* round(x / scale) + zero_point, halves away from zero, saturated; NaN becomes the zero point. */
GLOWMCU_CODE
static inline int32_t glowmcu_quantize_one(const glowmcu_affine *p, float x)
{
    const glowmcu_quotient_parts parts = glowmcu_quotient_of(p, x);
    const int32_t up = (parts.rest >= 0.5f) ? 1 : ((parts.rest <= -0.5f) ? -1 : 0);

    return glowmcu_clamp(parts.whole + up + p->zero_point, p->clamp_min, p->clamp_max);
}

/* The same with halves to the even neighbour. */
GLOWMCU_CODE
static inline int32_t glowmcu_quantize_even_one(const glowmcu_affine *p, float x)
{
    const glowmcu_quotient_parts parts = glowmcu_quotient_of(p, x);
    const float half = (parts.whole & 1) != 0 ? 0.49999997f : 0.5f; /* the largest below 1/2 */
    const int32_t up = (parts.rest > half) ? 1 : ((parts.rest < -half) ? -1 : 0);

    return glowmcu_clamp(parts.whole + up + p->zero_point, p->clamp_min, p->clamp_max);
}

/* |x - zero_point| < 2^24 is exact in float, the product is rounded once. */
GLOWMCU_CODE
static inline float glowmcu_dequantize_one(const glowmcu_affine *p, int32_t x)
{
    return (float)(x - p->zero_point) * p->scale;
}

#endif /* GLOWMCU_FLOAT_H */
