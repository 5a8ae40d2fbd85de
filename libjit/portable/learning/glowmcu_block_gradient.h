/*
 * glowmcu_block_gradient.h: gradients of int16 that share an exponent.
 *
 * Beside the numbers stand exponent and peak, the largest magnitude. Numbers are at most 2^14, sums
 * of their products less than 2^30: which is proved where the graph is made.
 */
#ifndef GLOWMCU_BLOCK_GRADIENT_H
#define GLOWMCU_BLOCK_GRADIENT_H

#include "glowmcu_base.h"

/* The least right shift after which no magnitude up to `peak` exceeds 2^bits. */
GLOWMCU_CODE
static inline int32_t glowmcu_excess(int32_t peak, int32_t bits)
{
    int32_t shift = 0;

    while (peak > 0 && bits + shift < 31 && ((peak - 1) >> (bits + shift)) != 0) {
        ++shift;
    }
    return shift;
}

/* value / 2^shift, halves up; 0 <= shift <= 30, |value| <= 2^30. */
GLOWMCU_CODE
static inline int32_t glowmcu_rounded_shift(int32_t value, int32_t shift)
{
    return (value + (((int32_t)1 << shift) >> 1)) >> shift;
}

/* The larger of a peak and a magnitude. */
GLOWMCU_CODE
static inline int32_t glowmcu_peak(int32_t peak, int32_t value)
{
    const int32_t magnitude = (value < 0) ? -value : value;

    return (magnitude > peak) ? magnitude : peak;
}

/*
 * Adds to acc[0..3] the products of `count` numbers of a gradient with four neighbours each of `x`,
 * and to acc[4] these numbers. Behind an activation many of them are 0.
 */
GLOWMCU_CODE
static inline void glowmcu_gradient_run4(const int16_t *gradient, int32_t step, const int8_t *x,
    int32_t x_step, int32_t count, int32_t acc[5])
{
    int32_t acc0 = acc[0];
    int32_t acc1 = acc[1];
    int32_t acc2 = acc[2];
    int32_t acc3 = acc[3];
    int32_t sum = acc[4];

    for (int32_t i = 0; i < count; ++i) {
        const int32_t g = *gradient;
        if (g != 0) {
            acc0 += g * x[0];
            acc1 += g * x[1];
            acc2 += g * x[2];
            acc3 += g * x[3];
            sum += g;
        }
        gradient += step;
        x += x_step;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
    acc[4] = sum;
}

/* The same with one of `x` each. */
GLOWMCU_CODE
static inline void glowmcu_gradient_run1(const int16_t *gradient, int32_t step, const int8_t *x,
    int32_t x_step, int32_t count, int32_t acc[5])
{
    int32_t acc0 = acc[0];
    int32_t sum = acc[4];

    for (int32_t i = 0; i < count; ++i) {
        const int32_t g = *gradient;
        if (g != 0) {
            acc0 += g * *x;
            sum += g;
        }
        gradient += step;
        x += x_step;
    }
    acc[0] = acc0;
    acc[4] = sum;
}

#endif /* GLOWMCU_BLOCK_GRADIENT_H */
