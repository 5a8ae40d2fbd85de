/*
 * glowmcu_tree_keys.h: float32 in an order that integers have, for trees that compare nothing else.
 */
#ifndef GLOWMCU_TREE_KEYS_H
#define GLOWMCU_TREE_KEYS_H

#include <string.h>

#include "glowmcu_thumb.h"

/* The key of infinity, and the largest of a number. */
#define GLOWMCU_TREE_INFINITY 0xFF000001u

/* -infinity is 0, and what is not a number is larger than infinity, whatever its sign. */
GLOWMCU_CODE
static inline uint32_t glowmcu_tree_high(float x)
{
    uint32_t bits;

    (void)memcpy(&bits, &x, sizeof bits);
    bits ^= (0u - (bits >> 31)) | 0x80000000u;
    return bits - 0x007FFFFFu; /* modulo 2^32 */
}

/* The same, but that what is not a number is smaller than all others or equal to the least. */
GLOWMCU_CODE
static inline uint32_t glowmcu_tree_low(float x)
{
    const uint32_t key = glowmcu_tree_high(x);

    return (key > GLOWMCU_TREE_INFINITY) ? 0u : key;
}

#endif /* GLOWMCU_TREE_KEYS_H */
