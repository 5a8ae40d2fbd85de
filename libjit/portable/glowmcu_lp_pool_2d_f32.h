/*
 * glowmcu_lp_pool_2d_f32.h: p-norm of every window, NHWC, for a whole p; float.
 */
#ifndef GLOWMCU_LP_POOL_2D_F32_H
#define GLOWMCU_LP_POOL_2D_F32_H

#include <string.h>

#include "glowmcu_pool_2d.h"

typedef struct {
    glowmcu_pool_grid grid;
    int32_t order; /* p, from 1 to 16 */
} glowmcu_lp_pool_2d;

GLOWMCU_CODE
static inline float glowmcu_power(float x, int32_t exponent)
{
    float power = x;

    for (int32_t i = 1; i < exponent; ++i) {
        power *= x;
    }
    return power;
}

/* x^(1/order) of x >= 0 by Newton: dividing the exponent's bits gives a first guess within 7 %. */
GLOWMCU_CODE
static inline float glowmcu_root(float x, int32_t order)
{
    int32_t bits;
    float root;

    if (order == 1 || !(x > 0.0f)) {
        return x;
    }
    (void)memcpy(&bits, &x, sizeof bits);
    bits = (bits - 0x3f800000) / order + 0x3f800000;
    (void)memcpy(&root, &bits, sizeof root);
    for (int32_t i = 0; i < 4; ++i) {
        root -= (root - x / glowmcu_power(root, order - 1)) / (float)order;
    }
    return root;
}

/* Sum of |x|^p over a window of the channel that `x` points to. */
GLOWMCU_CODE
static inline float glowmcu_lp_pool_2d_sum(const glowmcu_pool_window *window, const float *x,
    int32_t order)
{
    float sum = 0.0f;

    for (int32_t ky = 0; ky < window->height; ++ky, x += window->next_row) {
        for (int32_t kx = 0; kx < window->width; ++kx, x += window->step) {
            sum += glowmcu_power((*x < 0.0f) ? -*x : *x, order);
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
static void glowmcu_lp_pool_2d_f32(const glowmcu_lp_pool_2d *p, const float *in, float *out,
    int32_t first_row, int32_t end_row)
{
    const glowmcu_pool_grid *grid = &p->grid;
    float *y = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_pool_2d_rows(grid, oy, first_row);
        for (int32_t ox = 0; ox < grid->out_width; ++ox) {
            const glowmcu_pool_window window = glowmcu_pool_2d_window(grid, ys, ox);
            for (int32_t c = 0; c < grid->channels; ++c) {
                *y = glowmcu_root(glowmcu_lp_pool_2d_sum(&window, in + window.corner + c,
                    p->order), p->order);
                ++y;
            }
        }
    }
}

#endif /* GLOWMCU_LP_POOL_2D_F32_H */
