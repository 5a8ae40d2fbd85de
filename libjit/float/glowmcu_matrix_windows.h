/*
 * glowmcu_matrix_windows.h: float vectors times a constant matrix, which is what fully connected
 * layers and 1x1 convolutions are.
 */
#ifndef GLOWMCU_MATRIX_WINDOWS_H
#define GLOWMCU_MATRIX_WINDOWS_H

#include "glowmcu_windows.h"

typedef struct {
    int32_t vectors; /* of a row of the image */
    int32_t depth_in;
    int32_t depth_out;
    int32_t clamping; /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
    const void *weights; /* blocks as glowmcu_windows.h says */
} glowmcu_matrix_real;

/*
 * Rows [first_row, end_row), where `in` and `out` begin; some vectors at a time. Results may
 * overwrite vectors that nothing reads any more. `block_bytes` are the weights of a block.
 */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_matrix_windows(const glowmcu_matrix_real *p,
    glowmcu_window_row compute, int32_t block_bytes, const float *in, float *out,
    int32_t first_row, int32_t end_row)
{
    const int32_t vectors = (end_row - first_row) * p->vectors;
    const uint32_t mode = glowmcu_floats_begin();
    glowmcu_window_f32 window;

    window.rows = 1;
    window.fours = p->depth_in >> 2;
    window.ones = p->depth_in & 3;
    window.in_gap = 0;
    window.before = 0;
    window.between = 0;
    window.after = 0;
    window.clamping = glowmcu_clamps_now(p->clamping, p->clamp_min, p->clamp_max);
    window.clamp_min = p->clamp_min;
    window.clamp_max = p->clamp_max;
    compute(&window, p->weights, block_bytes, p->depth_out, in, p->depth_in, out, vectors);
    glowmcu_floats_end(mode, p->clamping, p->clamp_min, p->clamp_max, out,
        vectors * p->depth_out);
}

#endif /* GLOWMCU_MATRIX_WINDOWS_H */
