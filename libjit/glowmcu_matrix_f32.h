/*
 * glowmcu_matrix_f32.h: float vectors times a constant matrix, which is what fully connected layers
 * and 1x1 convolutions are.
 */
#ifndef GLOWMCU_MATRIX_F32_H
#define GLOWMCU_MATRIX_F32_H

#include "glowmcu_window_f32.h"

typedef struct {
    int32_t vectors; /* of a row of the image */
    int32_t depth_in;
    int32_t depth_out;
    int32_t clamping; /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
    const float *weights; /* blocks as glowmcu_window_f32.h has them */
} glowmcu_matrix_real;

/*
 * Rows [first_row, end_row), where `in` and `out` begin; two vectors at a time. Results may
 * overwrite vectors that nothing reads any more.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_matrix_f32(const glowmcu_matrix_real *p, const float *in, float *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_window_f32 window;

    window.rows = 1;
    window.fours = p->depth_in >> 2;
    window.ones = p->depth_in & 3;
    window.in_gap = 0;
    window.before = 0;
    window.between = 0;
    window.after = 0;
    window.clamping = p->clamping;
    window.clamp_min = p->clamp_min;
    window.clamp_max = p->clamp_max;
    glowmcu_window_f32_pixels(&window, p->weights, 8 * (p->depth_in + 1), p->depth_out, in,
        p->depth_in, out, (end_row - first_row) * p->vectors);
}

#endif /* GLOWMCU_MATRIX_F32_H */
