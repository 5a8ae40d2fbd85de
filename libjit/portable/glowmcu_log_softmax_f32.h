/*
 * glowmcu_log_softmax_f32.h: logarithm of the softmax of float32 rows.
 */
#ifndef GLOWMCU_LOG_SOFTMAX_F32_H
#define GLOWMCU_LOG_SOFTMAX_F32_H

#include "glowmcu_logf.h"
#include "glowmcu_row_max_f32.h"

typedef struct {
    int32_t rows;
    int32_t depth;
} glowmcu_log_softmax_real;

/* x - max - log(sum(exp(x - max))). `in` and `out` are [rows][depth] and may be the same. */
GLOWMCU_CODE
static void glowmcu_log_softmax_f32(const glowmcu_log_softmax_real *p, const float *in, float *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        const float largest = glowmcu_row_max_f32(in, p->depth);
        float sum = 0.0f;
        float logarithm;
        for (int32_t c = 0; c < p->depth; ++c) {
            sum += glowmcu_expf(in[c] - largest);
        }
        logarithm = glowmcu_logf(sum);
        for (int32_t c = 0; c < p->depth; ++c) {
            out[c] = (in[c] - largest) - logarithm;
        }
    }
}

#endif /* GLOWMCU_LOG_SOFTMAX_F32_H */
