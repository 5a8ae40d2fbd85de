/*
 * glowmcu_conv_2d_back_packed.h: packed gradients through a convolution that sees each pixel alone.
 */
#ifndef GLOWMCU_CONV_2D_BACK_PACKED_H
#define GLOWMCU_CONV_2D_BACK_PACKED_H

#include "glowmcu_back_window.h"
#include "glowmcu_packed_gradient.h"

/* Of `pixels` (1 or 2): `gradient` [pixels][out_channels], `row` [pixels][in_channels], and the
 * largest magnitude of each. */
GLOWMCU_CODE
static void glowmcu_conv_2d_back_pixels(const glowmcu_input_gradient *p, const int16_t *gradient,
    const int8_t *weights, int32_t pixels, int32_t shift, int16_t *row,
    int32_t most[2])
{
    const int32_t next = (pixels - 1) * p->out_channels;
    int32_t ic = 0;

    while (ic < p->in_channels) {
        const int32_t count = glowmcu_conv_2d_back_count(p->in_channels - ic);
        const glowmcu_gradient_run run = {gradient, 1, weights + ic, p->in_channels,
            p->out_channels};
        int32_t acc[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        glowmcu_conv_2d_back_window(&run, count, next, acc);
        for (int32_t i = 0; i < count; ++i, ++ic) {
            for (int32_t pixel = 0; pixel < pixels; ++pixel) {
                most[pixel] = glowmcu_store_gradient(row + pixel * p->in_channels + ic,
                    acc[4 * pixel + i], shift, most[pixel]);
            }
        }
    }
}

/*
 * `gradient` [in_width][out_channels + 1], `weights` [out_channels][in_channels]. The result may
 * overwrite pairs of pixels that were read. `scratch` has an int16 for each channel of two pixels,
 * of both.
 */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_back_packed(const glowmcu_input_gradient *p,
    const int8_t *gradient, const int32_t *common, const int8_t *weights, int8_t *out,
    int32_t *out_common, void *scratch)
{
    const int32_t shift = glowmcu_excess(common[1] * glowmcu_conv_2d_reach(p, weights), p->bits);
    int16_t *numbers = (int16_t *)scratch;
    int16_t *row = numbers + 2 * p->out_channels;
    int32_t left = p->in_width;
    int32_t peak = 0;

    while (left > 0) {
        const int32_t pixels = (left >= 2) ? 2 : 1;
        int32_t most[2] = {0, 0};
        for (int32_t i = 0; i < pixels; ++i) {
            glowmcu_unpack_pixel(gradient, p->out_channels, numbers + i * p->out_channels);
            gradient += p->out_channels + 1;
        }
        glowmcu_conv_2d_back_pixels(p, numbers, weights, pixels, shift, row, most);
        for (int32_t i = 0; i < pixels; ++i) {
            peak = glowmcu_pack_pixel(row + i * p->in_channels, p->in_channels, most[i], peak,
                out);
            out += p->in_channels + 1;
        }
        left -= pixels;
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_CONV_2D_BACK_PACKED_H */
