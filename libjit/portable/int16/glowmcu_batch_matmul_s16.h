/*
 * glowmcu_batch_matmul_s16.h: int16 matrix products, either operand transposed, batch axes
 * broadcast.
 */
#ifndef GLOWMCU_BATCH_MATMUL_S16_H
#define GLOWMCU_BATCH_MATMUL_S16_H

#include "glowmcu_matrices.h"
#include "glowmcu_wide.h"

typedef struct {
    glowmcu_matrices matrices;
    int32_t multiplier; /* Q15 */
    int32_t shift;
} glowmcu_batch_matmul_wide;

/* Product of a row of x and a column of y; depth * 2^30 < 2^47. */
GLOWMCU_CODE
static inline int64_t glowmcu_batch_matmul_s16_sum(const glowmcu_batch_matmul_wide *p,
    const int16_t *x, const int16_t *y)
{
    int64_t sum = 0;

    for (int32_t k = 0; k < p->matrices.depth; ++k) {
        sum += *x * *y; /* 2^30 at most */
        x += p->matrices.x_step;
        y += p->matrices.y_step;
    }
    return sum;
}

/* One matrix product; returns where the next result goes. */
GLOWMCU_CODE
static inline int16_t *glowmcu_batch_matmul_s16_matrix(const glowmcu_batch_matmul_wide *p,
    const int16_t *x, const int16_t *y, int16_t *out)
{
    for (int32_t row = 0; row < p->matrices.rows; ++row) {
        for (int32_t column = 0; column < p->matrices.columns; ++column) {
            const int64_t sum = glowmcu_batch_matmul_s16_sum(p, x + row * p->matrices.x_row,
                y + column * p->matrices.y_column);
            const int32_t value = glowmcu_requantize_wide(sum, p->multiplier, p->shift);
            *out = (int16_t)glowmcu_clamp(value, -32768, 32767);
            ++out;
        }
    }
    return out;
}

/* `out` is [batch_0][batch_1][batch_2][rows][columns]; it may overlap neither operand. */
GLOWMCU_CODE
static void glowmcu_batch_matmul_s16(const glowmcu_batch_matmul_wide *p, const int16_t *x,
    const int16_t *y, int16_t *out)
{
    for (int32_t b0 = 0; b0 < p->matrices.batch_0; ++b0) {
        for (int32_t b1 = 0; b1 < p->matrices.batch_1; ++b1) {
            for (int32_t b2 = 0; b2 < p->matrices.batch_2; ++b2) {
                out = glowmcu_batch_matmul_s16_matrix(p,
                    x + glowmcu_matrix_of_x(&p->matrices, b0, b1, b2),
                    y + glowmcu_matrix_of_y(&p->matrices, b0, b1, b2), out);
            }
        }
    }
}

#endif /* GLOWMCU_BATCH_MATMUL_S16_H */
