/*
 * glowmcu_pool_2d_nodsp.h: int8 pooling of four channels a word for cores without DSP: what average
 * and maximum share. Images and results are 4-byte aligned, channels a multiple of four.
 */
#ifndef GLOWMCU_POOL_2D_NODSP_H
#define GLOWMCU_POOL_2D_NODSP_H

#include <string.h>

#include "glowmcu_pool_2d.h"
#include "glowmcu_words.h"

typedef struct {
    glowmcu_pool_grid grid;
    uint32_t clamp_min; /* in every byte */
    uint32_t clamp_max;
} glowmcu_pool_2d_words;

/* A window, and what its results are made with. */
typedef struct {
    glowmcu_pool_window window;
    uint32_t taps;
    uint32_t reciprocal; /* 2^24 / taps, rounded up or one more */
    uint32_t clamp_min;
    uint32_t clamp_max;
} glowmcu_pool_words_task;

/* Results of the four channels that `x` begins with. */
typedef uint32_t (*glowmcu_pool_words_function)(const glowmcu_pool_words_task *task,
    const int8_t *x);

static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_pool_load(const int8_t *x)
{
    uint32_t word;

    (void)memcpy(&word, GLOWMCU_WORD_AT(x), sizeof word);
    return word;
}

/* All bits of each byte in which a >= b, as signed numbers. */
static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_bytes_not_below(uint32_t a, uint32_t b)
{
    const uint32_t signs = 0x80808080u;
    /* The sign's place of a byte says whether a's seven bits below are not below b's. */
    const uint32_t rest = (a | signs) - (b & ~signs);
    const uint32_t is_so = ((b & ~a) | (rest & ~(a ^ b))) & signs;

    return (is_so << 1) - (is_so >> 7);
}

static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_larger_bytes(uint32_t a, uint32_t b)
{
    return b ^ ((a ^ b) & glowmcu_bytes_not_below(a, b));
}

static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_smaller_bytes(uint32_t a, uint32_t b)
{
    return a ^ ((a ^ b) & glowmcu_bytes_not_below(a, b));
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
static GLOWMCU_ALWAYS_INLINE void glowmcu_pool_2d_rows_nodsp(glowmcu_pool_words_function pool,
    const glowmcu_pool_2d_words *p, const int8_t *in, int8_t *out, int32_t first_row,
    int32_t end_row)
{
    const glowmcu_pool_grid *grid = &p->grid;
    int8_t *y = out;
    glowmcu_pool_words_task task;

    task.taps = 0;
    task.reciprocal = 0;
    task.clamp_min = p->clamp_min;
    task.clamp_max = p->clamp_max;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_taps ys = glowmcu_pool_2d_rows(grid, oy, first_row);
        for (int32_t ox = 0; ox < grid->out_width; ++ox) {
            const int8_t *x;
            uint32_t taps;

            task.window = glowmcu_pool_2d_window(grid, ys, ox);
            taps = (uint32_t)(task.window.width * task.window.height);
            if (taps != task.taps) { /* divisions are slow: once for all windows that are alike */
                task.taps = taps;
                task.reciprocal = 0xFFFFFFu / taps + 1u;
            }
            x = in + task.window.corner;
            for (int32_t c = grid->channels; c > 0; c -= 4) {
                const uint32_t word = pool(&task, x);

                (void)memcpy(GLOWMCU_WORD_AT(y), &word, sizeof word);
                x += 4;
                y += 4;
            }
        }
    }
}

#endif /* GLOWMCU_POOL_2D_NODSP_H */
