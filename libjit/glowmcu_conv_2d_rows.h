/*
 * glowmcu_conv_2d_rows.h: int8 convolution, a row of outputs at a time, by pairs of pixels.
 *
 * See glowmcu_row_window.h for where the values come from, glowmcu_pixel_pairs.h for the sums.
 */
#ifndef GLOWMCU_CONV_2D_ROWS_H
#define GLOWMCU_CONV_2D_ROWS_H

#include "glowmcu_row_window.h"

/* `count` pairs, all channels; those beyond a multiple of four share a group with others. */
GLOWMCU_CODE
static void glowmcu_conv_2d_rows_run(const glowmcu_conv_2d_rows *p, glowmcu_pixel_pairs pairs,
    const int16_t *pixel, int8_t *out, int32_t second, int32_t count)
{
    const int32_t *end = p->stream + p->stream_words;
    const int32_t pixel_bytes = p->pixel_values * 2;
    const int32_t extra = p->out_channels % 4;

    if (p->out_channels < 4) {
        for (; count > 0; --count, pixel += p->pixel_values, out += p->out_channels) {
            int8_t results[8];
            pairs(pixel, p->stream, end, results, 4, 1, pixel_bytes, 0);
            for (int32_t i = 0; i < p->out_channels; ++i) {
                out[second + i] = results[4 + i];
            }
            for (int32_t i = 0; i < p->out_channels; ++i) {
                out[i] = results[i];
            }
        }
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

/* Output row with its window at `top`, or two rows where pairs are one below the other. */
GLOWMCU_CODE
static void glowmcu_conv_2d_rows_row(const glowmcu_conv_2d_rows *p, glowmcu_pixel_pairs pairs,
    const int16_t *top, int8_t *out, int32_t rows)
{
    if (p->across == 0) {
        const int32_t below = (rows == 2) ? p->out_width * p->out_channels : 0;
        glowmcu_conv_2d_rows_run(p, pairs, top, out, below, p->out_width);
        return;
    }
    for (int32_t x = 0; x < p->out_width; x += 2 * p->across) {
        const int32_t left = p->out_width - x;
        const int32_t first = (left < p->across) ? left : p->across;
        const int32_t second = (left - first < p->across) ? left - first : p->across;
        const int16_t *pixel = top + x * p->pixel_values;
        int8_t *result = out + x * p->out_channels;
        if (second > 0) {
            glowmcu_conv_2d_rows_run(p, pairs, pixel, result, p->across * p->out_channels, second);
        }
        if (first > second) {
            glowmcu_conv_2d_rows_run(p, pairs, pixel + second * p->pixel_values,
                result + second * p->out_channels, 0, first - second);
        }
    }
}

#endif /* GLOWMCU_CONV_2D_ROWS_H */
