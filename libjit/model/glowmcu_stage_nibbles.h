/*
 * glowmcu_stage_nibbles.h: weights of four bits, two to a byte in flash, unpacked to RAM before.
 *
 * A layer that reads bytes or halves of words finds them in the arena while it runs.
 */
#ifndef GLOWMCU_STAGE_NIBBLES_H
#define GLOWMCU_STAGE_NIBBLES_H

#include <string.h>

#include "glowmcu_base.h"
#include "glowmcu_words.h"

#if GLOWMCU_BIG_ENDIAN
#error "coded weights need a little-endian processor: compile the model without --optimize flash"
#endif

/* The smaller of a count and of how many units of `unit` bytes there are. */
GLOWMCU_CODE
static inline int32_t glowmcu_nibble_count(uint32_t count, int32_t bytes, int32_t unit)
{
    return ((int32_t)count < bytes / unit) ? (int32_t)count : bytes / unit;
}

/*
 * `size_bytes` to `to` from `stored_bytes` at `from`: both pointers and sizes are multiples of 4.
 *
 * Two words first, what nibbles become: word = (nibbles + plus) ^ flip, no sum of which leaves its
 * byte or half. Then a word that counts (literal words | packed words << 16), these, and so on.
 * Whatever the bytes are, nothing beyond the two ranges is read or written.
 */
GLOWMCU_CODE
static inline void glowmcu_unpack_nibbles(int8_t *to, const int8_t *from, int32_t size_bytes,
    int32_t stored_bytes)
{
    const int8_t *const end = to + size_bytes;
    const int8_t *const last = from + stored_bytes;
    uint32_t plus, flip;

    if (stored_bytes < 8) {
        return;
    }
    (void)memcpy(&plus, GLOWMCU_WORD_AT(from), sizeof plus);
    (void)memcpy(&flip, GLOWMCU_WORD_AT(from + 4), sizeof flip);
    from += 8;
    while (to < end && from < last) {
        uint32_t counts;
        int32_t literals, packed;

        (void)memcpy(&counts, GLOWMCU_WORD_AT(from), sizeof counts);
        from += 4;
        literals = glowmcu_nibble_count(counts & 0xFFFFu, (int32_t)(end - to), 4);
        literals = glowmcu_nibble_count((uint32_t)literals, (int32_t)(last - from), 4);
        glowmcu_move_words(to, from, 4 * literals);
        to += 4 * literals;
        from += 4 * literals;
        packed = glowmcu_nibble_count(counts >> 16, (int32_t)(end - to), 8);
        packed = glowmcu_nibble_count((uint32_t)packed, (int32_t)(last - from), 4);
        for (; packed > 0; --packed, from += 4, to += 8) {
            uint32_t word, low, high;
            (void)memcpy(&word, GLOWMCU_WORD_AT(from), sizeof word);
            low = ((word & 0x0F0F0F0Fu) + plus) ^ flip;
            high = (((word >> 4) & 0x0F0F0F0Fu) + plus) ^ flip;
            (void)memcpy(GLOWMCU_WORD_AT(to), &low, sizeof low);
            (void)memcpy(GLOWMCU_WORD_AT(to + 4), &high, sizeof high);
        }
    }
}

/*
 * Parameters of a layer that point to its unpacked weights: the `parameters` are copied to `to`,
 * the `size_bytes` of weights right before that.
 */
GLOWMCU_CODE
GLOWMCU_NEVER_INLINE static const void *glowmcu_staged_nibbles(int8_t *to, const void *parameters,
    size_t parameter_bytes, size_t field, int32_t size_bytes, int32_t stored_bytes)
{
    int8_t *const weights = to - size_bytes;
    const void *const there = weights;
    const void *from;

    (void)memcpy(to, parameters, parameter_bytes);
    (void)memcpy(&from, to + field, sizeof from);
    glowmcu_unpack_nibbles(weights, (const int8_t *)from, size_bytes, stored_bytes);
    (void)memcpy(to + field, &there, sizeof there);
    return to;
}

/* The parameters `p`, a struct of `type` whose member `field` points to the packed weights. */
#define GLOWMCU_STAGED_NIBBLES(to, p, type, field, size_bytes, stored_bytes) \
    ((const type *)glowmcu_staged_nibbles( \
        to, &(p), sizeof(p), offsetof(type, field), size_bytes, stored_bytes))

#endif /* GLOWMCU_STAGE_NIBBLES_H */
