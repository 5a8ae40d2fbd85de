/*
 * glowmcu_local_response_normalization_f32.h: float32 elements divided by a power of their
 * neighbourhood's energy.
 */
#ifndef GLOWMCU_LOCAL_RESPONSE_NORMALIZATION_F32_H
#define GLOWMCU_LOCAL_RESPONSE_NORMALIZATION_F32_H

#include "glowmcu_powf.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    int32_t before;
    int32_t after;
    float alpha;
    float beta;
    float bias;
} glowmcu_local_response_real;

/*
 * x / (bias + alpha * sum(x^2))^beta, the sum over `before` neighbours to `after` ones in the row.
 * `in` and `out` are [rows][depth] and do not overlap.
 */
GLOWMCU_CODE
static void glowmcu_local_response_normalization_f32(
    const glowmcu_local_response_real *p, const float *in, float *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        for (int32_t c = 0; c < p->depth; ++c) {
            const int32_t first = c > p->before ? c - p->before : 0;
            const int32_t end = p->after < p->depth - c ? c + p->after + 1 : p->depth;
            float sum = 0.0f;
            for (int32_t i = first; i < end; ++i) {
                sum += in[i] * in[i];
            }
            out[c] = in[c] * glowmcu_powf(p->bias + p->alpha * sum, -p->beta);
        }
    }
}

#endif /* GLOWMCU_LOCAL_RESPONSE_NORMALIZATION_F32_H */
