/*
 * glowmcu_depthwise_step.h: weights of a depthwise convolution move against their gradient.
 */
#ifndef GLOWMCU_DEPTHWISE_STEP_H
#define GLOWMCU_DEPTHWISE_STEP_H

#include "glowmcu_window_step.h"

/* `kept` and `moved` are [kernel_height][kernel_width][out_channels] and may be the same. */
GLOWMCU_CODE
static void glowmcu_depthwise_step(const glowmcu_window_step *p, const int16_t *kept,
    const int16_t *gradient, const int32_t *common, const float *rate, const int8_t *in,
    int16_t *moved)
{
    const glowmcu_factor speed = glowmcu_rate_factor(rate);
    const int32_t each = p->out_channels / p->in_channels;
    int32_t at = 0;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const glowmcu_seen seen = glowmcu_seen_by_tap(p, ky, kx);
            const int32_t *factor = p->factors;
            int32_t oc = 0;
            for (int32_t ic = 0; ic < p->in_channels; ++ic) {
                for (int32_t m = 0; m < each; ++m, ++oc, ++at) {
                    const glowmcu_factor scale = glowmcu_step_factor(speed, factor, common[0]);
                    int32_t acc[5];
                    int32_t step;
                    glowmcu_window_sums(p, gradient, in, &seen, oc, ic, 1, acc);
                    step = glowmcu_scaled_step(acc[0], scale, GLOWMCU_WEIGHT_LIMIT);
                    moved[at] = (int16_t)glowmcu_moved(kept[at], step, GLOWMCU_WEIGHT_LIMIT);
                    factor += p->factor_step;
                }
            }
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_STEP_H */
