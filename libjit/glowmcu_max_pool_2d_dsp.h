/*
 * glowmcu_max_pool_2d_dsp.h: int8 maximum pooling, NHWC, at least 4 channels; only pixels inside the
 * image count.
 */
#ifndef GLOWMCU_MAX_POOL_2D_DSP_H
#define GLOWMCU_MAX_POOL_2D_DSP_H

#include "glowmcu_pool_2d_dsp.h"

static GLOWMCU_ALWAYS_INLINE void glowmcu_max_pool_2d_words(const glowmcu_pool_task *task,
    const int8_t *x, int8_t *y, int32_t words)
{
    const int32_t step = task->window.step;
    uint32_t largest0 = task->clamp_min;
    uint32_t largest1 = task->clamp_min;

    for (int32_t ky = task->window.height; ky > 0; --ky) {
        for (int32_t kx = task->window.width; kx > 0; --kx) {
            const uint32_t word0 = glowmcu_load_word(x);
            if (words == 2) {
                const uint32_t word1 = glowmcu_load_word(x + 4);
                largest1 = glowmcu_max_bytes(largest1, word1);
            }
            largest0 = glowmcu_max_bytes(largest0, word0);
            x += step;
        }
        x += task->window.next_row;
    }
    glowmcu_store_word(y, glowmcu_min_bytes(largest0, task->clamp_max));
    if (words == 2) {
        glowmcu_store_word(y + 4, glowmcu_min_bytes(largest1, task->clamp_max));
    }
}

static void glowmcu_max_pool_2d_dsp_s8(const glowmcu_pool_2d *p, const int8_t *in, int8_t *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_pool_2d_rows_dsp(glowmcu_max_pool_2d_words, p, in, out, first_row, end_row);
}

#endif /* GLOWMCU_MAX_POOL_2D_DSP_H */
