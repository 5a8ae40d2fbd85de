/*
 * glowmcu_conv_2d_windows.h: float convolution, NHWC, weights in the order of the loops.
 */
#ifndef GLOWMCU_CONV_2D_WINDOWS_H
#define GLOWMCU_CONV_2D_WINDOWS_H

#include "glowmcu_window.h"
#include "glowmcu_windows.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t out_channels;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t pad_top;
    int32_t pad_left;
    int32_t inside_first; /* columns of results [inside_first, inside_end) whose windows begin */
    int32_t inside_end;   /* and end inside the image */
    int32_t clamping;     /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
    const void *weights; /* blocks as glowmcu_windows.h says */
} glowmcu_conv_2d_packed_real;

/* What the columns `xs` and rows `ys` of the taps say of a window. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_taps_window(const glowmcu_conv_2d_packed_real *p,
    glowmcu_taps ys, glowmcu_taps xs, glowmcu_window_f32 *window)
{
    const int32_t depth = p->in_channels;
    const int32_t row = p->kernel_width * depth;
    const int32_t products = (xs.end - xs.first) * depth;

    window->rows = ys.end - ys.first;
    window->fours = products >> 2;
    window->ones = products & 3;
    window->in_gap = p->dilation_y * p->in_width * depth - products;
    window->before = ys.first * row + xs.first * depth;
    window->between = row - products;
    window->after = (p->kernel_height - ys.end) * row + (p->kernel_width - xs.end) * depth;
    if (ys.first == ys.end || products == 0) { /* nothing inside: one row of no product */
        window->rows = 1;
        window->fours = 0;
        window->ones = 0;
        window->before = 0;
        window->after = p->kernel_height * row;
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Columns
 * inside the image are computed together, others alone; results may overwrite input that
 * nothing reads any more. A block has `product_bytes` of weights a product and `last_bytes`
 * behind them.
 */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_conv_2d_windows(const glowmcu_conv_2d_packed_real *p,
    glowmcu_window_row compute, int32_t product_bytes, int32_t last_bytes, const float *in,
    float *out, int32_t first_row, int32_t end_row)
{
    const int32_t block_bytes =
        product_bytes * (p->kernel_height * p->kernel_width * p->in_channels) + last_bytes;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t results = (end_row - first_row) * p->out_width * p->out_channels;
    const uint32_t mode = glowmcu_floats_begin();
    glowmcu_window_f32 window;

    window.clamping = glowmcu_clamps_now(p->clamping, p->clamp_min, p->clamp_max);
    window.clamp_min = p->clamp_min;
    window.clamp_max = p->clamp_max;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
        int32_t ox = 0;
        ys.origin -= in_row; /* rows are counted from `in` */
        while (ox < p->out_width) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, 1, p->in_width);
            const int32_t is_inside = (ox >= p->inside_first && ox < p->inside_end) ? 1 : 0;
            const int32_t count = is_inside ? p->inside_end - ox : 1;
            const float *x = in;
            glowmcu_conv_2d_taps_window(p, ys, xs, &window);
            if (window.fours + window.ones > 0) {
                x += ((ys.origin + ys.first * p->dilation_y) * p->in_width + xs.origin + xs.first)
                    * p->in_channels;
            }
            compute(&window, p->weights, block_bytes, p->out_channels, x,
                p->stride_x * p->in_channels, out, count);
            out += count * p->out_channels;
            ox += count;
        }
    }
    glowmcu_floats_end(mode, p->clamping, p->clamp_min, p->clamp_max, out - results, results);
}

#endif /* GLOWMCU_CONV_2D_WINDOWS_H */
