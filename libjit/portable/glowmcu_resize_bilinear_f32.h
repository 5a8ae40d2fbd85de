/*
 * glowmcu_resize_bilinear_f32.h: bilinear resizing of float images, NHWC.
 */
#ifndef GLOWMCU_RESIZE_BILINEAR_F32_H
#define GLOWMCU_RESIZE_BILINEAR_F32_H

#include "glowmcu_base.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t out_width;
    float scale_y; /* input pixels a result */
    float scale_x;
    float centre; /* of a pixel: 0.5, or 0 where its corner is sampled */
} glowmcu_resize_bilinear_real;

/* A position between two input positions. */
typedef struct {
    int32_t lower;
    int32_t upper;
    float fraction; /* distance from lower; negative only where lower is upper */
} glowmcu_between_real;

GLOWMCU_CODE
static inline glowmcu_between_real glowmcu_between_real_of(int32_t index, float scale,
    float centre, int32_t size)
{
    const float place = ((float)index + centre) * scale - centre; /* at least -0.5 */
    glowmcu_between_real between;

    between.lower = (place < 0.0f) ? 0 : (int32_t)place;
    between.upper = between.lower + ((place > (float)between.lower) ? 1 : 0);
    between.upper = (between.upper < size) ? between.upper : size - 1;
    between.fraction = place - (float)between.lower;
    return between;
}

/*
 * Output rows [first_row, end_row). Reads the input rows around them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_resize_bilinear_f32(const glowmcu_resize_bilinear_real *p, const float *in,
    float *out, int32_t first_row, int32_t end_row)
{
    const int32_t row = p->in_width * p->channels;
    const int32_t in_row = (first_row > 0)
        ? glowmcu_between_real_of(first_row, p->scale_y, p->centre,
        p->in_height).lower : 0;
    float *pixel = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_between_real ys = glowmcu_between_real_of(oy, p->scale_y, p->centre,
            p->in_height);
        const float *above = in + (ys.lower - in_row) * row;
        const float *below = in + (ys.upper - in_row) * row;
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_between_real xs = glowmcu_between_real_of(ox, p->scale_x, p->centre,
                p->in_width);
            const int32_t left = xs.lower * p->channels;
            const int32_t right = xs.upper * p->channels;
            for (int32_t c = 0; c < p->channels; ++c) {
                const float on_left = above[left + c] * (1.0f - ys.fraction)
                    + below[left + c] * ys.fraction;
                const float on_right = above[right + c] * (1.0f - ys.fraction)
                    + below[right + c] * ys.fraction;
                *pixel = on_left * (1.0f - xs.fraction) + on_right * xs.fraction;
                ++pixel;
            }
        }
    }
}

#endif /* GLOWMCU_RESIZE_BILINEAR_F32_H */
