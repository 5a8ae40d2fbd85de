/*
 * glowmcu_reciprocal.h: 1 / (1 + a) in Q0.31, exactly as gemmlowp does.
 */
#ifndef GLOWMCU_RECIPROCAL_H
#define GLOWMCU_RECIPROCAL_H

#include "glowmcu_requantize.h"

/* Zeros in front of the highest bit of x, x != 0. */
GLOWMCU_CODE
static inline int32_t glowmcu_leading_zeros(uint32_t x)
{
    int32_t zeros = 0;

    while ((x & 0x80000000u) == 0u) {
        x <<= 1;
        ++zeros;
    }
    return zeros;
}

/* `a` is Q0.31 in [0, 1]. Three Newton-Raphson steps towards 2 / (1 + a), which is Q2.29. */
GLOWMCU_CODE
static inline int32_t glowmcu_one_over_one_plus_x(int32_t a)
{
    const int32_t half = (int32_t)(((uint32_t)a + 0x80000000u) >> 1); /* (1 + a) / 2 */
    /* 48/17 - half * 32/17 */
    int32_t x = 1515870810 + glowmcu_doubling_high_mul(half, -1010580540);

    for (int32_t step = 0; step < 3; ++step) {
        /* |rest| < 2^26 */
        const int32_t rest = ((int32_t)1 << 29) - glowmcu_doubling_high_mul(half, x);
        x += glowmcu_doubling_high_mul(x, rest) * 4;
    }
    return (x >= ((int32_t)1 << 30)) ? INT32_MAX : x * 2;
}

#endif /* GLOWMCU_RECIPROCAL_H */
