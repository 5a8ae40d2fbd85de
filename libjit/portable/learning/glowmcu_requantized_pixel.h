/*
 * glowmcu_requantized_pixel.h: a pixel's gradient by what is stored, to that by a layer's sums.
 */
#ifndef GLOWMCU_REQUANTIZED_PIXEL_H
#define GLOWMCU_REQUANTIZED_PIXEL_H

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

/* Of one pixel; gives the new peak. `out` may be `gradient`. */
GLOWMCU_CODE
static int32_t glowmcu_requantized_pixel(const glowmcu_requantized_back_layer *p,
    const int16_t *gradient, int32_t shift, const int8_t *stored, int32_t peak, int16_t *out)
{
    const int16_t *share = p->shares;
    int32_t most = peak;

    for (int32_t c = 0; c < p->channels; ++c) {
        int32_t value = 0;
        if (stored[c] > p->low && stored[c] < p->high) {
            value = glowmcu_rounded_shift(gradient[c] * *share, shift);
            /* What has saturated goes back, and no further. */
            if ((stored[c] == 127 && value < 0) || (stored[c] == -128 && value > 0)) {
                value = 0;
            }
            most = glowmcu_peak(most, value);
        }
        out[c] = (int16_t)value;
        share += p->share_step;
    }
    return most;
}

#endif /* GLOWMCU_REQUANTIZED_PIXEL_H */
