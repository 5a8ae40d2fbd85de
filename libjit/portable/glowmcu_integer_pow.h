/*
 * glowmcu_integer_pow.h: powers of integers modulo 2^32 or 2^64.
 */
#ifndef GLOWMCU_INTEGER_POW_H
#define GLOWMCU_INTEGER_POW_H

#include "glowmcu_base.h"

/* A negative power is 0, but for those of 1 and -1. */
GLOWMCU_CODE
static inline uint64_t glowmcu_integer_pow(int64_t base, int64_t exponent)
{
    uint64_t factor = (uint64_t)base;
    uint64_t result = 1;

    if (exponent < 0) {
        if (base == 1) {
            return 1;
        }
        return base != -1 ? 0u : ((exponent & 1) != 0 ? UINT64_MAX : 1u);
    }
    for (uint64_t rest = (uint64_t)exponent; rest != 0u; rest >>= 1) {
        if ((rest & 1u) != 0u) {
            result *= factor;
        }
        factor *= factor;
    }
    return result;
}

#endif /* GLOWMCU_INTEGER_POW_H */
