/*
 * glowmcu_sigmoid_s16.h: logistic and tanh of one int16 element, as TensorFlow
 * Lite computes them.
 */
#ifndef GLOWMCU_SIGMOID_S16_H
#define GLOWMCU_SIGMOID_S16_H

#include "glowmcu_base.h"

/* Steps of the table: (x * multiplier + half) >> shift; multiplier < 2^15, shift <= 31. */
typedef struct {
    int32_t multiplier;
    int32_t shift;
} glowmcu_sigmoid_scale;

/* |x| <= 2^15, so nothing leaves int32. */
GLOWMCU_CODE
static inline int32_t glowmcu_sigmoid_steps(const glowmcu_sigmoid_scale *p, int32_t x)
{
    const int32_t half = (int32_t)(((uint32_t)1 << p->shift) >> 1);

    return (x * p->multiplier + half) >> p->shift;
}

/*
 * sigmoid in Q0.(16 + bits), 2^bits steps from entry to entry; `table` is [256], less 1/2. `past`
 * is the result beyond the table.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_sigmoid_between(const int16_t *table, int32_t steps, int32_t bits,
    int32_t past)
{
    const int32_t at = steps >> bits;

    if (at >= 255) {
        return past;
    }
    return ((table[at] + 32768) << bits)
        + (steps & (((int32_t)1 << bits) - 1)) * ((int32_t)table[at + 1] - table[at]);
}

GLOWMCU_CODE
static inline int32_t glowmcu_logistic_s16_one(const glowmcu_sigmoid_scale *p, const int16_t *table,
    int32_t x)
{
    const int32_t steps = glowmcu_sigmoid_steps(p, x);
    const int32_t value = glowmcu_sigmoid_between(table, (steps < 0) ? -steps : steps, 9,
        (int32_t)0x7FFF << 10);

    return (((steps >= 0) ? value : ((int32_t)1 << 25) - value - 1) + (1 << 9)) >> 10;
}

/* 2 * sigmoid(2 * x) - 1 */
GLOWMCU_CODE
static inline int32_t glowmcu_tanh_s16_one(const glowmcu_sigmoid_scale *p, const int16_t *table,
    int32_t x)
{
    const int32_t steps = glowmcu_sigmoid_steps(p, x);
    const int32_t value = glowmcu_sigmoid_between(table, (steps < 0) ? -steps : steps, 8,
        (int32_t)0xFFFF << 8) - ((int32_t)1 << 23);

    return (((steps >= 0) ? value : -value - 1) + (1 << 7)) >> 8;
}

#endif /* GLOWMCU_SIGMOID_S16_H */
