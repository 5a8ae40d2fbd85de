/*
 * glowmcu_windows_riscv.h: where the windows of a convolution lie in its image or beside it.
 */
#ifndef GLOWMCU_WINDOWS_RISCV_H
#define GLOWMCU_WINDOWS_RISCV_H

#include "glowmcu_base.h"
#include "glowmcu_requantize.h"

typedef struct {
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero_point;
} glowmcu_window_riscv;

/* Top left corner of a window in the image. */
typedef struct {
    int32_t y;
    int32_t x;
} glowmcu_corner_riscv;

/* The image from row `top` on, and a position of its padding. */
typedef struct {
    const int8_t *in;
    int32_t top;
    const int8_t *padding;
} glowmcu_image_riscv;

/* Whether a row of the window is one piece of the image. */
GLOWMCU_CODE
static inline int32_t glowmcu_row_is_inside_riscv(const glowmcu_window_riscv *p,
    glowmcu_corner_riscv at)
{
    return at.y >= 0 && at.y < p->in_height && at.x >= 0
        && at.x + p->kernel_width <= p->in_width && p->dilation_x == 1;
}

/* One position of the image, or what padding holds. */
GLOWMCU_CODE
static inline const int8_t *glowmcu_position_riscv(const glowmcu_window_riscv *p,
    const glowmcu_image_riscv *image, int32_t y, int32_t x)
{
    if (y < 0 || y >= p->in_height || x < 0 || x >= p->in_width) {
        return image->padding;
    }
    return image->in + ((y - image->top) * p->in_width + x) * p->in_channels;
}

#endif /* GLOWMCU_WINDOWS_RISCV_H */
