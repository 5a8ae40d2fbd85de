/*
 * glowmcu_recurrence_pair_s8_dsp.h: an int8 input times two rows of weights, four by four.
 */
#ifndef GLOWMCU_RECURRENCE_PAIR_S8_DSP_H
#define GLOWMCU_RECURRENCE_PAIR_S8_DSP_H

#include "glowmcu_dsp.h"

/* The products of int8 `x` with rows `w0` and `w1`. */
GLOWMCU_CODE
static void glowmcu_recurrence_pair_s8_dsp(const int8_t *x, const int8_t *w0, const int8_t *w1,
    int32_t count, int32_t sums[2])
{
    const int8_t *const end = x + (count & ~3);
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];

    while (x != end) {
        const uint32_t four = glowmcu_load_word(x);
        const uint32_t even = glowmcu_sxtb16(four);
        const uint32_t odd = glowmcu_sxtb16_ror8(four);
        const uint32_t first = glowmcu_load_word(w0);
        const uint32_t second = glowmcu_load_word(w1);

        sum0 = glowmcu_smlad(even, glowmcu_sxtb16(first), sum0);
        sum0 = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(first), sum0);
        sum1 = glowmcu_smlad(even, glowmcu_sxtb16(second), sum1);
        sum1 = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(second), sum1);
        x += 4;
        w0 += 4;
        w1 += 4;
    }
    for (int32_t i = 0; i < (count & 3); ++i) {
        sum0 += x[i] * w0[i];
        sum1 += x[i] * w1[i];
    }
    sums[0] = sum0;
    sums[1] = sum1;
}

#endif /* GLOWMCU_RECURRENCE_PAIR_S8_DSP_H */
