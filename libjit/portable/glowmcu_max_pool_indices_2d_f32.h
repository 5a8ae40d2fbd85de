/*
 * glowmcu_max_pool_indices_2d_f32.h: where the largest element of every window stands; NHWC, float.
 */
#ifndef GLOWMCU_MAX_POOL_INDICES_2D_F32_H
#define GLOWMCU_MAX_POOL_INDICES_2D_F32_H

#include "glowmcu_pool_2d.h"

typedef struct {
    glowmcu_pool_grid grid;
    int32_t images;
    int32_t out_height;
    int32_t step_y; /* index steps within the image of one channel */
    int32_t step_x;
} glowmcu_max_pool_indices_2d;

/*
 * Index within its image of the first largest element of a window; `x` is at the image's channel.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_max_pool_index(const glowmcu_max_pool_indices_2d *p,
    const float *x, glowmcu_taps ys, glowmcu_taps xs)
{
    float largest = 0.0f;
    int32_t index = -1;

    for (int32_t ky = ys.first; ky < ys.end; ++ky) {
        const int32_t in_y = ys.origin + ky * p->grid.dilation_y;
        for (int32_t kx = xs.first; kx < xs.end; ++kx) {
            const int32_t in_x = xs.origin + kx * p->grid.dilation_x;
            const float value = x[(in_y * p->grid.in_width + in_x) * p->grid.channels];
            if (index < 0 || value > largest) {
                largest = value;
                index = in_y * p->step_y + in_x * p->step_x;
            }
        }
    }
    return index;
}

/* All windows of one NHWC image, whose channels' images begin at `first` and come one by one. */
GLOWMCU_CODE
static inline int64_t *glowmcu_max_pool_indices_image(const glowmcu_max_pool_indices_2d *p,
    const float *in, int64_t *out, int32_t first)
{
    const glowmcu_pool_grid *grid = &p->grid;

    for (int32_t oy = 0; oy < p->out_height; ++oy) {
        const glowmcu_taps ys = glowmcu_pool_2d_rows(grid, oy, 0);
        for (int32_t ox = 0; ox < grid->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * grid->stride_x - grid->pad_left,
                grid->kernel_width, grid->dilation_x, grid->in_width);
            for (int32_t c = 0; c < grid->channels; ++c) {
                *out = first + c * grid->in_height * grid->in_width
                    + glowmcu_max_pool_index(p, in + c, ys, xs);
                ++out;
            }
        }
    }
    return out;
}

/* `in` is [images][in_height][in_width][channels]; `out` may not overlap it. */
GLOWMCU_CODE
static void glowmcu_max_pool_indices_2d_f32(const glowmcu_max_pool_indices_2d *p, const float *in,
    int64_t *out)
{
    const int32_t size = p->grid.in_height * p->grid.in_width * p->grid.channels;

    for (int32_t n = 0; n < p->images; ++n) {
        out = glowmcu_max_pool_indices_image(p, in + n * size, out, n * size);
    }
}

#endif /* GLOWMCU_MAX_POOL_INDICES_2D_F32_H */
