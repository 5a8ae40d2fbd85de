/*
 * glowmcu_bias_step_packed.h: biases of a layer move against packed gradients.
 */
#ifndef GLOWMCU_BIAS_STEP_PACKED_H
#define GLOWMCU_BIAS_STEP_PACKED_H

#include "glowmcu_moving_bias.h"
#include "glowmcu_packed_gradient.h"

/* Of channel `oc`: its numbers of all pixels. */
GLOWMCU_CODE
static int32_t glowmcu_packed_bias_sum(const glowmcu_bias_step_layer *p, const int8_t *gradient,
    int32_t oc)
{
    const int8_t *pixel = gradient;
    int32_t sum = 0;

    for (int32_t i = 0; i < p->pixels; ++i) {
        sum += pixel[oc] * glowmcu_packed_unit(pixel + p->channels);
        pixel += p->channels + 1;
    }
    return sum;
}

/* `gradient` is [pixels][channels + 1]; `moved` may be `kept`. */
GLOWMCU_CODE
static inline void glowmcu_bias_step_packed(const glowmcu_bias_step_layer *p, const int32_t *kept,
    const int8_t *gradient, const int32_t *common, const float *rate, int32_t *moved)
{
    const glowmcu_speed speed = glowmcu_rate_factor(rate);
    const int32_t *factor = p->factors;

    for (int32_t oc = 0; oc < p->learning; ++oc) {
        const glowmcu_speed scale = glowmcu_step_factor(speed, factor, common[0]);
        const int32_t sum = glowmcu_packed_bias_sum(p, gradient, oc);
        glowmcu_move_bias(kept + oc, sum, &scale, moved + oc);
        factor += p->factor_step;
    }
}

/* The same with momentum; `new_velocity` may be `velocity`. */
GLOWMCU_CODE
static inline void glowmcu_bias_step_packed_with_momentum(const glowmcu_bias_step_layer *p,
    const int32_t *kept, const int8_t *gradient, const int32_t *common, const float *rate,
    const int32_t *velocity, const float *momentum, int32_t *moved, int32_t *new_velocity)
{
    const glowmcu_speed speed = glowmcu_rate_factor(rate);
    const int32_t part = glowmcu_momentum_part(momentum);
    const int32_t *factor = p->factors;

    for (int32_t oc = 0; oc < p->learning; ++oc) {
        const glowmcu_speed scale = glowmcu_step_factor(speed, factor, common[0]);
        const int32_t sum = glowmcu_packed_bias_sum(p, gradient, oc);
        new_velocity[oc] = glowmcu_velocity(velocity[oc], part, sum, &scale);
        glowmcu_move_bias_on(kept + oc, new_velocity[oc], moved + oc);
        factor += p->factor_step;
    }
}

#endif /* GLOWMCU_BIAS_STEP_PACKED_H */
