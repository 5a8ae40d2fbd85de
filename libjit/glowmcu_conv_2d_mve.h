/*
 * glowmcu_conv_2d_mve.h: int8 convolutions as products with a packed matrix: windows are gathered into
 * rows, two at a time.
 */
#ifndef GLOWMCU_CONV_2D_MVE_H
#define GLOWMCU_CONV_2D_MVE_H

#include "glowmcu_matrix_mve.h"

typedef struct {
    glowmcu_matrix_mve matrix;
    int32_t in_height;
    int32_t in_width;
    int32_t out_width;
    int32_t kernel_height;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t pixel;         /* bytes of an input pixel: its channels */
    int32_t parts;         /* of a kernel row: 1, or with dilation one a tap */
    int32_t part_pixels;   /* pixels of a part */
    int32_t in_zero_point; /* what pixels outside the image hold */
} glowmcu_conv_2d_mve;

/* The window of output pixel (oy, ox) as kernel_height * parts * part_pixels * pixel bytes. */
static inline void glowmcu_conv_2d_mve_window(const glowmcu_conv_2d_mve *p, const int8_t *in,
    int32_t oy, int32_t ox, int8_t *row)
{
    const int32_t part_bytes = p->part_pixels * p->pixel;
    const int32_t image_row = p->in_width * p->pixel;
    const int32_t left = (ox * p->stride_x - p->pad_left) * p->pixel;
    int32_t iy = oy * p->stride_y - p->pad_top;

    for (int32_t ky = 0; ky < p->kernel_height; ++ky, iy += p->dilation_y) {
        const int is_inside = iy >= 0 && iy < p->in_height;
        int32_t start = left;
        for (int32_t part = 0; part < p->parts; ++part) {
            const int32_t end = start + part_bytes;
            if (is_inside && start >= 0 && end <= image_row) {
                glowmcu_mve_copy(row, in + iy * image_row + start, part_bytes);
            } else {
                const int32_t first = (start > 0) ? start : 0;
                const int32_t last = (end < image_row) ? end : image_row;
                glowmcu_mve_fill(row, p->in_zero_point, part_bytes);
                if (is_inside && first < last) {
                    glowmcu_mve_copy(row + (first - start), in + iy * image_row + first,
                        last - first);
                }
            }
            row += part_bytes;
            start += p->dilation_x * p->pixel;
        }
    }
}

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows; `in` and
 * `out` are the tensors' first bytes and may not overlap. `scratch`: 2 * matrix.depth bytes; what is
 * beyond a window meets weights of 0.
 */
static void glowmcu_conv_2d_mve_s8(const glowmcu_conv_2d_mve *p, const int8_t *in, int8_t *out,
    int8_t *scratch, int32_t first_row, int32_t end_row)
{
    int32_t waiting = 0;

    out += first_row * p->out_width * p->matrix.channels;
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        for (int32_t ox = 0; ox < p->out_width; ++ox) {
            glowmcu_conv_2d_mve_window(p, in, oy, ox, scratch + waiting * p->matrix.depth);
            if (++waiting == 2) {
                glowmcu_matrix_mve_pair(&p->matrix, scratch, out);
                out += 2 * p->matrix.channels;
                waiting = 0;
            }
        }
    }
    if (waiting > 0) {
        glowmcu_matrix_mve_single(&p->matrix, scratch, out);
    }
}

#endif /* GLOWMCU_CONV_2D_MVE_H */
