/*
 * glowmcu_learnt_scale.h: accumulators of layers with weights that nobody knows before, to int8.
 */
#ifndef GLOWMCU_LEARNT_SCALE_H
#define GLOWMCU_LEARNT_SCALE_H

#include "glowmcu_dsp.h"
#include "glowmcu_requantize.h"

/*
 * glowmcu_requantize for |x| < 2^30. With DSP instructions twice x times the multiplier is rounded
 * as the literal form does, and halves go away from zero by one less for what is negative.
 */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_learnt_scale(int32_t x, int32_t multiplier,
    int32_t shift)
{
#if GLOWMCU_HAS_DSP && !defined(GLOWMCU_SINGLE_ROUNDING) && !defined(GLOWMCU_MIXED_ROUNDING)
    if (shift < 0) {
        const int32_t value = glowmcu_smmlar(2 * x, multiplier, 0);
        const int32_t half = (int32_t)1 << (-shift - 1);

        return (value + half + glowmcu_sign(value)) >> -shift;
    }
#endif
    return glowmcu_requantize(x, multiplier, shift);
}

#endif /* GLOWMCU_LEARNT_SCALE_H */
