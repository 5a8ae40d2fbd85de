/*
 * glowmcu_conv_2d_compact.h: convolutions of any window, and dense rows, by one small function.
 *
 * A window's values are copied together, so that it is a pixel of a 1x1 convolution; 1x1 windows
 * are read in place. The inner function is that of 1x1 convolutions with a short loop.
 */
#ifndef GLOWMCU_CONV_2D_COMPACT_H
#define GLOWMCU_CONV_2D_COMPACT_H

#include "glowmcu_pointwise_pairs.h"

typedef struct {
    glowmcu_conv_2d_pointwise dense; /* its in_step and in_row are those of windows */
    int32_t patch_bytes;             /* a window's, rounded up to words; 0: read in place */
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
} glowmcu_conv_2d_compact;

/* The values under one window, [kernel_height][kernel_width][in_channels]; `in` is row `in_row`. */
static void glowmcu_conv_2d_compact_patch(const glowmcu_conv_2d_compact *p, const int8_t *in,
    int32_t in_row, int32_t oy, int32_t ox, int8_t *patch)
{
    const int32_t left = ox * p->stride_x - p->pad_left;
    const int32_t is_inside = (left >= 0) && (left + p->kernel_width <= p->in_width);
    /* Taps that are neighbours in the image are copied at once. */
    const int32_t together = (is_inside && p->dilation_x == 1) ? p->kernel_width : 1;
    const size_t bytes = (size_t)(together * p->in_channels);
    int32_t y = oy * p->stride_y - p->pad_top;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky, y += p->dilation_y) {
        int32_t x = left;
        for (int32_t kx = 0; kx < p->kernel_width; kx += together, x += p->dilation_x) {
            if (y >= 0 && y < p->in_height && x >= 0 && x < p->in_width) {
                memcpy(patch, in + ((y - in_row) * p->in_width + x) * p->in_channels, bytes);
            } else {
                memset(patch, p->in_zero_point, bytes);
            }
            patch += bytes;
        }
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row; they may not overlap.
 * `scratch` has the widened inputs of two pixels, then two patches. Results of less than four
 * channels are made aside.
 */
static void glowmcu_conv_2d_compact_rows(const glowmcu_conv_2d_compact *p,
    glowmcu_pointwise_pairs pairs, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    const int32_t width = p->dense.out_width;
    const int32_t depth_out = p->dense.depth_out;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t end = (end_row - first_row) * width;
    int8_t *const patches = scratch + 8 * p->dense.steps;
    glowmcu_pointwise_run run;

    run.scratch = (uint32_t *)(void *)scratch;
    run.pairs = 1;
    for (int32_t pixel = 0; pixel < end; pixel += 2) {
        const int8_t *from[2];
        int8_t *to[2];
        int8_t aside[8];
        for (int32_t i = 0; i < 2; ++i) {
            const int32_t place = (pixel + i < end) ? pixel + i : pixel; /* an only one twice */
            const int32_t row = place / width;
            const int32_t ox = place - row * width;
            to[i] = out + place * depth_out;
            if (p->patch_bytes != 0) {
                int8_t *const patch = patches + i * p->patch_bytes;
                glowmcu_conv_2d_compact_patch(p, in, in_row, first_row + row, ox, patch);
                from[i] = patch;
            } else {
                from[i] = in + row * p->dense.in_row + ox * p->dense.in_step;
            }
        }
        run.in = from[0];
        run.in_step = (int32_t)(from[1] - from[0]);
        run.out = to[0];
        run.out_step = (int32_t)(to[1] - to[0]);
        if (depth_out < 4) {
            run.out = aside;
            run.out_step = 4;
        }
        pairs(&p->dense, &run);
        if (depth_out < 4) {
            memcpy(to[0], aside, (size_t)depth_out);
            memcpy(to[1], aside + 4, (size_t)depth_out);
        }
    }
    glowmcu_dense_clamp(out, end * depth_out, p->dense.clamp_min, p->dense.clamp_max);
}

#endif /* GLOWMCU_CONV_2D_COMPACT_H */
