/*
 * glowmcu_l2_normalization.h: int8 rows divided by their Euclidean length.
 */
#ifndef GLOWMCU_L2_NORMALIZATION_H
#define GLOWMCU_L2_NORMALIZATION_H

#include "glowmcu_inverse_sqrt.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    int32_t in_zero_point;
} glowmcu_l2_normalization;

/* `in` and `out` are [rows][depth], scale 1/128 of the result; `out` may be `in` itself. */
GLOWMCU_CODE
static void glowmcu_l2_normalization_s8(const glowmcu_l2_normalization *p, const int8_t *in,
    int8_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        glowmcu_factor factor;
        int32_t sum = 0; /* depth * 255^2 < 2^31 */
        for (int32_t c = 0; c < p->depth; ++c) {
            const int32_t value = in[c] - p->in_zero_point;
            sum += value * value;
        }
        factor = glowmcu_inverse_sqrt(sum);
        for (int32_t c = 0; c < p->depth; ++c) {
            const int32_t value = glowmcu_requantize(in[c] - p->in_zero_point, factor.multiplier,
                factor.shift + 7);
            out[c] = (int8_t)glowmcu_clamp(value, -128, 127);
        }
    }
}

#endif /* GLOWMCU_L2_NORMALIZATION_H */
