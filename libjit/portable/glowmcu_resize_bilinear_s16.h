/*
 * glowmcu_resize_bilinear_s16.h: bilinear resizing of int16 images, NHWC, in 1/1024 of a pixel.
 */
#ifndef GLOWMCU_RESIZE_BILINEAR_S16_H
#define GLOWMCU_RESIZE_BILINEAR_S16_H

#include "glowmcu_blend.h"

/* sum / 2^20; |sum| <= 2^15 * (1024 + 2 * 512)^2 = 2^37 */
GLOWMCU_CODE
static inline int32_t glowmcu_resize_round_wide(int64_t sum)
{
#ifdef GLOWMCU_SINGLE_ROUNDING
    return (int32_t)((sum + ((int64_t)1 << 19)) >> 20);
#else
    return (int32_t)((sum + ((sum > 0) ? (int64_t)1 << 19 : -((int64_t)1 << 19)))
        / ((int64_t)1 << 20));
#endif
}

/*
 * Output rows [first_row, end_row). Reads the input rows around them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_resize_bilinear_s16(const glowmcu_resize_bilinear *p, const int16_t *in,
    int16_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t row = p->in_width * p->channels;
    const int32_t in_row = (first_row > 0)
        ? glowmcu_blend_of(first_row * p->step_y + p->start_y, p->in_height).lower : 0;
    int16_t *pixel = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_blend ys = glowmcu_blend_of(oy * p->step_y + p->start_y, p->in_height);
        const int16_t *above = in + (ys.lower - in_row) * row;
        const int16_t *below = in + (ys.upper - in_row) * row;
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_blend xs = glowmcu_blend_of(ox * p->step_x + p->start_x, p->in_width);
            const int32_t left = xs.lower * p->channels;
            const int32_t right = xs.upper * p->channels;
            for (int32_t c = 0; c < p->channels; ++c) {
                /* each below 2^15 * (1024 + 2 * 512) = 2^26 */
                const int32_t on_left = above[left + c] * (1024 - ys.fraction)
                    + below[left + c] * ys.fraction;
                const int32_t on_right = above[right + c] * (1024 - ys.fraction)
                    + below[right + c] * ys.fraction;
                const int64_t sum = (int64_t)on_left * (1024 - xs.fraction)
                    + (int64_t)on_right * xs.fraction;
                *pixel = (int16_t)glowmcu_resize_round_wide(sum);
                ++pixel;
            }
        }
    }
}

#endif /* GLOWMCU_RESIZE_BILINEAR_S16_H */
