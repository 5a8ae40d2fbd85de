/*
 * glowmcu_depthwise_conv_2d_learnt.h: int8 depthwise convolution, weights and biases from the arena.
 */
#ifndef GLOWMCU_DEPTHWISE_CONV_2D_LEARNT_H
#define GLOWMCU_DEPTHWISE_CONV_2D_LEARNT_H

#include "glowmcu_depthwise_conv_2d.h"

/* As glowmcu_depthwise_conv_2d_s8; pointers to weights and biases in `p` are not read. */
GLOWMCU_CODE
static void glowmcu_depthwise_conv_2d_learnt(const glowmcu_depthwise_conv_2d *p, const int8_t *in,
    const int8_t *weights, const int32_t *bias, int8_t *out, int32_t first_row, int32_t end_row)
{
    glowmcu_depthwise_conv_2d layer = *p;

    layer.weights = weights;
    layer.bias = bias;
    glowmcu_depthwise_conv_2d_s8(&layer, in, out, first_row, end_row);
}

#endif /* GLOWMCU_DEPTHWISE_CONV_2D_LEARNT_H */
