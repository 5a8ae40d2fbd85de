/*
 * glowmcu_average_pool_2d_mve.h: int8 average pooling, NHWC, at least 8 channels, windows of at
 * most 256 taps; only pixels inside the image count.
 */
#ifndef GLOWMCU_AVERAGE_POOL_2D_MVE_H
#define GLOWMCU_AVERAGE_POOL_2D_MVE_H

#include "glowmcu_pool_2d_mve.h"

/*
 * round(sum / taps), halves away from zero, as the high word of 4 * sum * reciprocal, rounded. The
 * reciprocal is too large by at most 2, four times the sum at most 2^17, the mean thus by 2^-14:
 * less than what keeps it from the next half, 1 / (2 * 256), and enough to take halves away from
 * zero.
 * 256 elements add up within int16: 256 * -128 = -2^15.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_average_pool_2d_mve_eight(
    const glowmcu_pool_task_mve *task, const int8_t *x, int8_t *out)
{
    const int32_t step = task->window.step;
#if GLOWMCU_HAS_MVE
    const int32x4_t reciprocal = vdupq_n_s32(task->reciprocal);
    int16x8_t sums = vdupq_n_s16(0);
    int32x4_t even;
    int32x4_t odd;

    for (int32_t ky = task->window.height; ky > 0; --ky) {
        for (int32_t kx = task->window.width; kx > 0; --kx) {
            sums = vaddq_s16(sums, vldrbq_s16(x));
            x += step;
        }
        x += task->window.next_row;
    }
    even = vrmulhq_s32(vshllbq_n_s16(sums, 2), reciprocal);
    odd = vrmulhq_s32(vshlltq_n_s16(sums, 2), reciprocal);
    glowmcu_pool_mve_store(task, vmovntq_s32(vreinterpretq_s16_s32(even), odd), out);
#else
    for (int32_t c = 0; c < 8; ++c) {
        const int8_t *tap = x + c;
        int32_t sum = 0;
        int32_t mean;
        for (int32_t ky = 0; ky < task->window.height; ++ky, tap += task->window.next_row) {
            for (int32_t kx = 0; kx < task->window.width; ++kx, tap += step) {
                sum += *tap;
            }
        }
        mean = (int32_t)(((int64_t)(4 * sum) * task->reciprocal + ((int64_t)1 << 31)) >> 32);
        mean = (mean < task->clamp_min) ? task->clamp_min : mean;
        out[c] = (int8_t)((mean > task->clamp_max) ? task->clamp_max : mean);
    }
#endif
}

GLOWMCU_CODE
static void glowmcu_average_pool_2d_mve_s8(const glowmcu_pool_2d *p, const int8_t *in, int8_t *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_pool_2d_rows_mve(glowmcu_average_pool_2d_mve_eight, p, in, out, first_row, end_row);
}

#endif /* GLOWMCU_AVERAGE_POOL_2D_MVE_H */
