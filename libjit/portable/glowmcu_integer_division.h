/*
 * glowmcu_integer_division.h: quotients and remainders that are defined for every pair.
 */
#ifndef GLOWMCU_INTEGER_DIVISION_H
#define GLOWMCU_INTEGER_DIVISION_H

#include "glowmcu_base.h"

/* a / b cut towards zero, modulo 2^64; 0 for b = 0. */
GLOWMCU_CODE
static inline int64_t glowmcu_quotient(int64_t a, int64_t b)
{
    if (b == 0) {
        return 0;
    }
    return b == -1 ? (int64_t)((uint64_t)0 - (uint64_t)a) : a / b;
}

/* a - quotient * b: the sign of a; 0 for b = 0. */
GLOWMCU_CODE
static inline int64_t glowmcu_remainder(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

/* The remainder with the sign of b. */
GLOWMCU_CODE
static inline int64_t glowmcu_modulo(int64_t a, int64_t b)
{
    const int64_t rest = glowmcu_remainder(a, b);

    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* a / b rounded down, modulo 2^64; 0 for b = 0. */
GLOWMCU_CODE
static inline int64_t glowmcu_floor_quotient(int64_t a, int64_t b)
{
    return glowmcu_quotient(a, b) - (glowmcu_modulo(a, b) != glowmcu_remainder(a, b) ? 1 : 0);
}

#endif /* GLOWMCU_INTEGER_DIVISION_H */
