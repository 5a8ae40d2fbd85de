/*
 * glowmcu_pool_2d_dsp.h: int8 pooling of four channels a word: what average and maximum share.
 */
#ifndef GLOWMCU_POOL_2D_DSP_H
#define GLOWMCU_POOL_2D_DSP_H

#include "glowmcu_dsp.h"
#include "glowmcu_pool_2d.h"

typedef struct {
    glowmcu_pool_grid grid;
    uint32_t clamp_min; /* in every byte */
    uint32_t clamp_max;
} glowmcu_pool_2d_dsp;

/* A window, and what its results are made with. */
typedef struct {
    glowmcu_pool_window window;
    int32_t reciprocal; /* 2^30 / taps and a little more */
    uint32_t clamp_min;
    uint32_t clamp_max;
} glowmcu_pool_task;

/* Results of the four channels that `x` begins with. */
typedef uint32_t (*glowmcu_pool_function)(const glowmcu_pool_task *task, const int8_t *x);

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 * At least 4 channels.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_pool_2d_rows_dsp(glowmcu_pool_function pool,
    const glowmcu_pool_2d_dsp *p, const int8_t *in, int8_t *out, int32_t first_row, int32_t end_row)
{
    const glowmcu_pool_grid *grid = &p->grid;
    int8_t *y = out;
    glowmcu_pool_task task;

    task.clamp_min = p->clamp_min;
    task.clamp_max = p->clamp_max;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_pool_2d_rows(grid, oy, first_row);
        for (int32_t ox = 0; ox < grid->out_width; ++ox) {
            task.window = glowmcu_pool_2d_window(grid, ys, ox);
            task.reciprocal = (int32_t)(0x3FFFFFFFu
                / (uint32_t)(task.window.width * task.window.height) + 2u);
            for (int32_t c = 0; c < grid->channels; c += 4) {
                /* the last four may be done twice */
                c = (c + 4 > grid->channels) ? grid->channels - 4 : c;
                glowmcu_store_word(y + c, pool(&task, in + task.window.corner + c));
            }
            y += grid->channels;
        }
    }
}

#endif /* GLOWMCU_POOL_2D_DSP_H */
