/*
 * glowmcu_depthwise_fours_learnt.h: int8 depthwise convolution, weights and biases from the arena.
 */
#ifndef GLOWMCU_DEPTHWISE_FOURS_LEARNT_H
#define GLOWMCU_DEPTHWISE_FOURS_LEARNT_H

#include "glowmcu_requantize.h"
#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t out_height;
    int32_t out_width;
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
    const int32_t *multipliers; /* [channels] */
    const int8_t *shifts;       /* [channels] */
} glowmcu_learnt_depthwise;

/* Adds to acc[0..3] the products of a run of taps for four neighbouring channels. */
GLOWMCU_CODE
static inline void glowmcu_taps_of_four(const int8_t *x, int32_t step, const int8_t *w,
    int32_t w_step, int32_t taps, int32_t offset, int32_t acc[4])
{
    int32_t acc0 = acc[0];
    int32_t acc1 = acc[1];
    int32_t acc2 = acc[2];
    int32_t acc3 = acc[3];

    for (int32_t i = 0; i < taps; ++i) {
        acc0 += (x[0] + offset) * w[0];
        acc1 += (x[1] + offset) * w[1];
        acc2 += (x[2] + offset) * w[2];
        acc3 += (x[3] + offset) * w[3];
        x += step;
        w += w_step;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
}

/*
 * A layer with an output for each channel, of which there are a multiple of four. `weights`
 * [kernel_height][kernel_width][channels]; results may not overlap the image.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_fours_learnt(const glowmcu_learnt_depthwise *p, const int8_t *in,
    const int8_t *weights, const int32_t *bias, int8_t *out)
{
    const int32_t channels = p->channels;

    for (int32_t oy = 0; oy < p->out_height; ++oy) {
        const glowmcu_taps ys = glowmcu_taps_inside(oy * p->stride_y - p->pad_top, p->kernel_height,
            p->dilation_y, p->in_height);
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_taps xs = glowmcu_taps_inside(ox * p->stride_x - p->pad_left,
                p->kernel_width, p->dilation_x, p->in_width);
            const int32_t in_x = xs.origin + xs.first * p->dilation_x;
            for (int32_t c = 0; c < channels; c += 4) {
                int32_t acc[4] = {bias[c], bias[c + 1], bias[c + 2], bias[c + 3]};
                for (int32_t ky = ys.first; ky < ys.end; ++ky) {
                    const int32_t in_y = ys.origin + ky * p->dilation_y;
                    glowmcu_taps_of_four(in + (in_y * p->in_width + in_x) * channels + c,
                        p->dilation_x * channels,
                        weights + (ky * p->kernel_width + xs.first) * channels + c, channels,
                        xs.end - xs.first, -p->in_zero_point, acc);
                }
                for (int32_t i = 0; i < 4; ++i) {
                    const int32_t value = glowmcu_requantize(acc[i], p->multipliers[c + i],
                        p->shifts[c + i]) + p->out_zero_point;
                    out[c + i] = (int8_t)glowmcu_clamp(value, p->clamp_min, p->clamp_max);
                }
            }
            out += channels;
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_FOURS_LEARNT_H */
