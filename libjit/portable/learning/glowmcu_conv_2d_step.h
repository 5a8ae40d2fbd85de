/*
 * glowmcu_conv_2d_step.h: weights of a convolution move against their gradient.
 */
#ifndef GLOWMCU_CONV_2D_STEP_H
#define GLOWMCU_CONV_2D_STEP_H

#include "glowmcu_conv_2d_step_tap.h"

/* The weights of one output channel where a layer sees one pixel: a product each. */
GLOWMCU_CODE
static void glowmcu_one_pixel_step(const glowmcu_window_step *p, const glowmcu_moving_weights *w,
    int32_t g, const int8_t *in, const glowmcu_speed *scale, int32_t first)
{
    for (int32_t ic = 0; ic < p->in_channels; ++ic) {
        glowmcu_move_weight(w, first + ic, g * (in[ic] - p->in_zero_point), scale);
    }
}

GLOWMCU_CODE
static void glowmcu_conv_2d_weights_step(const glowmcu_window_step *p,
    const glowmcu_moving_weights *w, const int16_t *gradient, const int32_t *common,
    const float *rate, const int8_t *in)
{
    const glowmcu_speed speed = glowmcu_rate_factor(rate);
    const int32_t filter = p->kernel_height * p->kernel_width * p->in_channels;
    const int32_t *factor = p->factors;
    const int32_t is_pixel = (p->in_height * p->in_width == 1
        && p->kernel_height * p->kernel_width == 1) ? 1 : 0;
    int32_t oc = 0;

    while (oc < p->learning) {
        const int32_t outputs = (is_pixel == 0 && p->learning - oc >= 2) ? 2 : 1;
        glowmcu_speed scales[2];
        scales[0] = glowmcu_step_factor(speed, factor, common[0]);
        factor += p->factor_step;
        scales[1] = scales[0];
        if (outputs == 2) {
            scales[1] = glowmcu_step_factor(speed, factor, common[0]);
            factor += p->factor_step;
        }
        if (is_pixel != 0) {
            glowmcu_one_pixel_step(p, w, gradient[oc], in, &scales[0], oc * filter);
        }
        for (int32_t ky = 0; is_pixel == 0 && ky < p->kernel_height; ++ky) {
            for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
                const glowmcu_seen seen = glowmcu_seen_by_tap(p, ky, kx);
                const int32_t at = oc * filter + (ky * p->kernel_width + kx) * p->in_channels;
                glowmcu_conv_2d_step_tap(p, w, gradient + oc, in, &seen, outputs, scales, at);
            }
        }
        oc += outputs;
    }
}

/* `kept` and `moved` are [learning][kernel_height][kernel_width][in_channels]
 * and may be the same; a gradient of the weights is never stored. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_step(const glowmcu_window_step *p, const int16_t *kept,
    const int16_t *gradient, const int32_t *common, const float *rate, const int8_t *in,
    int16_t *moved)
{
    const glowmcu_moving_weights w = {kept, moved, NULL, NULL, 0};

    glowmcu_conv_2d_weights_step(p, &w, gradient, common, rate, in);
}

/* The same with momentum; `new_velocity` may be `velocity`. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_step_with_momentum(const glowmcu_window_step *p,
    const int16_t *kept, const int16_t *gradient, const int32_t *common, const float *rate,
    const int8_t *in, const int32_t *velocity, const float *momentum, int16_t *moved,
    int32_t *new_velocity)
{
    const glowmcu_moving_weights w = {kept, moved, velocity, new_velocity,
        glowmcu_momentum_part(momentum)};

    glowmcu_conv_2d_weights_step(p, &w, gradient, common, rate, in);
}

#endif /* GLOWMCU_CONV_2D_STEP_H */
