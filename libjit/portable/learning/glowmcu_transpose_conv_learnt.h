/*
 * glowmcu_transpose_conv_learnt.h: int8 transposed convolution,
 * weights and biases from the arena.
 */
#ifndef GLOWMCU_TRANSPOSE_CONV_LEARNT_H
#define GLOWMCU_TRANSPOSE_CONV_LEARNT_H

#include "glowmcu_transpose_conv_2d.h"

typedef struct {
    glowmcu_transpose_conv_2d layer; /* without weights and biases */
    int32_t out_height;
} glowmcu_learnt_transpose_conv;

/* As glowmcu_transpose_conv_2d_s8, all rows. */
GLOWMCU_CODE
static void glowmcu_transpose_conv_learnt(const glowmcu_learnt_transpose_conv *p,
    const int8_t *in, const int8_t *weights, const int32_t *bias, int8_t *out)
{
    glowmcu_transpose_conv_2d layer = p->layer;

    layer.weights = weights;
    layer.bias = bias;
    glowmcu_transpose_conv_2d_s8(&layer, in, out, 0, p->out_height);
}

#endif /* GLOWMCU_TRANSPOSE_CONV_LEARNT_H */
