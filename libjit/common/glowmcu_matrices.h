/*
 * glowmcu_matrices.h: where the matrices of a product are, whatever their elements are. Either
 * operand may be transposed, batch axes are broadcast.
 */
#ifndef GLOWMCU_MATRICES_H
#define GLOWMCU_MATRICES_H

#include "glowmcu_base.h"

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
    int32_t x_row;    /* elements from row to row of x */
    int32_t x_step;   /* and along a row */
    int32_t y_column; /* elements from column to column of y */
    int32_t y_step;   /* and along a column */
} glowmcu_matrices;

/* Where a matrix of x begins, by its place on each batch axis. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_matrix_of_x(const glowmcu_matrices *m, int32_t b0,
    int32_t b1, int32_t b2)
{
    return b0 * m->x_batch_0 + b1 * m->x_batch_1 + b2 * m->x_batch_2;
}

/* Where the one of y begins. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_matrix_of_y(const glowmcu_matrices *m, int32_t b0,
    int32_t b1, int32_t b2)
{
    return b0 * m->y_batch_0 + b1 * m->y_batch_1 + b2 * m->y_batch_2;
}

#endif /* GLOWMCU_MATRICES_H */
