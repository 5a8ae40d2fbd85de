/*
 * glowmcu_signal_bits.h: how many bits a number has.
 */
#ifndef GLOWMCU_SIGNAL_BITS_H
#define GLOWMCU_SIGNAL_BITS_H

#include "glowmcu_thumb.h"

/* Bits of x from its highest that is 1 on; 0 for 0. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_bit_length(uint32_t x)
{
#if GLOWMCU_THUMB == 2
    int32_t zeros;

    __asm__("clz %0, %1" : "=r"(zeros) : "r"(x));
    return 32 - zeros;
#else
    int32_t bits = 0;

    for (int32_t half = 16; half > 0; half >>= 1) {
        if ((x >> half) != 0u) {
            x >>= half;
            bits += half;
        }
    }
    return bits + (int32_t)x;
#endif
}

#endif /* GLOWMCU_SIGNAL_BITS_H */
