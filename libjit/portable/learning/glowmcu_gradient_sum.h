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
} glowmcu_gradient_sum_layer;

/* The shift from a number times a share to the sum's exponent. */
GLOWMCU_CODE
static inline int32_t glowmcu_share_shift(int32_t exponent, int32_t of)
{
    const int32_t shift = 15 + exponent - of;

    return (shift > 30) ? 30 : shift;
}

/* `out` may be one of both. */
GLOWMCU_CODE
static void glowmcu_gradient_sum(const glowmcu_gradient_sum_layer *p, const int16_t *a,
    const int32_t *common_a, const int16_t *b, const int32_t *common_b, int16_t *out,
    int32_t *out_common)
{
    const int32_t exponent = ((common_a[0] > common_b[0]) ? common_a[0] : common_b[0]) + 1;
    const int32_t shift_a = glowmcu_share_shift(exponent, common_a[0]);
    const int32_t shift_b = glowmcu_share_shift(exponent, common_b[0]);
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
