/*
 * glowmcu_depthwise_conv_2d.h: int8 depthwise convolution, NHWC input, HWC weights.
 */
#ifndef GLOWMCU_DEPTHWISE_CONV_2D_H
#define GLOWMCU_DEPTHWISE_CONV_2D_H

#include "glowmcu_requantize.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t depth_multiplier; /* output channels that read one input channel */
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
    const int8_t *weights;      /* [kernel_height][kernel_width][out_channels] */
    const int32_t *bias;        /* [out_channels] */
    const int32_t *multipliers; /* [out_channels] */
    const int8_t *shifts;       /* [out_channels] */
} glowmcu_depthwise_conv_2d;

/*
 * Sum over the window of one output channel at one output pixel; `in` points to its input channel.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_conv_2d_sum(const glowmcu_depthwise_conv_2d *p,
    const int8_t *in, const int8_t *weights, glowmcu_taps ys, glowmcu_taps xs, int32_t acc)
{
    const int32_t out_channels = p->in_channels * p->depth_multiplier;
    const int32_t step = p->dilation_x * p->in_channels;

    for (int32_t ky = ys.first; ky < ys.end; ++ky) {
        const int32_t in_y = ys.origin + ky * p->dilation_y;
        const int32_t in_x = xs.origin + xs.first * p->dilation_x;
        const int8_t *x = in + (in_y * p->in_width + in_x) * p->in_channels;
        const int8_t *w = weights + (ky * p->kernel_width + xs.first) * out_channels;
        for (int32_t kx = xs.first; kx < xs.end; ++kx) {
            acc += (*x - p->in_zero_point) * *w;
            x += step;
            w += out_channels;
        }
    }
    return acc;
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_conv_2d_s8(const glowmcu_depthwise_conv_2d *p, const int8_t *in,
    int8_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    int8_t *pixel = out;

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
                    const int32_t acc = glowmcu_depthwise_conv_2d_sum(p, in + ic, p->weights + oc,
                        ys, xs, p->bias[oc]);
                    const int32_t value = glowmcu_requantize(acc, p->multipliers[oc],
                        p->shifts[oc]) + p->out_zero_point;
                    *pixel = (int8_t)glowmcu_clamp(value, p->clamp_min, p->clamp_max);
                    ++pixel;
                }
            }
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_CONV_2D_H */
