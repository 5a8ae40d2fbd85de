/*
 * glowmcu_dense_eights_nodsp.h: int8 fully connected layers and 1x1 convolutions for cores without
 * DSP, from pixels of whole words as they lie in memory, groups of eight inputs: no scratch.
 */
#ifndef GLOWMCU_DENSE_EIGHTS_NODSP_H
#define GLOWMCU_DENSE_EIGHTS_NODSP_H

#include "glowmcu_eights_outputs_nodsp.h"

/* All outputs of one pixel. */
GLOWMCU_CODE
static void glowmcu_dense_eights_pixel(const glowmcu_dense_direct *p, const int8_t *in,
    int8_t *out)
{
    const int32_t groups = p->depth_in >> 3;
    const int32_t *extra = p->extras;
    glowmcu_scale scale = p->scale;
    int32_t sums[GLOWMCU_DIRECT_BLOCK];
    glowmcu_direct_job job;

    job.in = in;
    job.weights = p->weights;
    job.last = p->depth_in - 8;
    job.start = -(groups * 32640);
    job.sums = sums;
    for (int32_t i = 0; i < p->depth_out; i += GLOWMCU_DIRECT_BLOCK) {
        const int32_t left = p->depth_out - i;
        const int32_t count = (left < GLOWMCU_DIRECT_BLOCK) ? left : GLOWMCU_DIRECT_BLOCK;

        job.output_fours = (count + 3) >> 2;
        glowmcu_eights_outputs(&job);
        extra = glowmcu_direct_extras(extra, (uint32_t)(i + count) << 20, in, sums);
        glowmcu_scale_sums(&scale, sums, 1, out + i, count);
        job.weights += p->depth_in * job.output_fours;
        scale.starts += count;
        scale.factors += count * scale.factor_step;
    }
}

/*
 * Rows [first_row, end_row) of the tensors; `in`, [][row_pixels][depth_in], and `out`,
 * [][row_pixels][depth_out], begin with row first_row. Results may overwrite pixels before the one
 * that is read; the last 16 or less of a pixel this one, too: they are written when all was read.
 */
GLOWMCU_CODE
static void glowmcu_dense_eights_s8(const glowmcu_dense_direct *p, const int8_t *in, int8_t *out,
    int32_t first_row, int32_t end_row)
{
    for (int32_t left = (end_row - first_row) * p->row_pixels; left > 0; --left) {
        glowmcu_dense_eights_pixel(p, in, out);
        in += p->depth_in;
        out += p->depth_out;
    }
}

#endif /* GLOWMCU_DENSE_EIGHTS_NODSP_H */
