/*
 * glowmcu_gradient_product.h: a gradient times a factor of each element.
 */
#ifndef GLOWMCU_GRADIENT_PRODUCT_H
#define GLOWMCU_GRADIENT_PRODUCT_H

#include "glowmcu_block_gradient.h"

typedef struct {
    int32_t count;
} glowmcu_gradient_product_layer;

/* Factors are shares of 2^15. `out` may be `gradient` or `factor`. The shift is the least after
 * which no magnitude exceeds 2^14. */
GLOWMCU_CODE
static void glowmcu_gradient_product(const glowmcu_gradient_product_layer *p,
    const int16_t *gradient, const int32_t *common, const int16_t *factor, int16_t *out,
    int32_t *out_common)
{
    int32_t shift = 1;
    int32_t peak = 0;

    for (int32_t left = common[1] - 1; left > 0; left >>= 1) {
        ++shift;
    }
    for (int32_t i = 0; i < p->count; ++i) {
        const int32_t value = glowmcu_rounded_shift(gradient[i] * factor[i], shift);
        out[i] = (int16_t)value;
        peak = glowmcu_peak(peak, value);
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_GRADIENT_PRODUCT_H */
