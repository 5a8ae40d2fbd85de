/*
 * glowmcu_dense_nibbles_nodsp.h: int8 fully connected layers and 1x1 convolutions with weights of
 * four bits, two in a byte, for cores without DSP, from pixels as they lie in memory: no scratch.
 */
#ifndef GLOWMCU_DENSE_NIBBLES_NODSP_H
#define GLOWMCU_DENSE_NIBBLES_NODSP_H

#include "glowmcu_nibble_rows_nodsp.h"
#include "glowmcu_scale_nodsp.h"

/* Outputs whose sums are on the stack at a time. */
#define GLOWMCU_NIBBLE_BLOCK 16

typedef struct {
    int32_t row_pixels; /* 1 in fully connected layers */
    int32_t depth_in;
    int32_t depth_out;
    int32_t group; /* inputs, a multiple of four */
    const int32_t *weights;
    glowmcu_scale scale;
} glowmcu_nibbles_direct;

/* All outputs of one pixel. */
GLOWMCU_CODE
static void glowmcu_nibbles_pixel(const glowmcu_nibbles_direct *p, const int8_t *in, int8_t *out)
{
    glowmcu_scale scale = p->scale;
    int32_t sums[GLOWMCU_NIBBLE_BLOCK];
    glowmcu_nibble_row job;

    job.in = in;
    job.depth = p->depth_in;
    job.group = p->group;
    job.weights = p->weights;
    job.sums = sums;
    for (int32_t i = 0; i < p->depth_out; i += GLOWMCU_NIBBLE_BLOCK) {
        const int32_t left = p->depth_out - i;
        const int32_t count = (left < GLOWMCU_NIBBLE_BLOCK) ? left : GLOWMCU_NIBBLE_BLOCK;

        job.eights = (count + 7) >> 3;
        glowmcu_nibble_rows(&job);
        glowmcu_scale_sums(&scale, sums, 1, out + i, count);
        job.weights += p->depth_in * job.eights;
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
static void glowmcu_nibbles_direct_s8(const glowmcu_nibbles_direct *p, const int8_t *in,
    int8_t *out, int32_t first_row, int32_t end_row)
{
    for (int32_t left = (end_row - first_row) * p->row_pixels; left > 0; --left) {
        glowmcu_nibbles_pixel(p, in, out);
        in += p->depth_in;
        out += p->depth_out;
    }
}

#endif /* GLOWMCU_DENSE_NIBBLES_NODSP_H */
