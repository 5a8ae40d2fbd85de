/*
 * glowmcu_pointwise_nibbles_mve.h: int8 1x1 convolutions and fully connected layers as products
 * with a packed matrix of weights of four bits; pixels are read where they lie.
 */
#ifndef GLOWMCU_POINTWISE_NIBBLES_MVE_H
#define GLOWMCU_POINTWISE_NIBBLES_MVE_H

#include "glowmcu_matrix_nibbles_mve.h"

typedef struct {
    glowmcu_matrix_mve matrix;
    int32_t out_width;
} glowmcu_pointwise_nibbles_mve;

/*
 * Output rows [first_row, end_row), which `in` and `out` begin with: pixels of `matrix.depth` bytes
 * to pixels of `matrix.channels`. Results may overwrite pixels before the one that is read.
 */
GLOWMCU_CODE
static void glowmcu_pointwise_nibbles_mve_s8(const glowmcu_pointwise_nibbles_mve *p,
    const int8_t *in, int8_t *out, int32_t first_row, int32_t end_row)
{
    for (int32_t left = (end_row - first_row) * p->out_width; left > 0; --left) {
        glowmcu_matrix_nibbles_mve_row(&p->matrix, in, out);
        in += p->matrix.depth;
        out += p->matrix.channels;
    }
}

#endif /* GLOWMCU_POINTWISE_NIBBLES_MVE_H */
