/*
 * glowmcu_spectrum_roots.h: magnitudes from their squares, 16 bits of each.
 *
 * With a fraction: quiet bins are less than one, and a root in whole numbers has nothing of them.
 */
#ifndef GLOWMCU_SPECTRUM_ROOTS_H
#define GLOWMCU_SPECTRUM_ROOTS_H

#include "glowmcu_signal_bits.h"

/* The roots of `count` numbers in their place, in units of 2^-15. */
GLOWMCU_CODE
static inline void glowmcu_spectrum_roots(uint32_t *x, int32_t count)
{
    for (int32_t k = 0; k < count; ++k) {
        const int32_t up = (32 - glowmcu_bit_length(x[k])) >> 1;
        uint32_t rest = (up < 16) ? x[k] << (2 * up) : 0u;
        uint32_t root = 0u;

        for (uint32_t bit = (uint32_t)1 << 15; bit != 0u; bit >>= 1) {
            /* (root + bit)^2 - root^2, below 2^32 */
            const uint32_t more = (2u * root + bit) * bit;

            if (more <= rest) {
                rest -= more;
                root += bit;
            }
        }
        x[k] = (up < 16) ? root << (15 - up) : 0u;
    }
}

#endif /* GLOWMCU_SPECTRUM_ROOTS_H */
