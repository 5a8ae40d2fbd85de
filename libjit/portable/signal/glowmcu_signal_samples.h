/*
 * glowmcu_signal_samples.h: int16 samples, two in a word where there are DSP instructions.
 */
#ifndef GLOWMCU_SIGNAL_SAMPLES_H
#define GLOWMCU_SIGNAL_SAMPLES_H

#include "glowmcu_dsp.h"

/* x clamped to int16. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_saturate_s16(int32_t x)
{
#if GLOWMCU_HAS_DSP
    int32_t result;

    __asm__("ssat %0, #16, %1" : "=r"(result) : "r"(x));
    return result;
#else
    return (x < -32768) ? -32768 : ((x > 32767) ? 32767 : x);
#endif
}

#endif /* GLOWMCU_SIGNAL_SAMPLES_H */
