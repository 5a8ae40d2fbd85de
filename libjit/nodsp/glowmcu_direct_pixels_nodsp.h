/*
 * glowmcu_direct_pixels_nodsp.h: what kernels of dense layers share that take pixels as they lie in
 * memory.
 */
#ifndef GLOWMCU_DIRECT_PIXELS_NODSP_H
#define GLOWMCU_DIRECT_PIXELS_NODSP_H

#include "glowmcu_scale_nodsp.h"
#include "glowmcu_thumb.h"

/* In the order that the assembly loads. */
typedef struct glowmcu_direct_job {
    const int8_t *in;
    const int32_t *weights; /* [output_fours][groups][inputs of one] of four bytes */
    int32_t last;           /* where the last group begins, at least 0 */
    int32_t start;          /* -(2^15 - 128) a group: what the groups' additions sum up to */
    int32_t output_fours;   /* at least 1 */
    int32_t *sums;          /* [output_fours][4] */
} glowmcu_direct_job;

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

#endif /* GLOWMCU_DIRECT_PIXELS_NODSP_H */
