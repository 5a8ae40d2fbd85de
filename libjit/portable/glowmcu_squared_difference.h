/*
 * glowmcu_squared_difference.h: int8 squared_difference of whole tensors, (a - b)^2.
 */
#ifndef GLOWMCU_SQUARED_DIFFERENCE_H
#define GLOWMCU_SQUARED_DIFFERENCE_H

#include "glowmcu_broadcast.h"
#include "glowmcu_sum.h"

typedef struct {
    glowmcu_sum one;
    glowmcu_walk walk;
} glowmcu_squared_difference;

GLOWMCU_CODE
static inline int32_t glowmcu_squared_difference_pair(const void *p, int32_t a, int32_t b)
{
    return glowmcu_squared_difference_one((const glowmcu_sum *)p, a, b);
}

/* Shapes as `p->walk` says. `out` may be the same memory as an operand with as many elements. */
GLOWMCU_CODE
static void glowmcu_squared_difference_s8(const glowmcu_squared_difference *p, const int8_t *a,
    const int8_t *b, int8_t *out)
{
    const glowmcu_sum one = p->one; /* stores of int8 cannot change it: it stays in registers */

    glowmcu_broadcast_s8(glowmcu_squared_difference_pair, &one, &p->walk, a, b, out);
}

#endif /* GLOWMCU_SQUARED_DIFFERENCE_H */
