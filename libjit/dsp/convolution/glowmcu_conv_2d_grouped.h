/*
 * glowmcu_conv_2d_grouped.h: convolutions whose output channels read some of the input's only.
 *
 * Each group is a convolution of its own: the values of its channels under a window are copied
 * together, which makes them a pixel of a 1x1 convolution. Two windows at a time go through all
 * groups; a group's constants follow those of the one before.
 */
#ifndef GLOWMCU_CONV_2D_GROUPED_H
#define GLOWMCU_CONV_2D_GROUPED_H

#include "glowmcu_pointwise_pairs.h"

typedef struct {
    glowmcu_conv_2d_pointwise dense; /* of the first group; in_step is from patch to patch */
    int32_t groups;
    int32_t group_words;    /* of a group's stream */
    int32_t group_channels; /* of input */
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
} glowmcu_conv_2d_grouped;

/* Where a window lies: taps [first, end) of each row are inside the image. */
typedef struct {
    int32_t y;  /* row of the first tap */
    int32_t at; /* bytes from row 0 to the first tap inside */
    int32_t first;
    int32_t end;
} glowmcu_grouped_window;

GLOWMCU_CODE
static glowmcu_grouped_window glowmcu_conv_2d_grouped_window(const glowmcu_conv_2d_grouped *p,
    int32_t pixel)
{
    const int32_t oy = pixel / p->dense.out_width;
    const int32_t left = (pixel - oy * p->dense.out_width) * p->stride_x - p->pad_left;
    glowmcu_grouped_window window;
    int32_t x = left;

    window.y = oy * p->stride_y - p->pad_top;
    window.first = 0;
    while (window.first < p->kernel_width && x < 0) {
        ++window.first;
        x += p->dilation_x;
    }
    window.at = x * p->in_channels;
    window.end = window.first;
    while (window.end < p->kernel_width && x < p->in_width) {
        ++window.end;
        x += p->dilation_x;
    }
    return window;
}

/* `count` bytes of `value`: as a rule few. */
GLOWMCU_CODE
static inline int8_t *glowmcu_conv_2d_grouped_fill(int8_t *to, int32_t count, int8_t value)
{
    for (int32_t i = 0; i < count; ++i) {
        to[i] = value;
    }
    return to + count;
}

/*
 * The values of a group under a window, [kernel_height][kernel_width][group_channels]; `in` is the
 * group's first value in row `in_row`.
 */
GLOWMCU_CODE
static GLOWMCU_NEVER_INLINE void glowmcu_conv_2d_grouped_patch(const glowmcu_conv_2d_grouped *p,
    const int8_t *in, int32_t in_row, const glowmcu_grouped_window *window, int8_t *patch)
{
    const int32_t depth = p->group_channels;
    const int32_t step = p->dilation_x * p->in_channels;
    const int8_t padding = (int8_t)p->in_zero_point;
    int32_t y = window->y;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky, y += p->dilation_y) {
        const int8_t *from = in + (y - in_row) * p->in_width * p->in_channels + window->at;
        /* As unsigned numbers those before the image are large. */
        if ((uint32_t)y >= (uint32_t)p->in_height) {
            patch = glowmcu_conv_2d_grouped_fill(patch, p->kernel_width * depth, padding);
            continue;
        }
        patch = glowmcu_conv_2d_grouped_fill(patch, window->first * depth, padding);
        for (int32_t tap = window->first; tap < window->end; ++tap, from += step) {
            int32_t i = 0;
            for (; i + 4 <= depth; i += 4) {
                (void)memcpy(patch + i, from + i, 4);
            }
            for (; i < depth; ++i) {
                patch[i] = from[i];
            }
            patch += depth;
        }
        patch = glowmcu_conv_2d_grouped_fill(
            patch, (p->kernel_width - window->end) * depth, padding);
    }
}

/*
 * Output rows [first_row, end_row): reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more, the windows at hand apart. `scratch` has the widened inputs of
 * two pixels, then two patches. Blocks have four channels: fewer are made aside.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_grouped_rows(const glowmcu_conv_2d_grouped *p,
    glowmcu_pointwise_pairs pairs, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    const int32_t depth = p->dense.depth_out;
    const int32_t pixel_bytes = p->groups * depth;
    const int32_t end = end_row * p->dense.out_width;
    const int32_t first = first_row * p->dense.out_width;
    const int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    int8_t *const patches = scratch + 8 * p->dense.steps;
    glowmcu_conv_2d_pointwise dense = p->dense;
    glowmcu_grouped_window windows[2];
    int8_t aside[8];
    glowmcu_pointwise_run run;

    run.scratch = (uint32_t *)(void *)scratch;
    run.in = patches;
    run.in_step = p->dense.in_step;
    run.out_step = (depth < 4) ? depth : pixel_bytes;
    run.pairs = 1;
    for (int32_t pixel = first, count = 2; pixel < end; pixel += count) {
        int8_t *to = out + (pixel - first) * pixel_bytes;
        if (end - pixel < 2) { /* an only one is computed twice */
            count = 1;
            run.out_step = 0;
            run.in_step = 0;
        }
        for (int32_t i = 0; i < count; ++i) {
            windows[i] = glowmcu_conv_2d_grouped_window(p, pixel + i);
        }
        dense.stream = p->dense.stream;
        for (int32_t group = 0; group < p->groups; ++group) {
            for (int32_t i = 0; i < count; ++i) {
                glowmcu_conv_2d_grouped_patch(p, in + group * p->group_channels, in_row,
                    &windows[i], patches + i * p->dense.in_step);
            }
            run.out = (depth < 4) ? aside : to;
            pairs(&dense, &run);
            if (depth < 4) {
                for (int32_t i = 0; i < count; ++i) {
                    (void)memcpy(to + i * pixel_bytes, aside + i * depth, (size_t)depth);
                }
            }
            to += depth;
            dense.stream += p->group_words;
        }
    }
    glowmcu_dense_clamp(
        out, (end - first) * pixel_bytes, p->dense.clamp_min, p->dense.clamp_max);
}

#endif /* GLOWMCU_CONV_2D_GROUPED_H */
