/*
 * glowmcu_fully_connected_learnt.h: int8 matrix-vector product, weights and biases from the arena.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_LEARNT_H
#define GLOWMCU_FULLY_CONNECTED_LEARNT_H

#include "glowmcu_fully_connected.h"

/* As glowmcu_fully_connected_s8; pointers to weights and biases in `p` are not read. */
GLOWMCU_CODE
static void glowmcu_fully_connected_learnt(const glowmcu_fully_connected *p, const int8_t *in,
    const int8_t *weights, const int32_t *bias, int8_t *out)
{
    glowmcu_fully_connected layer = *p;

    layer.weights = weights;
    layer.bias = bias;
    glowmcu_fully_connected_s8(&layer, in, out);
}

#endif /* GLOWMCU_FULLY_CONNECTED_LEARNT_H */
