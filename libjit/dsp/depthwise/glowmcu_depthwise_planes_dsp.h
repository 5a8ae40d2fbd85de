/*
 * glowmcu_depthwise_planes_dsp.h: int8 depthwise 3x3 convolution, all rows of a channel at a time,
 * without dilation, for the DSP extension.
 *
 * The rows of glowmcu_depthwise_row.h with weights that are loaded once a channel. The result
 * may share the image's bytes only whole pixels apart, so that what one channel writes no other
 * reads: with padding and stride 1 a row and a pixel below the image. With a depth multiplier it
 * shares none.
 */
#ifndef GLOWMCU_DEPTHWISE_PLANES_DSP_H
#define GLOWMCU_DEPTHWISE_PLANES_DSP_H

#include "glowmcu_depthwise_row.h"

/* Of `rows`: there is a row whose window begins above the image, or ends below it. */
#define GLOWMCU_DEPTHWISE_ABOVE 1
#define GLOWMCU_DEPTHWISE_BELOW 2
/* The number of rows between these, times 2^16. */
#define GLOWMCU_DEPTHWISE_INSIDE 0x10000

/* Rows of results one below the other; `in` is the first row of their windows that is there. */
typedef void (*glowmcu_depthwise_some_rows)(const int8_t *in, int8_t *out,
    const glowmcu_depthwise_row *p, int32_t rows);

/*
 * Output rows [first_row, end_row), fewer than 2^15. Reads the input rows under them, writes only
 * those rows. `in` begins with the first of these input rows, `out` with row first_row.
 */
GLOWMCU_CODE
static void glowmcu_depthwise_planes(const glowmcu_depthwise_row *p, const int8_t *in, int8_t *out,
    int32_t first_row, int32_t end_row, glowmcu_depthwise_some_rows run)
{
    const int32_t end = (end_row - 1) * p->stride_y - p->pad_top + 3;
    const int32_t above = (first_row == 0 && p->pad_top > 0) ? 1 : 0;
    const int32_t below = (end > p->in_height) ? 1 : 0;

    if (first_row < end_row) {
        run(in, out, p,
            (end_row - first_row - above - below) * GLOWMCU_DEPTHWISE_INSIDE
                + above * GLOWMCU_DEPTHWISE_ABOVE + below * GLOWMCU_DEPTHWISE_BELOW);
    }
}

#if !GLOWMCU_HAS_DSP
/* What the assembly computes, row by row. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_portable_planes(const int8_t *in, int8_t *out,
    const glowmcu_depthwise_row *p, int32_t rows, int32_t form, int32_t postshift,
    int32_t multiplier)
{
    const int32_t pitch = p->in_width * (p->channels / multiplier);
    const int32_t out_pitch = p->out_width * p->channels;

    if ((rows & GLOWMCU_DEPTHWISE_ABOVE) != 0) {
        glowmcu_depthwise_portable_row(in, out, p, -1, form, postshift, multiplier);
        in += (p->stride_y - 1) * pitch;
        out += out_pitch;
    }
    for (int32_t left = rows / GLOWMCU_DEPTHWISE_INSIDE; left > 0; --left) {
        glowmcu_depthwise_portable_row(in, out, p, 0, form, postshift, multiplier);
        in += p->stride_y * pitch;
        out += out_pitch;
    }
    if ((rows & GLOWMCU_DEPTHWISE_BELOW) != 0) {
        glowmcu_depthwise_portable_row(in, out, p, 1, form, postshift, multiplier);
    }
}
#endif

#endif /* GLOWMCU_DEPTHWISE_PLANES_DSP_H */
