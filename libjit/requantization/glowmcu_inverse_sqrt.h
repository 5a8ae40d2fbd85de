/*
 * glowmcu_inverse_sqrt.h: 1 / sqrt of an integer in fixed point, as TensorFlow Lite computes it.
 */
#ifndef GLOWMCU_INVERSE_SQRT_H
#define GLOWMCU_INVERSE_SQRT_H

#include "glowmcu_requantize.h"

/* value * multiplier * 2^(shift - 31) */
typedef struct {
    int32_t multiplier;
    int32_t shift;
} glowmcu_factor;

/* x * 2^exponent, saturated. */
GLOWMCU_CODE
static inline int32_t glowmcu_saturating_shift(int32_t x, int32_t exponent)
{
    const int32_t limit = INT32_MAX >> exponent;

    if (x > limit) {
        return INT32_MAX;
    }
    return (x < -limit) ? INT32_MIN : x * (int32_t)((uint32_t)1 << exponent);
}

/* 1 / sqrt(value); value >= 0, and 0 counts as 1. Five Newton-Raphson steps in Q3.28. */
GLOWMCU_CODE
static inline glowmcu_factor glowmcu_inverse_sqrt(int32_t value)
{
    glowmcu_factor factor = {INT32_MAX, 0};
    int32_t right = 11;
    int32_t half;
    int32_t x = (int32_t)1 << 28;

    if (value <= 1) {
        return factor;
    }
    while (value >= ((int32_t)1 << 29)) {
        value /= 4;
        ++right;
    }
    while (value < ((int32_t)1 << 27)) {
        value *= 4;
        --right;
    }
    half = glowmcu_divide_by_pot(value >> 1, 1);
    for (int32_t step = 0; step < 5; ++step) {
        const int32_t square = glowmcu_doubling_high_mul(x, x);
        const int32_t cube = glowmcu_saturating_shift(glowmcu_doubling_high_mul(square, x), 6);
        const int32_t three_halves = glowmcu_doubling_high_mul((int32_t)3 << 27, x);
        x = glowmcu_saturating_shift(three_halves - glowmcu_doubling_high_mul(half, cube), 3);
    }
    x = glowmcu_doubling_high_mul(x, 1518500250); /* sqrt(1/2) */
    factor.multiplier = (right < 0) ? x * ((int32_t)1 << -right) : x;
    factor.shift = (right < 0) ? 0 : -right;
    return factor;
}

#endif /* GLOWMCU_INVERSE_SQRT_H */
