/*
 * glowmcu_mul.h: int8 mul of whole tensors, a * b.
 */
#ifndef GLOWMCU_MUL_H
#define GLOWMCU_MUL_H

#include "glowmcu_broadcast.h"
#include "glowmcu_product.h"

typedef struct {
    glowmcu_product one;
    glowmcu_walk walk;
} glowmcu_mul;

GLOWMCU_CODE
static inline int32_t glowmcu_mul_pair(const void *p, int32_t a, int32_t b)
{
    return glowmcu_mul_one((const glowmcu_product *)p, a, b);
}

/* Shapes as `p->walk` says. `out` may be the same memory as an operand with as many elements. */
GLOWMCU_CODE
static void glowmcu_mul_s8(const glowmcu_mul *p, const int8_t *a,
    const int8_t *b, int8_t *out)
{
    const glowmcu_product one = p->one; /* stores of int8 cannot change it: it stays in registers */

    glowmcu_broadcast_s8(glowmcu_mul_pair, &one, &p->walk, a, b, out);
}

#endif /* GLOWMCU_MUL_H */
