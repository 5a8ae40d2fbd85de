/*
 * glowmcu_dense_direct_nodsp.h: int8 fully connected layers and 1x1 convolutions for cores without
 * DSP, from pixels as they lie in memory: no scratch.
 */
#ifndef GLOWMCU_DENSE_DIRECT_NODSP_H
#define GLOWMCU_DENSE_DIRECT_NODSP_H

#include "glowmcu_direct_outputs_nodsp.h"
#include "glowmcu_scale_nodsp.h"

/* Outputs whose sums are on the stack at a time. */
#define GLOWMCU_DIRECT_BLOCK 16

typedef struct {
    int32_t row_pixels; /* 1 in fully connected layers */
    int32_t depth_in; /* at least 4 */
    int32_t depth_out;
    const int32_t *weights;
    const int32_t *extras;
    glowmcu_scale scale;
} glowmcu_dense_direct;

/*
 * Parts of weights that would not fit their group: output in bits 20 to 31, input in bits 8 to 19,
 * a signed weight in bits 0 to 7; in ascending order. Adds those below `limit` to the sums of their
 * block and returns what follows; the last word is above all limits.
 */
GLOWMCU_CODE
static const int32_t *glowmcu_direct_extras(const int32_t *extra, uint32_t limit,
    const int8_t *in, int32_t sums[GLOWMCU_DIRECT_BLOCK])
{
    uint32_t bits = (uint32_t)*extra;

    while (bits < limit) {
        sums[(bits >> 20) & 15u] += in[(bits >> 8) & 0xFFFu] * (int8_t)(bits & 0xFFu);
        ++extra;
        bits = (uint32_t)*extra;
    }
    return extra;
}

/* All outputs of one pixel. */
GLOWMCU_CODE
static void glowmcu_dense_direct_pixel(const glowmcu_dense_direct *p, const int8_t *in,
    int8_t *out)
{
    const int32_t groups = (p->depth_in + 3) >> 2;
    const int32_t *extra = p->extras;
    glowmcu_scale scale = p->scale;
    int32_t sums[GLOWMCU_DIRECT_BLOCK];
    glowmcu_direct_job job;

    job.in = in;
    job.weights = p->weights;
    job.last = p->depth_in - 4;
    job.start = -(groups * 32640);
    job.sums = sums;
    for (int32_t i = 0; i < p->depth_out; i += GLOWMCU_DIRECT_BLOCK) {
        const int32_t left = p->depth_out - i;
        const int32_t count = (left < GLOWMCU_DIRECT_BLOCK) ? left : GLOWMCU_DIRECT_BLOCK;

        job.output_fours = (count + 3) >> 2;
        glowmcu_direct_outputs(&job);
        extra = glowmcu_direct_extras(extra, (uint32_t)(i + count) << 20, in, sums);
        glowmcu_scale_sums(&scale, sums, 1, out + i, count);
        job.weights += 4 * groups * job.output_fours;
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
static void glowmcu_dense_direct_s8(const glowmcu_dense_direct *p, const int8_t *in, int8_t *out,
    int32_t first_row, int32_t end_row)
{
    for (int32_t left = (end_row - first_row) * p->row_pixels; left > 0; --left) {
        glowmcu_dense_direct_pixel(p, in, out);
        in += p->depth_in;
        out += p->depth_out;
    }
}

#endif /* GLOWMCU_DENSE_DIRECT_NODSP_H */
