/*
 * glowmcu_average_pool_2d_dsp.h: int8 average pooling, NHWC, at least 4 channels, windows of at most
 * 256 taps; only pixels inside the image count.
 */
#ifndef GLOWMCU_AVERAGE_POOL_2D_DSP_H
#define GLOWMCU_AVERAGE_POOL_2D_DSP_H

#include "glowmcu_pool_2d_dsp.h"

/*
 * round(sum / taps), halves away from zero. The reciprocal is too large by at most 2, twice the sum
 * at most 2^16, the mean thus by 2^-15: less than what keeps it from the next half, 1 / (2 * 256),
 * and enough to take halves away from zero.
 */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_average_of(int32_t sum, int32_t reciprocal)
{
    return glowmcu_smmlar(2 * sum, reciprocal, 0);
}

/* Means of four channels from their sums, in halves: 256 elements add up to -2^15 at least. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_average_pool_2d_store(const glowmcu_pool_task *task,
    uint32_t even, uint32_t odd, int8_t *y)
{
    const int32_t reciprocal = task->reciprocal;
    const uint32_t means = glowmcu_pack_bytes(
        glowmcu_average_of(glowmcu_low_half(even), reciprocal),
        glowmcu_average_of(glowmcu_low_half(odd), reciprocal),
        glowmcu_average_of(glowmcu_high_half(even), reciprocal),
        glowmcu_average_of(glowmcu_high_half(odd), reciprocal));

    glowmcu_store_word(y,
        glowmcu_min_bytes(glowmcu_max_bytes(means, task->clamp_min), task->clamp_max));
}

static GLOWMCU_ALWAYS_INLINE void glowmcu_average_pool_2d_words(const glowmcu_pool_task *task,
    const int8_t *x, int8_t *y, int32_t words)
{
    const int32_t step = task->window.step;
    uint32_t even0 = 0;
    uint32_t odd0 = 0;
    uint32_t even1 = 0;
    uint32_t odd1 = 0;

    for (int32_t ky = task->window.height; ky > 0; --ky) {
        for (int32_t kx = task->window.width; kx > 0; --kx) {
            const uint32_t word0 = glowmcu_load_word(x);
            const uint32_t word1 = (words == 2) ? glowmcu_load_word(x + 4) : 0;
            even0 = glowmcu_sxtab16(even0, word0);
            odd0 = glowmcu_sxtab16_ror8(odd0, word0);
            if (words == 2) {
                even1 = glowmcu_sxtab16(even1, word1);
                odd1 = glowmcu_sxtab16_ror8(odd1, word1);
            }
            x += step;
        }
        x += task->window.next_row;
    }
    glowmcu_average_pool_2d_store(task, even0, odd0, y);
    if (words == 2) {
        glowmcu_average_pool_2d_store(task, even1, odd1, y + 4);
    }
}

static void glowmcu_average_pool_2d_dsp_s8(const glowmcu_pool_2d *p, const int8_t *in, int8_t *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_pool_2d_rows_dsp(glowmcu_average_pool_2d_words, p, in, out, first_row, end_row);
}

#endif /* GLOWMCU_AVERAGE_POOL_2D_DSP_H */
