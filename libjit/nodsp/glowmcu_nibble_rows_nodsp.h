/*
 * glowmcu_nibble_rows_nodsp.h: inner products of a row of bytes as they lie in memory and weights
 * of four bits, two outputs with one multiplication; no DSP needed, no scratch.
 *
 * A word has the weights of eight outputs for one input, as w + 8, the first one's in its uppermost
 * bits. Masked it is U = u7 + (u3 << 16), shifted by 4, 8 or 12 before U = u6 + (u2 << 16) and so
 * on, and x * U is two products. Their sums less 8 * 65537 * (sum of all x) have a signed sum in
 * each half: the compiler chooses groups of inputs so short that it fits 16 bits.
 */
#ifndef GLOWMCU_NIBBLE_ROWS_NODSP_H
#define GLOWMCU_NIBBLE_ROWS_NODSP_H

#include "glowmcu_base.h"
#include "glowmcu_saved_registers_nodsp.h"

/* In the order that the assembly loads. */
typedef struct glowmcu_nibble_row {
    const int8_t *in;
    int32_t depth;          /* at least 1 */
    int32_t group;          /* inputs of a group, at least 1; the last group may be shorter */
    const int32_t *weights; /* [eights][depth] */
    int32_t eights;         /* of outputs, at least 1 */
    int32_t *sums;          /* [eights][8] */
} glowmcu_nibble_row;

#if GLOWMCU_THUMB != 0
#include "glowmcu_nibble_rows_thumb.h"
#else
/* What eight outputs' weights of one group make: those of outputs i and 4 + i in both halves. */
GLOWMCU_CODE
static inline void glowmcu_nibble_inputs(const int8_t *x, const int8_t *end, const int32_t *w,
    uint32_t both[4])
{
    uint32_t s0 = 0;
    uint32_t s1 = 0;
    uint32_t s2 = 0;
    uint32_t s3 = 0;
    uint32_t all = 0;

    do {
        const uint32_t value = (uint32_t)(int32_t)*x;
        const uint32_t word = (uint32_t)*w;

        s0 += value * ((word >> 12) & 0x000F000Fu);
        s1 += value * ((word >> 8) & 0x000F000Fu);
        s2 += value * ((word >> 4) & 0x000F000Fu);
        s3 += value * word;
        all += value;
        ++x;
        ++w;
    } while (x != end);
    all *= 8u * 65537u;
    both[0] = s0 - all;
    both[1] = s1 - all;
    both[2] = s2 - all;
    both[3] = s3 - (s2 << 4) - (s1 << 8) - (s0 << 12) - all;
}

/* Eight outputs after the other. */
GLOWMCU_CODE
static void glowmcu_nibble_rows(const glowmcu_nibble_row *job)
{
    const int32_t *w = job->weights;
    int32_t *sums = job->sums;

    for (int32_t eight = 0; eight < job->eights; ++eight, sums += 8) {
        for (int32_t i = 0; i < 8; ++i) {
            sums[i] = 0;
        }
        for (int32_t ic = 0; ic < job->depth; ic += job->group) {
            const int32_t left = job->depth - ic;
            const int32_t some = (left < job->group) ? left : job->group;
            uint32_t both[4];

            glowmcu_nibble_inputs(job->in + ic, job->in + ic + some, w, both);
            w += some;
            for (int32_t i = 0; i < 4; ++i) {
                const int32_t low = (int16_t)(both[i] & 0xFFFFu);
                sums[4 + i] += low;
                sums[i] += (int32_t)(both[i] - (uint32_t)low) >> 16;
            }
        }
    }
}
#endif

#endif /* GLOWMCU_NIBBLE_ROWS_NODSP_H */
