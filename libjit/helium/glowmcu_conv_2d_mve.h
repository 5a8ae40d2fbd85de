/*
 * glowmcu_conv_2d_mve.h: int8 convolutions as products with a packed matrix: windows are gathered
 * into rows, two at a time.
 */
#ifndef GLOWMCU_CONV_2D_MVE_H
#define GLOWMCU_CONV_2D_MVE_H

#include "glowmcu_gathered_mve.h"

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 * `scratch`: 2 * matrix.depth bytes; what is beyond a window meets weights of 0.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_mve_s8(const glowmcu_conv_2d_mve *p, const int8_t *in, int8_t *out,
    int8_t *scratch, int32_t first_row, int32_t end_row)
{
    const int32_t reach = (p->kernel_height - 1) * p->dilation_y; /* from first to last line */
    const int32_t most_left = (p->parts == 1) ? p->line_bytes - p->part_bytes : -1;
    const int32_t in_top = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);
    const int32_t line_step = p->dilation_y * p->line_bytes;
    const int32_t step_bytes = p->step_bytes;
    int8_t *row = scratch;

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const int32_t top = oy * p->stride_y - p->pad_top;
        const int is_high = (top >= 0 && top + reach < p->in_height) ? 1 : 0;
        const int32_t line = (top - in_top) * p->line_bytes;
        const int32_t last_left = (is_high != 0) ? most_left : -1;
        int32_t left = -p->pad_bytes;
        for (int32_t ox = p->out_width; ox > 0; --ox) {
            if (left >= 0 && left <= last_left) {
                glowmcu_mve_copy_rows(row, in + line + left, p->part_bytes, line_step,
                    p->kernel_height);
            } else {
                glowmcu_conv_2d_mve_window(p, in, in_top, top, left, row);
            }
            left += step_bytes;
            if (row == scratch) {
                row += p->matrix.depth;
            } else {
                glowmcu_matrix_mve_pair(&p->matrix, scratch, out);
                out += 2 * p->matrix.channels;
                row = scratch;
            }
        }
    }
    if (row != scratch) {
        glowmcu_matrix_mve_single(&p->matrix, scratch, out);
    }
}

#endif /* GLOWMCU_CONV_2D_MVE_H */
