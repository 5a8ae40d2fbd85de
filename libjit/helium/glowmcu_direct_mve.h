/*
 * glowmcu_direct_mve.h: int8 convolutions and matrix products, four channels of two windows at a
 * time, whose rows are read where they lie: in the image or, where that has to be padded or does
 * not end in whole vectors, in scratch, into which each row under the windows is copied once.
 */
#ifndef GLOWMCU_DIRECT_MVE_H
#define GLOWMCU_DIRECT_MVE_H

#include "glowmcu_direct_rows_mve.h"

/* `count` windows from `in` on; the last ones by way of `scratch`. */
GLOWMCU_CODE
static inline void glowmcu_direct_mve_one_row(const glowmcu_direct_mve *p,
    glowmcu_direct_mve_windows windows, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t count)
{
    const int32_t last = (p->copied < count) ? p->copied : count;
    const int32_t first = count - last;

    if (first > 0) {
        windows(p, in, out, first);
    }
    if (last > 0) {
        glowmcu_mve_copy(scratch, in + first * p->apart, last * p->apart);
        windows(p, scratch, out + first * p->channels, last);
    }
}

/*
 * Output rows [first_row, end_row) by `windows`. Reads the input rows under them, writes only those
 * rows. `in` begins with the first of these input rows, `out` with row first_row. Results may
 * overwrite input that nothing reads any more.
 * `scratch`: kernel_height rows of row_bytes, or copied windows, and 15 bytes that meet weights
 * of 0.
 */
GLOWMCU_CODE
static void glowmcu_direct_mve_rows(const glowmcu_direct_mve *p,
    glowmcu_direct_mve_windows windows, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    if (p->is_one_row != 0) {
        glowmcu_direct_mve_one_row(p, windows, in, out, scratch,
            (end_row - first_row) * p->out_width);
        return;
    }
    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const int8_t *row = in + (oy - first_row) * p->stride_y * p->line_bytes;
        if (p->row_bytes != 0) {
            glowmcu_direct_mve_advance(p, in, first_row, oy, scratch);
            row = scratch;
        }
        windows(p, row, out, p->out_width);
        out += p->out_width * p->channels;
    }
}

#endif /* GLOWMCU_DIRECT_MVE_H */
