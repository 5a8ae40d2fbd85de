/*
 * glowmcu_pool_2d_mve.h: int8 pooling of eight channels at a time: what average and maximum share.
 *
 * Where channels are no multiple of 8, the last eight overlap those before and are computed again.
 */
#ifndef GLOWMCU_POOL_2D_MVE_H
#define GLOWMCU_POOL_2D_MVE_H

#include "glowmcu_mve.h"
#include "glowmcu_pool_2d.h"

/* A window, and what its results are made with. */
typedef struct {
    glowmcu_pool_window window;
    int32_t reciprocal; /* 2^30 / taps and a little more */
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_pool_task_mve;

/* Results of the eight channels that `x` begins with. */
typedef void (*glowmcu_pool_mve_function)(const glowmcu_pool_task_mve *task, const int8_t *x,
    int8_t *out);

#if GLOWMCU_HAS_MVE
/* Clamps and stores. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_pool_mve_store(const glowmcu_pool_task_mve *task,
    int16x8_t values, int8_t *out)
{
    values = vmaxq_s16(values, vdupq_n_s16((int16_t)task->clamp_min));
    values = vminq_s16(values, vdupq_n_s16((int16_t)task->clamp_max));
    vstrbq_s16(out, values);
}
#endif

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 * At least 8 channels.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_pool_2d_rows_mve(glowmcu_pool_mve_function pool,
    const glowmcu_pool_2d *p, const int8_t *in, int8_t *out, int32_t first_row, int32_t end_row)
{
    const glowmcu_pool_grid *grid = &p->grid;
    int8_t *y = out;
    glowmcu_pool_task_mve task;

    task.clamp_min = p->clamp_min;
    task.clamp_max = p->clamp_max;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_pool_2d_rows(grid, oy, first_row);
        for (int32_t ox = 0; ox < grid->out_width; ++ox) {
            task.window = glowmcu_pool_2d_window(grid, ys, ox);
            task.reciprocal = (int32_t)(0x3FFFFFFFu
                / (uint32_t)(task.window.width * task.window.height) + 2u);
            for (int32_t c = 0; c < grid->channels; c += 8) {
                c = (c + 8 > grid->channels) ? grid->channels - 8 : c;
                pool(&task, in + task.window.corner + c, y + c);
            }
            y += grid->channels;
        }
    }
}

#endif /* GLOWMCU_POOL_2D_MVE_H */
