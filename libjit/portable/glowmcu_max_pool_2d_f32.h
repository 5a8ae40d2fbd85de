/*
 * glowmcu_max_pool_2d_f32.h: float maximum pooling, NHWC; only pixels inside the image count.
 */
#ifndef GLOWMCU_MAX_POOL_2D_F32_H
#define GLOWMCU_MAX_POOL_2D_F32_H

#include "glowmcu_clamping.h"
#include "glowmcu_pool_2d.h"

/* Largest of `largest` and a window's elements of the channel that `x` points to. */
GLOWMCU_CODE
static inline float glowmcu_max_pool_2d_f32_max(const glowmcu_pool_window *window,
    const float *x, float largest)
{
    for (int32_t ky = 0; ky < window->height; ++ky, x += window->next_row) {
        for (int32_t kx = 0; kx < window->width; ++kx, x += window->step) {
            largest = (*x > largest) ? *x : largest;
        }
    }
    return largest;
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_max_pool_2d_f32(const glowmcu_pool_2d_real *p, const float *in,
    float *out, int32_t first_row, int32_t end_row)
{
    const glowmcu_pool_grid *grid = &p->grid;
    float *y = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_pool_2d_rows(grid, oy, first_row);
        for (int32_t ox = 0; ox < grid->out_width; ++ox) {
            const glowmcu_pool_window window = glowmcu_pool_2d_window(grid, ys, ox);
            for (int32_t c = 0; c < grid->channels; ++c) {
                const float largest = glowmcu_max_pool_2d_f32_max(&window,
                    in + window.corner + c, p->clamp_min);
                *y = glowmcu_clamped_f32(largest, p->clamping, p->clamp_min, p->clamp_max);
                ++y;
            }
        }
    }
}

#endif /* GLOWMCU_MAX_POOL_2D_F32_H */
