/*
 * glowmcu_batch_matmul_f32.h: float matrix products, either operand transposed, batch axes
 * broadcast.
 */
#ifndef GLOWMCU_BATCH_MATMUL_F32_H
#define GLOWMCU_BATCH_MATMUL_F32_H

#include "glowmcu_matrices.h"

/* Product of a row of x and a column of y. */
GLOWMCU_CODE
static inline float glowmcu_batch_matmul_f32_sum(const glowmcu_matrices *p, const float *x,
    const float *y)
{
    float sum = 0.0f;

    for (int32_t k = 0; k < p->depth; ++k) {
        sum += *x * *y;
        x += p->x_step;
        y += p->y_step;
    }
    return sum;
}

/* One matrix product; returns where the next result goes. */
GLOWMCU_CODE
static inline float *glowmcu_batch_matmul_f32_matrix(const glowmcu_matrices *p,
    const float *x, const float *y, float *out)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t column = 0; column < p->columns; ++column) {
            *out = glowmcu_batch_matmul_f32_sum(p, x + row * p->x_row, y + column * p->y_column);
            ++out;
        }
    }
    return out;
}

/* `out` is [batch_0][batch_1][batch_2][rows][columns]; it may overlap neither operand. */
GLOWMCU_CODE
static void glowmcu_batch_matmul_f32(const glowmcu_matrices *p, const float *x,
    const float *y, float *out)
{
    for (int32_t b0 = 0; b0 < p->batch_0; ++b0) {
        for (int32_t b1 = 0; b1 < p->batch_1; ++b1) {
            for (int32_t b2 = 0; b2 < p->batch_2; ++b2) {
                out = glowmcu_batch_matmul_f32_matrix(p,
                    x + glowmcu_matrix_of_x(p, b0, b1, b2),
                    y + glowmcu_matrix_of_y(p, b0, b1, b2), out);
            }
        }
    }
}

#endif /* GLOWMCU_BATCH_MATMUL_F32_H */
