/*
 * glowmcu_fully_connected_f32.h: float matrix-vector product, weights one row an output.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_F32_H
#define GLOWMCU_FULLY_CONNECTED_F32_H

#include "glowmcu_base.h"
#include "glowmcu_clamping.h"

typedef struct {
    int32_t rows;
    int32_t depth_in;
    int32_t depth_out;
    int32_t clamping; /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
} glowmcu_fully_connected_real;

/*
 * `in` is [rows][depth_in], `weights` [depth_out][depth_in], `bias` [depth_out], `out`
 * [rows][depth_out]; `out` may overlap no operand.
 */
GLOWMCU_CODE
static void glowmcu_fully_connected_f32(const glowmcu_fully_connected_real *p, const float *in,
    const float *weights, const float *bias, float *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth_in) {
        const float *w = weights;
        for (int32_t oc = 0; oc < p->depth_out; ++oc, w += p->depth_in) {
            float acc = 0.0f;
            for (int32_t i = 0; i < p->depth_in; ++i) {
                acc += in[i] * w[i];
            }
            acc += bias[oc];
            *out = glowmcu_clamped_f32(acc, p->clamping, p->clamp_min, p->clamp_max);
            ++out;
        }
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_F32_H */
