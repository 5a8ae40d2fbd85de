/*
 * glowmcu_product.h: products of two quantized elements, as TensorFlow Lite rounds.
 */
#ifndef GLOWMCU_PRODUCT_H
#define GLOWMCU_PRODUCT_H

#include "glowmcu_requantize.h"

typedef struct {
    int32_t a_zero_point;
    int32_t b_zero_point;
    int32_t out_multiplier; /* of a * b */
    int32_t out_shift;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_product;

/* int16 has zero points 0, so |a * b| <= 2^30. */
GLOWMCU_CODE
static inline int32_t glowmcu_mul_one(const glowmcu_product *p, int32_t a, int32_t b)
{
    const int32_t product = (a - p->a_zero_point) * (b - p->b_zero_point);
    const int32_t out = glowmcu_requantize(product, p->out_multiplier, p->out_shift);

    return glowmcu_clamp(out + p->out_zero_point, p->clamp_min, p->clamp_max);
}

typedef struct {
    int32_t x_zero_point;
    int32_t alpha_zero_point;
    int32_t positive_multiplier; /* of x >= 0 */
    int32_t positive_shift;
    int32_t negative_multiplier; /* of x * alpha */
    int32_t negative_shift;
    int32_t out_zero_point;
} glowmcu_slopes;

GLOWMCU_CODE
static inline int32_t glowmcu_prelu_one(const glowmcu_slopes *p, int32_t x, int32_t alpha)
{
    int32_t value = x - p->x_zero_point;

    if (value >= 0) {
        value = glowmcu_requantize(value, p->positive_multiplier, p->positive_shift);
    } else {
        value = glowmcu_requantize(value * (alpha - p->alpha_zero_point), p->negative_multiplier,
            p->negative_shift);
    }
    return glowmcu_clamp(value + p->out_zero_point, -128, 127);
}

#endif /* GLOWMCU_PRODUCT_H */
