/*
 * glowmcu_sum.h: sums and differences of two quantized elements, brought to one scale first.
 *
 * Used by add, sub, squared_difference and the comparisons.
 */
#ifndef GLOWMCU_SUM_H
#define GLOWMCU_SUM_H

#include "glowmcu_requantize.h"

/* Both operands: (x - zero_point) * 2^left_shift, times a factor below 1. */
typedef struct {
    int32_t left_shift;
    int32_t a_zero_point;
    int32_t a_multiplier;
    int32_t a_shift;
    int32_t b_zero_point;
    int32_t b_multiplier;
    int32_t b_shift;
    int32_t out_multiplier;
    int32_t out_shift;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_sum;

/*
 * offset * 2^left_shift * multiplier * 2^(shift - 31), rounded. |offset| < 2^(31 - left_shift): 8
 * bits leave room for 20, 16 bits for 15. Half of it or a quarter, as for the operand with the
 * larger scale, is a mere shift: then nothing is rounded.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_sum_rescale(int32_t offset, int32_t left_shift, int32_t multiplier,
    int32_t shift)
{
    const int32_t exact_shift = left_shift + shift - 1;

    if (multiplier == (int32_t)1 << 30 && exact_shift >= 0) {
        return offset * ((int32_t)1 << exact_shift);
    }
    return glowmcu_requantize(offset * ((int32_t)1 << left_shift), multiplier, shift);
}

GLOWMCU_CODE
static inline int32_t glowmcu_sum_a(const glowmcu_sum *p, int32_t a)
{
    return glowmcu_sum_rescale(a - p->a_zero_point, p->left_shift, p->a_multiplier, p->a_shift);
}

GLOWMCU_CODE
static inline int32_t glowmcu_sum_b(const glowmcu_sum *p, int32_t b)
{
    return glowmcu_sum_rescale(b - p->b_zero_point, p->left_shift, p->b_multiplier, p->b_shift);
}

GLOWMCU_CODE
static inline int32_t glowmcu_sum_out(const glowmcu_sum *p, int32_t value)
{
    const int32_t out = glowmcu_requantize(value, p->out_multiplier, p->out_shift);

    return glowmcu_clamp(out + p->out_zero_point, p->clamp_min, p->clamp_max);
}

GLOWMCU_CODE
static inline int32_t glowmcu_add_one(const glowmcu_sum *p, int32_t a, int32_t b)
{
    return glowmcu_sum_out(p, glowmcu_sum_a(p, a) + glowmcu_sum_b(p, b));
}

GLOWMCU_CODE
static inline int32_t glowmcu_sub_one(const glowmcu_sum *p, int32_t a, int32_t b)
{
    return glowmcu_sum_out(p, glowmcu_sum_a(p, a) - glowmcu_sum_b(p, b));
}

/*
 * left_shift is 7 here, and |difference| <= 2 * 255 * 2^7 / 2; 0 for int16, and it is at most 2^15.
 * Its square is less than 2^31.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_squared_difference_one(const glowmcu_sum *p, int32_t a, int32_t b)
{
    const int32_t difference = glowmcu_sum_a(p, a) - glowmcu_sum_b(p, b);

    return glowmcu_sum_out(p, difference * difference);
}

/* Less than, equal to or greater than 0 as a is to b. Both scales are below 1. */
GLOWMCU_CODE
static inline int32_t glowmcu_compare_one(const glowmcu_sum *p, int32_t a, int32_t b)
{
    return glowmcu_sum_a(p, a) - glowmcu_sum_b(p, b);
}

#endif /* GLOWMCU_SUM_H */
