/*
 * glowmcu_max_pool_2d_nodsp.h: int8 maximum pooling, NHWC, for cores without DSP; only pixels
 * inside the image count.
 */
#ifndef GLOWMCU_MAX_POOL_2D_NODSP_H
#define GLOWMCU_MAX_POOL_2D_NODSP_H

#include "glowmcu_pool_2d_nodsp.h"

static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_max_pool_words(const glowmcu_pool_words_task *task,
    const int8_t *x)
{
    const int32_t step = task->window.step;
    const int32_t width = task->window.width * step;
    const int8_t *row = x;
    uint32_t largest = task->clamp_min;

    for (int32_t ky = task->window.height; ky > 0; --ky) {
        const int8_t *const end = row + width;

        for (; row < end; row += step) {
            largest = glowmcu_larger_bytes(largest, glowmcu_pool_load(row));
        }
        row += task->window.next_row;
    }
    return (task->clamp_max == 0x7F7F7F7Fu) ? largest
        : glowmcu_smaller_bytes(largest, task->clamp_max);
}

GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_max_pool_2d_nodsp_s8(const glowmcu_pool_2d_words *p, const int8_t *in,
    int8_t *out, int32_t first_row, int32_t end_row)
{
    glowmcu_pool_2d_rows_nodsp(glowmcu_max_pool_words, p, in, out, first_row, end_row);
}

#endif /* GLOWMCU_MAX_POOL_2D_NODSP_H */
