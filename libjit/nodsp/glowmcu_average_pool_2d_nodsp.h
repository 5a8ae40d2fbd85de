/*
 * glowmcu_average_pool_2d_nodsp.h: int8 average pooling, NHWC, windows of at most 256 taps, for
 * cores without DSP; only pixels inside the image count.
 */
#ifndef GLOWMCU_AVERAGE_POOL_2D_NODSP_H
#define GLOWMCU_AVERAGE_POOL_2D_NODSP_H

#include "glowmcu_pool_2d_nodsp.h"

/*
 * round(sum / taps), halves away from zero, in the low byte; `shifted` is the sum with 128 more for
 * each tap. With |sum| + taps / 2 = n <= 128.5 * taps the quotient is n * reciprocal >> 24: the
 * product is at most 128.5 * 2^24 + n, less than 2^32, and too large by less than n <= 2^24 / taps,
 * which never takes it to the next integer, as taps <= 256.
 */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_pool_mean(const glowmcu_pool_words_task *task,
    uint32_t shifted)
{
    const uint32_t zero = task->taps << 7;
    const uint32_t half = task->taps >> 1;

    return (shifted >= zero) ? ((shifted - zero + half) * task->reciprocal) >> 24
        : (0u - (((zero - shifted + half) * task->reciprocal) >> 24)) & 0xFFu;
}

/* Bytes with 128 more add up inside a half: 256 * 255 < 2^16. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_average_pool_words(
    const glowmcu_pool_words_task *task, const int8_t *x)
{
    const uint32_t halves = 0x00FF00FFu;
    const int32_t step = task->window.step;
    uint32_t even = 0;
    uint32_t odd = 0;
    uint32_t means;

    for (int32_t ky = task->window.height; ky > 0; --ky) {
        for (int32_t kx = task->window.width; kx > 0; --kx) {
            const uint32_t word = glowmcu_pool_load(x) ^ 0x80808080u;

            even += word & halves;
            odd += (word >> 8) & halves;
            x += step;
        }
        x += task->window.next_row;
    }
    means = glowmcu_pool_mean(task, even & 0xFFFFu) | (glowmcu_pool_mean(task, odd & 0xFFFFu) << 8)
        | (glowmcu_pool_mean(task, even >> 16) << 16) | (glowmcu_pool_mean(task, odd >> 16) << 24);
    return glowmcu_smaller_bytes(glowmcu_larger_bytes(means, task->clamp_min), task->clamp_max);
}

GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_average_pool_2d_nodsp_s8(const glowmcu_pool_2d_words *p, const int8_t *in,
    int8_t *out, int32_t first_row, int32_t end_row)
{
    glowmcu_pool_2d_rows_nodsp(glowmcu_average_pool_words, p, in, out, first_row, end_row);
}

#endif /* GLOWMCU_AVERAGE_POOL_2D_NODSP_H */
