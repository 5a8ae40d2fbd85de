/*
 * glowmcu_normalized_rows_s16.h: rows of int16 with mean 0 and variance 1, as int16.
 */
#ifndef GLOWMCU_NORMALIZED_ROWS_S16_H
#define GLOWMCU_NORMALIZED_ROWS_S16_H

#include "glowmcu_row_moments.h"

/*
 * (x - mean) / sqrt(mean((x - mean)^2) + epsilon). `in` and `out` are [rows][depth] and may be the
 * same: a row is read as a whole first.
 */
GLOWMCU_CODE
static void glowmcu_normalized_rows_s16(
    const glowmcu_mean_variance *p, const int16_t *in, int16_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        glowmcu_row_moments moments;
        int32_t sum = 0;      /* |sum| <= depth * 2^15 <= 2^30 */
        uint64_t squares = 0; /* below 2^45 */
        for (int32_t c = 0; c < p->depth; ++c) {
            const int32_t value = in[c] - p->in_zero_point;
            sum += value;
            squares += (uint32_t)(value * value);
        }
        moments = glowmcu_moments_of(p, sum, squares);
        for (int32_t c = 0; c < p->depth; ++c) {
            const int32_t value = glowmcu_normalized(p, &moments, in[c] - p->in_zero_point);
            out[c] = (int16_t)glowmcu_clamp(value, -32768, 32767);
        }
    }
}

#endif /* GLOWMCU_NORMALIZED_ROWS_S16_H */
