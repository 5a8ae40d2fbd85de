/*
 * glowmcu_depthwise_conv_2d_f32.h: float depthwise convolution, NHWC input, HWC weights.
 */
#ifndef GLOWMCU_DEPTHWISE_CONV_2D_F32_H
#define GLOWMCU_DEPTHWISE_CONV_2D_F32_H

#include "glowmcu_clamping.h"
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
    int32_t clamping; /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
} glowmcu_depthwise_conv_2d_real;

/* Window sum of one output channel at one output pixel; `in` points to its input channel. */
GLOWMCU_CODE
static inline float glowmcu_depthwise_conv_2d_f32_sum(const glowmcu_depthwise_conv_2d_real *p,
    const float *in, const float *weights, glowmcu_taps ys, glowmcu_taps xs)
{
    const int32_t out_channels = p->in_channels * p->depth_multiplier;
    float acc = 0.0f;

    for (int32_t ky = ys.first; ky < ys.end; ++ky) {
        const int32_t in_y = ys.origin + ky * p->dilation_y;
        for (int32_t kx = xs.first; kx < xs.end; ++kx) {
            const int32_t in_x = xs.origin + kx * p->dilation_x;
            acc += in[(in_y * p->in_width + in_x) * p->in_channels]
                * weights[(ky * p->kernel_width + kx) * out_channels];
        }
    }
    return acc;
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `weights` is [kernel_height][kernel_width][out_channels], `bias` [out_channels].
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more, and no other operand.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_conv_2d_f32(const glowmcu_depthwise_conv_2d_real *p,
    const float *in, const float *weights, const float *bias, float *out, int32_t first_row,
    int32_t end_row)
{
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    float *pixel = out;

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
                    const float value = glowmcu_depthwise_conv_2d_f32_sum(p, in + ic,
                        weights + oc, ys, xs) + bias[oc];
                    *pixel = glowmcu_clamped_f32(value, p->clamping, p->clamp_min,
                        p->clamp_max);
                    ++pixel;
                }
            }
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_CONV_2D_F32_H */
