/*
 * glowmcu_parameter_step.h: what steps of parameters in fixed point have in common.
 */
#ifndef GLOWMCU_PARAMETER_STEP_H
#define GLOWMCU_PARAMETER_STEP_H

#include <string.h>

#include "glowmcu_block_gradient.h"

/* A positive number: `number` * 2^exponent, number < 2^15. */
typedef struct {
    int32_t number;
    int32_t exponent;
} glowmcu_speed;

/* The rate, rounded down; 0 for what is no positive normal number. */
GLOWMCU_CODE
static inline glowmcu_speed glowmcu_rate_factor(const float *rate)
{
    glowmcu_speed found = {0, 0};
    uint32_t word;
    uint32_t exponent;

    (void)memcpy(&word, rate, sizeof word);
    exponent = word >> 23; /* with the sign */
    if (exponent != 0u && exponent < 255u) {
        found.number = (int32_t)((0x800000u | (word & 0x7FFFFFu)) >> 9);
        found.exponent = (int32_t)exponent - (127 + 14);
    }
    return found;
}

/* The rate times a channel's factor and 2^exponent, for sums that are shifted by 15 before. */
GLOWMCU_CODE
static inline glowmcu_speed glowmcu_step_factor(glowmcu_speed rate, const int32_t factor[2],
    int32_t exponent)
{
    glowmcu_speed found;

    found.number = (rate.number * factor[0]) >> 15;
    found.exponent = exponent + rate.exponent + factor[1] + 30;
    return found;
}

/*
 * sum * number / 2^15, rounded down, times 2^exponent, halves up: at most `limit`.
 * |sum| < 2^30 and number < 2^15, so that both halves of the product fit.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_scaled_step(int32_t sum, glowmcu_speed factor, int32_t limit)
{
    const int32_t product = (sum >> 15) * factor.number
        + (((sum & 0x7FFF) * factor.number) >> 15);

    if (factor.exponent < -31) {
        return 0;
    }
    if (factor.exponent < 0) {
        const int32_t right = -factor.exponent;
        const int32_t step = (product + (int32_t)(((uint32_t)1 << right) >> 1)) >> right;
        return (step < -limit) ? -limit : ((step > limit) ? limit : step);
    } else {
        const int32_t left = (factor.exponent > 31) ? 31 : factor.exponent;
        const int32_t most = limit >> left;
        if (product < -most) {
            return -limit;
        }
        return (product > most) ? limit : product * (int32_t)((uint32_t)1 << left);
    }
}

/* What is kept from now on: within `limit`. Parameters that were loaded may be anything. */
GLOWMCU_CODE
static inline int32_t glowmcu_moved(int32_t kept, int32_t step, int32_t limit)
{
    const int32_t end = (int32_t)1 << 30;
    const int32_t value = ((kept < -end) ? -end : ((kept > end) ? end : kept)) - step;

    return (value < -limit) ? -limit : ((value > limit) ? limit : value);
}

/* Limits of weights with 8 bits behind those that layers read, and of biases. */
#define GLOWMCU_WEIGHT_LIMIT (127 * 256)
#define GLOWMCU_BIAS_LIMIT 0x3FFFFFFF

/* Velocities have 8 bits behind those of what they move. */
#define GLOWMCU_VELOCITY_LIMIT 0x3FFFFFFF

/* Of 2^15, rounded down: nearly 1 for 1 and more, 0 for what is no positive normal number. */
GLOWMCU_CODE
static inline int32_t glowmcu_momentum_part(const float *momentum)
{
    const glowmcu_speed found = glowmcu_rate_factor(momentum);

    if (found.number == 0) {
        return 0;
    }
    if (found.exponent > -15) {
        return 32767;
    }
    return (found.exponent < -15 - 31) ? 0 : (found.number >> (-15 - found.exponent));
}

/* The velocity from now on: the part of the old one, and a step of a sum. */
GLOWMCU_CODE
static inline int32_t glowmcu_velocity(int32_t before, int32_t part, int32_t sum,
    const glowmcu_speed *factor)
{
    const int32_t end = GLOWMCU_VELOCITY_LIMIT;
    const int32_t old = (before < -end) ? -end : ((before > end) ? end : before);
    const int32_t on = (old >> 15) * part + (((old & 0x7FFF) * part) >> 15);
    const glowmcu_speed finer = {factor->number, factor->exponent + 8};
    const int32_t value = on + glowmcu_scaled_step(sum, finer, end);

    return (value < -end) ? -end : ((value > end) ? end : value);
}

#endif /* GLOWMCU_PARAMETER_STEP_H */
