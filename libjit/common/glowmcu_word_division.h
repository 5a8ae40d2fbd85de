/*
 * glowmcu_word_division.h: quotients of words that are defined for every pair.
 */
#ifndef GLOWMCU_WORD_DIVISION_H
#define GLOWMCU_WORD_DIVISION_H

#include "glowmcu_base.h"

/* a / b cut towards zero, modulo 2^32; 0 for b = 0. */
GLOWMCU_CODE
static inline int32_t glowmcu_word_quotient(int32_t a, int32_t b)
{
    if (b == 0) {
        return 0;
    }
    return (b == -1) ? (int32_t)((uint32_t)0 - (uint32_t)a) : a / b;
}

#endif /* GLOWMCU_WORD_DIVISION_H */
