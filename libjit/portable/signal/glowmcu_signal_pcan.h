/*
 * glowmcu_signal_pcan.h: channels normalized by a gain that depends on their noise.
 */
#ifndef GLOWMCU_SIGNAL_PCAN_H
#define GLOWMCU_SIGNAL_PCAN_H

#include "glowmcu_signal_bits.h"

typedef struct {
    int32_t count;
    int32_t shift; /* 0 to 63 */
} glowmcu_signal_pcan;

/* A parabola for each power of 2 of the noise, in 1/1024 of it; |value| < 2^31. */
GLOWMCU_CODE
static inline int32_t glowmcu_signal_gain(const int16_t *gains, uint32_t noise)
{
    const int32_t bits = glowmcu_bit_length(noise);
    const int16_t *g = gains + ((noise <= 2u) ? 0 : 4 * bits - 6);
    int32_t fraction;
    int32_t value;

    if (noise <= 2u) {
        return gains[noise];
    }
    fraction = (int32_t)(((bits < 11) ? noise << (11 - bits) : noise >> (bits - 11)) & 0x3FFu);
    value = ((g[2] * fraction) >> 5) + (int32_t)g[1] * 32;
    value = ((value * fraction + 16384) >> 15) + g[0];
    return (int16_t)(uint16_t)((uint32_t)value & 0xFFFFu);
}

/* `out` may be `in` or `noise`; `gains` are 125. */
GLOWMCU_CODE
static void glowmcu_signal_pcan_u32(const glowmcu_signal_pcan *p, const uint32_t *in,
    const uint32_t *noise, const int16_t *gains, uint32_t *out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        const uint32_t gain = (uint32_t)glowmcu_signal_gain(gains, noise[i]);
        const uint32_t ratio = (uint32_t)((((uint64_t)in[i] * gain) >> p->shift) & 0xFFFFFFFFu);

        /* r^2 / 4 below 2 and r - 1 from there on, in units of 2^-12 to units of 2^-6 */
        out[i] = (ratio < 8192u) ? (ratio * ratio) >> 20 : (ratio >> 6) - 64u;
    }
}

#endif /* GLOWMCU_SIGNAL_PCAN_H */
