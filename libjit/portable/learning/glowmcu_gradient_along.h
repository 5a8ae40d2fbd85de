/*
 * glowmcu_gradient_along.h: products of two pixels of a gradient with two columns of weights.
 */
#ifndef GLOWMCU_GRADIENT_ALONG_H
#define GLOWMCU_GRADIENT_ALONG_H

#include "glowmcu_gradient_runs.h"

/*
 * Adds to acc[0..1] the products of neighbouring numbers with two neighbours each of `x`, to
 * acc[2..3] those of the numbers `next` elements behind them with the same two. With DSP
 * instructions two pixels go together.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_gradient_along(const glowmcu_gradient_run *run, int32_t next, int32_t acc[4])
{
    const int32_t x_step = run->x_step;
    const int16_t *gradient = run->gradient;
    const int8_t *x = run->x;
    int32_t left = run->count;
    int32_t acc0 = acc[0];
    int32_t acc1 = acc[1];
    int32_t acc2 = acc[2];
    int32_t acc3 = acc[3];

#if GLOWMCU_HAS_DSP
    for (; left >= 2; left -= 2) {
        const uint32_t g = glowmcu_load_word(gradient);
        const uint32_t h = glowmcu_load_word(gradient + next);
        const uint32_t word = glowmcu_pack_low(glowmcu_load_half(x),
            glowmcu_load_half(x + x_step));
        const uint32_t even = glowmcu_sxtb16(word);
        const uint32_t odd = glowmcu_sxtb16_ror8(word);
        acc0 = glowmcu_smlad(g, even, acc0);
        acc1 = glowmcu_smlad(g, odd, acc1);
        acc2 = glowmcu_smlad(h, even, acc2);
        acc3 = glowmcu_smlad(h, odd, acc3);
        gradient += 2;
        x += 2 * x_step;
    }
#endif
    for (; left > 0; --left) {
        const int32_t g = gradient[0];
        const int32_t h = gradient[next];
        if ((g | h) != 0) {
            const int32_t value = x[0];
            const int32_t other = x[1];
            acc0 += g * value;
            acc1 += g * other;
            acc2 += h * value;
            acc3 += h * other;
        }
        gradient += 1;
        x += x_step;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
}

#if GLOWMCU_HAS_DSP
/* The same with four columns of weights: acc[0..3] are sums of a pixel, acc[4..7] of the other. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_gradient_along_fours(const glowmcu_gradient_run *run, int32_t next,
    int32_t acc[8])
{
    const int32_t x_step = run->x_step;
    const int16_t *gradient = run->gradient;
    const int8_t *x = run->x;
    int32_t left = run->count;
    int32_t sums[8];

    for (int32_t i = 0; i < 8; ++i) {
        sums[i] = acc[i];
    }
    for (; left >= 2; left -= 2) {
        glowmcu_add_fours(glowmcu_load_word(gradient), glowmcu_load_word(gradient + next),
            glowmcu_load_word(x), glowmcu_load_word(x + x_step), sums);
        gradient += 2;
        x += 2 * x_step;
    }
    if (left > 0) {
        const uint32_t word = glowmcu_load_word(x);
        glowmcu_add_fours((uint16_t)gradient[0], (uint16_t)gradient[next], word, word, sums);
    }
    for (int32_t i = 0; i < 8; ++i) {
        acc[i] = sums[i];
    }
}
#endif

#endif /* GLOWMCU_GRADIENT_ALONG_H */
