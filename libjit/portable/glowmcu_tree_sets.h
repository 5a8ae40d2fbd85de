/*
 * glowmcu_tree_sets.h: sets of categories as bits, and codes of categories, for trees.
 */
#ifndef GLOWMCU_TREE_SETS_H
#define GLOWMCU_TREE_SETS_H

#include "glowmcu_tree_bytes.h"

/* 1 if a code of 8 bits is in `set`: its least code, bytes of bits from that code on, and these. */
GLOWMCU_CODE
static inline uint32_t glowmcu_tree_has(const uint8_t *set, uint32_t code)
{
    const uint32_t place = (code - set[0]) & 0xFFu; /* what is below is far behind all bits */
    const uint32_t byte = place >> 3;

    return (byte < set[1]) ? ((uint32_t)set[2u + byte] >> (place & 7u)) & 1u : 0u;
}

/* The same of 16 bits, whose least code has two bytes, the low one first. */
GLOWMCU_CODE
static inline uint32_t glowmcu_tree_has_wide(const uint8_t *set, uint32_t code)
{
    const uint32_t place = (code - (set[0] | (uint32_t)set[1] << 8)) & 0xFFFFu;
    const uint32_t byte = place >> 3;

    return (byte < set[2]) ? ((uint32_t)set[3u + byte] >> (place & 7u)) & 1u : 0u;
}

/* 1 if bit `place` of a word is there and set. */
GLOWMCU_CODE
static inline uint32_t glowmcu_tree_has_bit(uint32_t word, uint32_t place)
{
    return (place < 32u) ? (word >> place) & 1u : 0u;
}

/*
 * The code of one of `count` categories from `first` on is 1 for the first; 0 of what is not a
 * number, and `count` + 1 of all else.
 */
GLOWMCU_CODE
static inline uint32_t glowmcu_tree_category(float x, int32_t first, int32_t count)
{
    uint32_t bits;
    uint32_t whole;
    uint32_t shift;

    (void)memcpy(&bits, &x, sizeof bits);
    whole = bits & 0x7FFFFFFFu;
    if (whole > 0x7F800000u) {
        return 0u;
    }
    if (whole != 0u) {
        shift = 150u - (whole >> 23); /* modulo 2^32: above 23 of fractions and of 2^24 or more */
        whole = (whole & 0x007FFFFFu) | 0x00800000u;
        if (shift > 23u || (whole & (((uint32_t)1 << shift) - 1u)) != 0u) {
            return (uint32_t)count + 1u;
        }
        whole >>= shift;
    }
    whole = ((bits >> 31) != 0u ? 0u - whole : whole) - (uint32_t)first;
    return (whole < (uint32_t)count) ? whole + 1u : (uint32_t)count + 1u;
}

#endif /* GLOWMCU_TREE_SETS_H */
