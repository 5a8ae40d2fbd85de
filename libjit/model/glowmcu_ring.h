/*
 * glowmcu_ring.h: rows of a tensor that is never there as a whole.
 *
 * A ring is an array of rows that ends with the newest one: whoever makes another row first moves
 * the others up, so that every reader finds its rows next to each other.
 */
#ifndef GLOWMCU_RING_H
#define GLOWMCU_RING_H

#include "glowmcu_words.h"

/* The first row under row y, within the image. */
static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_row_under(int32_t y, int32_t stride, int32_t before)
{
    const int32_t first = y * stride - before;
    return (first > 0) ? first : 0;
}

/* Forgets the first `row_bytes` of `kept_bytes` more; all three are multiples of 4. */
GLOWMCU_CODE
static inline void glowmcu_ring_next_words(int8_t *ring, int32_t row_bytes, int32_t kept_bytes)
{
    glowmcu_move_words(ring, ring + row_bytes, kept_bytes);
}

/* The same for any number of bytes. */
GLOWMCU_CODE
static inline void glowmcu_ring_next(int8_t *ring, int32_t row_bytes, int32_t kept_bytes)
{
    for (int32_t i = 0; i < kept_bytes; ++i) {
        ring[i] = ring[row_bytes + i];
    }
}

#endif /* GLOWMCU_RING_H */
