/*
 * glowmcu_conv_2d_back.h: the gradient by the image that a convolution reads.
 */
#ifndef GLOWMCU_CONV_2D_BACK_H
#define GLOWMCU_CONV_2D_BACK_H

#include "glowmcu_input_gradient.h"

/* Largest sum of the magnitudes of all weights that one input channel meets. */
GLOWMCU_CODE
static int32_t glowmcu_conv_2d_reach(const glowmcu_input_gradient *p, const int8_t *weights)
{
    const int32_t rows = p->out_channels * p->kernel_height * p->kernel_width;
    int32_t most = 0;

    for (int32_t ic = 0; ic < p->in_channels; ++ic) {
        const int8_t *w = weights + ic;
        int32_t sum = 0;
        for (int32_t i = 0; i < rows; ++i) {
            sum += (*w < 0) ? -*w : *w;
            w += p->in_channels;
        }
        most = (sum > most) ? sum : most;
    }
    return most;
}

/* Sums at one pixel of the image, of `count` (1 or 4) input channels from `ic` on. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_back_sums(const glowmcu_input_gradient *p,
    const int16_t *gradient, const int8_t *weights, int32_t y, int32_t x, int32_t count,
    int32_t acc[5])
{
    const int32_t filter = p->kernel_height * p->kernel_width * p->in_channels;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        const int32_t oy = glowmcu_window_of(y + p->pad_top - ky * p->dilation_y, p->stride_y,
            p->out_height);
        for (int32_t kx = 0; kx < p->kernel_width && oy >= 0; ++kx) {
            const int32_t ox = glowmcu_window_of(x + p->pad_left - kx * p->dilation_x,
                p->stride_x, p->out_width);
            if (ox >= 0) {
                const int16_t *g = gradient + (oy * p->out_width + ox) * p->out_channels;
                const int8_t *w = weights + (ky * p->kernel_width + kx) * p->in_channels;
                if (count == 4) {
                    glowmcu_gradient_run4(g, 1, w, filter, p->out_channels, acc);
                } else {
                    glowmcu_gradient_run1(g, 1, w, filter, p->out_channels, acc);
                }
            }
        }
    }
}

/*
 * `gradient` [out_height][out_width][out_channels] with `common`, exponent and peak; `weights`
 * [out_channels][kernel_height][kernel_width][in_channels]; nothing may overlap.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_back(const glowmcu_input_gradient *p, const int16_t *gradient,
    const int32_t *common, const int8_t *weights, int16_t *out, int32_t *out_common)
{
    const int32_t shift = glowmcu_excess(common[1] * glowmcu_conv_2d_reach(p, weights), p->bits);
    int16_t *to = out;
    int32_t peak = 0;

    for (int32_t y = 0; y < p->in_height; ++y) {
        for (int32_t x = 0; x < p->in_width; ++x) {
            int32_t ic = 0;
            while (ic < p->in_channels) {
                const int32_t count = (p->in_channels - ic >= 4) ? 4 : 1;
                int32_t acc[5] = {0, 0, 0, 0, 0};
                glowmcu_conv_2d_back_sums(p, gradient, weights + ic, y, x, count, acc);
                for (int32_t i = 0; i < count; ++i, ++ic, ++to) {
                    peak = glowmcu_store_gradient(to, acc[i], shift, peak);
                }
            }
        }
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_CONV_2D_BACK_H */
