/*
 * glowmcu_bias_step.h: biases move against the sums of a layer's gradient.
 */
#ifndef GLOWMCU_BIAS_STEP_H
#define GLOWMCU_BIAS_STEP_H

#include "glowmcu_parameter_step.h"

typedef struct {
    int32_t pixels;
    int32_t channels;
    int32_t factor_step;    /* 2 for a factor a channel, 0 for one */
    const int32_t *factors; /* number and exponent */
} glowmcu_bias_step_layer;

/* `moved` may be `kept`. */
GLOWMCU_CODE
static void glowmcu_bias_step(const glowmcu_bias_step_layer *p, const int32_t *kept,
    const int16_t *gradient, const int32_t *common, const float *rate, int32_t *moved)
{
    const glowmcu_speed speed = glowmcu_rate_factor(rate);
    const int32_t *factor = p->factors;

    for (int32_t oc = 0; oc < p->channels; ++oc) {
        const glowmcu_speed scale = glowmcu_step_factor(speed, factor, common[0]);
        const int16_t *g = gradient + oc;
        int32_t sum = 0;
        for (int32_t i = 0; i < p->pixels; ++i) {
            sum += *g;
            g += p->channels;
        }
        moved[oc] = glowmcu_moved(kept[oc], glowmcu_scaled_step(sum, scale, GLOWMCU_BIAS_LIMIT),
            GLOWMCU_BIAS_LIMIT);
        factor += p->factor_step;
    }
}

#endif /* GLOWMCU_BIAS_STEP_H */
