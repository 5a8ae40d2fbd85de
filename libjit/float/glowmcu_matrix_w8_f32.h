/*
 * glowmcu_matrix_w8_f32.h: float vectors times a constant matrix of int8.
 */
#ifndef GLOWMCU_MATRIX_W8_F32_H
#define GLOWMCU_MATRIX_W8_F32_H

#include "glowmcu_matrix_windows.h"
#include "glowmcu_window_w8_f32.h"

/* As glowmcu_matrix_windows. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_matrix_w8_f32(const glowmcu_matrix_real *p, const float *in, float *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_matrix_windows(p, glowmcu_window_w8_f32_pixels, 8 * p->depth_in + 64, in, out,
        first_row, end_row);
}

#endif /* GLOWMCU_MATRIX_W8_F32_H */
