/*
 * glowmcu_depthwise_conv_2d_s16.h: int16 depthwise convolution, NHWC input, HWC int8 weights.
 */
#ifndef GLOWMCU_DEPTHWISE_CONV_2D_S16_H
#define GLOWMCU_DEPTHWISE_CONV_2D_S16_H

#include "glowmcu_wide.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t depth_multiplier; /* output channels that read one input channel */
    int32_t kernel_height;
    int32_t kernel_width;     /* at most GLOWMCU_WIDE_BLOCK */
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    glowmcu_wide_scale scale;
    const int8_t *weights; /* [kernel_height][kernel_width][out_channels] */
} glowmcu_depthwise_conv_2d_wide;

/*
 * Sum over the window of one output channel at one output pixel; `in` points to its input channel.
 */
GLOWMCU_CODE
static inline int64_t glowmcu_depthwise_conv_2d_wide_sum(const glowmcu_depthwise_conv_2d_wide *p,
    const int16_t *in, const int8_t *weights, glowmcu_taps ys, glowmcu_taps xs)
{
    const int32_t out_channels = p->in_channels * p->depth_multiplier;
    const int32_t step = p->dilation_x * p->in_channels;
    int64_t acc = 0;

    for (int32_t ky = ys.first; ky < ys.end; ++ky) {
        const int32_t in_y = ys.origin + ky * p->dilation_y;
        const int32_t in_x = xs.origin + xs.first * p->dilation_x;
        const int16_t *x = in + (in_y * p->in_width + in_x) * p->in_channels;
        const int8_t *w = weights + (ky * p->kernel_width + xs.first) * out_channels;
        int32_t row = 0; /* |row| <= 511 * 2^15 * 2^7 < 2^31 */
        for (int32_t kx = xs.first; kx < xs.end; ++kx) {
            row += *x * *w;
            x += step;
            w += out_channels;
        }
        acc += row;
    }
    return acc;
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_conv_2d_s16(const glowmcu_depthwise_conv_2d_wide *p,
    const int16_t *in, int16_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    int16_t *pixel = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
        ys.origin -= in_row; /* rows are counted from `in` */
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            int32_t oc = 0;
            for (int32_t ic = 0; ic < p->in_channels; ++ic) {
                for (int32_t m = 0; m < p->depth_multiplier; ++m, ++oc) {
                    *pixel = glowmcu_wide_result(&p->scale, oc,
                        glowmcu_depthwise_conv_2d_wide_sum(p, in + ic, p->weights + oc, ys, xs));
                    ++pixel;
                }
            }
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_CONV_2D_S16_H */
