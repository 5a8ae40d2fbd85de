/*
 * glowmcu_scale_signed_nodsp.h: sums to int8 where no line through all thresholds is proved, with
 * 32-bit products only.
 *
 * Mirrored: one line of magnitudes, proved, for signed results, of which halves go away from zero.
 * Literal: what TensorFlow Lite computes.
 */
#ifndef GLOWMCU_SCALE_SIGNED_NODSP_H
#define GLOWMCU_SCALE_SIGNED_NODSP_H

#include "glowmcu_requantize.h"
#include "glowmcu_thumb.h"

typedef struct glowmcu_scale {
    const int32_t *starts;  /* a word a channel */
    const int32_t *factors; /* two words a channel, or for all; see the two functions */
    int32_t factor_step;    /* 2, or 0 for all */
    int32_t fine_shift;     /* 0: literal; below 0: mirrored, its negative */
    int32_t postshift;
    int32_t span; /* narrow: by how much spans are shifted; mirrored: the span of all */
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_scale;

/* Starts: what is added. Factors: fine, high (16 bits each); addend. */
#if GLOWMCU_THUMB == 1
#include "glowmcu_scale_mirrored_armv6m.h"
#else
GLOWMCU_CODE
static void glowmcu_scale_mirrored(const glowmcu_scale *p, const int32_t *sums, int32_t step,
    int8_t *out, int32_t count)
{
    const int32_t *start = p->starts;
    const int32_t *factors = p->factors;
    const int32_t factor_step = p->factor_step;
    const int8_t *end = out + count;
    const int32_t fine_shift = -p->fine_shift;
    const int32_t postshift = p->postshift;
    const int32_t span = p->span;
    const int32_t zero_point = p->out_zero_point;

    while (out != end) {
        const int32_t sum = *sums + *start;
        const int32_t size = (sum < 0) ? -sum : sum;
        const uint32_t multiplier = (uint32_t)factors[0];
        uint32_t u = (uint32_t)((size > span) ? span : size);
        int32_t value;

        /* Both products are below 2^32, and so is the sum. */
        u = u * (multiplier >> 16) + ((u * (multiplier & 0xFFFFu)) >> fine_shift)
            + (uint32_t)factors[1];
        value = (int32_t)(u >> postshift);
        *out = (int8_t)glowmcu_clamp(zero_point + ((sum < 0) ? -value : value), -128, 127);
        ++out;
        sums += step;
        ++start;
        factors += factor_step;
    }
}
#endif

/* Starts: what is added. Factors: multiplier; shift. */
#if GLOWMCU_THUMB == 1 && !defined(GLOWMCU_SINGLE_ROUNDING) && !defined(GLOWMCU_MIXED_ROUNDING)
#include "glowmcu_scale_literal_armv6m.h"

GLOWMCU_CODE
static inline void glowmcu_scale_literal(const glowmcu_scale *p, const int32_t *sums, int32_t step,
    int8_t *out, int32_t count)
{
    glowmcu_scale_literal_armv6m(p, sums, step, out, count);
}
#else
GLOWMCU_CODE
static void glowmcu_scale_literal(const glowmcu_scale *p, const int32_t *sums, int32_t step,
    int8_t *out, int32_t count)
{
    const int32_t *start = p->starts;
    const int32_t *factors = p->factors;
    const int8_t *end = out + count;

    while (out != end) {
        const int32_t value = glowmcu_requantize(*sums + *start, factors[0], factors[1]);
        *out = (int8_t)glowmcu_clamp(value + p->out_zero_point, p->clamp_min, p->clamp_max);
        ++out;
        sums += step;
        ++start;
        factors += p->factor_step;
    }
}
#endif

/* `count` sums, `step` words apart, to all channels of a pixel; fine_shift is 0 or below. */
GLOWMCU_CODE
static inline void glowmcu_scale_signed(const glowmcu_scale *p, const int32_t *sums, int32_t step,
    int8_t *out, int32_t count)
{
    if (p->fine_shift < 0) {
        glowmcu_scale_mirrored(p, sums, step, out, count);
    } else {
        glowmcu_scale_literal(p, sums, step, out, count);
    }
}

#endif /* GLOWMCU_SCALE_SIGNED_NODSP_H */
