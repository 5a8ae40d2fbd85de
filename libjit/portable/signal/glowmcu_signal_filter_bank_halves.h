/*
 * glowmcu_signal_filter_bank_halves.h: channels of energies by products of 32 bits.
 */
#ifndef GLOWMCU_SIGNAL_FILTER_BANK_HALVES_H
#define GLOWMCU_SIGNAL_FILTER_BANK_HALVES_H

#include "glowmcu_signal_channels.h"

/* What upper and lower halves of energies add up to: high * 2^16 + low. */
typedef struct {
    uint32_t high;
    uint32_t low;
} glowmcu_signal_halves;

static GLOWMCU_ALWAYS_INLINE uint64_t glowmcu_signal_whole(glowmcu_signal_halves sum)
{
    return ((uint64_t)sum.high << 16) + sum.low;
}

/* Weights have no sign, and those of a channel add up to 2^16 at most: sums stay below 2^32. */
GLOWMCU_CODE
static void glowmcu_signal_halves_bank_u32(const glowmcu_signal_filter_bank *p,
    const uint32_t *in, uint64_t *out)
{
    const int16_t *places = p->places;
    const int16_t *w = p->weights;
    uint64_t before = 0u;

    for (int32_t channel = 0; channel <= p->channels; ++channel) {
        const uint32_t *energy = in + places[0];
        const uint32_t *const end = energy + places[1];
        glowmcu_signal_halves here = { 0u, 0u };
        glowmcu_signal_halves next = { 0u, 0u };

        for (; energy < end; ++energy) {
            const uint32_t high = *energy >> 16;
            const uint32_t low = *energy & 0xFFFFu;
            const uint32_t weight = (uint16_t)w[0];
            const uint32_t unweight = (uint16_t)w[1];

            here.high += weight * high;
            here.low += weight * low;
            next.high += unweight * high;
            next.low += unweight * low;
            w += 2;
        }
        if (channel > 0) {
            *out = before + glowmcu_signal_whole(here);
            ++out;
        }
        before = glowmcu_signal_whole(next);
        places += 2;
    }
}

#endif /* GLOWMCU_SIGNAL_FILTER_BANK_HALVES_H */
