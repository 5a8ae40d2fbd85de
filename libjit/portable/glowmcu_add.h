/*
 * glowmcu_add.h: int8 add of whole tensors, a + b.
 */
#ifndef GLOWMCU_ADD_H
#define GLOWMCU_ADD_H

#include "glowmcu_broadcast.h"
#include "glowmcu_sum.h"

typedef struct {
    glowmcu_sum one;
    glowmcu_walk walk;
} glowmcu_add;

GLOWMCU_CODE
static inline int32_t glowmcu_add_pair(const void *p, int32_t a, int32_t b)
{
    return glowmcu_add_one((const glowmcu_sum *)p, a, b);
}

/* Shapes as `p->walk` says. `out` may be the same memory as an operand with as many elements. */
GLOWMCU_CODE
static void glowmcu_add_s8(const glowmcu_add *p, const int8_t *a,
    const int8_t *b, int8_t *out)
{
    const glowmcu_sum one = p->one; /* stores of int8 cannot change it: it stays in registers */

    glowmcu_broadcast_s8(glowmcu_add_pair, &one, &p->walk, a, b, out);
}

#endif /* GLOWMCU_ADD_H */
