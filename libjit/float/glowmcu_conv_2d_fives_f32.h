/*
 * glowmcu_conv_2d_fives_f32.h: float convolution, NHWC, five pixels by four channels at a time.
 */
#ifndef GLOWMCU_CONV_2D_FIVES_F32_H
#define GLOWMCU_CONV_2D_FIVES_F32_H

#include "glowmcu_conv_2d_windows.h"
#include "glowmcu_fives_f32.h"

/* As glowmcu_conv_2d_windows. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_conv_2d_fives_f32(const glowmcu_conv_2d_packed_real *p, const float *in,
    float *out, int32_t first_row, int32_t end_row)
{
    glowmcu_conv_2d_windows(p, glowmcu_fives_f32_pixels, 16, 16, in, out, first_row, end_row);
}

#endif /* GLOWMCU_CONV_2D_FIVES_F32_H */
