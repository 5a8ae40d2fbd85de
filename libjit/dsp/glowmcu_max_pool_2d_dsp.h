/*
 * glowmcu_max_pool_2d_dsp.h: int8 maximum pooling, NHWC, at least 4 channels; only pixels inside
 * the image count.
 */
#ifndef GLOWMCU_MAX_POOL_2D_DSP_H
#define GLOWMCU_MAX_POOL_2D_DSP_H

#include "glowmcu_pool_2d_dsp.h"

static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_max_pool_2d_word(const glowmcu_pool_task *task,
    const int8_t *x)
{
    const int32_t step = task->window.step;
    uint32_t largest = task->clamp_min;

    for (int32_t ky = task->window.height; ky > 0; --ky) {
        int32_t kx = task->window.width;
        for (; kx >= 2; kx -= 2) {
            const uint32_t first = glowmcu_load_word(x);
            const uint32_t second = glowmcu_load_word(x + step);
            largest = glowmcu_max_bytes(glowmcu_max_bytes(largest, first), second);
            x += 2 * step;
        }
        if (kx > 0) {
            largest = glowmcu_max_bytes(largest, glowmcu_load_word(x));
            x += step;
        }
        x += task->window.next_row;
    }
    return glowmcu_min_bytes(largest, task->clamp_max);
}

GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_max_pool_2d_dsp_s8(const glowmcu_pool_2d_dsp *p, const int8_t *in, int8_t *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_pool_2d_rows_dsp(glowmcu_max_pool_2d_word, p, in, out, first_row, end_row);
}

#endif /* GLOWMCU_MAX_POOL_2D_DSP_H */
