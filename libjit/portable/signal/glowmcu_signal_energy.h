/*
 * glowmcu_signal_energy.h: squared magnitudes of a spectrum of int16.
 */
#ifndef GLOWMCU_SIGNAL_ENERGY_H
#define GLOWMCU_SIGNAL_ENERGY_H

#include "glowmcu_dsp.h"

typedef struct {
    int32_t pairs;
    int32_t first; /* of those that are computed; the others are 0 */
    int32_t end;
} glowmcu_signal_energy;

/* re^2 + im^2 <= 2^31. */
GLOWMCU_CODE
static void glowmcu_signal_energy_s16(const glowmcu_signal_energy *p, const int16_t *in,
    uint32_t *out)
{
    for (int32_t i = 0; i < p->first; ++i) {
        out[i] = 0u;
    }
    in += 2 * p->first;
    for (int32_t i = p->first; i < p->end; ++i) {
#if GLOWMCU_HAS_DSP
        const uint32_t z = glowmcu_load_word(in);

        out[i] = (uint32_t)glowmcu_smuad(z, z);
#else
        const int32_t re = in[0];
        const int32_t im = in[1];

        out[i] = (uint32_t)(re * re) + (uint32_t)(im * im);
#endif
        in += 2;
    }
    for (int32_t i = p->end; i < p->pairs; ++i) {
        out[i] = 0u;
    }
}

#endif /* GLOWMCU_SIGNAL_ENERGY_H */
