/*
 * glowmcu_dense_nibbles.h: weights of four bits in a stream of glowmcu_dense_stream.h.
 *
 * A word has the weights w0 to w3 of four channels for two inputs, a half for each:
 *   4096 * w3 + 256 * (w2 + 8) + 16 * (w1 + 8) + (w0 + 8)
 * Its products are summed as they are, and those of what an AND leaves of it: 256 * (w2 + 8),
 * 16 * (w1 + 8), w0 + 8. In the end differences give each channel's sum; 8 times all inputs, the
 * `offset`, is in three of them. The stream is otherwise that of wide weights; what the four sums
 * of a group start from is scaled as they are.
 */
#ifndef GLOWMCU_DENSE_NIBBLES_H
#define GLOWMCU_DENSE_NIBBLES_H

#include "glowmcu_dense_stream.h"

#if !GLOWMCU_HAS_DSP
/* Two inputs with the weights of four channels on top of the sums of their parts. */
GLOWMCU_CODE
static inline void glowmcu_nibbles_add(uint32_t x, uint32_t weights, int32_t sums[4])
{
    sums[0] = glowmcu_smlad(x, weights & 0x000F000Fu, sums[0]);
    sums[1] = glowmcu_smlad(x, weights & 0x00F000F0u, sums[1]);
    sums[2] = glowmcu_smlad(x, weights & 0x0F000F00u, sums[2]);
    sums[3] = glowmcu_smlad(x, weights, sums[3]);
}

/* The sums of a group of channels from those of its parts. */
GLOWMCU_CODE
static inline void glowmcu_nibbles_part(int32_t sums[4], int32_t offset)
{
    const uint32_t parts = (uint32_t)sums[0] + (uint32_t)sums[1] + (uint32_t)sums[2];

    sums[3] = (int32_t)((uint32_t)sums[3] - parts) >> 12;
    sums[2] = glowmcu_wrapping_add(sums[2] >> 8, -offset);
    sums[1] = glowmcu_wrapping_add(sums[1] >> 4, -offset);
    sums[0] = glowmcu_wrapping_add(sums[0], -offset);
}
#endif

#endif /* GLOWMCU_DENSE_NIBBLES_H */
