/*
 * glowmcu_depthwise_riscv.h: what depthwise convolutions for RISC-V share: where taps lie.
 */
#ifndef GLOWMCU_DEPTHWISE_RISCV_H
#define GLOWMCU_DEPTHWISE_RISCV_H

#include <string.h>

#include "glowmcu_scale_riscv.h"
#include "glowmcu_windows_riscv.h"

typedef struct {
    glowmcu_window_riscv window;
    const int8_t *weights; /* [channels][kernel_height * kernel_width] */
    glowmcu_scale_riscv scale;
} glowmcu_depthwise_riscv;

/* Whether all taps of a window lie in the image. */
GLOWMCU_CODE
static inline int32_t glowmcu_window_is_inside_riscv(const glowmcu_window_riscv *p,
    glowmcu_corner_riscv at)
{
    return at.y >= 0 && at.y + (p->kernel_height - 1) * p->dilation_y < p->in_height
        && at.x >= 0 && at.x + (p->kernel_width - 1) * p->dilation_x < p->in_width;
}

/* The first channel of every tap of the window at `corner`. */
GLOWMCU_CODE
static inline void glowmcu_window_taps_riscv(const glowmcu_window_riscv *p,
    const glowmcu_image_riscv *image, const int8_t **taps, glowmcu_corner_riscv corner)
{
    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        const int32_t y = corner.y + ky * p->dilation_y;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            *taps = glowmcu_position_riscv(p, image, y, corner.x + kx * p->dilation_x);
            ++taps;
        }
    }
}

#endif /* GLOWMCU_DEPTHWISE_RISCV_H */
