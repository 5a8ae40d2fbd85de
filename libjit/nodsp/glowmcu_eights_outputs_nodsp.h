/*
 * glowmcu_eights_outputs_nodsp.h: sums of four outputs after the other in groups of eight inputs,
 * where weights are small enough; inputs are whole groups, 4-byte aligned.
 */
#ifndef GLOWMCU_EIGHTS_OUTPUTS_NODSP_H
#define GLOWMCU_EIGHTS_OUTPUTS_NODSP_H

#include "glowmcu_direct_pixels_nodsp.h"

#if GLOWMCU_THUMB == 1
#include "glowmcu_eights_outputs_armv6m.h"
#else
/* Four outputs after the other; sums are modulo 2^32 until the halves part. */
GLOWMCU_CODE
static void glowmcu_eights_outputs(const glowmcu_direct_job *job)
{
    const int32_t *w = job->weights;

    for (int32_t i = 0; i < 4 * job->output_fours; i += 4) {
        uint32_t all[2] = {(uint32_t)job->start, (uint32_t)job->start};
        int32_t second[2] = {0, 0};

        for (int32_t ic = 0; ic <= job->last; ic += 8, w += 8) {
            uint32_t sums[2] = {0, 0};
            uint32_t inputs = 0;

            for (int32_t tap = 0; tap < 8; ++tap) {
                const uint32_t value = (uint32_t)(int32_t)job->in[ic + tap];

                sums[0] += value * ((uint32_t)w[tap] & 0x00FF00FFu);
                sums[1] += value * (((uint32_t)w[tap] >> 8) & 0x00FF00FFu);
                inputs += value;
            }
            for (int32_t side = 0; side < 2; ++side) {
                const uint32_t sum = sums[side] - ((inputs * 65537u - 255u) << 7);
                all[side] += sum;
                second[side] += (int32_t)sum >> 16;
            }
        }
        for (int32_t side = 0; side < 2; ++side) {
            job->sums[i + side] = (int32_t)(all[side] - ((uint32_t)second[side] << 16));
            job->sums[i + side + 2] = second[side];
        }
    }
}
#endif

#endif /* GLOWMCU_EIGHTS_OUTPUTS_NODSP_H */
