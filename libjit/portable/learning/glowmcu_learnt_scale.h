/*
 * glowmcu_learnt_scale.h: accumulators of layers with weights that nobody knows before, to int8.
 */
#ifndef GLOWMCU_LEARNT_SCALE_H
#define GLOWMCU_LEARNT_SCALE_H

#include "glowmcu_dsp.h"
#include "glowmcu_requantize.h"

/*
 * glowmcu_requantize for |x| < 2^30. With DSP instructions twice x times the multiplier is rounded
 * as the literal form does, and halves go away from zero by one less for what is negative.
 */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_learnt_scale(int32_t x, int32_t multiplier,
    int32_t shift)
{
#if GLOWMCU_HAS_DSP && !defined(GLOWMCU_SINGLE_ROUNDING) && !defined(GLOWMCU_MIXED_ROUNDING)
    if (shift < 0) {
        const int32_t value = glowmcu_smmlar(2 * x, multiplier, 0);
        const int32_t half = (int32_t)1 << (-shift - 1);

        return (value + half + glowmcu_sign(value)) >> -shift;
    }
#endif
    return glowmcu_requantize(x, multiplier, shift);
}

/* How a layer ends: sums become results of int8. */
typedef struct {
    int32_t zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t channel_step; /* 1: multipliers and shifts are of channels, 0: of all */
    const int32_t *multipliers;
    const int8_t *shifts;
    int32_t is_short;     /* all shifts are to the right, and int8 is the only bound */
} glowmcu_learnt_end;

GLOWMCU_CODE
static inline void glowmcu_find_short(glowmcu_learnt_end *end, int32_t channels)
{
    end->is_short = 0;
#if GLOWMCU_HAS_DSP && !defined(GLOWMCU_SINGLE_ROUNDING) && !defined(GLOWMCU_MIXED_ROUNDING)
    end->is_short = (end->clamp_min == -128 && end->clamp_max == 127) ? 1 : 0;
    for (int32_t i = 0; i < channels; ++i) {
        if (end->shifts[i * end->channel_step] >= 0) {
            end->is_short = 0;
        }
    }
#else
    (void)channels;
#endif
}

/* Results where shifts are all to the right: as glowmcu_learnt_scale, a bit of which comes last. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_short_results(const glowmcu_learnt_end *end,
    int32_t channel, const int32_t *acc, const int32_t *bias, int32_t count, int8_t *out)
{
    const int32_t step = end->channel_step;
    const int32_t *multiplier = end->multipliers + channel * step;
    const int8_t *shift = end->shifts + channel * step;
    const int32_t twice = 2 * end->zero_point + 1; /* and the half that rounds */

    for (int32_t left = count; left > 0; --left) {
        const int32_t value = glowmcu_smmlar(2 * (*acc++ + *bias++), *multiplier, 0);
        const int32_t doubled = (value + glowmcu_sign(value)) >> (-1 - *shift);
        *out++ = (int8_t)glowmcu_saturate_s8((doubled + twice) >> 1);
        multiplier += step;
        shift += step;
    }
}

/*
 * Results of `count` neighbouring channels from `channel` on, of sums and `bias`, which begin with
 * that channel. A function of its own: beside loops that make sums, compilers would keep on the
 * stack what it reads.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_learnt_results(const glowmcu_learnt_end *end, int32_t channel,
    const int32_t *acc, const int32_t *bias, int32_t count, int8_t *out)
{
    if (end->is_short != 0) {
        glowmcu_short_results(end, channel, acc, bias, count, out);
    } else {
        for (int32_t i = 0; i < count; ++i) {
            const int32_t at = (channel + i) * end->channel_step;
            const int32_t value = glowmcu_learnt_scale(acc[i] + bias[i], end->multipliers[at],
                end->shifts[at]) + end->zero_point;
            out[i] = (int8_t)glowmcu_clamp(value, end->clamp_min, end->clamp_max);
        }
    }
}

#endif /* GLOWMCU_LEARNT_SCALE_H */
