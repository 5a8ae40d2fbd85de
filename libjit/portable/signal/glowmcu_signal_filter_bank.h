/*
 * glowmcu_signal_filter_bank.h: energies summed by channels that overlap by half.
 */
#ifndef GLOWMCU_SIGNAL_FILTER_BANK_H
#define GLOWMCU_SIGNAL_FILTER_BANK_H

#include "glowmcu_signal_channels.h"

/* Weights without a sign; a product has 47 bits. */
GLOWMCU_CODE
static void glowmcu_signal_filter_bank_u32(const glowmcu_signal_filter_bank *p,
    const uint32_t *in, uint64_t *out)
{
    const int16_t *places = p->places;
    const int16_t *w = p->weights;
    uint64_t left = 0u;

    for (int32_t channel = 0; channel <= p->channels; ++channel) {
        const uint32_t *energy = in + places[0];
        const uint32_t *const end = energy + places[1];
        uint64_t sum = left;

        left = 0u;
        for (; energy < end; ++energy) {
            const uint32_t x = *energy;

            sum += (uint64_t)(uint16_t)w[0] * x;
            left += (uint64_t)(uint16_t)w[1] * x;
            w += 2;
        }
        if (channel > 0) {
            *out = sum;
            ++out;
        }
        places += 2;
    }
}

#endif /* GLOWMCU_SIGNAL_FILTER_BANK_H */
