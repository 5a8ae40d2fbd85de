/*
 * glowmcu_transpose_conv_2d_s16.h: int16 transposed convolution, NHWC input, OHWI int8 weights.
 */
#ifndef GLOWMCU_TRANSPOSE_CONV_2D_S16_H
#define GLOWMCU_TRANSPOSE_CONV_2D_S16_H

#include "glowmcu_sources.h"
#include "glowmcu_wide.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t out_channels;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t pad_top;
    int32_t pad_left;
    glowmcu_wide_scale scale;
    const int8_t *weights; /* [out_channels][kernel_height][kernel_width][in_channels] */
} glowmcu_transpose_conv_2d_wide;

/* Sums of `count` (1 or 4) neighbouring output channels at one output pixel. */
GLOWMCU_CODE
static inline void glowmcu_transpose_conv_2d_wide_sums(
    const glowmcu_transpose_conv_2d_wide *p, const int16_t *in, const int8_t *weights,
    glowmcu_sources ys, glowmcu_sources xs, int32_t count, int64_t acc[4])
{
    const int32_t depth = p->in_channels;
    const int32_t filter = p->kernel_height * p->kernel_width * depth;

    for (int32_t iy = ys.first; iy < ys.end; ++iy) {
        const int32_t ky = ys.place - iy * p->stride_y;
        for (int32_t ix = xs.first; ix < xs.end; ++ix) {
            const int32_t kx = xs.place - ix * p->stride_x;
            const int16_t *x = in + (iy * p->in_width + ix) * depth;
            const int8_t *w = weights + (ky * p->kernel_width + kx) * depth;
            if (count == 4) {
                glowmcu_wide_dot4(x, w, filter, depth, acc);
            } else {
                acc[0] = glowmcu_wide_dot(x, w, depth, acc[0]);
            }
        }
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows that reach them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 */
GLOWMCU_CODE
static void glowmcu_transpose_conv_2d_s16(const glowmcu_transpose_conv_2d_wide *p,
    const int16_t *in, int16_t *out, int32_t first_row, int32_t end_row)
{
    const int32_t filter = p->kernel_height * p->kernel_width * p->in_channels;
    const int32_t in_row = glowmcu_first_source(first_row, p->pad_top, p->kernel_height,
        p->stride_y);
    int16_t *y = out;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const glowmcu_sources ys = glowmcu_sources_from(glowmcu_sources_of(oy + p->pad_top,
            p->kernel_height, p->stride_y, p->in_height), in_row, p->stride_y);
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            const glowmcu_sources xs = glowmcu_sources_of(ox + p->pad_left, p->kernel_width,
                p->stride_x, p->in_width);
            int32_t oc = 0;
            while (oc < p->out_channels) {
                const int32_t count = (p->out_channels - oc >= 4) ? 4 : 1;
                int64_t acc[4] = {0, 0, 0, 0};
                glowmcu_transpose_conv_2d_wide_sums(p, in, p->weights + oc * filter, ys, xs, count,
                    acc);
                for (int32_t i = 0; i < count; ++i, ++oc) {
                    *y = glowmcu_wide_result(&p->scale, oc, acc[i]);
                    ++y;
                }
            }
        }
    }
}

#endif /* GLOWMCU_TRANSPOSE_CONV_2D_S16_H */
