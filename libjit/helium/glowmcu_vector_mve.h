/*
 * glowmcu_vector_mve.h: a single row of int8 times a packed matrix; it is read where it lies.
 */
#ifndef GLOWMCU_VECTOR_MVE_H
#define GLOWMCU_VECTOR_MVE_H

#include "glowmcu_matrix_mve.h"

typedef struct {
    glowmcu_matrix_mve matrix;
} glowmcu_vector_mve;

/* One row, which `in` and `out` begin with: `matrix.depth` bytes to `matrix.channels`. */
GLOWMCU_CODE
static void glowmcu_vector_mve_s8(const glowmcu_vector_mve *p, const int8_t *in, int8_t *out,
    int32_t first_row, int32_t end_row)
{
    (void)first_row;
    (void)end_row;
    glowmcu_matrix_mve_single(&p->matrix, in, out);
}

#endif /* GLOWMCU_VECTOR_MVE_H */
