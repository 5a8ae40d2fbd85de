/*
 * glowmcu_conv_2d_nibbles_mve.h: int8 convolutions as products with a packed matrix of weights of
 * four bits: each window is gathered into a row.
 */
#ifndef GLOWMCU_CONV_2D_NIBBLES_MVE_H
#define GLOWMCU_CONV_2D_NIBBLES_MVE_H

#include "glowmcu_gathered_mve.h"
#include "glowmcu_matrix_nibbles_mve.h"

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more.
 * `scratch`: matrix.depth bytes; what is beyond a window meets weights of 0.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_nibbles_mve_s8(const glowmcu_conv_2d_mve *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    const int32_t in_top = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        int32_t left = -p->pad_bytes;
        for (int32_t ox = p->out_width; ox > 0; --ox) {
            glowmcu_conv_2d_mve_window(p, in, in_top, oy * p->stride_y - p->pad_top, left, scratch);
            glowmcu_matrix_nibbles_mve_row(&p->matrix, scratch, out);
            left += p->step_bytes;
            out += p->matrix.channels;
        }
    }
}

#endif /* GLOWMCU_CONV_2D_NIBBLES_MVE_H */
