/*
 * glowmcu_depthwise_step_packed.h: weights of a depthwise convolution with an output for each
 * channel move against packed gradients.
 */
#ifndef GLOWMCU_DEPTHWISE_STEP_PACKED_H
#define GLOWMCU_DEPTHWISE_STEP_PACKED_H

#include "glowmcu_packed_products.h"
#include "glowmcu_window_step.h"

/* Sums at a tap, of the channels that learn. */
GLOWMCU_CODE
static void glowmcu_depthwise_packed_sums(const glowmcu_window_step *p, const int8_t *gradient,
    const int8_t *in, const glowmcu_seen *seen, int32_t *sums)
{
    const int32_t channels = p->out_channels;

    for (int32_t c = 0; c < p->learning; ++c) {
        sums[c] = 0;
    }
    for (int32_t oy = seen->ys.first; oy < seen->ys.end; ++oy) {
        const int32_t y = seen->ys.origin + oy * p->stride_y;
        const int32_t x = seen->xs.origin + seen->xs.first * p->stride_x;
        const int8_t *numbers = gradient + (oy * p->out_width + seen->xs.first) * (channels + 1);
        const int8_t *image = in + (y * p->in_width + x) * channels;
        for (int32_t ox = seen->xs.first; ox < seen->xs.end; ++ox) {
            glowmcu_packed_products(numbers, glowmcu_packed_unit(numbers + channels), image,
                -p->in_zero_point, p->learning, sums);
            numbers += channels + 1;
            image += p->stride_x * channels;
        }
    }
}

GLOWMCU_CODE
static void glowmcu_depthwise_packed_step(const glowmcu_window_step *p,
    const glowmcu_moving_weights *w, const int8_t *gradient, const int32_t *common,
    const float *rate, const int8_t *in, int32_t *sums)
{
    const glowmcu_speed speed = glowmcu_rate_factor(rate);
    int32_t at = 0;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const glowmcu_seen seen = glowmcu_seen_by_tap(p, ky, kx);
            const int32_t *factor = p->factors;
            glowmcu_depthwise_packed_sums(p, gradient, in, &seen, sums);
            for (int32_t oc = 0; oc < p->learning; ++oc, ++at) {
                const glowmcu_speed scale = glowmcu_step_factor(speed, factor, common[0]);
                glowmcu_move_weight(w, at, sums[oc], &scale);
                factor += p->factor_step;
            }
        }
    }
}

/*
 * `gradient` [out_height][out_width][out_channels + 1], `kept` and `moved` [kernel_height]
 * [kernel_width][learning], which may be the same. `scratch` has an int32 for each that learns.
 */
GLOWMCU_CODE
static inline void glowmcu_depthwise_step_packed(const glowmcu_window_step *p,
    const int16_t *kept, const int8_t *gradient, const int32_t *common, const float *rate,
    const int8_t *in, int16_t *moved, void *scratch)
{
    const glowmcu_moving_weights w = {kept, moved, NULL, NULL, 0};

    glowmcu_depthwise_packed_step(p, &w, gradient, common, rate, in, (int32_t *)scratch);
}

/* The same with momentum; `new_velocity` may be `velocity`. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_step_packed_with_momentum(const glowmcu_window_step *p,
    const int16_t *kept, const int8_t *gradient, const int32_t *common, const float *rate,
    const int8_t *in, const int32_t *velocity, const float *momentum, int16_t *moved,
    int32_t *new_velocity, void *scratch)
{
    const glowmcu_moving_weights w = {kept, moved, velocity, new_velocity,
        glowmcu_momentum_part(momentum)};

    glowmcu_depthwise_packed_step(p, &w, gradient, common, rate, in, (int32_t *)scratch);
}

#endif /* GLOWMCU_DEPTHWISE_STEP_PACKED_H */
