/*
 * glowmcu_log_softmax.h: logarithm of softmax of int8 rows.
 */
#ifndef GLOWMCU_LOG_SOFTMAX_H
#define GLOWMCU_LOG_SOFTMAX_H

#include "glowmcu_softmax_row.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    int32_t multiplier;         /* from a difference of elements to Q5.26 */
    int32_t shift;
    int32_t reverse_multiplier; /* and back */
    int32_t reverse_shift;
    int32_t radius;             /* larger differences leave Q5.26 */
    int32_t differences;        /* entries of `exps`; those from this one on count as exp = 0 */
    const int32_t *exps;        /* exp in Q12.19 of an element so far under its row's largest */
} glowmcu_log_softmax;

/*
 * log(x) in Q5.26 for x >= 1 in Q12.19: a rational function around 2^(-1/4), two ways to get there.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_log(int32_t x)
{
    const int32_t sqrt_half = 1518500250;
    const int32_t center = 1805811301; /* 2^(-1/4) */
    const int32_t zeros_a = glowmcu_leading_zeros((uint32_t)x);
    const int32_t zeros_b = glowmcu_leading_zeros(
        (uint32_t)glowmcu_doubling_high_mul(x, sqrt_half)) - 1;
    /* Powers of two in Q6.25, at most 12 in magnitude. */
    const int32_t power_a = (12 - zeros_a) * ((int32_t)1 << 25) + ((int32_t)1 << 23);
    const int32_t power_b = (12 - zeros_b) * ((int32_t)1 << 25) - ((int32_t)1 << 23);
    /* Up to 2^32, so unsigned until the smaller one is known to be below 1. */
    const uint32_t r_a = 2u * (uint32_t)glowmcu_doubling_high_mul(
        (int32_t)((uint32_t)x << (zeros_a - 1)), sqrt_half);
    const uint32_t r_b = (uint32_t)x << zeros_b;
    const uint32_t smaller = (r_a < r_b) ? r_a : r_b;
    const int32_t r = (smaller > (uint32_t)INT32_MAX) ? INT32_MAX : (int32_t)smaller;
    const int32_t q = (r - center) * 2;
    const int32_t q2 = glowmcu_doubling_high_mul(q, q);
    const int32_t numerator = glowmcu_doubling_high_mul(q, r)
        + glowmcu_doubling_high_mul(glowmcu_doubling_high_mul(q, q2), 117049297);
    const int32_t p = (int32_t)(((uint32_t)r + (uint32_t)center + 1u) >> 1);
    const int32_t slope = 1057819769 + q + glowmcu_doubling_high_mul(q2, 127690142);
    const int32_t denominator = glowmcu_doubling_high_mul(p, slope)
        + glowmcu_doubling_high_mul(q, 638450708);
    const int32_t fraction = glowmcu_doubling_high_mul(glowmcu_divide_by_pot(numerator, 6),
        glowmcu_one_over_one_plus_x(denominator));
    const int32_t power = (power_a > power_b) ? power_a : power_b;

    return (glowmcu_doubling_high_mul(power, 1488522236) + fraction) * 2;
}

/* `in` and `out` are [rows][depth]; `out` may be `in` itself. */
GLOWMCU_CODE
static void glowmcu_log_softmax_s8(const glowmcu_log_softmax *p, const int8_t *in, int8_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        const int32_t largest = glowmcu_row_max(in, p->depth);
        int32_t sum = 0; /* Q12.19, depth < 4096 */
        int32_t log_sum;
        int32_t least;
        for (int32_t c = 0; c < p->depth; ++c) {
            sum += (largest - in[c] < p->differences) ? p->exps[largest - in[c]] : 0;
        }
        log_sum = glowmcu_log(sum);
        /* A difference must stay in Q5.26 with the logarithm taken off. */
        least = glowmcu_requantize(log_sum + INT32_MIN, p->reverse_multiplier, p->reverse_shift);
        least = (least < -p->radius - 1) ? -p->radius - 1 : least;
        for (int32_t c = 0; c < p->depth; ++c) {
            const int32_t difference = in[c] - largest;
            int32_t value = -128;
            if (difference > least) {
                const int32_t rescaled = glowmcu_requantize(difference, p->multiplier, p->shift);
                value = glowmcu_divide_by_pot(rescaled - log_sum, 22) + 127;
            }
            out[c] = (int8_t)glowmcu_clamp(value, -128, 127);
        }
    }
}

#endif /* GLOWMCU_LOG_SOFTMAX_H */
