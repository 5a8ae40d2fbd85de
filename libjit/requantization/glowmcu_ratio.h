/*
 * glowmcu_ratio.h: quotients of two quantized elements, as TensorFlow Lite rounds.
 */
#ifndef GLOWMCU_RATIO_H
#define GLOWMCU_RATIO_H

#include "glowmcu_reciprocal.h"

typedef struct {
    int32_t a_zero_point;
    int32_t b_zero_point;
    int32_t out_multiplier; /* of a / b */
    int32_t out_shift;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_ratio;

/* Zeros in front of the highest bit of x in [1, 2^(32 - known) - 1]. */
GLOWMCU_CODE
static inline int32_t glowmcu_zeros_of_short(int32_t x, int32_t known)
{
    return known + glowmcu_leading_zeros((uint32_t)x << (uint32_t)known);
}

/*
 * Dividing by 0 is dividing by one half. Quotients that a shift of 31 leaves nothing of are 0, and
 * those that would stay, or be shifted to the left, are far beyond the result's type at half of
 * their size, which leaves room for the zero point.
 * `known`: zeros that 2 |a - a_zero_point| + 1 and |b - b_zero_point| have in front at least.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_quotient_of_short(const glowmcu_ratio *p, int32_t a, int32_t b,
    int32_t known)
{
    int32_t dividend = a - p->a_zero_point;
    int32_t divisor = b - p->b_zero_point;
    int32_t inverse = INT32_MAX; /* Q0.31 times 2^-inverse_bits */
    int32_t inverse_bits = -1;
    int32_t quotient = 0;

    if (divisor < 0) {
        dividend = -dividend;
        divisor = -divisor;
    }
    if (divisor != 0) {
        const int32_t zeros = glowmcu_zeros_of_short(divisor, known);

        inverse = glowmcu_one_over_one_plus_x(
            (int32_t)(((uint32_t)divisor << (uint32_t)zeros) & 0x7fffffffu));
        inverse_bits = 31 - zeros;
    }
    if (dividend != 0) {
        const int32_t size = (dividend > 0) ? dividend : (-1 - dividend);
        const int32_t headroom = glowmcu_zeros_of_short((2 * size) + 1, known);
        const int32_t shift = p->out_shift - inverse_bits - headroom;

        if (shift >= -31) {
            quotient = glowmcu_requantize(dividend, inverse, headroom);
            quotient = glowmcu_requantize(quotient, p->out_multiplier, (shift > -1) ? -1 : shift);
        }
    }
    return glowmcu_clamp(quotient + p->out_zero_point, p->clamp_min, p->clamp_max);
}

/* int8 */
GLOWMCU_CODE
static inline int32_t glowmcu_div_one(const glowmcu_ratio *p, int32_t a, int32_t b)
{
    return glowmcu_quotient_of_short(p, a, b, 22);
}

/* int16 */
GLOWMCU_CODE
static inline int32_t glowmcu_div_s16_one(const glowmcu_ratio *p, int32_t a, int32_t b)
{
    return glowmcu_quotient_of_short(p, a, b, 14);
}

#endif /* GLOWMCU_RATIO_H */
