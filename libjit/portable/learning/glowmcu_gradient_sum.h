/*
 * glowmcu_gradient_sum.h: the sum of two gradients of a value.
 */
#ifndef GLOWMCU_GRADIENT_SUM_H
#define GLOWMCU_GRADIENT_SUM_H

#include "glowmcu_block_gradient.h"

typedef struct {
    int32_t count;
    int32_t share_a; /* of 2^15 */
    int32_t share_b;
    int32_t power_a; /* what is added to the exponents */
    int32_t power_b;
} glowmcu_gradient_sum_layer;

/* The shift from a number times a share to the sum's exponent. */
GLOWMCU_CODE
static inline int32_t glowmcu_share_shift(int32_t exponent, int32_t of)
{
    const int32_t shift = 15 + exponent - of;

    return (shift > 30) ? 30 : ((shift < 0) ? 0 : shift);
}

/* The exponent beyond the magnitudes of a gradient. */
GLOWMCU_CODE
static inline int32_t glowmcu_gradient_top(int32_t exponent, int32_t peak)
{
    int32_t top = exponent;

    for (int32_t left = peak; left != 0; left >>= 1) {
        ++top;
    }
    return top;
}

/* `out` may be one of both. Magnitudes of each are below 2^13 at the sum's exponent; that of one
 * which is 0 everywhere says nothing. */
GLOWMCU_CODE
static void glowmcu_gradient_sum(const glowmcu_gradient_sum_layer *p, const int16_t *a,
    const int32_t *common_a, const int16_t *b, const int32_t *common_b, int16_t *out,
    int32_t *out_common)
{
    const int32_t own_a = common_a[0] + p->power_a;
    const int32_t own_b = common_b[0] + p->power_b;
    const int32_t top_a = glowmcu_gradient_top(own_a, common_a[1]);
    const int32_t top_b = glowmcu_gradient_top(own_b, common_b[1]);
    const int32_t is_b = (common_b[1] != 0 && (common_a[1] == 0 || top_b > top_a)) ? 1 : 0;
    const int32_t exponent = ((is_b != 0) ? top_b : top_a) - 13;
    const int32_t shift_a = glowmcu_share_shift(exponent, own_a);
    const int32_t shift_b = glowmcu_share_shift(exponent, own_b);
    int32_t peak = 0;

    for (int32_t i = 0; i < p->count; ++i) {
        const int32_t value = glowmcu_rounded_shift(a[i] * p->share_a, shift_a)
            + glowmcu_rounded_shift(b[i] * p->share_b, shift_b);
        out[i] = (int16_t)value;
        peak = glowmcu_peak(peak, value);
    }
    out_common[0] = exponent;
    out_common[1] = peak;
}

#endif /* GLOWMCU_GRADIENT_SUM_H */
