/*
 * glowmcu_gradient_runs.h: products of numbers of a gradient with int8, in runs.
 */
#ifndef GLOWMCU_GRADIENT_RUNS_H
#define GLOWMCU_GRADIENT_RUNS_H

#include <string.h>

#include "glowmcu_block_gradient.h"
#include "glowmcu_dsp.h"

/* Where the numbers are and the bytes that they meet, each with the step to the next. */
typedef struct {
    const int16_t *gradient;
    int32_t step;
    const int8_t *x;
    int32_t x_step;
    int32_t count;
} glowmcu_gradient_run;

#if GLOWMCU_HAS_DSP
/* Two bytes of memory, the first one lowest, at any address. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_load_half(const int8_t *from)
{
    uint16_t half;

    (void)memcpy(&half, from, sizeof half);
    return half;
}

/*
 * Adds to acc[0..3] the products of both halves of `g` with a byte each of `first` and `second`, to
 * acc[4..7] those of `h` with the same bytes.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_add_fours(uint32_t g, uint32_t h, uint32_t first,
    uint32_t second, int32_t acc[8])
{
    const uint32_t low = glowmcu_pack_low(first, second);
    const uint32_t high = glowmcu_pack_high(first, second);
    uint32_t pair = glowmcu_sxtb16(low);

    acc[0] = glowmcu_smlad(g, pair, acc[0]);
    acc[4] = glowmcu_smlad(h, pair, acc[4]);
    pair = glowmcu_sxtb16_ror8(low);
    acc[1] = glowmcu_smlad(g, pair, acc[1]);
    acc[5] = glowmcu_smlad(h, pair, acc[5]);
    pair = glowmcu_sxtb16(high);
    acc[2] = glowmcu_smlad(g, pair, acc[2]);
    acc[6] = glowmcu_smlad(h, pair, acc[6]);
    pair = glowmcu_sxtb16_ror8(high);
    acc[3] = glowmcu_smlad(g, pair, acc[3]);
    acc[7] = glowmcu_smlad(h, pair, acc[7]);
}
#endif

/* acc + the products of numbers with one of `x` each. */
GLOWMCU_CODE
static inline int32_t glowmcu_gradient_run1(const glowmcu_gradient_run *run, int32_t acc)
{
    const int16_t *gradient = run->gradient;
    const int8_t *x = run->x;

    for (int32_t i = 0; i < run->count; ++i) {
        const int32_t g = *gradient;
        acc += g * *x;
        gradient += run->step;
        x += run->x_step;
    }
    return acc;
}

/* Adds to acc[0..3] the products of four neighbouring numbers with four neighbours of `x`. */
#if GLOWMCU_HAS_DSP
GLOWMCU_CODE
static inline void glowmcu_gradient_run_each(const glowmcu_gradient_run *run, int32_t offset,
    int32_t acc[4])
{
    const uint32_t points = glowmcu_pack_low((uint32_t)offset, (uint32_t)offset);
    const int16_t *gradient = run->gradient;
    const int8_t *x = run->x;
    int32_t acc0 = acc[0];
    int32_t acc1 = acc[1];
    int32_t acc2 = acc[2];
    int32_t acc3 = acc[3];

    for (int32_t i = 0; i < run->count; ++i) {
        const uint32_t word = glowmcu_load_word(x);
        const uint32_t even = glowmcu_sxtab16(points, word);
        const uint32_t odd = glowmcu_sxtab16_ror8(points, word);
        const uint32_t first = glowmcu_load_word(gradient);
        const uint32_t last = glowmcu_load_word(gradient + 2);
        acc0 = glowmcu_smlabb(first, even, acc0);
        acc1 = glowmcu_smlatb(first, odd, acc1);
        acc2 = glowmcu_smlabt(last, even, acc2);
        acc3 = glowmcu_smlatt(last, odd, acc3);
        gradient += run->step;
        x += run->x_step;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
}
#else
GLOWMCU_CODE
static inline void glowmcu_gradient_run_each(const glowmcu_gradient_run *run, int32_t offset,
    int32_t acc[4])
{
    const int16_t *gradient = run->gradient;
    const int8_t *x = run->x;
    int32_t acc0 = acc[0];
    int32_t acc1 = acc[1];
    int32_t acc2 = acc[2];
    int32_t acc3 = acc[3];

    for (int32_t i = 0; i < run->count; ++i) {
        acc0 += gradient[0] * (x[0] + offset);
        acc1 += gradient[1] * (x[1] + offset);
        acc2 += gradient[2] * (x[2] + offset);
        acc3 += gradient[3] * (x[3] + offset);
        gradient += run->step;
        x += run->x_step;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
}
#endif

#endif /* GLOWMCU_GRADIENT_RUNS_H */
