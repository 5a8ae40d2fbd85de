/*
 * glowmcu_depthwise_back_packed.h: packed gradients through a depthwise convolution with an output
 * for each channel.
 */
#ifndef GLOWMCU_DEPTHWISE_BACK_PACKED_H
#define GLOWMCU_DEPTHWISE_BACK_PACKED_H

#include "glowmcu_depthwise_reach.h"
#include "glowmcu_packed_products.h"

/* Sums at one pixel of the image, of all windows that see it. */
GLOWMCU_CODE
static void glowmcu_depthwise_back_pixel(const glowmcu_input_gradient *p, const int8_t *gradient,
    const int8_t *weights, int32_t y, int32_t x, int32_t *sums)
{
    const int32_t channels = p->in_channels;

    for (int32_t c = 0; c < channels; ++c) {
        sums[c] = 0;
    }
    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        const int32_t oy = glowmcu_window_of(y + p->pad_top - ky * p->dilation_y, p->stride_y,
            p->out_height);
        for (int32_t kx = 0; kx < p->kernel_width && oy >= 0; ++kx) {
            const int32_t ox = glowmcu_window_of(x + p->pad_left - kx * p->dilation_x,
                p->stride_x, p->out_width);
            if (ox >= 0) {
                const int8_t *numbers = gradient + (oy * p->out_width + ox) * (channels + 1);
                glowmcu_packed_products(numbers, glowmcu_packed_unit(numbers + channels),
                    weights + (ky * p->kernel_width + kx) * channels, 0, channels, sums);
            }
        }
    }
}

/*
 * `gradient` [out_height][out_width][out_channels + 1], `weights` [kernel_height][kernel_width]
 * [out_channels]; as many channels in as out. The result may overwrite rows that no pixel needs
 * any more. `scratch` has an int32 and an int16 for each channel.
 */
GLOWMCU_CODE
static inline void glowmcu_depthwise_back_packed(const glowmcu_input_gradient *p,
    const int8_t *gradient, const int32_t *common, const int8_t *weights, int8_t *out,
    int32_t *out_common, void *scratch)
{
    const int32_t shift = glowmcu_excess(common[1] * glowmcu_depthwise_reach(p, weights),
        p->bits);
    const int32_t channels = p->in_channels;
    int32_t *sums = (int32_t *)scratch;
    int16_t *row = (int16_t *)scratch + 2 * channels;
    int32_t peak = 0;

    for (int32_t y = 0; y < p->in_height; ++y) {
        for (int32_t x = 0; x < p->in_width; ++x) {
            int32_t most = 0;
            glowmcu_depthwise_back_pixel(p, gradient, weights, y, x, sums);
            for (int32_t c = 0; c < channels; ++c) {
                most = glowmcu_store_gradient(row + c, sums[c], shift, most);
            }
            peak = glowmcu_pack_pixel(row, channels, most, peak, out);
            out += channels + 1;
        }
    }
    out_common[0] = common[0] + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_DEPTHWISE_BACK_PACKED_H */
