/*
 * glowmcu_matrix_fives_f32.h: float vectors times a constant matrix, five vectors by four
 * channels at a time.
 */
#ifndef GLOWMCU_MATRIX_FIVES_F32_H
#define GLOWMCU_MATRIX_FIVES_F32_H

#include "glowmcu_matrix_windows.h"
#include "glowmcu_fives_f32.h"

/* As glowmcu_matrix_windows. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_matrix_fives_f32(const glowmcu_matrix_real *p, const float *in, float *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_matrix_windows(p, glowmcu_fives_f32_pixels, 16 * (p->depth_in + 1), in, out, first_row,
        end_row);
}

#endif /* GLOWMCU_MATRIX_FIVES_F32_H */
