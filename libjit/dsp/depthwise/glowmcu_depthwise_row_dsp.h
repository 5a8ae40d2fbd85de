/*
 * glowmcu_depthwise_row_dsp.h: int8 depthwise 3x3 convolution, an output row at a time, without
 * dilation, for the DSP extension.
 *
 * Channel by channel along the row, straight from the image's bytes: no scratch and little to set
 * up, so that single rows cost hardly more than whole layers.
 */
#ifndef GLOWMCU_DEPTHWISE_ROW_DSP_H
#define GLOWMCU_DEPTHWISE_ROW_DSP_H

#include "glowmcu_depthwise_row.h"

/*
 * One output row. `in` is the first row of its window that is inside the image; one row may be
 * outside: the first (missing < 0) or the last one (missing > 0).
 */
typedef void (*glowmcu_depthwise_one_row)(const int8_t *in, int8_t *out,
    const glowmcu_depthwise_row *p, int32_t missing);

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, of `pitch` bytes each, `out` with row first_row.
 * Results may overwrite input rows above those of the row that is computed.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_row_by_row(const glowmcu_depthwise_row *p, const int8_t *in,
    int8_t *out, int32_t first_row, int32_t end_row, int32_t pitch, glowmcu_depthwise_one_row run)
{
    int32_t in_row = glowmcu_first_input_row(first_row, p->stride_y, p->pad_top);

    for (int32_t oy = first_row; oy < end_row; ++oy) {
        const int32_t top = oy * p->stride_y - p->pad_top;
        if (top > in_row) {
            in += (top - in_row) * pitch;
            in_row = top;
        }
        run(in, out, p, (top < 0) ? -1 : (int32_t)(top + 3 > p->in_height));
        out += p->out_width * p->channels;
    }
}

#endif /* GLOWMCU_DEPTHWISE_ROW_DSP_H */
