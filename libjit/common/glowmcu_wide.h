/*
 * glowmcu_wide.h: int16 activations with int8 weights: inner products, and accumulators to int16.
 *
 * As TensorFlow Lite: sums of 64 bits and Q15 multipliers, or of 32 bits and Q31.
 */
#ifndef GLOWMCU_WIDE_H
#define GLOWMCU_WIDE_H

#include "glowmcu_requantize.h"

/* So many products fit into int32 whatever they are: 511 * 2^15 * 2^7 < 2^31. */
#define GLOWMCU_WIDE_BLOCK 511

/* What becomes of the accumulators of one layer, a channel at a time. */
typedef struct {
    int32_t wide;               /* 1: int64 accumulators, Q15 multipliers; 0: int32 and Q31 */
    int32_t per_channel;        /* 1: multipliers and shifts are [channels], 0: [1] */
    int32_t clamp_min;
    int32_t clamp_max;
    const int32_t *bias;        /* [channels], or null */
    const int64_t *wide_bias;   /* [channels] where `bias` is null */
    const int32_t *multipliers;
    const int8_t *shifts;
} glowmcu_wide_scale;

/*
 * x * multiplier * 2^(shift - 15), halves up; |x| < 2^47, multiplier in [0, 2^15), shift in
 * [-31, 7].
 */
GLOWMCU_CODE
static inline int32_t glowmcu_requantize_wide(int64_t x, int32_t multiplier, int32_t shift)
{
    const int32_t total = 15 - shift;

    return (int32_t)((x * multiplier + ((int64_t)1 << (total - 1))) >> total);
}

/* The result of `channel`, whose accumulator without bias is `acc`: in int32 unless `wide`. */
GLOWMCU_CODE
static inline int16_t glowmcu_wide_result(const glowmcu_wide_scale *p, int32_t channel, int64_t acc)
{
    const int64_t sum = acc + ((p->bias != NULL) ? p->bias[channel] : p->wide_bias[channel]);
    const int32_t at = p->per_channel ? channel : 0;
    const int32_t value = p->wide
        ? glowmcu_requantize_wide(sum, p->multipliers[at], p->shifts[at])
        : glowmcu_requantize((int32_t)sum, p->multipliers[at], p->shifts[at]);

    return (int16_t)glowmcu_clamp(value, p->clamp_min, p->clamp_max);
}

/* acc + sum of x[i] * w[i] over `count` elements. */
GLOWMCU_CODE
static inline int64_t glowmcu_wide_dot(const int16_t *x, const int8_t *w, int32_t count,
    int64_t acc)
{
    while (count > 0) {
        const int32_t block = (count < GLOWMCU_WIDE_BLOCK) ? count : GLOWMCU_WIDE_BLOCK;
        int32_t sum = 0;
        for (int32_t i = 0; i < block; ++i) {
            sum += x[i] * w[i];
        }
        acc += sum;
        x += block;
        w += block;
        count -= block;
    }
    return acc;
}

/* The same for four rows of weights that are `row` bytes apart: x is loaded once for all four. */
GLOWMCU_CODE
static inline void glowmcu_wide_dot4(const int16_t *x, const int8_t *w, int32_t row, int32_t count,
    int64_t acc[4])
{
    while (count > 0) {
        const int32_t block = (count < GLOWMCU_WIDE_BLOCK) ? count : GLOWMCU_WIDE_BLOCK;
        const int8_t *w1 = w + row;
        const int8_t *w2 = w1 + row;
        const int8_t *w3 = w2 + row;
        int32_t sum0 = 0;
        int32_t sum1 = 0;
        int32_t sum2 = 0;
        int32_t sum3 = 0;
        for (int32_t i = 0; i < block; ++i) {
            const int32_t value = x[i];
            sum0 += value * w[i];
            sum1 += value * w1[i];
            sum2 += value * w2[i];
            sum3 += value * w3[i];
        }
        acc[0] += sum0;
        acc[1] += sum1;
        acc[2] += sum2;
        acc[3] += sum3;
        x += block;
        w += block;
        count -= block;
    }
}

#endif /* GLOWMCU_WIDE_H */
