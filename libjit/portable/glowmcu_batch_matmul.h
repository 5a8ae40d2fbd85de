/*
 * glowmcu_batch_matmul.h: int8 matrix products, either operand transposed, batch axes broadcast.
 */
#ifndef GLOWMCU_BATCH_MATMUL_H
#define GLOWMCU_BATCH_MATMUL_H

#include "glowmcu_matrices.h"
#include "glowmcu_requantize.h"

typedef struct {
    glowmcu_matrices matrices;
    int32_t x_zero_point;
    int32_t y_zero_point;
    int32_t out_zero_point;
    int32_t multiplier;
    int32_t shift;
} glowmcu_batch_matmul;

/* Product of a row of x and a column of y; depth * 255^2 < 2^31. */
GLOWMCU_CODE
static inline int32_t glowmcu_batch_matmul_sum(const glowmcu_batch_matmul *p, const int8_t *x,
    const int8_t *y)
{
    int32_t sum = 0;

    for (int32_t k = 0; k < p->matrices.depth; ++k) {
        sum += (*x - p->x_zero_point) * (*y - p->y_zero_point);
        x += p->matrices.x_step;
        y += p->matrices.y_step;
    }
    return sum;
}

/* One matrix product; returns where the next result goes. */
GLOWMCU_CODE
static inline int8_t *glowmcu_batch_matmul_matrix(const glowmcu_batch_matmul *p, const int8_t *x,
    const int8_t *y, int8_t *out)
{
    for (int32_t row = 0; row < p->matrices.rows; ++row) {
        for (int32_t column = 0; column < p->matrices.columns; ++column) {
            const int32_t sum = glowmcu_batch_matmul_sum(p, x + row * p->matrices.x_row,
                y + column * p->matrices.y_column);
            const int32_t value = glowmcu_requantize(sum, p->multiplier, p->shift)
                + p->out_zero_point;
            *out = (int8_t)glowmcu_clamp(value, -128, 127);
            ++out;
        }
    }
    return out;
}

/* `out` is [batch_0][batch_1][batch_2][rows][columns]; it may overlap neither operand. */
GLOWMCU_CODE
static void glowmcu_batch_matmul_s8(const glowmcu_batch_matmul *p, const int8_t *x,
    const int8_t *y, int8_t *out)
{
    for (int32_t b0 = 0; b0 < p->matrices.batch_0; ++b0) {
        for (int32_t b1 = 0; b1 < p->matrices.batch_1; ++b1) {
            for (int32_t b2 = 0; b2 < p->matrices.batch_2; ++b2) {
                out = glowmcu_batch_matmul_matrix(p,
                    x + glowmcu_matrix_of_x(&p->matrices, b0, b1, b2),
                    y + glowmcu_matrix_of_y(&p->matrices, b0, b1, b2), out);
            }
        }
    }
}

#endif /* GLOWMCU_BATCH_MATMUL_H */
