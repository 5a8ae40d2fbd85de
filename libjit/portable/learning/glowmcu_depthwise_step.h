/*
 * glowmcu_depthwise_step.h: weights of a depthwise convolution move against their gradient.
 */
#ifndef GLOWMCU_DEPTHWISE_STEP_H
#define GLOWMCU_DEPTHWISE_STEP_H

#include "glowmcu_window_step.h"

/* Sums at a tap of output channels from `oc` on: four that have an input channel each, or one. */
GLOWMCU_CODE
static void glowmcu_depthwise_step_sums(const glowmcu_window_step *p, const int16_t *gradient,
    const int8_t *in, const glowmcu_seen *seen, int32_t count, int32_t acc[4])
{
    for (int32_t i = 0; i < 4; ++i) {
        acc[i] = 0;
    }
    for (int32_t oy = seen->ys.first; oy < seen->ys.end; ++oy) {
        const glowmcu_gradient_run run = glowmcu_row_run(p, gradient, in, seen, oy);
        if (count == 4) {
            glowmcu_gradient_run_each(&run, -p->in_zero_point, acc);
        } else {
            const int16_t *g = run.gradient;
            const int8_t *x = run.x;
            for (int32_t i = 0; i < run.count; ++i) {
                acc[0] += *g * (*x - p->in_zero_point);
                g += run.step;
                x += run.x_step;
            }
        }
    }
}

GLOWMCU_CODE
static void glowmcu_depthwise_weights_step(const glowmcu_window_step *p,
    const glowmcu_moving_weights *w, const int16_t *gradient, const int32_t *common,
    const float *rate, const int8_t *in)
{
    const glowmcu_speed speed = glowmcu_rate_factor(rate);
    const int32_t each = p->out_channels / p->in_channels;
    int32_t at = 0;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const glowmcu_seen seen = glowmcu_seen_by_tap(p, ky, kx);
            const int32_t *factor = p->factors;
            int32_t oc = 0;
            while (oc < p->learning) {
                const int32_t count = (each == 1 && p->learning - oc >= 4) ? 4 : 1;
                int32_t acc[4];
                glowmcu_depthwise_step_sums(p, gradient + oc, in + oc / each, &seen, count, acc);
                for (int32_t i = 0; i < count; ++i, ++oc, ++at) {
                    const glowmcu_speed scale = glowmcu_step_factor(speed, factor, common[0]);
                    glowmcu_move_weight(w, at, acc[i], &scale);
                    factor += p->factor_step;
                }
            }
        }
    }
}

/* `kept` and `moved` are [kernel_height][kernel_width][learning]
 * and may be the same; a gradient of the weights is never stored. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_step(const glowmcu_window_step *p, const int16_t *kept,
    const int16_t *gradient, const int32_t *common, const float *rate, const int8_t *in,
    int16_t *moved)
{
    const glowmcu_moving_weights w = {kept, moved, NULL, NULL, 0};

    glowmcu_depthwise_weights_step(p, &w, gradient, common, rate, in);
}

/* The same with momentum; `new_velocity` may be `velocity`. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_step_with_momentum(const glowmcu_window_step *p,
    const int16_t *kept, const int16_t *gradient, const int32_t *common, const float *rate,
    const int8_t *in, const int32_t *velocity, const float *momentum, int16_t *moved,
    int32_t *new_velocity)
{
    const glowmcu_moving_weights w = {kept, moved, velocity, new_velocity,
        glowmcu_momentum_part(momentum)};

    glowmcu_depthwise_weights_step(p, &w, gradient, common, rate, in);
}

#endif /* GLOWMCU_DEPTHWISE_STEP_H */
