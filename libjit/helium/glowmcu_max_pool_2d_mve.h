/*
 * glowmcu_max_pool_2d_mve.h: int8 maximum pooling, NHWC, at least 8 channels.
 */
#ifndef GLOWMCU_MAX_POOL_2D_MVE_H
#define GLOWMCU_MAX_POOL_2D_MVE_H

#include "glowmcu_pool_2d_mve.h"

static GLOWMCU_ALWAYS_INLINE void glowmcu_max_pool_2d_mve_eight(const glowmcu_pool_task_mve *task,
    const int8_t *x, int8_t *out)
{
    const int32_t step = task->window.step;
#if GLOWMCU_HAS_MVE
    int16x8_t largest = vdupq_n_s16(-128);

    for (int32_t ky = task->window.height; ky > 0; --ky) {
        for (int32_t kx = task->window.width; kx > 0; --kx) {
            largest = vmaxq_s16(largest, vldrbq_s16(x));
            x += step;
        }
        x += task->window.next_row;
    }
    glowmcu_pool_mve_store(task, largest, out);
#else
    for (int32_t c = 0; c < 8; ++c) {
        const int8_t *tap = x + c;
        int32_t largest = task->clamp_min;
        for (int32_t ky = 0; ky < task->window.height; ++ky, tap += task->window.next_row) {
            for (int32_t kx = 0; kx < task->window.width; ++kx, tap += step) {
                largest = (*tap > largest) ? *tap : largest;
            }
        }
        out[c] = (int8_t)((largest > task->clamp_max) ? task->clamp_max : largest);
    }
#endif
}

GLOWMCU_CODE
static void glowmcu_max_pool_2d_mve_s8(const glowmcu_pool_2d *p, const int8_t *in, int8_t *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_pool_2d_rows_mve(glowmcu_max_pool_2d_mve_eight, p, in, out, first_row, end_row);
}

#endif /* GLOWMCU_MAX_POOL_2D_MVE_H */
