/*
 * glowmcu_pointwise_mve.h: int8 1x1 convolutions and fully connected layers as products with a
 * packed matrix; pixels are read where they lie.
 */
#ifndef GLOWMCU_POINTWISE_MVE_H
#define GLOWMCU_POINTWISE_MVE_H

#include "glowmcu_matrix_mve.h"

typedef struct {
    glowmcu_matrix_mve matrix;
    int32_t out_width;
} glowmcu_pointwise_mve;

/* Output rows [first_row, end_row) of pixels of `matrix.depth` bytes; tensors may not overlap. */
static void glowmcu_pointwise_mve_s8(const glowmcu_pointwise_mve *p, const int8_t *in,
    int8_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t first = first_row * p->out_width;

    glowmcu_matrix_mve_rows(&p->matrix, in + first * p->matrix.depth,
        out + first * p->matrix.channels, (end_row - first_row) * p->out_width);
}

#endif /* GLOWMCU_POINTWISE_MVE_H */
