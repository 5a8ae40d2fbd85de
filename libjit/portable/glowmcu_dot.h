/*
 * glowmcu_dot.h: inner products of int8, one or four rows of weights at a time.
 */
#ifndef GLOWMCU_DOT_H
#define GLOWMCU_DOT_H

#include "glowmcu_base.h"

/* acc + sum of (x[i] + offset) * w[i] over `count` elements. */
GLOWMCU_CODE
static inline int32_t glowmcu_dot(const int8_t *x, const int8_t *w, int32_t count, int32_t offset,
    int32_t acc)
{
    for (int32_t i = 0; i < count; ++i) {
        acc += (x[i] + offset) * w[i];
    }
    return acc;
}

#if defined(__GNUC__) && !defined(__clang__)
/* Where numbers may wrap (-fno-strict-overflow), gcc does not see that what has fewer than four
 * rows of weights never comes here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif

/* The same for four rows of weights that are `row` bytes apart: x is loaded once for all four. */
GLOWMCU_CODE
static inline void glowmcu_dot4(const int8_t *x, const int8_t *w, int32_t row, int32_t count,
    int32_t offset, int32_t acc[4])
{
    const int8_t *w1 = w + row;
    const int8_t *w2 = w1 + row;
    const int8_t *w3 = w2 + row;
    int32_t acc0 = acc[0];
    int32_t acc1 = acc[1];
    int32_t acc2 = acc[2];
    int32_t acc3 = acc[3];

    for (int32_t i = 0; i < count; ++i) {
        const int32_t value = x[i] + offset;
        acc0 += value * w[i];
        acc1 += value * w1[i];
        acc2 += value * w2[i];
        acc3 += value * w3[i];
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif /* GLOWMCU_DOT_H */
