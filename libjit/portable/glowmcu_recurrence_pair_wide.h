/*
 * glowmcu_recurrence_pair_wide.h: products of a hidden state whose sums may leave 32 bits.
 */
#ifndef GLOWMCU_RECURRENCE_PAIR_WIDE_H
#define GLOWMCU_RECURRENCE_PAIR_WIDE_H

#include "glowmcu_wide.h"

GLOWMCU_CODE
static inline int32_t glowmcu_recurrence_word(int64_t sum)
{
    return (sum < INT32_MIN) ? INT32_MIN : ((sum > INT32_MAX) ? INT32_MAX : (int32_t)sum);
}

/* Two rows of weights; sums saturate at their ends. */
GLOWMCU_CODE
static void glowmcu_recurrence_pair_wide(const int16_t *h, const int8_t *w0, const int8_t *w1,
    int32_t count, int32_t sums[2])
{
    sums[0] = glowmcu_recurrence_word(glowmcu_wide_dot(h, w0, count, sums[0]));
    sums[1] = glowmcu_recurrence_word(glowmcu_wide_dot(h, w1, count, sums[1]));
}

#endif /* GLOWMCU_RECURRENCE_PAIR_WIDE_H */
