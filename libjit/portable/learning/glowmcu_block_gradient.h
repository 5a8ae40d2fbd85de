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

#endif /* GLOWMCU_BLOCK_GRADIENT_H */
