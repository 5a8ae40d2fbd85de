/*
 * glowmcu_depthwise_forms.h: how sums become int8 in the portable twins of depthwise loops.
 *
 * Two forms; `q` are a channel's two constants, `>>` rounds down, saturation to int8 comes last:
 *
 *   floor    addend, multiplier: high_word(((sum << preshift) + addend) * multiplier) >> postshift
 *   literal  start << 5 | (shift - 1), multiplier: sum + start as TensorFlow Lite rounds it, both
 *            times; the output's zero point is in `rounding`
 */
#ifndef GLOWMCU_DEPTHWISE_FORMS_H
#define GLOWMCU_DEPTHWISE_FORMS_H

#include "glowmcu_dsp.h"
#include "glowmcu_little_endian.h"

#if !GLOWMCU_HAS_DSP
#define GLOWMCU_DEPTHWISE_FLOOR 0   /* addend, multiplier */
#define GLOWMCU_DEPTHWISE_LITERAL 1 /* start << 5 | (shift - 1), multiplier */

/* `rounding` is 2 * out_zero_point + 1. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_literal(int32_t doubled, const int32_t *q,
    int32_t rounding)
{
    const int32_t shift = (q[0] & 31) + 1;
    const int32_t step = rounding * (int32_t)((uint32_t)1 << (shift - 1));

    return glowmcu_saturate_s8(
        (glowmcu_smmlar(doubled, q[1], step) + glowmcu_sign(doubled)) >> shift);
}

/* From a sum of plain products. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_finish(int32_t sum, const int32_t *q, int32_t form,
    int32_t preshift, int32_t postshift, int32_t rounding)
{
    int32_t v;

    if (form == GLOWMCU_DEPTHWISE_FLOOR) {
        const int32_t x = glowmcu_wrapping_add(q[0], (int32_t)((uint32_t)sum << preshift));
        return glowmcu_saturate_s8(glowmcu_smmul(x, q[1]) >> postshift);
    }
    v = glowmcu_wrapping_add(q[0] >> 5, sum);
    return glowmcu_depthwise_literal((int32_t)((uint32_t)v << 1), q, rounding);
}

/* What sums of products with weights scaled by 2^8 begin with. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_start(const int32_t *q, int32_t form)
{
    const uint32_t start = (uint32_t)q[0];

    return (int32_t)((form == GLOWMCU_DEPTHWISE_LITERAL) ? (start & ~(uint32_t)31) << 3 : start);
}

/* From such a sum. */
GLOWMCU_CODE
static inline int32_t glowmcu_depthwise_finish_scaled(int32_t sum, const int32_t *q, int32_t form,
    int32_t postshift, int32_t rounding)
{
    if (form == GLOWMCU_DEPTHWISE_FLOOR) {
        return glowmcu_saturate_s8(glowmcu_smmul(sum, q[1]) >> postshift);
    }
    return glowmcu_depthwise_literal(sum >> 7, q, rounding);
}
#endif

#endif /* GLOWMCU_DEPTHWISE_FORMS_H */
