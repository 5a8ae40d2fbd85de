/*
 * glowmcu_depthwise_back.h: the gradient by the image that a depthwise convolution reads.
 */
#ifndef GLOWMCU_DEPTHWISE_BACK_H
#define GLOWMCU_DEPTHWISE_BACK_H

#include "glowmcu_gradient_runs.h"
#include "glowmcu_input_gradient.h"

/* Largest sum of the magnitudes of all weights that one input channel meets. */
GLOWMCU_CODE
static int32_t glowmcu_depthwise_reach(const glowmcu_input_gradient *p, const int8_t *weights)
{
    const int32_t each = p->out_channels / p->in_channels;
    const int32_t taps = p->kernel_height * p->kernel_width;
    int32_t most = 0;

    for (int32_t ic = 0; ic < p->in_channels; ++ic) {
        int32_t sum = 0;
        for (int32_t tap = 0; tap < taps; ++tap) {
            const int8_t *w = weights + tap * p->out_channels + ic * each;
            for (int32_t m = 0; m < each; ++m) {
                sum += (w[m] < 0) ? -w[m] : w[m];
            }
        }
        most = (sum > most) ? sum : most;
    }
    return most;
}

/*
 * Sums at one pixel of the image: of the `each` output channels that one input channel has, or of
 * four input channels with one each.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_back_sums(const glowmcu_input_gradient *p, const int16_t *gradient,
    const int8_t *weights, int32_t y, int32_t x, int32_t each, int32_t count, int32_t acc[4])
{
    glowmcu_gradient_run run;

    run.step = 1;
    run.x_step = 1;
    run.count = (count == 4) ? 1 : each;
    for (int32_t i = 0; i < 4; ++i) {
        acc[i] = 0;
    }
    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        const int32_t oy = glowmcu_window_of(y + p->pad_top - ky * p->dilation_y, p->stride_y,
            p->out_height);
        for (int32_t kx = 0; kx < p->kernel_width && oy >= 0; ++kx) {
            const int32_t ox = glowmcu_window_of(x + p->pad_left - kx * p->dilation_x,
                p->stride_x, p->out_width);
            if (ox >= 0) {
                run.gradient = gradient + (oy * p->out_width + ox) * p->out_channels;
                run.x = weights + (ky * p->kernel_width + kx) * p->out_channels;
                if (count == 4) {
                    glowmcu_gradient_run_each(run, 0, acc);
                } else {
                    acc[0] = glowmcu_gradient_run1(run, acc[0]);
                }
            }
        }
    }
}

/* As glowmcu_conv_2d_back, `weights` [kernel_height][kernel_width][out_channels]. */
GLOWMCU_CODE
static void glowmcu_depthwise_back(const glowmcu_input_gradient *p, const int16_t *gradient,
    const int32_t *common, const int8_t *weights, int16_t *out, int32_t *out_common)
{
    const int32_t shift = glowmcu_excess(common[1] * glowmcu_depthwise_reach(p, weights),
        p->bits);
    const int32_t each = p->out_channels / p->in_channels;
    int32_t peak = 0;

    for (int32_t y = 0; y < p->in_height; ++y) {
        for (int32_t x = 0; x < p->in_width; ++x) {
            int32_t ic = 0;
            while (ic < p->in_channels) {
                const int32_t count = (each == 1 && p->in_channels - ic >= 4) ? 4 : 1;
                int32_t acc[4];
                glowmcu_depthwise_back_sums(p, gradient + ic * each, weights + ic * each, y, x,
                    each, count, acc);
                for (int32_t i = 0; i < count; ++i, ++ic, ++out) {
                    peak = glowmcu_store_gradient(out, acc[i], shift, peak);
                }
            }
        }
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_DEPTHWISE_BACK_H */
