/*
 * glowmcu_fully_connected_nodsp.h: int8 fully connected layers for cores without DSP.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_NODSP_H
#define GLOWMCU_FULLY_CONNECTED_NODSP_H

#include "glowmcu_output_pairs_nodsp.h"
#include "glowmcu_scale_nodsp.h"

typedef struct {
    int32_t rows;
    int32_t depth_in;
    int32_t depth_out;
    int32_t groups; /* of four elements */
    int32_t extra_count;
    const int32_t *weights;
    const int32_t *extras;
    glowmcu_scale scale;
} glowmcu_fully_connected_pairs;

/*
 * `in` is [rows][depth_in], `out` [rows][depth_out]; they may not overlap.
 * scratch: [5 * groups words][depth_out words, in fours], 4-byte aligned.
 */
GLOWMCU_CODE
static void glowmcu_fully_connected_pairs_s8(const glowmcu_fully_connected_pairs *p,
    const int8_t *in, int8_t *out, int8_t *scratch)
{
    uint32_t *stream = (uint32_t *)(void *)scratch;
    glowmcu_output_job job;

    job.stream = stream;
    job.weights = p->weights;
    job.groups = p->groups;
    job.output_fours = (p->depth_out + 3) >> 2;
    job.sums = (int32_t *)(void *)(stream + 5 * p->groups);
    for (int32_t row = 0; row < p->rows; ++row) {
        glowmcu_output_stream(in, p->depth_in, stream);
        glowmcu_output_pairs(&job);
        if (p->extra_count > 0) {
            glowmcu_output_extras(p->extras, p->extra_count, stream, job.sums);
        }
        glowmcu_scale_sums(&p->scale, job.sums, 1, out, p->depth_out);
        in += p->depth_in;
        out += p->depth_out;
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_NODSP_H */
