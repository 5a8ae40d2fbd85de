/*
 * glowmcu_moving_bias.h: how a bias moves.
 */
#ifndef GLOWMCU_MOVING_BIAS_H
#define GLOWMCU_MOVING_BIAS_H

#include "glowmcu_parameter_step.h"

typedef struct {
    int32_t pixels;
    int32_t channels;
    int32_t learning;       /* channels, the first ones */
    int32_t factor_step;    /* 2 for a factor a channel, 0 for one */
    const int32_t *factors; /* number and exponent */
} glowmcu_bias_step_layer;

/* A bias moves against a sum. */
GLOWMCU_CODE
static inline void glowmcu_move_bias(const int32_t *kept, int32_t sum, const glowmcu_speed *scale,
    int32_t *moved)
{
    *moved = glowmcu_moved(*kept, glowmcu_scaled_step(sum, *scale, GLOWMCU_BIAS_LIMIT),
        GLOWMCU_BIAS_LIMIT);
}

/* A bias goes on with a velocity. */
GLOWMCU_CODE
static inline void glowmcu_move_bias_on(const int32_t *kept, int32_t velocity, int32_t *moved)
{
    *moved = glowmcu_moved(*kept, glowmcu_rounded_shift(velocity, 8), GLOWMCU_BIAS_LIMIT);
}

#endif /* GLOWMCU_MOVING_BIAS_H */
