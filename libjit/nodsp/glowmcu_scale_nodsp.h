/*
 * glowmcu_scale_nodsp.h: sums to int8 with 32-bit products only, for cores without SMULL.
 *
 * Narrow: one line through all thresholds, proved by the compiler; saturation is part of it.
 */
#ifndef GLOWMCU_SCALE_NODSP_H
#define GLOWMCU_SCALE_NODSP_H

#include "glowmcu_scale_signed_nodsp.h"

/* Starts: low. Factors: fine, high; span, addend (16 bits each, the first in the low half). */
#if GLOWMCU_THUMB == 1
#include "glowmcu_scale_armv6m.h"
#else
GLOWMCU_CODE
static void glowmcu_scale_narrow(const glowmcu_scale *p, const int32_t *sums, int32_t step,
    int8_t *out, int32_t count)
{
    const int32_t *start = p->starts;
    const int32_t *factors = p->factors;
    const int32_t factor_step = p->factor_step;
    const int8_t *end = out + count;
    const int32_t fine_shift = p->fine_shift;
    const int32_t postshift = p->postshift;
    const int32_t span_shift = p->span;
    const int32_t clamp_min = p->clamp_min;

    while (out != end) {
        const int32_t above = *sums - *start;
        int32_t value = clamp_min;

        if (above > 0) {
            const uint32_t multiplier = (uint32_t)factors[0];
            const uint32_t limits = (uint32_t)factors[1];
            const uint32_t span = (limits & 0xFFFFu) << span_shift;
            uint32_t u = (uint32_t)above;
            if (u > span) {
                u = span;
            }
            /* Both products are below 2^32, and so is the sum. */
            u = u * (multiplier >> 16) + ((u * (multiplier & 0xFFFFu)) >> fine_shift)
                + (limits >> 16);
            value += (int32_t)(u >> postshift);
        }
        *out = (int8_t)value;
        ++out;
        sums += step;
        ++start;
        factors += factor_step;
    }
}
#endif

/* `count` sums, `step` words apart, to all channels of a pixel. */
GLOWMCU_CODE
static inline void glowmcu_scale_sums(const glowmcu_scale *p, const int32_t *sums, int32_t step,
    int8_t *out, int32_t count)
{
    if (p->fine_shift > 0) {
        glowmcu_scale_narrow(p, sums, step, out, count);
    } else {
        glowmcu_scale_signed(p, sums, step, out, count);
    }
}

#endif /* GLOWMCU_SCALE_NODSP_H */
