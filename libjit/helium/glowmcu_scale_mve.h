/*
 * glowmcu_scale_mve.h: sums to int8, with constants that the compiler has proved exact.
 *
 *   floor    sat8(high_word(((raw << preshift) + addend) * multiplier) >> 16)
 *   literal  v = raw + start; clamp((rounded_high_word(2 * v * multiplier) + (v >> 31) + step)
 *            >> shift)
 *
 * Constants lie in vectors of four: addends, multipliers; or starts, multipliers, steps, -shifts.
 */
#ifndef GLOWMCU_SCALE_MVE_H
#define GLOWMCU_SCALE_MVE_H

#include "glowmcu_mve.h"

typedef struct {
    int32_t preshift; /* negative: the literal form */
    int32_t clamp_min; /* literal form only */
    int32_t clamp_max;
} glowmcu_scale_mve;

#define GLOWMCU_SCALE_MVE_VECTORS(scale) (((scale)->preshift < 0) ? 4 : 2)

#if GLOWMCU_HAS_MVE
/* The floor form's high words: results << 16. Constants are `stride` apart. */
static GLOWMCU_ALWAYS_INLINE int32x4_t glowmcu_scale_mve_floor(const glowmcu_scale_mve *p,
    int32x4_t raw, const int32_t *c, int32_t stride)
{
    const int32x4_t line = vaddq_s32(vshlq_r_s32(raw, p->preshift), vldrwq_s32(c));

    return vmulhq_s32(line, vldrwq_s32(c + stride));
}

/* The literal form's results. */
static GLOWMCU_ALWAYS_INLINE int32x4_t glowmcu_scale_mve_literal(const glowmcu_scale_mve *p,
    int32x4_t raw, const int32_t *c, int32_t stride)
{
    const int32x4_t v = vaddq_s32(raw, vldrwq_s32(c));
    int32x4_t x = vqrdmulhq_s32(v, vldrwq_s32(c + stride));

    x = vaddq_s32(vaddq_s32(x, vshrq_n_s32(v, 31)), vldrwq_s32(c + 2 * stride));
    x = vshlq_s32(x, vldrwq_s32(c + 3 * stride));
    x = vmaxq_s32(x, vdupq_n_s32(p->clamp_min));
    return vminq_s32(x, vdupq_n_s32(p->clamp_max));
}

/* Four results, stored next to each other where `active` says so. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_scale_mve_store4(const glowmcu_scale_mve *p,
    int32x4_t raw, const int32_t *c, int8_t *out, mve_pred16_t active)
{
    int32x4_t result;

    if (p->preshift >= 0) {
        const int32x4_t high = glowmcu_scale_mve_floor(p, raw, c, 4);
        const int16x8_t half = vshrnbq_n_s32(vreinterpretq_s16_s32(high), high, 16);

        result = vreinterpretq_s32_s8(vqmovnbq_s16(vreinterpretq_s8_s16(half), half));
    } else {
        result = glowmcu_scale_mve_literal(p, raw, c, 4);
    }
    vstrbq_p_s32(out, result, active);
}

/* Eight results from the sums of even and of odd channels, stored next to each other. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_scale_mve_store8(const glowmcu_scale_mve *p,
    int32x4_t even, int32x4_t odd, const int32_t *c, int8_t *out)
{
    int16x8_t half;

    if (p->preshift >= 0) {
        const int32x4_t high = glowmcu_scale_mve_floor(p, even, c, 8);

        half = vshrnbq_n_s32(vreinterpretq_s16_s32(high), high, 16);
        half = vshrntq_n_s32(half, glowmcu_scale_mve_floor(p, odd, c + 4, 8), 16);
        half = vreinterpretq_s16_s8(vqmovnbq_s16(vreinterpretq_s8_s16(half), half));
    } else {
        half = vreinterpretq_s16_s32(glowmcu_scale_mve_literal(p, even, c, 8));
        half = vmovntq_s32(half, glowmcu_scale_mve_literal(p, odd, c + 4, 8));
    }
    vstrbq_s16(out, half);
}
#else
GLOWMCU_CODE
static inline int32_t glowmcu_scale_mve_saturated(int32_t x, int32_t lowest, int32_t highest)
{
    return (x < lowest) ? lowest : ((x > highest) ? highest : x);
}

/* One result; its constants are `stride` apart. */
GLOWMCU_CODE
static inline int8_t glowmcu_scale_mve_one(const glowmcu_scale_mve *p, int32_t raw,
    const int32_t *c, int32_t stride)
{
    if (p->preshift >= 0) {
        const uint32_t line = ((uint32_t)raw << p->preshift) + (uint32_t)c[0];
        const int32_t high = (int32_t)(((int64_t)(int32_t)line * c[stride]) >> 32);

        return (int8_t)glowmcu_scale_mve_saturated(high >> 16, -128, 127);
    } else {
        const int32_t v = (int32_t)((uint32_t)raw + (uint32_t)c[0]);
        const int32_t x = (int32_t)(((int64_t)v * c[stride] + ((int64_t)1 << 30)) >> 31);
        const int32_t y = (x + glowmcu_sign(v) + c[2 * stride]) >> -c[3 * stride];

        return (int8_t)glowmcu_scale_mve_saturated(y, p->clamp_min, p->clamp_max);
    }
}
#endif

#endif /* GLOWMCU_SCALE_MVE_H */
