/*
 * glowmcu_signal_square_root.h: nearest whole square roots of sums of 64 bits.
 */
#ifndef GLOWMCU_SIGNAL_SQUARE_ROOT_H
#define GLOWMCU_SIGNAL_SQUARE_ROOT_H

#include "glowmcu_signal_bits.h"

typedef struct {
    int32_t count;
} glowmcu_signal_square_root;

/* The root of x rounded down, a bit a step, and what is left: x - root^2 <= 2 * root. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static uint32_t glowmcu_root_32(uint32_t x, uint32_t *rest)
{
    uint32_t root = 0u;

    for (int32_t bit = (glowmcu_bit_length(x) - 1) >> 1; bit >= 0; --bit) {
        /* (root + 2^bit)^2 - root^2, which is below 2^32 as (root + 2^bit)^2 is at most 2^32 - 1 */
        const uint32_t more = ((root << 1) | ((uint32_t)1 << bit)) << bit;

        if (more <= x) {
            x -= more;
            root |= (uint32_t)1 << bit;
        }
    }
    *rest = x;
    return root;
}

/*
 * The root of high * 2^32 + low rounded down, high != 0: a root of its upper half, to which a
 * division adds the lower one; too much by one at most (Zimmermann, Karatsuba Square Root, 1999).
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static uint32_t glowmcu_root_64(uint32_t high, uint32_t low)
{
    const int32_t shift = (32 - glowmcu_bit_length(high)) & ~1;
    uint32_t rest;
    uint32_t upper;
    uint32_t lower;
    uint32_t root;

    if (shift != 0) {
        high = (high << shift) | (low >> (32 - shift));
        low <<= shift;
    }
    upper = glowmcu_root_32(high, &rest); /* 2^15 <= upper < 2^16, rest < 2^17 */
    {
        const uint32_t dividend = (rest << 15) | (low >> 17);

        lower = dividend / upper;
        lower = (lower > 0xFFFFu) ? 0xFFFFu : lower;
        rest = dividend - lower * upper; /* below 2 * upper */
    }
    root = (upper << 16) | lower;
    rest = (rest << 1) | ((low >> 16) & 1u); /* of the square without its lowest 16 bits */
    if ((((uint64_t)rest << 16) | (low & 0xFFFFu)) < (uint64_t)lower * lower) {
        --root;
    }
    return root >> (shift >> 1);
}

/* Rounded to nearest; of less than 2^32 it is at most 2^16 - 1, of more 2^32 - 1. */
GLOWMCU_CODE
static inline uint32_t glowmcu_nearest_root(uint64_t x)
{
    const uint32_t high = (uint32_t)(x >> 32);
    const uint32_t low = (uint32_t)(x & 0xFFFFFFFFu);
    uint32_t most = 0xFFFFu;
    uint32_t root;
    uint32_t rest;
    uint32_t is_above;

    if (high == 0u) {
        root = glowmcu_root_32(low, &rest);
        is_above = (rest > root) ? 1u : 0u;
    } else {
        root = glowmcu_root_64(high, low);
        is_above = (x - (uint64_t)root * root > root) ? 1u : 0u;
        most = 0xFFFFFFFFu;
    }
    return root + ((root != most) ? is_above : 0u);
}

/* Roots shifted right by `*bits`; a shift that C leaves open gives 0. */
GLOWMCU_CODE
static void glowmcu_signal_square_root_u64(const glowmcu_signal_square_root *p,
    const uint64_t *in, const int32_t *bits, uint32_t *out)
{
    const int32_t shift = *bits;

    for (int32_t i = 0; i < p->count; ++i) {
        out[i] = (shift >= 0 && shift < 32) ? glowmcu_nearest_root(in[i]) >> shift : 0u;
    }
}

#endif /* GLOWMCU_SIGNAL_SQUARE_ROOT_H */
