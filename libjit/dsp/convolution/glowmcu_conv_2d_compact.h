/*
 * glowmcu_conv_2d_compact.h: convolutions of any window, and dense rows, by one small function.
 *
 * A window's values are copied together, so that it is a pixel of a 1x1 convolution; evenly spaced
 * 1x1 windows are read in place. The inner function is that of 1x1 convolutions with a short loop.
 */
#ifndef GLOWMCU_CONV_2D_COMPACT_H
#define GLOWMCU_CONV_2D_COMPACT_H

#include "glowmcu_pointwise_pairs.h"

typedef struct {
    glowmcu_conv_2d_pointwise dense; /* in_step is from patch to patch where windows are copied */
    int32_t is_copied;               /* 0: windows are read in place */
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
    int32_t together; /* taps of a row that are neighbours in the image: all, or 1 */
} glowmcu_conv_2d_compact;

/*
 * The values under the window of output `pixel`, [kernel_height][kernel_width][in_channels]; `in`
 * is row `in_row`.
 */
GLOWMCU_CODE
static GLOWMCU_NEVER_INLINE void glowmcu_conv_2d_compact_patch(const glowmcu_conv_2d_compact *p,
    const int8_t *in, int32_t in_row, int32_t pixel, int8_t *patch)
{
    const int32_t oy = pixel / p->dense.out_width;
    const int32_t left = (pixel - oy * p->dense.out_width) * p->stride_x - p->pad_left;
    const int32_t is_inside = ((left >= 0) && (left + p->kernel_width <= p->in_width)) ? 1 : 0;
    const int32_t together = is_inside ? p->together : 1;
    const size_t bytes = (size_t)(together * p->in_channels);
    int32_t y = oy * p->stride_y - p->pad_top;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky, y += p->dilation_y) {
        int32_t x = left;
        for (int32_t kx = 0; kx < p->kernel_width; kx += together, x += p->dilation_x) {
            /* As unsigned numbers those before the image are large. */
            if ((uint32_t)y < (uint32_t)p->in_height && (uint32_t)x < (uint32_t)p->in_width) {
                (void)memcpy(patch, in + ((y - in_row) * p->in_width + x) * p->in_channels, bytes);
            } else {
                (void)memset(patch, (int)p->in_zero_point, bytes);
            }
            patch += bytes;
        }
    }
}

/*
 * Output rows [first_row, end_row): reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more. `scratch` has the widened inputs of two pixels, then two
 * patches. Blocks have four channels: fewer are made aside.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_compact_rows(const glowmcu_conv_2d_compact *p,
    glowmcu_pointwise_pairs pairs, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    const int32_t depth_out = p->dense.depth_out;
    const int32_t end = end_row * p->dense.out_width;
    const int32_t first = first_row * p->dense.out_width;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    int8_t *to = out;
    int8_t aside[8];
    glowmcu_pointwise_run run;

    run.scratch = (uint32_t *)(void *)scratch;
    run.out_step = depth_out;
    run.in_step = p->dense.in_step;
    for (int32_t pixel = first, count = 2; pixel < end; pixel += count) {
        if (end - pixel < 2) { /* an only one is computed twice */
            count = 1;
            run.out_step = 0;
            run.in_step = 0;
        }
        run.pairs = 1;
        run.out = (depth_out < 4) ? aside : to;
        if (p->is_copied != 0) {
            run.in = scratch + 8 * p->dense.steps;
            for (int32_t i = 0; i < count; ++i) {
                glowmcu_conv_2d_compact_patch(
                    p, in, in_row, pixel + i, scratch + 8 * p->dense.steps + i * p->dense.in_step);
            }
        } else {
            run.in = in + (pixel - first) * p->dense.in_step;
            if (depth_out >= 4 && count == 2) {
                run.pairs = (end - pixel) >> 1;
                count = 2 * run.pairs;
            }
        }
        pairs(&p->dense, &run);
        if (depth_out < 4) {
            (void)memcpy(to, aside, (size_t)(count * depth_out));
        }
        to += count * depth_out;
    }
    glowmcu_dense_clamp(out, (end - first) * depth_out, p->dense.clamp_min, p->dense.clamp_max);
}

#endif /* GLOWMCU_CONV_2D_COMPACT_H */
