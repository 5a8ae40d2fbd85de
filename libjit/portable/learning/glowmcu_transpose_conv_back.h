/*
 * glowmcu_transpose_conv_back.h: the gradient by the image that a transposed convolution reads.
 */
#ifndef GLOWMCU_TRANSPOSE_CONV_BACK_H
#define GLOWMCU_TRANSPOSE_CONV_BACK_H

#include "glowmcu_back_window.h"
#include "glowmcu_window.h"

/* Sums at one pixel of the image, of `count` (1 or 2, with DSP instructions 4) input channels from
 * `weights` on, over the window of the result that the pixel was spread over. */
GLOWMCU_CODE
static void glowmcu_transpose_conv_back_sums(const glowmcu_input_gradient *p,
    const int16_t *gradient, const int8_t *weights, glowmcu_taps ys, glowmcu_taps xs,
    int32_t count, int32_t acc[8])
{
    glowmcu_gradient_run run;

    run.step = 1;
    run.x_step = p->kernel_height * p->kernel_width * p->in_channels;
    run.count = p->out_channels;
    for (int32_t i = 0; i < 8; ++i) {
        acc[i] = 0;
    }
    for (int32_t ky = ys.first; ky < ys.end; ++ky) {
        for (int32_t kx = xs.first; kx < xs.end; ++kx) {
            run.gradient = gradient
                + ((ys.origin + ky) * p->out_width + xs.origin + kx) * p->out_channels;
            run.x = weights + (ky * p->kernel_width + kx) * p->in_channels;
            glowmcu_conv_2d_back_window(&run, count, 0, acc);
        }
    }
}

/*
 * `gradient` [out_height][out_width][out_channels] with `common`, exponent and peak; `weights`
 * [out_channels][kernel_height][kernel_width][in_channels]; `out` overlaps none of these.
 */
GLOWMCU_CODE
static void glowmcu_transpose_conv_back(const glowmcu_input_gradient *p, const int16_t *gradient,
    const int32_t *common, const int8_t *weights, int16_t *out, int32_t *out_common)
{
    const int32_t shift = glowmcu_excess(common[1] * glowmcu_conv_2d_reach(p, weights), p->bits);
    int32_t peak = 0;

    for (int32_t y = 0; y < p->in_height; ++y) {
        const glowmcu_taps ys = glowmcu_taps_inside(y * p->stride_y - p->pad_top,
            p->kernel_height, 1, p->out_height);
        for (int32_t x = 0; x < p->in_width; ++x) {
            const glowmcu_taps xs = glowmcu_taps_inside(x * p->stride_x - p->pad_left,
                p->kernel_width, 1, p->out_width);
            int32_t ic = 0;
            while (ic < p->in_channels) {
                const int32_t count = glowmcu_conv_2d_back_count(p->in_channels - ic);
                int32_t acc[8];
                glowmcu_transpose_conv_back_sums(p, gradient, weights + ic, ys, xs, count, acc);
                for (int32_t i = 0; i < count; ++i) {
                    peak = glowmcu_store_gradient(out, acc[i], shift, peak);
                    ++out;
                }
                ic += count;
            }
        }
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_TRANSPOSE_CONV_BACK_H */
