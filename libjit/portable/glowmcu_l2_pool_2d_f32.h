/*
 * glowmcu_l2_pool_2d_f32.h: root of the mean of squares in every window, NHWC; float.
 */
#ifndef GLOWMCU_L2_POOL_2D_F32_H
#define GLOWMCU_L2_POOL_2D_F32_H

#include "glowmcu_clamping.h"
#include "glowmcu_pool_2d.h"
#include "glowmcu_sqrtf.h"

/* Sum of squares over a window of the channel that `x` points to. */
GLOWMCU_CODE
static inline float glowmcu_l2_pool_2d_f32_sum(const glowmcu_pool_window *window, const float *x)
{
    float sum = 0.0f;

    for (int32_t ky = 0; ky < window->height; ++ky, x += window->next_row) {
        for (int32_t kx = 0; kx < window->width; ++kx, x += window->step) {
            sum += *x * *x;
        }
    }
    return sum;
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_l2_pool_2d_f32(const glowmcu_pool_2d_real *p, const float *in,
    float *out, int32_t first_row, int32_t end_row)
{
    const glowmcu_pool_grid *grid = &p->grid;
    float *y = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_pool_2d_rows(grid, oy, first_row);
        for (int32_t ox = 0; ox < grid->out_width; ++ox) {
            const glowmcu_pool_window window = glowmcu_pool_2d_window(grid, ys, ox);
            const float count = (float)(window.height * window.width);
            for (int32_t c = 0; c < grid->channels; ++c) {
                const float root = glowmcu_sqrtf(glowmcu_l2_pool_2d_f32_sum(&window,
                    in + window.corner + c) / count);
                *y = glowmcu_clamped_f32(root, p->clamping, p->clamp_min, p->clamp_max);
                ++y;
            }
        }
    }
}

#endif /* GLOWMCU_L2_POOL_2D_F32_H */
