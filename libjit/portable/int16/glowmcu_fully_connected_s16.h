/*
 * glowmcu_fully_connected_s16.h: int16 matrix-vector product, int8 weights, one row an output.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_S16_H
#define GLOWMCU_FULLY_CONNECTED_S16_H

#include "glowmcu_wide.h"

typedef struct {
    int32_t rows;
    int32_t depth_in;
    int32_t depth_out;
    glowmcu_wide_scale scale;
    const int8_t *weights; /* [depth_out][depth_in] */
} glowmcu_fully_connected_wide;

/* `in` is [rows][depth_in], `out` [rows][depth_out]; they may not overlap. */
GLOWMCU_CODE
static void glowmcu_fully_connected_s16(const glowmcu_fully_connected_wide *p, const int16_t *in,
    int16_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth_in) {
        int32_t oc = 0;
        while (oc < p->depth_out) {
            const int8_t *weights = p->weights + oc * p->depth_in;
            const int32_t count = (p->depth_out - oc >= 4) ? 4 : 1;
            int64_t acc[4] = {0, 0, 0, 0};
            if (count == 4) {
                glowmcu_wide_dot4(in, weights, p->depth_in, p->depth_in, acc);
            } else {
                acc[0] = glowmcu_wide_dot(in, weights, p->depth_in, 0);
            }
            for (int32_t i = 0; i < count; ++i, ++oc) {
                *out = glowmcu_wide_result(&p->scale, oc, acc[i]);
                ++out;
            }
        }
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_S16_H */
