/*
 * glowmcu_conv_2d_step_packed.h: weights of a convolution that sees each pixel alone move against
 * packed gradients.
 */
#ifndef GLOWMCU_CONV_2D_STEP_PACKED_H
#define GLOWMCU_CONV_2D_STEP_PACKED_H

#include "glowmcu_conv_2d_step_tap.h"
#include "glowmcu_packed_gradient.h"

/* Two neighbouring channels of all pixels as int16, [pixels][2]; of the last channel alone, 0. */
GLOWMCU_CODE
static void glowmcu_unpack_columns(const glowmcu_window_step *p, const int8_t *gradient,
    int32_t oc, int32_t outputs, int16_t *columns)
{
    const int8_t *pixel = gradient;

    for (int32_t i = 0; i < p->out_width; ++i) {
        const int32_t unit = glowmcu_packed_unit(pixel + p->out_channels);
        *columns++ = (int16_t)(pixel[oc] * unit);
        *columns++ = (int16_t)((outputs == 2) ? pixel[oc + 1] * unit : 0);
        pixel += p->out_channels + 1;
    }
}

GLOWMCU_CODE
static void glowmcu_conv_2d_packed_step(const glowmcu_window_step *p,
    const glowmcu_moving_weights *w, const int8_t *gradient, const int32_t *common,
    const float *rate, const int8_t *in, int16_t *columns)
{
    const glowmcu_speed speed = glowmcu_rate_factor(rate);
    const int32_t *factor = p->factors;
    glowmcu_window_step pair = *p;
    glowmcu_seen seen;
    int32_t oc = 0;

    pair.out_channels = 2;
    seen = glowmcu_seen_by_tap(&pair, 0, 0);
    while (oc < p->learning) {
        const int32_t outputs = (p->learning - oc >= 2) ? 2 : 1;
        glowmcu_speed scales[2];
        scales[0] = glowmcu_step_factor(speed, factor, common[0]);
        factor += p->factor_step;
        scales[1] = scales[0];
        if (outputs == 2) {
            scales[1] = glowmcu_step_factor(speed, factor, common[0]);
            factor += p->factor_step;
        }
        glowmcu_unpack_columns(p, gradient, oc, outputs, columns);
        glowmcu_conv_2d_step_tap(&pair, w, columns, in, &seen, outputs, scales,
            oc * p->in_channels);
        oc += outputs;
    }
}

/*
 * `gradient` [out_width][out_channels + 1], `kept` and `moved` [learning][in_channels], which may
 * be the same. `scratch` has two int16 for each pixel.
 */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_step_packed(const glowmcu_window_step *p, const int16_t *kept,
    const int8_t *gradient, const int32_t *common, const float *rate, const int8_t *in,
    int16_t *moved, void *scratch)
{
    const glowmcu_moving_weights w = {kept, moved, NULL, NULL, 0};

    glowmcu_conv_2d_packed_step(p, &w, gradient, common, rate, in, (int16_t *)scratch);
}

/* The same with momentum; `new_velocity` may be `velocity`. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_step_packed_with_momentum(const glowmcu_window_step *p,
    const int16_t *kept, const int8_t *gradient, const int32_t *common, const float *rate,
    const int8_t *in, const int32_t *velocity, const float *momentum, int16_t *moved,
    int32_t *new_velocity, void *scratch)
{
    const glowmcu_moving_weights w = {kept, moved, velocity, new_velocity,
        glowmcu_momentum_part(momentum)};

    glowmcu_conv_2d_packed_step(p, &w, gradient, common, rate, in, (int16_t *)scratch);
}

#endif /* GLOWMCU_CONV_2D_STEP_PACKED_H */
