/*
 * glowmcu_conv_2d_pointwise.h: 1x1 convolution of whole rows, by pairs of pixels.
 */
#ifndef GLOWMCU_CONV_2D_POINTWISE_H
#define GLOWMCU_CONV_2D_POINTWISE_H

#include "glowmcu_pointwise_pairs.h"

/*
 * Output rows [first_row, end_row). Reads the input rows under them, writes only those rows.
 * `in` begins with the first of these input rows, `out` with row first_row. Results may overwrite
 * input that nothing reads any more. Of evenly spaced pixels an odd last one is computed twice at
 * once.
 */
GLOWMCU_CODE
static void glowmcu_conv_2d_pointwise_rows(const glowmcu_conv_2d_pointwise *p,
    glowmcu_pointwise_pairs pairs, const int8_t *in, int8_t *out, int8_t *scratch,
    int32_t first_row, int32_t end_row)
{
    const int32_t pixels = (end_row - first_row) * p->out_width;
    const int32_t count = (p->is_dense != 0) ? pixels : p->out_width;
    glowmcu_pointwise_run run;

    run.scratch = (uint32_t *)(void *)scratch;
    for (int32_t done = 0; done < pixels; done += count, in += p->in_row) {
        run.in = in;
        run.in_step = p->in_step;
        run.out = out;
        run.out_step = p->depth_out;
        run.pairs = count >> 1;
        if (run.pairs > 0) {
            pairs(p, &run);
        }
        if ((count & 1) != 0) {
            run.pairs = 1;
            run.in = in + (count - 1) * p->in_step;
            run.in_step = 0;
            run.out = out + (count - 1) * p->depth_out;
            run.out_step = 0;
            pairs(p, &run);
        }
        out += count * p->depth_out;
    }
    glowmcu_dense_clamp(
        out - pixels * p->depth_out, pixels * p->depth_out, p->clamp_min, p->clamp_max);
}

#endif /* GLOWMCU_CONV_2D_POINTWISE_H */
