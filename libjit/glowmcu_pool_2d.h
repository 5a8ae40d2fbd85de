/*
 * glowmcu_pool_2d.h: what average and maximum pooling share.
 */
#ifndef GLOWMCU_POOL_2D_H
#define GLOWMCU_POOL_2D_H

#include "glowmcu_window.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t channels;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t clamp_min;
    int32_t clamp_max;
} glowmcu_pool_2d;

/* The part of a window that is inside the image: its first pixel, its size, the way to its next row. */
typedef struct {
    const int8_t *corner;
    int32_t height;
    int32_t width;
    int32_t next_row; /* from one past a row's last pixel to the next row's first, in elements */
} glowmcu_pool_window;

static inline glowmcu_pool_window glowmcu_pool_2d_window(const glowmcu_pool_2d *p,
    const int8_t *in, glowmcu_taps ys, glowmcu_taps xs)
{
    glowmcu_pool_window window;

    window.height = ys.end - ys.first;
    window.width = xs.end - xs.first;
    window.next_row = (p->in_width - window.width) * p->channels;
    window.corner = in
        + ((ys.origin + ys.first) * p->in_width + xs.origin + xs.first) * p->channels;
    return window;
}

#endif /* GLOWMCU_POOL_2D_H */
