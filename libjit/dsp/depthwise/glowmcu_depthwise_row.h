/*
 * glowmcu_depthwise_row.h: one channel's row of an int8 depthwise 3x3 convolution, for the DSP
 * extension: what is the same channel by channel and row by row.
 *
 * Sums are over x, not x - zero_point, where what lies outside the image is the zero point;
 * constants account for that. Weights are scaled by 2^8.
 */
#ifndef GLOWMCU_DEPTHWISE_ROW_H
#define GLOWMCU_DEPTHWISE_ROW_H

#include "glowmcu_depthwise_forms.h"

typedef struct {
    int32_t channels;        /* of the output; the assembly reads the first members */
    int32_t in_zero_points;  /* twice, in both halves */
    int32_t rounding;        /* 2 * out_zero_point + 1 */
    int32_t clamp_min;
    int32_t clamp_max;
    const int32_t *blocks;   /* eight weights and two constants a channel, then last weights */
    int32_t in_height;
    int32_t in_width;
    int32_t out_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t pad_top;
    int32_t pad_left;
} glowmcu_depthwise_row;

#if !GLOWMCU_HAS_DSP
/* What the assembly computes; each channel of the image makes `multiplier` of the output. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_portable_row(const int8_t *in, int8_t *out,
    const glowmcu_depthwise_row *p, int32_t missing, int32_t form, int32_t postshift,
    int32_t multiplier)
{
    /* Where a weight's byte is, row by row but for the last. */
    static const uint8_t places[8] = {1, 0, 5, 3, 2, 7, 4, 6};
    const int8_t *last = (const int8_t *)(p->blocks + 4 * p->channels);
    const int32_t zero_point = glowmcu_low_half((uint32_t)p->in_zero_points);
    const int32_t top = (missing < 0) ? 1 : 0;
    const int32_t end = (missing > 0) ? 2 : 3;
    const int32_t in_channels = p->channels / multiplier;
    const int32_t *q = p->blocks;

    for (int32_t c = 0; c < p->channels; ++c, q += 4) {
        const int8_t *weights = (const int8_t *)q;
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            int32_t sum = glowmcu_depthwise_start(q + 2, form);
            int32_t value;
            for (int32_t k = 0; k < 9; ++k) {
                const int32_t ky = k / 3;
                const int32_t x = ox * p->stride_x - p->pad_left + k % 3;
                value = zero_point;
                if (ky >= top && ky < end && x >= 0 && x < p->in_width) {
                    value = in[((ky - top) * p->in_width + x) * in_channels + c / multiplier];
                }
                value *= (k < 8) ? weights[places[k]] : last[c];
                sum = glowmcu_wrapping_add(sum, value * 256);
            }
            value = glowmcu_depthwise_finish_scaled(sum, q + 2, form, postshift, p->rounding);
            value = (value < p->clamp_min) ? p->clamp_min : value;
            out[ox * p->channels + c] =
                (int8_t)((value > p->clamp_max) ? p->clamp_max : value);
        }
    }
}
#endif

#endif /* GLOWMCU_DEPTHWISE_ROW_H */
