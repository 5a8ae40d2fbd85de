/*
 * glowmcu_requantized_back.h: from the gradient by stored results to that by a layer's sums.
 */
#ifndef GLOWMCU_REQUANTIZED_BACK_H
#define GLOWMCU_REQUANTIZED_BACK_H

#include "glowmcu_block_gradient.h"

typedef struct {
    int32_t pixels;
    int32_t channels;
    int32_t gradient_step; /* from pixel to pixel: channels, or 0 for one gradient of all */
    int32_t share_step;    /* 1 for a share a channel, 0 for one */
    int32_t low;           /* no gradient where `low` or less is stored, or `high` or more */
    int32_t high;
    int32_t bits;          /* magnitudes of the result are at most 2^bits */
    const int16_t *shares; /* of 2^15 */
} glowmcu_requantized_back_layer;

/* `out` may be `gradient` where that has all pixels. */
GLOWMCU_CODE
static void glowmcu_requantized_back(const glowmcu_requantized_back_layer *p,
    const int16_t *gradient, const int32_t *common, const int8_t *stored, int16_t *out,
    int32_t *out_common)
{
    const int32_t exponent = common[0];
    const int32_t shift = glowmcu_excess(common[1], p->bits);
    int32_t peak = 0;

    for (int32_t i = 0; i < p->pixels; ++i) {
        const int16_t *share = p->shares;
        for (int32_t c = 0; c < p->channels; ++c) {
            int32_t value = 0;
            if (stored[c] > p->low && stored[c] < p->high) {
                value = glowmcu_rounded_shift(gradient[c] * *share, 15 + shift);
                /* What has saturated goes back, and no further. */
                if ((stored[c] == 127 && value < 0) || (stored[c] == -128 && value > 0)) {
                    value = 0;
                }
                peak = glowmcu_peak(peak, value);
            }
            out[c] = (int16_t)value;
            share += p->share_step;
        }
        gradient += p->gradient_step;
        stored += p->channels;
        out += p->channels;
    }
    out_common[0] = exponent + shift;
    out_common[1] = peak;
}

#endif /* GLOWMCU_REQUANTIZED_BACK_H */
