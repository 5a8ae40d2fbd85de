/*
 * glowmcu_depthwise_reach.h: how far gradients by a depthwise convolution's image can go.
 */
#ifndef GLOWMCU_DEPTHWISE_REACH_H
#define GLOWMCU_DEPTHWISE_REACH_H

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

#endif /* GLOWMCU_DEPTHWISE_REACH_H */
