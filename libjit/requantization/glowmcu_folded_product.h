/*
 * glowmcu_folded_product.h: int8 mul of two elements, saturated to int8.
 */
#ifndef GLOWMCU_FOLDED_PRODUCT_H
#define GLOWMCU_FOLDED_PRODUCT_H

#include "glowmcu_dsp.h"

/*
 * TensorFlow Lite's product and both of its roundings, folded: with
 * v = (a - zero_a) * (b - zero_b),
 * out = saturate((hi32(2 * v * multiplier + 2^31) + addend + (v >> 31)) >> shift).
 */
typedef struct {
    int32_t a_zero_point;
    int32_t b_zero_point;
    int32_t multiplier;
    int32_t addend; /* output zero point * 2^shift, and half a step */
    int32_t shift;  /* at least 1 */
} glowmcu_folded_product;

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_folded_product_one(const glowmcu_folded_product *p,
    int32_t a, int32_t b)
{
    const int32_t v = (a - p->a_zero_point) * (b - p->b_zero_point);

    return glowmcu_saturate_s8(
        glowmcu_smmlar(2 * v, p->multiplier, p->addend + glowmcu_sign(v)) >> p->shift);
}

#endif /* GLOWMCU_FOLDED_PRODUCT_H */
