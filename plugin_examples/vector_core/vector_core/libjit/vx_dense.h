/*
 * vx_dense.h: rows of int8 times a matrix of int8, by the vector unit.
 */
#ifndef VX_DENSE_H
#define VX_DENSE_H

#include "glowmcu_requantize.h"
#include "vx_unit.h"

typedef struct {
    int32_t rows;
    int32_t depth_in;
    int32_t depth_out;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t per_channel;        /* 1: multipliers and shifts are [depth_out], 0: [1] */
    const int8_t *weights;      /* [depth_out][depth_in] */
    const int32_t *bias;        /* [depth_out], with the zero point of the input in it */
    const int32_t *multipliers;
    const int8_t *shifts;
} vx_dense;

/* sum(a * b): with the unit sixteen at a time, else as any core does. */
GLOWMCU_CODE
static int32_t vx_dot(const int8_t *a, const int8_t *b, int32_t count)
{
#if defined(VX_UNIT)
    (void)vx_unit(VX_INSTRUCTION(VX_ZERO, 2u, 0u, 0u, 16), a);
    for (int32_t i = 0; i < count; i += 16) {
        const int32_t lanes = (count - i < 16) ? count - i : 16;
        (void)vx_unit(VX_INSTRUCTION(VX_LOAD, 0u, 0u, 0u, lanes), a + i);
        (void)vx_unit(VX_INSTRUCTION(VX_LOAD, 1u, 0u, 0u, lanes), b + i);
        (void)vx_unit(VX_INSTRUCTION(VX_ACCUMULATE, 2u, 0u, 1u, 16), a);
    }
    return vx_unit(VX_INSTRUCTION(VX_SUM, 0u, 2u, 0u, 16), a);
#else
    int32_t sum = 0;
    for (int32_t i = 0; i < count; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
#endif
}

/* `in` is [rows][depth_in], `out` [rows][depth_out]; they may not overlap. */
GLOWMCU_CODE
static void vx_dense_s8(const vx_dense *p, const int8_t *in, int8_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t oc = 0; oc < p->depth_out; ++oc) {
            const int32_t channel = p->per_channel ? oc : 0;
            const int32_t acc = p->bias[oc]
                + vx_dot(in + row * p->depth_in, p->weights + oc * p->depth_in, p->depth_in);
            const int32_t value = glowmcu_requantize(acc, p->multipliers[channel],
                p->shifts[channel]) + p->out_zero_point;
            out[row * p->depth_out + oc] =
                (int8_t)glowmcu_clamp(value, p->clamp_min, p->clamp_max);
        }
    }
}

#endif /* VX_DENSE_H */
