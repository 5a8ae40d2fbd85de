/*
 * glowmcu_normalized_rows_s8.h: rows of int8 with mean 0 and variance 1, as int8.
 */
#ifndef GLOWMCU_NORMALIZED_ROWS_S8_H
#define GLOWMCU_NORMALIZED_ROWS_S8_H

#include "glowmcu_row_moments.h"

/*
 * (x - mean) / sqrt(mean((x - mean)^2) + epsilon). `in` and `out` are [rows][depth] and may be the
 * same: a row is read as a whole first.
 */
GLOWMCU_CODE
static void glowmcu_normalized_rows_s8(
    const glowmcu_mean_variance *p, const int8_t *in, int8_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        glowmcu_row_moments moments;
        int32_t sum = 0;
        uint32_t squares = 0; /* depth * 255^2 < 2^31 */
        for (int32_t c = 0; c < p->depth; ++c) {
            const int32_t value = in[c] - p->in_zero_point;
            sum += value;
            squares += (uint32_t)(value * value);
        }
        moments = glowmcu_moments_of(p, sum, squares);
        for (int32_t c = 0; c < p->depth; ++c) {
            const int32_t value = glowmcu_normalized(p, &moments, in[c] - p->in_zero_point);
            out[c] = (int8_t)glowmcu_clamp(value, -128, 127);
        }
    }
}

#endif /* GLOWMCU_NORMALIZED_ROWS_S8_H */
