/*
 * glowmcu_direct_outputs_nodsp.h: inner products of two outputs with one multiplication, from bytes
 * as they lie in memory; no DSP needed, no scratch.
 *
 * Weights are those of two outputs in one word: masked, a word of four bytes w + 128 is
 * U = u0 + (u2 << 16) or u1 + (u3 << 16), and x * U is two products. The 128 add 128 * 65537 * X to
 * a group of four inputs, X their sum. That is taken away once a group, and 2^15 - 128 is added:
 * then the low half is 0 to 65,280, for the compiler splits weights so that a group's magnitudes
 * add up to 255 at most. Halves are added to 32 bits.
 *
 * Where inputs are no multiple of four, the last group is the last four inputs, and those that were
 * there before have no weight: nothing beyond the row is read.
 */
#ifndef GLOWMCU_DIRECT_OUTPUTS_NODSP_H
#define GLOWMCU_DIRECT_OUTPUTS_NODSP_H

#include "glowmcu_direct_pixels_nodsp.h"

#if GLOWMCU_THUMB == 2
#include "glowmcu_direct_outputs_armv7m.h"
#elif GLOWMCU_THUMB == 1
#include "glowmcu_direct_outputs_armv6m.h"
#else
/* One group of outputs 0 and 2 (side 0) or 1 and 3, modulo 2^32. */
GLOWMCU_CODE
static inline uint32_t glowmcu_direct_group(const int8_t *x, const int32_t *w, int32_t side)
{
    uint32_t sum = 0;
    uint32_t inputs = 0;

    for (int32_t tap = 0; tap < 4; ++tap) {
        const uint32_t value = (uint32_t)(int32_t)x[tap];

        sum += value * (((uint32_t)w[tap] >> (8 * side)) & 0x00FF00FFu);
        inputs += value;
    }
    return sum - ((inputs * 65537u - 255u) << 7);
}

/* Four outputs after the other; sums are modulo 2^32 until the halves part. */
GLOWMCU_CODE
static void glowmcu_direct_outputs(const glowmcu_direct_job *job)
{
    const int32_t *w = job->weights;

    for (int32_t i = 0; i < 4 * job->output_fours; i += 4) {
        uint32_t all[2] = {(uint32_t)job->start, (uint32_t)job->start};
        int32_t second[2] = {0, 0};

        for (int32_t ic = 0; ic < job->last + 4; ic += 4, w += 4) {
            const int8_t *x = job->in + ((ic < job->last) ? ic : job->last);

            for (int32_t side = 0; side < 2; ++side) {
                const uint32_t sum = glowmcu_direct_group(x, w, side);
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

#endif /* GLOWMCU_DIRECT_OUTPUTS_NODSP_H */
