/*
 * glowmcu_recurrence_pair_s16_dsp.h: a hidden state of int16 times two rows of weights.
 */
#ifndef GLOWMCU_RECURRENCE_PAIR_S16_DSP_H
#define GLOWMCU_RECURRENCE_PAIR_S16_DSP_H

#include "glowmcu_dsp.h"

/* Two neighbours of a hidden state, the first one lowest. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_recurrence_halves(const int16_t *from)
{
#if GLOWMCU_HAS_DSP && !GLOWMCU_BIG_ENDIAN
    return glowmcu_load_word(from);
#else
    return glowmcu_halves(from[0], from[1]);
#endif
}

/* Four by four products; of each four weights the two in the middle are exchanged. */
GLOWMCU_CODE
static void glowmcu_recurrence_pair_s16_dsp(const int16_t *h, const int8_t *w0, const int8_t *w1,
    int32_t count, int32_t sums[2])
{
    const int16_t *const end = h + (count & ~3);
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];

    while (h != end) {
        const uint32_t low = glowmcu_recurrence_halves(h);
        const uint32_t high = glowmcu_recurrence_halves(h + 2);
        const uint32_t first = glowmcu_load_word(w0);
        const uint32_t second = glowmcu_load_word(w1);

        sum0 = glowmcu_smlad(low, glowmcu_sxtb16(first), sum0);
        sum0 = glowmcu_smlad(high, glowmcu_sxtb16_ror8(first), sum0);
        sum1 = glowmcu_smlad(low, glowmcu_sxtb16(second), sum1);
        sum1 = glowmcu_smlad(high, glowmcu_sxtb16_ror8(second), sum1);
        h += 4;
        w0 += 4;
        w1 += 4;
    }
    for (int32_t i = 0; i < (count & 3); ++i) {
        sum0 += h[i] * w0[i];
        sum1 += h[i] * w1[i];
    }
    sums[0] = sum0;
    sums[1] = sum1;
}

#endif /* GLOWMCU_RECURRENCE_PAIR_S16_DSP_H */
