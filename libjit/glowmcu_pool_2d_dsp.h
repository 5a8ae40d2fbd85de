/*
 * glowmcu_pool_2d_dsp.h: int8 pooling of four channels a word: what average and maximum share.
 */
#ifndef GLOWMCU_POOL_2D_DSP_H
#define GLOWMCU_POOL_2D_DSP_H

#include "glowmcu_dsp.h"
#include "glowmcu_pool_2d.h"

/* A window, and what its results are made with. */
typedef struct {
    glowmcu_pool_window window;
    int32_t reciprocal; /* 2^31 / taps and a little more, at least 2 taps */
    uint32_t clamp_min; /* in every byte */
    uint32_t clamp_max;
} glowmcu_pool_task;

/* Pools `words` times four channels, from `x` on, to `y`. */
typedef void (*glowmcu_pool_function)(const glowmcu_pool_task *task, const int8_t *x, int8_t *y,
    int32_t words);

static GLOWMCU_ALWAYS_INLINE glowmcu_pool_window glowmcu_pool_2d_window_dsp(
    const glowmcu_pool_grid *grid, glowmcu_taps ys, int32_t ox)
{
    glowmcu_pool_window window = glowmcu_pool_2d_window(grid, ys, ox);

    if (window.next_row == 0) { /* its rows follow one another: one long row */
        window.width *= window.height;
        window.height = 1;
    }
    if (window.width == 1 && window.height == 1) { /* seen twice: 2^31 / 1 is no int32 */
        window.height = 2;
        window.next_row = -window.step;
    }
    return window;
}

/* Channels come in eights, then in fours; the last four may be done twice. At least 4 channels. */
static GLOWMCU_ALWAYS_INLINE void glowmcu_pool_2d_channels(glowmcu_pool_function pool,
    const glowmcu_pool_task *task, const int8_t *x, int8_t *y, int32_t channels)
{
    int32_t c = 0;

    for (; c + 8 <= channels; c += 8) {
        pool(task, x + c, y + c, 2);
    }
    for (; c < channels; c += 4) {
        c = (c + 4 > channels) ? channels - 4 : c;
        pool(task, x + c, y + c, 1);
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` and `out` are the tensors' first bytes and may not overlap.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_pool_2d_rows_dsp(glowmcu_pool_function pool,
    const glowmcu_pool_2d *p, const int8_t *in, int8_t *out, int32_t first_row, int32_t end_row)
{
    const glowmcu_pool_grid *grid = &p->grid;
    int8_t *y = out + first_row * grid->out_width * grid->channels;
    glowmcu_pool_task task;

    task.clamp_min = ((uint32_t)p->clamp_min & 0xFFu) * 0x01010101u;
    task.clamp_max = ((uint32_t)p->clamp_max & 0xFFu) * 0x01010101u;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_pool_2d_rows(grid, oy);
        for (int32_t ox = 0; ox < grid->out_width; ++ox) {
            task.window = glowmcu_pool_2d_window_dsp(grid, ys, ox);
            task.reciprocal = (int32_t)(0x7FFFFFFFu
                / (uint32_t)(task.window.width * task.window.height) + 2u);
            glowmcu_pool_2d_channels(pool, &task, in + task.window.corner, y, grid->channels);
            y += grid->channels;
        }
    }
}

#endif /* GLOWMCU_POOL_2D_DSP_H */
