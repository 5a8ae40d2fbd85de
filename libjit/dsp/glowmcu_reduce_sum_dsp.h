/*
 * glowmcu_reduce_sum_dsp.h: sums and means of int8 whose results lie side by side as what they add
 * does: over the pixels of an image with at least 4 channels. Four results a word.
 */
#ifndef GLOWMCU_REDUCE_SUM_DSP_H
#define GLOWMCU_REDUCE_SUM_DSP_H

#include "glowmcu_dsp.h"
#include "glowmcu_requantize.h"

typedef struct {
    int32_t groups;     /* of results */
    int32_t group_step; /* elements from one group's first to the next group's */
    int32_t width;      /* results of a group, at least 4 */
    int32_t count;      /* elements of a result */
    int32_t step;       /* from one of them to the next */
    int32_t offset;     /* -input zero point * count */
    int32_t multiplier;
    int32_t shift;
    int32_t out_zero_point;
} glowmcu_reduce_sum_dsp;

/* So many elements of int8 add up inside a half: 256 * -128 = -2^15. */
#define GLOWMCU_REDUCE_SUM_PART 256

/* Adds up to GLOWMCU_REDUCE_SUM_PART elements of each of the four results at `x` to `sums`. */
GLOWMCU_CODE
static inline void glowmcu_reduce_sum_part(const int8_t *x, int32_t count, int32_t step,
    int32_t *sums)
{
    uint32_t even = 0;
    uint32_t odd = 0;

    for (; count >= 2; count -= 2) {
        const uint32_t first = glowmcu_load_word(x);
        const uint32_t second = glowmcu_load_word(x + step);
        even = glowmcu_sxtab16(even, first);
        odd = glowmcu_sxtab16_ror8(odd, first);
        even = glowmcu_sxtab16(even, second);
        odd = glowmcu_sxtab16_ror8(odd, second);
        x += 2 * step;
    }
    if (count > 0) {
        const uint32_t last = glowmcu_load_word(x);
        even = glowmcu_sxtab16(even, last);
        odd = glowmcu_sxtab16_ror8(odd, last);
    }
    sums[0] += glowmcu_low_half(even);
    sums[1] += glowmcu_low_half(odd);
    sums[2] += glowmcu_high_half(even);
    sums[3] += glowmcu_high_half(odd);
}

GLOWMCU_CODE
static inline void glowmcu_reduce_sum_word(const glowmcu_reduce_sum_dsp *p, const int8_t *x,
    int8_t *out)
{
    int32_t sums[4];

    for (int32_t i = 0; i < 4; ++i) {
        sums[i] = p->offset;
    }
    for (int32_t left = p->count; left > 0; left -= GLOWMCU_REDUCE_SUM_PART) {
        const int32_t part = (left < GLOWMCU_REDUCE_SUM_PART) ? left : GLOWMCU_REDUCE_SUM_PART;
        glowmcu_reduce_sum_part(x, part, p->step, sums);
        x += part * p->step;
    }
    for (int32_t i = 0; i < 4; ++i) {
        const int32_t value = glowmcu_requantize(sums[i], p->multiplier, p->shift);
        out[i] = (int8_t)glowmcu_clamp(value + p->out_zero_point, -128, 127);
    }
}

/* Results are written one behind the other, some twice; `in` and `out` may not overlap. */
GLOWMCU_CODE
static void glowmcu_reduce_sum_dsp_s8(const glowmcu_reduce_sum_dsp *p, const int8_t *in,
    int8_t *out)
{
    for (int32_t group = 0; group < p->groups; ++group) {
        for (int32_t i = 0; i < p->width; i += 4) {
            i = (i + 4 > p->width) ? p->width - 4 : i;
            glowmcu_reduce_sum_word(p, in + i, out + i);
        }
        in += p->group_step;
        out += p->width;
    }
}

#endif /* GLOWMCU_REDUCE_SUM_DSP_H */
