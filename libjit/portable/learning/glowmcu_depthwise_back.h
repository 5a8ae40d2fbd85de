/*
 * glowmcu_depthwise_back.h: the gradient by the image that a depthwise convolution reads.
 */
#ifndef GLOWMCU_DEPTHWISE_BACK_H
#define GLOWMCU_DEPTHWISE_BACK_H

#include "glowmcu_depthwise_reach.h"
#include "glowmcu_gradient_runs.h"
#include "glowmcu_window.h"

/*
 * Adds to acc[0..3] the products of all windows that see a pixel, for four channels that have an
 * output each: neighbouring windows, `step` elements apart, meet taps in descending order.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_back_of_four(const glowmcu_input_gradient *p, const int16_t *gradient,
    const int8_t *weights, glowmcu_taps ys, glowmcu_taps xs, int32_t acc[4])
{
    glowmcu_gradient_run run;

    run.step = p->dilation_x * p->out_channels;
    run.x_step = -p->out_channels;
    run.count = xs.end - xs.first;
    for (int32_t i = 0; i < 4; ++i) {
        acc[i] = 0;
    }
    for (int32_t k = ys.first; k < ys.end; ++k) {
        const int32_t oy = ys.origin + k * p->dilation_y;
        const int32_t ox = xs.origin + xs.first * p->dilation_x;
        const int32_t ky = p->kernel_height - 1 - k;
        const int32_t kx = p->kernel_width - 1 - xs.first;
        run.gradient = gradient + (oy * p->out_width + ox) * p->out_channels;
        run.x = weights + (ky * p->kernel_width + kx) * p->out_channels;
        glowmcu_gradient_run_each(&run, 0, acc);
    }
}

/* Of a layer with strides of 1 and an output for each channel, fours of these. */
GLOWMCU_CODE
static int32_t glowmcu_depthwise_back_fours(const glowmcu_input_gradient *p,
    const int16_t *gradient, const int8_t *weights, int16_t *out, int32_t shift)
{
    int32_t peak = 0;

    for (int32_t y = 0; y < p->in_height; ++y) {
        const glowmcu_taps ys = glowmcu_taps_inside(
            y + p->pad_top - (p->kernel_height - 1) * p->dilation_y, p->kernel_height,
            p->dilation_y, p->out_height);
        for (int32_t x = 0; x < p->in_width; ++x) {
            const glowmcu_taps xs = glowmcu_taps_inside(
                x + p->pad_left - (p->kernel_width - 1) * p->dilation_x, p->kernel_width,
                p->dilation_x, p->out_width);
            for (int32_t c = 0; c < p->in_channels; c += 4) {
                int32_t acc[4];
                glowmcu_back_of_four(p, gradient + c, weights + c, ys, xs, acc);
                for (int32_t i = 0; i < 4; ++i, ++out) {
                    peak = glowmcu_store_gradient(out, acc[i], shift, peak);
                }
            }
        }
    }
    return peak;
}

/* Of any other layer: the sum of one channel at a pixel. */
GLOWMCU_CODE
static int32_t glowmcu_depthwise_back_sum(const glowmcu_input_gradient *p,
    const int16_t *gradient, const int8_t *weights, int32_t y, int32_t x, int32_t each)
{
    int32_t sum = 0;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        const int32_t oy = glowmcu_window_of(y + p->pad_top - ky * p->dilation_y, p->stride_y,
            p->out_height);
        for (int32_t kx = 0; kx < p->kernel_width && oy >= 0; ++kx) {
            const int32_t ox = glowmcu_window_of(x + p->pad_left - kx * p->dilation_x,
                p->stride_x, p->out_width);
            if (ox >= 0) {
                const int16_t *g = gradient + (oy * p->out_width + ox) * p->out_channels;
                const int8_t *w = weights + (ky * p->kernel_width + kx) * p->out_channels;
                for (int32_t m = 0; m < each; ++m) {
                    sum += g[m] * w[m];
                }
            }
        }
    }
    return sum;
}

/* The gradient of the input; `weights` [kernel_height][kernel_width][out_channels]. */
GLOWMCU_CODE
static void glowmcu_depthwise_back(const glowmcu_input_gradient *p, const int16_t *gradient,
    const int32_t *common, const int8_t *weights, int16_t *out, int32_t *out_common)
{
    const int32_t shift = glowmcu_excess(common[1] * glowmcu_depthwise_reach(p, weights),
        p->bits);
    const int32_t each = p->out_channels / p->in_channels;
    int32_t peak = 0;

    if (each == 1 && p->in_channels % 4 == 0 && p->stride_y == 1 && p->stride_x == 1) {
        peak = glowmcu_depthwise_back_fours(p, gradient, weights, out, shift);
    } else {
        for (int32_t y = 0; y < p->in_height; ++y) {
            for (int32_t x = 0; x < p->in_width; ++x) {
                for (int32_t ic = 0; ic < p->in_channels; ++ic, ++out) {
                    const int32_t sum = glowmcu_depthwise_back_sum(p, gradient + ic * each,
                        weights + ic * each, y, x, each);
                    peak = glowmcu_store_gradient(out, sum, shift, peak);
                }
            }
        }
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_DEPTHWISE_BACK_H */
