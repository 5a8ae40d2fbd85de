/*
 * glowmcu_conv_2d_step.h: weights of a convolution move against their gradient.
 */
#ifndef GLOWMCU_CONV_2D_STEP_H
#define GLOWMCU_CONV_2D_STEP_H

#include "glowmcu_window_step.h"

/*
 * `kept` and `moved` are [out_channels][kernel_height][kernel_width][in_channels] and may be the
 * same; a gradient of the weights is never stored.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_step(const glowmcu_window_step *p, const int16_t *kept,
    const int16_t *gradient, const int32_t *common, const float *rate, const int8_t *in,
    int16_t *moved)
{
    const glowmcu_factor speed = glowmcu_rate_factor(rate);
    const int32_t *factor = p->factors;
    int32_t at = 0;

    for (int32_t oc = 0; oc < p->out_channels; ++oc) {
        const glowmcu_factor scale = glowmcu_step_factor(speed, factor, common[0]);
        for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
            for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
                const glowmcu_seen seen = glowmcu_seen_by_tap(p, ky, kx);
                int32_t ic = 0;
                while (ic < p->in_channels) {
                    const int32_t count = (p->in_channels - ic >= 4) ? 4 : 1;
                    int32_t acc[5];
                    glowmcu_window_sums(p, gradient, in, &seen, oc, ic, count, acc);
                    for (int32_t i = 0; i < count; ++i, ++ic, ++at) {
                        const int32_t step = glowmcu_scaled_step(acc[i], scale,
                            GLOWMCU_WEIGHT_LIMIT);
                        moved[at] = (int16_t)glowmcu_moved(kept[at], step, GLOWMCU_WEIGHT_LIMIT);
                    }
                }
            }
        }
        factor += p->factor_step;
    }
}

#endif /* GLOWMCU_CONV_2D_STEP_H */
