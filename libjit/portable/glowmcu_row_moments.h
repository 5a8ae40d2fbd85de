/*
 * glowmcu_row_moments.h: what a row of integers is shifted and multiplied by to have mean 0 and
 * variance 1.
 */
#ifndef GLOWMCU_ROW_MOMENTS_H
#define GLOWMCU_ROW_MOMENTS_H

#include "glowmcu_requantize.h"

typedef struct {
    int32_t rows;
    int32_t depth;  /* 1 to 32768 */
    int32_t center; /* 0: the mean counts as 0 */
    int32_t in_zero_point;
    int32_t epsilon_mantissa; /* at least 1 */
    int32_t epsilon_shift;    /* epsilon in units of the variance is mantissa * 2^shift */
    int32_t variance_shift;   /* even; the variance * 2^shift + epsilon is below 2^63 */
    int32_t base_shift;       /* of a difference to the left, for a root of a number above 2^62 */
    int32_t factor;           /* quotients to steps of the result with a fraction behind them */
    int32_t addend;           /* zero point and halves, with that fraction */
    int32_t fraction;         /* its bits */
} glowmcu_mean_variance;

typedef struct {
    uint32_t depth; /* both shifted to the left, modulo 2^32: the difference fits 32 bits again */
    uint32_t sum;
    int32_t right;
    int32_t root; /* Q3.29 */
} glowmcu_row_moments;

/* The upper half of a product without signs. */
GLOWMCU_CODE
static inline uint32_t glowmcu_high_product(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

/* 1 / sqrt(a / 2^32) in Q3.29, true to 2^-25; a >= 2^30. */
GLOWMCU_CODE
static inline uint32_t glowmcu_inverse_root(uint32_t a)
{
    uint32_t root = 1433905028u
        - glowmcu_high_product(a, 1763838735u - glowmcu_high_product(a, 879711978u));

    for (int32_t step = 0; step < 3; ++step) {
        const uint32_t square = (uint32_t)(((uint64_t)root * root) >> 29);
        const uint32_t rest = (3u << 29) - glowmcu_high_product(square, a);
        root = (uint32_t)(((uint64_t)root * rest) >> 30);
    }
    return root;
}

/*
 * Of a row's sum and sum of squares, both without zero point. depth * squares - sum^2 is at most
 * 2^60, and with epsilon at least 1.
 */
GLOWMCU_CODE
static inline glowmcu_row_moments glowmcu_moments_of(
    const glowmcu_mean_variance *p, int32_t sum, uint64_t squares)
{
    const int64_t mean = (p->center != 0) ? (int64_t)sum : 0;
    uint64_t total = (uint64_t)(uint32_t)p->depth * squares - (uint64_t)(mean * mean);
    int32_t left = p->base_shift;
    glowmcu_row_moments moments;

    total <<= p->variance_shift;
    total += (uint64_t)(uint32_t)p->epsilon_mantissa << p->epsilon_shift;
    while ((total >> 62) == 0u) {
        total <<= 2;
        ++left;
    }
    moments.root = (int32_t)glowmcu_inverse_root((uint32_t)(total >> 32));
    moments.right = (left < 0) ? -left : 0;
    /* Where a shift is large no element differs from the mean. */
    left = glowmcu_clamp(left, 0, 31);
    moments.depth = (uint32_t)p->depth << left;
    moments.sum = (uint32_t)(int32_t)mean << left;
    return moments;
}

/* An element without zero point, in steps of the result with its zero point; not yet limited. */
GLOWMCU_CODE
static inline int32_t glowmcu_normalized(
    const glowmcu_mean_variance *p, const glowmcu_row_moments *row, int32_t value)
{
    /* |difference| < 2^31, |quotient| < 2^28. */
    const int32_t difference = (int32_t)(row->depth * (uint32_t)value - row->sum) >> row->right;
    const int32_t quotient = (int32_t)(((int64_t)difference * row->root) >> 32);

    return ((int32_t)(((int64_t)quotient * p->factor) >> 32) + p->addend) >> p->fraction;
}

#endif /* GLOWMCU_ROW_MOMENTS_H */
