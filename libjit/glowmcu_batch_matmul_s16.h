/*
 * glowmcu_batch_matmul_s16.h: int16 matrix products, either operand transposed, batch axes
 * broadcast.
 */
#ifndef GLOWMCU_BATCH_MATMUL_S16_H
#define GLOWMCU_BATCH_MATMUL_S16_H

#include "glowmcu_wide.h"

typedef struct {
    int32_t batch_0;
    int32_t batch_1;
    int32_t batch_2;
    int32_t x_batch_0; /* elements from matrix to matrix, 0 where x is broadcast */
    int32_t x_batch_1;
    int32_t x_batch_2;
    int32_t y_batch_0;
    int32_t y_batch_1;
    int32_t y_batch_2;
    int32_t rows;
    int32_t columns;
    int32_t depth;
    int32_t x_row;     /* elements from row to row of x */
    int32_t x_step;    /* and along a row */
    int32_t y_column;  /* elements from column to column of y */
    int32_t y_step;    /* and along a column */
    int32_t multiplier; /* Q15 */
    int32_t shift;
} glowmcu_batch_matmul_wide;

/* Product of a row of x and a column of y; depth * 2^30 < 2^47. */
GLOWMCU_CODE
static inline int64_t glowmcu_batch_matmul_s16_sum(const glowmcu_batch_matmul_wide *p,
    const int16_t *x, const int16_t *y)
{
    int64_t sum = 0;

    for (int32_t k = 0; k < p->depth; ++k) {
        sum += *x * *y; /* 2^30 at most */
        x += p->x_step;
        y += p->y_step;
    }
    return sum;
}

/* One matrix product; returns where the next result goes. */
GLOWMCU_CODE
static inline int16_t *glowmcu_batch_matmul_s16_matrix(const glowmcu_batch_matmul_wide *p,
    const int16_t *x, const int16_t *y, int16_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t column = 0; column < p->columns; ++column) {
            const int64_t sum = glowmcu_batch_matmul_s16_sum(p, x + row * p->x_row,
                y + column * p->y_column);
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
    for (int32_t b0 = 0; b0 < p->batch_0; ++b0) {
        for (int32_t b1 = 0; b1 < p->batch_1; ++b1) {
            for (int32_t b2 = 0; b2 < p->batch_2; ++b2) {
                out = glowmcu_batch_matmul_s16_matrix(p,
                    x + b0 * p->x_batch_0 + b1 * p->x_batch_1 + b2 * p->x_batch_2,
                    y + b0 * p->y_batch_0 + b1 * p->y_batch_1 + b2 * p->y_batch_2, out);
            }
        }
    }
}

#endif /* GLOWMCU_BATCH_MATMUL_S16_H */
