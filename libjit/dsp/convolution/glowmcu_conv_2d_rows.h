/*
 * glowmcu_conv_2d_rows.h: int8 convolution, a row of outputs at a time, by pairs of pixels.
 *
 * See glowmcu_row_window.h for where the values come from, glowmcu_pixel_pairs.h for the sums.
 */
#ifndef GLOWMCU_CONV_2D_ROWS_H
#define GLOWMCU_CONV_2D_ROWS_H

#include "glowmcu_row_window.h"

/* Pairs of less than four channels, which are made aside. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_conv_2d_rows_few(const glowmcu_conv_2d_rows *p, glowmcu_pixel_pairs pairs,
    const int16_t *pixel, int8_t *out, int32_t second, int32_t count)
{
    const int32_t *end = p->stream + p->stream_words;

    for (; count > 0; --count, pixel += p->pixel_values, out += p->out_channels) {
        int8_t results[8];
        pairs(pixel, p->stream, end, results, 4, 1, p->pixel_values * 2, 0);
        for (int32_t i = 0; i < p->out_channels; ++i) {
            out[second + i] = results[4 + i];
        }
        for (int32_t i = 0; i < p->out_channels; ++i) {
            out[i] = results[i];
        }
    }
}

/* `count` pairs, all channels; those beyond a multiple of four share a group with others. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_rows_run(const glowmcu_conv_2d_rows *p,
    glowmcu_pixel_pairs pairs, const int16_t *pixel, int8_t *out, int32_t second, int32_t count)
{
    const int32_t *end = p->stream + p->stream_words;
    const int32_t pixel_bytes = p->pixel_values * 2;
    const int32_t extra = p->out_channels % 4;

    if (p->out_channels < 4) {
        glowmcu_conv_2d_rows_few(p, pairs, pixel, out, second, count);
        return;
    }
    if (extra != 0) {
        const int32_t *last = end - p->group_words;
        pairs(pixel, last, end, out + p->out_channels - 4, second, count, pixel_bytes,
            p->out_channels - 4);
        end = last;
    }
    pairs(pixel, p->stream, end, out, second, count, pixel_bytes, extra);
}

/*
 * Output row with its window at `top`, or two rows where pairs are one below the other. Pairs
 * beside each other are `across` pixels apart; at the end of a row there are fewer of them, then
 * single pixels.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_rows_row(const glowmcu_conv_2d_rows *p, glowmcu_pixel_pairs pairs,
    const int16_t *top, int8_t *out, int32_t rows)
{
    int32_t end = p->out_width;
    int32_t x = 0;

    while (x < end) {
        const int32_t left = end - x;
        const int32_t beside = left - p->across;
        int32_t second = p->across * p->out_channels;
        int32_t count = (beside < p->across) ? beside : p->across;
        int32_t step = 2 * p->across;

        if (p->across == 0) {
            second = (rows == 2) ? left * p->out_channels : 0;
            count = left;
            step = left;
        } else if (beside <= 0) {
            second = 0;
            count = left;
            step = left;
        } else if (count < p->across) {
            end = x + p->across;
            step = count;
        } else {
            /* all that one run takes */
        }
        glowmcu_conv_2d_rows_run(p, pairs, top + x * p->pixel_values, out + x * p->out_channels,
            second, count);
        x += step;
    }
}

#endif /* GLOWMCU_CONV_2D_ROWS_H */
