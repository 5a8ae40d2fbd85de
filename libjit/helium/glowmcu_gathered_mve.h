/*
 * glowmcu_gathered_mve.h: what the int8 convolutions share that gather windows into rows.
 */
#ifndef GLOWMCU_GATHERED_MVE_H
#define GLOWMCU_GATHERED_MVE_H

#include "glowmcu_matrix_mve.h"

typedef struct {
    glowmcu_matrix_mve matrix;
    int32_t in_height;
    int32_t line_bytes; /* of an input row */
    int32_t out_width;
    int32_t kernel_height;
    int32_t stride_y;
    int32_t dilation_y;
    int32_t pad_top;
    int32_t step_bytes; /* along a line, from window to window */
    int32_t pad_bytes;  /* by which the first window begins left of the image */
    int32_t parts;      /* of a window's row: 1, or with dilation one a tap */
    int32_t part_bytes;
    int32_t part_step;
    int32_t in_zero_point; /* what pixels outside the image hold */
} glowmcu_conv_2d_mve;

/* One part of a window: bytes [start, start + part_bytes) of a line, which it may be outside of. */
GLOWMCU_CODE
static inline void glowmcu_conv_2d_mve_part(const glowmcu_conv_2d_mve *p, const int8_t *line,
    int32_t start, int8_t *row)
{
    const int32_t end = start + p->part_bytes;
    const int32_t first = (start > 0) ? start : 0;
    const int32_t last = (end < p->line_bytes) ? end : p->line_bytes;

    if (last - first < p->part_bytes) {
        glowmcu_mve_fill(row, p->in_zero_point, p->part_bytes);
    }
    glowmcu_mve_copy(row + (first - start), line + first, last - first);
}

/*
 * The window whose first line is `top` and begins at byte `left`: kernel_height rows of `parts`.
 * `in` is line `in_top`.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_mve_window(const glowmcu_conv_2d_mve *p, const int8_t *in,
    int32_t in_top, int32_t top, int32_t left, int8_t *row)
{
    for (int32_t ky = 0; ky < p->kernel_height; ++ky) {
        const int32_t iy = top + ky * p->dilation_y;
        for (int32_t part = 0; part < p->parts; ++part) {
            if (iy < 0 || iy >= p->in_height) {
                glowmcu_mve_fill(row, p->in_zero_point, p->part_bytes);
            } else {
                glowmcu_conv_2d_mve_part(p, in + (iy - in_top) * p->line_bytes,
                    left + part * p->part_step, row);
            }
            row += p->part_bytes;
        }
    }
}

#endif /* GLOWMCU_GATHERED_MVE_H */
