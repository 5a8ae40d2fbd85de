/*
 * glowmcu_conv_2d_learnt.h: int8 convolution,
 * weights and biases from the arena.
 */
#ifndef GLOWMCU_CONV_2D_LEARNT_H
#define GLOWMCU_CONV_2D_LEARNT_H

#include "glowmcu_conv_2d.h"

typedef struct {
    glowmcu_conv_2d layer; /* without weights and biases */
    int32_t out_height;
} glowmcu_learnt_conv_2d;

/* As glowmcu_conv_2d_s8, all rows. */
GLOWMCU_CODE
static void glowmcu_conv_2d_learnt(const glowmcu_learnt_conv_2d *p, const int8_t *in,
    const int8_t *weights, const int32_t *bias, int8_t *out)
{
    glowmcu_conv_2d layer = p->layer;

    layer.weights = weights;
    layer.bias = bias;
    glowmcu_conv_2d_s8(&layer, in, out, 0, p->out_height);
}

#endif /* GLOWMCU_CONV_2D_LEARNT_H */
