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

/* Codes that come: the next bits, 16 + spare of which are true, then halfwords to `last`. */
typedef struct {
    const int8_t *from;
    const int8_t *last;
    uint32_t window;
    int32_t spare;
} glowmcu_entropy_codes;

/* Bytes from `to` to `end` by a table of 2^(32 - table_rest) entries. */
GLOWMCU_CODE
GLOWMCU_NEVER_INLINE static void glowmcu_entropy_run(glowmcu_entropy_codes *codes,
    const int8_t *table, uint32_t table_rest, int8_t *to, const int8_t *end)
{
    const int8_t *const last = codes->last;
    const int8_t *from = codes->from;
    uint32_t window = codes->window;
    int32_t spare = codes->spare;

    for (; to < end; ++to) {
        const uint32_t entry = glowmcu_entropy_half(table + 2u * (window >> table_rest));
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
    codes->from = from;
    codes->window = window;
    codes->spare = spare;
}

/*
 * `size_bytes` to `to` from `stored_bytes` at `from`: both pointers and sizes are multiples of 4.
 *
 * Runs of words have the table of kind 0 and of kind 1 in turns. A word holds
 * T0 | T1 << 8 | runs << 16, T in 1..7; then come the runs' lengths in words, less 1, as halfwords,
 * in whole words: after the last one the first comes again, and none is one run of kind 0; then
 * 2^T0 halfwords and, where there are runs, 2^T1 more, one for each T bits that may come next:
 * (base << 8) | (32 - n), where a byte is the next n bits, 1 to 16, + base; then the codes in
 * halfwords, first bit highest. Whatever the bytes are, nothing beyond the two ranges is read or
 * written, and each run has a word.
 */
GLOWMCU_CODE
static inline void glowmcu_decode_entropy(int8_t *to, const int8_t *from, int32_t size_bytes,
    int32_t stored_bytes)
{
    const int8_t *const end = to + size_bytes;
    const int8_t *const lengths = from + 4;
    glowmcu_entropy_codes codes;
    const int8_t *tables[2];
    uint32_t bits[2];
    uint32_t head, runs, run = 0u;
    int32_t first, second, start; /* bytes before the tables and the codes */

    if (stored_bytes < 4) {
        return;
    }
    (void)memcpy(&head, GLOWMCU_WORD_AT(from), sizeof head);
    runs = head >> 16;
    bits[0] = head & 0xFFu;
    bits[1] = (head >> 8) & 0xFFu;
    if (bits[0] < 1u || bits[0] > 7u || bits[1] > 7u || (runs > 0u && bits[1] < 1u)) {
        return;
    }
    first = 4 + 4 * (int32_t)((runs + 1u) >> 1);
    second = first + ((int32_t)2 << bits[0]);
    start = second + ((runs > 0u) ? (int32_t)2 << bits[1] : 0);
    if (stored_bytes - start < 4) {
        return;
    }
    tables[0] = from + first;
    tables[1] = from + second;
    codes.last = from + stored_bytes;
    codes.from = from + start + 4;
    codes.window = (glowmcu_entropy_half(from + start) << 16)
        | glowmcu_entropy_half(from + start + 2);
    codes.spare = 16;
    while (to < end) {
        const uint32_t kind = run & 1u;
        int32_t size = (int32_t)(end - to);

        if (runs > 0u) {
            const int32_t length = 4 * (int32_t)glowmcu_entropy_half(lengths + 2u * run) + 4;

            size = (length < size) ? length : size;
            run = (run + 1u < runs) ? run + 1u : 0u;
        }
        glowmcu_entropy_run(&codes, tables[kind], 32u - bits[kind], to, to + size);
        to += size;
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
