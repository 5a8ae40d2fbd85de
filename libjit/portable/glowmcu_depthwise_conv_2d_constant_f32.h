/*
 * glowmcu_depthwise_conv_2d_constant_f32.h: float depthwise convolution whose weights are known.
 */
#ifndef GLOWMCU_DEPTHWISE_CONV_2D_CONSTANT_F32_H
#define GLOWMCU_DEPTHWISE_CONV_2D_CONSTANT_F32_H

#include "glowmcu_depthwise_conv_2d_f32.h"

typedef struct {
    glowmcu_depthwise_conv_2d_real layer;
    const float *weights;
    const float *bias;
} glowmcu_depthwise_constant_real;

/* As glowmcu_depthwise_conv_2d_f32, which says what is in `weights` and `bias`. */
GLOWMCU_CODE
static void glowmcu_depthwise_conv_2d_constant_f32(
    const glowmcu_depthwise_constant_real *p, const float *in, float *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_depthwise_conv_2d_f32(&p->layer, in, p->weights, p->bias, out, first_row, end_row);
}

#endif /* GLOWMCU_DEPTHWISE_CONV_2D_CONSTANT_F32_H */
