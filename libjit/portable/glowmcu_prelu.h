/*
 * glowmcu_prelu.h: int8 prelu of whole tensors, x >= 0 ? x : x * alpha.
 */
#ifndef GLOWMCU_PRELU_H
#define GLOWMCU_PRELU_H

#include "glowmcu_broadcast.h"
#include "glowmcu_product.h"

typedef struct {
    glowmcu_slopes one;
    glowmcu_walk walk;
} glowmcu_prelu;

GLOWMCU_CODE
static inline int32_t glowmcu_prelu_pair(const void *p, int32_t x, int32_t alpha)
{
    return glowmcu_prelu_one((const glowmcu_slopes *)p, x, alpha);
}

/* Shapes as `p->walk` says. `out` may be the same memory as an operand with as many elements. */
GLOWMCU_CODE
static void glowmcu_prelu_s8(const glowmcu_prelu *p, const int8_t *x,
    const int8_t *alpha, int8_t *out)
{
    const glowmcu_slopes one = p->one; /* stores of int8 cannot change it: it stays in registers */

    glowmcu_broadcast_s8(glowmcu_prelu_pair, &one, &p->walk, x, alpha, out);
}

#endif /* GLOWMCU_PRELU_H */
