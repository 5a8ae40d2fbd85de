/*
 * glowmcu_resize_bilinear.h: bilinear resizing of int8 images, NHWC, in 1/1024 of a pixel.
 */
#ifndef GLOWMCU_RESIZE_BILINEAR_H
#define GLOWMCU_RESIZE_BILINEAR_H

#include "glowmcu_blend.h"

/* sum / 2^20; |sum| <= 128 * (1024 + 2 * 512)^2 = 2^29 */
GLOWMCU_CODE
static inline int32_t glowmcu_resize_round(int32_t sum)
{
#ifdef GLOWMCU_SINGLE_ROUNDING
    return (sum + ((int32_t)1 << 19)) >> 20;
#else
    return (sum + ((sum > 0) ? (int32_t)1 << 19 : -((int32_t)1 << 19))) / ((int32_t)1 << 20);
#endif
}

/*
 * Output rows [first_row, end_row). Reads the input rows around them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_resize_bilinear_s8(const glowmcu_resize_bilinear *p, const int8_t *in,
    int8_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t row = p->in_width * p->channels;
    const int32_t in_row = (first_row > 0)
        ? glowmcu_blend_of(first_row * p->step_y + p->start_y, p->in_height).lower : 0;
    int8_t *pixel = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_blend ys = glowmcu_blend_of(oy * p->step_y + p->start_y, p->in_height);
        const int8_t *above = in + (ys.lower - in_row) * row;
        const int8_t *below = in + (ys.upper - in_row) * row;
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_blend xs = glowmcu_blend_of(ox * p->step_x + p->start_x, p->in_width);
            const int32_t left = xs.lower * p->channels;
            const int32_t right = xs.upper * p->channels;
            const int32_t above_left = (1024 - ys.fraction) * (1024 - xs.fraction);
            const int32_t above_right = (1024 - ys.fraction) * xs.fraction;
            const int32_t below_left = ys.fraction * (1024 - xs.fraction);
            const int32_t below_right = ys.fraction * xs.fraction;
            for (int32_t c = 0; c < p->channels; ++c) {
                const int32_t sum = above[left + c] * above_left + above[right + c] * above_right
                    + below[left + c] * below_left + below[right + c] * below_right;
                *pixel = (int8_t)glowmcu_resize_round(sum);
                ++pixel;
            }
        }
    }
}

#endif /* GLOWMCU_RESIZE_BILINEAR_H */
