/*
 * glowmcu_recurrence_pair_s16.h: a hidden state of int16 times two rows of weights.
 */
#ifndef GLOWMCU_RECURRENCE_PAIR_S16_H
#define GLOWMCU_RECURRENCE_PAIR_S16_H

#include "glowmcu_base.h"

/* Two rows of weights at a time: each int16 of h is loaded once. */
GLOWMCU_CODE
static void glowmcu_recurrence_pair_s16(const int16_t *h, const int8_t *w0, const int8_t *w1,
    int32_t count, int32_t sums[2])
{
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];

    for (int32_t i = 0; i < count; ++i) {
        const int32_t value = h[i];
        sum0 += value * w0[i];
        sum1 += value * w1[i];
    }
    sums[0] = sum0;
    sums[1] = sum1;
}

#endif /* GLOWMCU_RECURRENCE_PAIR_S16_H */
