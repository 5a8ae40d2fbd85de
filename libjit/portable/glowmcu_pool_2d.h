/*
 * glowmcu_pool_2d.h: what pooling of all kinds and element types shares.
 */
#ifndef GLOWMCU_POOL_2D_H
#define GLOWMCU_POOL_2D_H

#include "glowmcu_window.h"

/* Where windows lie on an NHWC image. */
typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
} glowmcu_pool_grid;

/* Pooling of integers. */
typedef struct {
    glowmcu_pool_grid grid;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_pool_2d;

/* Pooling of real numbers. */
typedef struct {
    glowmcu_pool_grid grid;
    int32_t clamping; /* 0: no limit holds, 1: the lower one, 2: both */
    float clamp_min;
    float clamp_max;
} glowmcu_pool_2d_real;

/* The part of a window that is inside the image; places and steps are in elements. */
typedef struct {
    int32_t corner; /* its first pixel */
    int32_t height;
    int32_t width;
    int32_t step;     /* from tap to tap along a row */
    int32_t next_row; /* from one step past a row's last tap to the next row's first */
} glowmcu_pool_window;

GLOWMCU_CODE
static inline glowmcu_pool_window glowmcu_pool_2d_window(const glowmcu_pool_grid *grid,
    glowmcu_taps ys, int32_t ox)
{
    const glowmcu_taps xs = glowmcu_taps_inside(ox * grid->stride_x - grid->pad_left,
        grid->kernel_width, grid->dilation_x, grid->in_width);
    const int32_t row = grid->in_width * grid->channels;
    glowmcu_pool_window window;

    window.height = ys.end - ys.first;
    window.width = xs.end - xs.first;
    window.step = grid->dilation_x * grid->channels;
    window.next_row = grid->dilation_y * row - window.width * window.step;
    window.corner = (ys.origin + ys.first * grid->dilation_y) * row
        + (xs.origin + xs.first * grid->dilation_x) * grid->channels;
    return window;
}

/* Rows of the windows of one output row, counted from the first one under `first_row`. */
GLOWMCU_CODE
static inline glowmcu_taps glowmcu_pool_2d_rows(const glowmcu_pool_grid *grid, int32_t oy,
    int32_t first_row)
{
    glowmcu_taps ys = glowmcu_taps_inside(oy * grid->stride_y - grid->pad_top, grid->kernel_height,
        grid->dilation_y, grid->in_height);

    ys.origin -= glowmcu_first_input_row(first_row, grid->stride_y, grid->pad_top);
    return ys;
}

/* round(sum / count), halves away from zero. */
GLOWMCU_CODE
static inline int32_t glowmcu_mean(int32_t sum, int32_t count)
{
    return (sum > 0) ? (sum + count / 2) / count : (sum - count / 2) / count;
}

#endif /* GLOWMCU_POOL_2D_H */
