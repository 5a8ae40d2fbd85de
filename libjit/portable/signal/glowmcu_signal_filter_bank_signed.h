/*
 * glowmcu_signal_filter_bank_signed.h: the same of weights that have a sign; sums wrap.
 */
#ifndef GLOWMCU_SIGNAL_FILTER_BANK_SIGNED_H
#define GLOWMCU_SIGNAL_FILTER_BANK_SIGNED_H

#include "glowmcu_signal_channels.h"

GLOWMCU_CODE
static void glowmcu_signal_signed_bank_u32(const glowmcu_signal_filter_bank *p,
    const uint32_t *in, uint64_t *out)
{
    const int16_t *places = p->places;
    const int16_t *w = p->weights;
    uint64_t left = 0u;

    for (int32_t channel = 0; channel <= p->channels; ++channel) {
        const uint32_t *energy = in + places[0];
        uint64_t sum = left;

        left = 0u;
        for (int32_t i = 0; i < places[1]; ++i) {
            sum += (uint64_t)(int64_t)w[0] * energy[i];
            left += (uint64_t)(int64_t)w[1] * energy[i];
            w += 2;
        }
        if (channel > 0) {
            *out = sum;
            ++out;
        }
        places += 2;
    }
}

#endif /* GLOWMCU_SIGNAL_FILTER_BANK_SIGNED_H */
