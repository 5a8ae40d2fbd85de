/*
 * glowmcu_stage_entropy.h: weights as a prefix code in flash, decoded to RAM before.
 *
 * Frequent bytes take few bits. The layer finds its weights in the arena while it runs.
 */
#ifndef GLOWMCU_STAGE_ENTROPY_H
#define GLOWMCU_STAGE_ENTROPY_H

#include <string.h>

#include "glowmcu_base.h"
#include "glowmcu_words.h"

#if GLOWMCU_BIG_ENDIAN
#error "coded weights need a little-endian processor: compile the model without --optimize flash"
#endif

/* A halfword of which the compiler knows that it is aligned. */
GLOWMCU_CODE
static inline uint32_t glowmcu_entropy_half(const int8_t *at)
{
    uint16_t half;

#if defined(__GNUC__) || defined(__clang__)
    (void)memcpy(&half, __builtin_assume_aligned(at, 2), sizeof half);
#else
    (void)memcpy(&half, at, sizeof half);
#endif
    return half;
}

/*
 * `size_bytes` to `to` from `stored_bytes` at `from`: both pointers and sizes are multiples of 4.
 *
 * A word T in 1..7, then 2^T halfwords, one for each T bits that may come next: (base << 8) |
 * (32 - n), where a byte is the next n bits, 1 to 16, + base; then the codes in halfwords, first
 * bit highest. Whatever the bytes are, nothing beyond the two ranges is read or written.
 */
GLOWMCU_CODE
static inline void glowmcu_decode_entropy(int8_t *to, const int8_t *from, int32_t size_bytes,
    int32_t stored_bytes)
{
    const int8_t *const end = to + size_bytes;
    const int8_t *const last = from + stored_bytes;
    const int8_t *const table = from + 4;
    uint32_t bits, window;
    int32_t spare = 16; /* the window has 16 + spare bits that are true */

    if (stored_bytes < 4) {
        return;
    }
    (void)memcpy(&bits, GLOWMCU_WORD_AT(from), sizeof bits);
    if (bits < 1u || bits > 7u || stored_bytes < 8 + ((int32_t)2 << bits)) {
        return;
    }
    from = table + ((int32_t)2 << bits);
    window = (glowmcu_entropy_half(from) << 16) | glowmcu_entropy_half(from + 2);
    from += 4;
    for (bits = 32u - bits; to < end; ++to) {
        const uint32_t entry = glowmcu_entropy_half(table + 2u * (window >> bits));
        const uint32_t rest = (entry & 15u) + 16u; /* 32 - n */

        *to = (int8_t)(uint8_t)((window >> rest) + (entry >> 8));
        window <<= 32u - rest;
        spare -= 32 - (int32_t)rest;
        if (spare < 0) {
            if (from < last) {
                window |= glowmcu_entropy_half(from) << -spare;
                from += 2;
            }
            spare += 16;
        }
    }
}

/*
 * Parameters of a layer that point to its decoded weights: the `parameters` are copied to `to`,
 * the `size_bytes` of weights right before that.
 */
GLOWMCU_CODE
GLOWMCU_NEVER_INLINE static const void *glowmcu_staged_entropy(int8_t *to, const void *parameters,
    size_t parameter_bytes, size_t field, int32_t size_bytes, int32_t stored_bytes)
{
    int8_t *const weights = to - size_bytes;
    const void *const there = weights;
    const void *from;

    (void)memcpy(to, parameters, parameter_bytes);
    (void)memcpy(&from, to + field, sizeof from);
    glowmcu_decode_entropy(weights, (const int8_t *)from, size_bytes, stored_bytes);
    (void)memcpy(to + field, &there, sizeof there);
    return to;
}

/* The parameters `p`, a struct of `type` whose member `field` points to the coded weights. */
#define GLOWMCU_STAGED_ENTROPY(to, p, type, field, size_bytes, stored_bytes) \
    ((const type *)glowmcu_staged_entropy( \
        to, &(p), sizeof(p), offsetof(type, field), size_bytes, stored_bytes))

#endif /* GLOWMCU_STAGE_ENTROPY_H */
