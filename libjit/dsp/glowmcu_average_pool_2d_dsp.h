/*
 * glowmcu_average_pool_2d_dsp.h: int8 average pooling, NHWC, at least 4 channels, windows of
 * at most
 * 256 taps; only pixels inside the image count.
 */
#ifndef GLOWMCU_AVERAGE_POOL_2D_DSP_H
#define GLOWMCU_AVERAGE_POOL_2D_DSP_H

#include "glowmcu_pool_2d_dsp.h"

/*
 * round(sum / taps), halves away from zero. The reciprocal is too large by at most 2, four times
 * the sum at most 2^17, the mean thus by 2^-14: less than what keeps it from the next half,
 * 1 / (2 * 256), and enough to take halves away from zero.
 */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_average_of(int32_t sum, int32_t reciprocal)
{
    return glowmcu_smmlar(4 * sum, reciprocal, 0);
}

/* 256 elements add up inside a half: 256 * -128 = -2^15. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_average_pool_2d_word(const glowmcu_pool_task *task,
    const int8_t *x)
{
    const int32_t step = task->window.step;
    const int32_t reciprocal = task->reciprocal;
    uint32_t even = 0;
    uint32_t odd = 0;
    uint32_t means;

    for (int32_t ky = task->window.height; ky > 0; --ky) {
        int32_t kx = task->window.width;
        for (; kx >= 2; kx -= 2) {
            const uint32_t first = glowmcu_load_word(x);
            const uint32_t second = glowmcu_load_word(x + step);
            even = glowmcu_sxtab16(even, first);
            odd = glowmcu_sxtab16_ror8(odd, first);
            even = glowmcu_sxtab16(even, second);
            odd = glowmcu_sxtab16_ror8(odd, second);
            x += 2 * step;
        }
        if (kx > 0) {
            const uint32_t last = glowmcu_load_word(x);
            even = glowmcu_sxtab16(even, last);
            odd = glowmcu_sxtab16_ror8(odd, last);
            x += step;
        }
        x += task->window.next_row;
    }
    means = glowmcu_pack_bytes(glowmcu_average_of(glowmcu_low_half(even), reciprocal),
        glowmcu_average_of(glowmcu_low_half(odd), reciprocal),
        glowmcu_average_of(glowmcu_high_half(even), reciprocal),
        glowmcu_average_of(glowmcu_high_half(odd), reciprocal));
    return glowmcu_min_bytes(glowmcu_max_bytes(means, task->clamp_min), task->clamp_max);
}

GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_average_pool_2d_dsp_s8(const glowmcu_pool_2d_dsp *p, const int8_t *in,
    int8_t *out, int32_t first_row, int32_t end_row)
{
    glowmcu_pool_2d_rows_dsp(glowmcu_average_pool_2d_word, p, in, out, first_row, end_row);
}

#endif /* GLOWMCU_AVERAGE_POOL_2D_DSP_H */
