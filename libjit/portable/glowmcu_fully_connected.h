/*
 * glowmcu_fully_connected.h: int8 matrix-vector product, weights one row an output.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_H
#define GLOWMCU_FULLY_CONNECTED_H

#include "glowmcu_dot.h"
#include "glowmcu_requantize.h"

typedef struct {
    int32_t rows;
    int32_t depth_in;
    int32_t depth_out;
    int32_t in_zero_point;
    int32_t weights_zero_point;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t per_channel;        /* 1: multipliers and shifts are [depth_out], 0: [1] */
    const int8_t *weights;      /* [depth_out][depth_in] */
    const int32_t *bias;        /* [depth_out] */
    const int32_t *multipliers;
    const int8_t *shifts;
} glowmcu_fully_connected;

/* `in` is [rows][depth_in], `out` [rows][depth_out]; they may not overlap. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_fully_connected_s8(const glowmcu_fully_connected *p, const int8_t *in,
    int8_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth_in) {
        int32_t weights_part = 0; /* -w_zp * sum(x - x_zp), the same for every output */
        int32_t oc = 0;
        if (p->weights_zero_point != 0) {
            for (int32_t i = 0; i < p->depth_in; ++i) {
                weights_part -= (in[i] - p->in_zero_point) * p->weights_zero_point;
            }
        }
        while (oc < p->depth_out) {
            const int8_t *weights = p->weights + oc * p->depth_in;
            const int32_t count = (p->depth_out - oc >= 4) ? 4 : 1;
            int32_t acc[4] = {weights_part, weights_part, weights_part, weights_part};
            if (count == 4) {
                glowmcu_dot4(in, weights, p->depth_in, p->depth_in, -p->in_zero_point, acc);
            } else {
                acc[0] = glowmcu_dot(in, weights, p->depth_in, -p->in_zero_point, acc[0]);
            }
            for (int32_t i = 0; i < count; ++i, ++oc) {
                const int32_t channel = p->per_channel ? oc : 0;
                const int32_t value = glowmcu_requantize(acc[i] + p->bias[oc],
                    p->multipliers[channel], p->shifts[channel]) + p->out_zero_point;
                *out = (int8_t)glowmcu_clamp(value, p->clamp_min, p->clamp_max);
                ++out;
            }
        }
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_H */
