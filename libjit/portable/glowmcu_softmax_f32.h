/*
 * glowmcu_softmax_f32.h: softmax of float32 rows.
 */
#ifndef GLOWMCU_SOFTMAX_F32_H
#define GLOWMCU_SOFTMAX_F32_H

#include "glowmcu_row_max_f32.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    float beta;
} glowmcu_softmax_real;

/* exp(beta * x) / sum(exp(beta * x)). `in` and `out` are [rows][depth] and may be the same. */
GLOWMCU_CODE
static void glowmcu_softmax_f32(const glowmcu_softmax_real *p, const float *in, float *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        const float largest = glowmcu_row_max_f32(in, p->depth);
        float sum = 0.0f;
        float factor;
        for (int32_t c = 0; c < p->depth; ++c) {
            out[c] = glowmcu_expf(p->beta * (in[c] - largest));
            sum += out[c];
        }
        factor = 1.0f / sum;
        for (int32_t c = 0; c < p->depth; ++c) {
            out[c] *= factor;
        }
    }
}

#endif /* GLOWMCU_SOFTMAX_F32_H */
