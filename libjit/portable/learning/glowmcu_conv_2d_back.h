/*
 * glowmcu_conv_2d_back.h: the gradient by the image that a convolution reads.
 */
#ifndef GLOWMCU_CONV_2D_BACK_H
#define GLOWMCU_CONV_2D_BACK_H

#include "glowmcu_back_window.h"

/*
 * Sums at one pixel of the image, of `count` (1 or 2, with DSP instructions 4) input channels from
 * `weights` on; acc[4..7] are of the pixel behind it in its row, where `next` is not 0: each sees
 * one window, `next` elements behind the other's.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_back_sums(const glowmcu_input_gradient *p, const int16_t *gradient,
    const int8_t *weights, int32_t y, int32_t x, int32_t count, int32_t next, int32_t acc[8])
{
    glowmcu_gradient_run run;

    run.step = 1;
    run.x_step = p->kernel_height * p->kernel_width * p->in_channels;
    run.count = p->out_channels;
    for (int32_t i = 0; i < 8; ++i) {
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
                run.x = weights + (ky * p->kernel_width + kx) * p->in_channels;
                glowmcu_conv_2d_back_window(&run, count, next, acc);
            }
        }
    }
}

/*
 * `gradient` [out_height][out_width][out_channels] with `common`, exponent and peak; `weights`
 * [out_channels][kernel_height][kernel_width][in_channels]. The result may overwrite what of the
 * gradient no pixel needs any more, a row or, where each sees one window, two pixels at a time.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_back(const glowmcu_input_gradient *p, const int16_t *gradient,
    const int32_t *common, const int8_t *weights, int16_t *out, int32_t *out_common)
{
    const int32_t shift = glowmcu_excess(common[1] * glowmcu_conv_2d_reach(p, weights), p->bits);
    /* Pixels that see a window each go in pairs. */
    const int32_t is_paired = (p->kernel_height * p->kernel_width == 1 && p->stride_x == 1
        && p->stride_y == 1 && p->pad_top == 0 && p->pad_left == 0) ? 1 : 0;
    int32_t peak = 0;

    for (int32_t y = 0; y < p->in_height; ++y) {
        int32_t x = 0;
        while (x < p->in_width) {
            const int32_t pixels = (is_paired != 0 && p->in_width - x >= 2) ? 2 : 1;
            int32_t ic = 0;
            while (ic < p->in_channels) {
                const int32_t count = glowmcu_conv_2d_back_count(p->in_channels - ic);
                int32_t acc[8];
                glowmcu_conv_2d_back_sums(p, gradient, weights + ic, y, x, count,
                    (pixels - 1) * p->out_channels, acc);
                for (int32_t i = 0; i < count; ++i, ++ic) {
                    peak = glowmcu_store_gradient(out + ic, acc[i], shift, peak);
                    if (pixels == 2) {
                        peak = glowmcu_store_gradient(out + p->in_channels + ic, acc[4 + i],
                            shift, peak);
                    }
                }
            }
            out += pixels * p->in_channels;
            x += pixels;
        }
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_CONV_2D_BACK_H */
