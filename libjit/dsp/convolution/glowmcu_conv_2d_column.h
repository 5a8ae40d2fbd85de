/*
 * glowmcu_conv_2d_column.h: int8 convolution with one column of results, whose windows are as wide
 * as the image: each is a row of a fully connected layer.
 *
 * Rows follow each other in memory, so a window without dilation lies there as it is needed. What
 * reaches outside the image, or is dilated, is gathered first.
 */
#ifndef GLOWMCU_CONV_2D_COLUMN_H
#define GLOWMCU_CONV_2D_COLUMN_H

#include "glowmcu_fully_connected_direct_dsp.h"

typedef struct {
    glowmcu_fully_connected_direct dense; /* of a window */
    int32_t in_rows;
    int32_t in_row; /* bytes */
    int32_t in_zero_point;
    int32_t kernel_rows;
    int32_t dilation;
    int32_t stride;
    int32_t pad_top;
} glowmcu_conv_2d_column;

/* The rows under row `top`, one `dilation` after the other; `in` begins with row `first`. */
GLOWMCU_CODE
static void glowmcu_conv_2d_column_gather(
    const glowmcu_conv_2d_column *p, const int8_t *in, int32_t first, int32_t top, int8_t *window)
{
    int32_t row = top;

    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (row >= 0 && row < p->in_rows) {
            (void)memcpy(window, in + (row - first) * p->in_row, (size_t)p->in_row);
        } else {
            (void)memset(window, (int)p->in_zero_point, (size_t)p->in_row);
        }
        window += p->in_row;
        row += p->dilation;
    }
}

/*
 * Rows [first_row, end_row) of the result. `in` begins with the first row of the image that these
 * are made of. `scratch` has room for a window, where one is gathered.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_column_rows(const glowmcu_conv_2d_column *p,
    glowmcu_direct_row one, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    const int32_t begin = first_row * p->stride - p->pad_top;
    const int32_t first = (begin < 0) ? 0 : (begin < p->in_rows) ? begin : p->in_rows;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const int32_t top = oy * p->stride - p->pad_top;
        const int8_t *window = scratch;

        if (top >= 0 && p->dilation == 1 && top + p->kernel_rows <= p->in_rows) {
            window = in + (top - first) * p->in_row;
        } else {
            glowmcu_conv_2d_column_gather(p, in, first, top, scratch);
        }
        glowmcu_direct_rows(&p->dense, one, window, out, 0, 1);
        out += p->dense.depth_out;
    }
}

#endif /* GLOWMCU_CONV_2D_COLUMN_H */
