/*
 * glowmcu_fully_connected_w8_f32.h: float matrix-vector product, int8 weights in the order of the
 * loops.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_W8_F32_H
#define GLOWMCU_FULLY_CONNECTED_W8_F32_H

#include "glowmcu_matrix_w8_f32.h"

/* All vectors; results may overwrite those that nothing reads any more. */
GLOWMCU_CODE
static void glowmcu_fully_connected_w8_f32(const glowmcu_matrix_real *p, const float *in,
    float *out)
{
    glowmcu_matrix_w8_f32(p, in, out, 0, 1);
}

#endif /* GLOWMCU_FULLY_CONNECTED_W8_F32_H */
