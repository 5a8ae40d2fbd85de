/*
 * glowmcu_mul.h: int8 mul of whole tensors, a * b.
 */
#ifndef GLOWMCU_MUL_H
#define GLOWMCU_MUL_H

#include "glowmcu_broadcast.h"
#include "glowmcu_product.h"

static inline int32_t glowmcu_mul_pair(const void *p, int32_t a, int32_t b)
{
    return glowmcu_mul_one((const glowmcu_product *)p, a, b);
}

/*
 * Shapes as `p->walk` says. `out` may be the same memory as an operand that has as many elements.
 */
static void glowmcu_mul_s8(const glowmcu_product *p, const int8_t *a, const int8_t *b,
    int8_t *out)
{
    const glowmcu_product local = *p; /* int8 stores cannot change it, so it stays in registers */

    glowmcu_broadcast_s8(glowmcu_mul_pair, &local, p->walk, a, b, out);
}

#endif /* GLOWMCU_MUL_H */
