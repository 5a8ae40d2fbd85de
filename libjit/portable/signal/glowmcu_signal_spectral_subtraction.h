/*
 * glowmcu_signal_spectral_subtraction.h: what is louder than the noise, and the noise.
 */
#ifndef GLOWMCU_SIGNAL_SPECTRAL_SUBTRACTION_H
#define GLOWMCU_SIGNAL_SPECTRAL_SUBTRACTION_H

#include "glowmcu_base.h"

/* How the noise of channels with even or odd numbers follows what is heard. */
typedef struct {
    uint32_t heard;
    uint32_t before;
} glowmcu_signal_smoothing;

typedef struct {
    int32_t count;
    uint32_t least_left;    /* of the input, in units of 2^-bits as all coefficients */
    int32_t smoothing_bits; /* 0 to 31: of the noise, beyond those of the input */
    int32_t bits;           /* 0 to 63 */
    int32_t is_clamped;     /* 1: the noise is never above the input */
    glowmcu_signal_smoothing even;
    glowmcu_signal_smoothing odd;
} glowmcu_signal_subtraction;

/* `out` may be `in` or `noise`, `noise_out` may be `noise`. All sums and products wrap. */
GLOWMCU_CODE
static void glowmcu_signal_subtraction_u32(const glowmcu_signal_subtraction *p,
    const uint32_t *in, const uint32_t *noise, uint32_t *out, uint32_t *noise_out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        const glowmcu_signal_smoothing *smoothing = ((i & 1) == 0) ? &p->even : &p->odd;
        const uint32_t x = in[i];
        const uint32_t scaled = x << p->smoothing_bits;
        const uint64_t sum = (uint64_t)scaled * smoothing->heard
            + (uint64_t)noise[i] * smoothing->before;
        const uint32_t now = (uint32_t)((sum >> p->bits) & 0xFFFFFFFFu);
        const uint32_t known = (now < scaled) ? now : scaled;
        const uint32_t least = (uint32_t)((((uint64_t)x * p->least_left) >> p->bits) & 0xFFFFFFFFu);
        const uint32_t left = (scaled - known) >> p->smoothing_bits;

        noise_out[i] = (p->is_clamped != 0) ? known : now;
        out[i] = (left > least) ? left : least;
    }
}

#endif /* GLOWMCU_SIGNAL_SPECTRAL_SUBTRACTION_H */
