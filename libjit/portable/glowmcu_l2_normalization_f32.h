/*
 * glowmcu_l2_normalization_f32.h: float32 rows of length 1.
 */
#ifndef GLOWMCU_L2_NORMALIZATION_F32_H
#define GLOWMCU_L2_NORMALIZATION_F32_H

#include "glowmcu_sqrtf.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    float epsilon;
} glowmcu_l2_real;

/* x / max(sqrt(sum(x^2)), epsilon). `in` and `out` are [rows][depth] and may be the same. */
GLOWMCU_CODE
static void glowmcu_l2_normalization_f32(const glowmcu_l2_real *p, const float *in,
    float *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        float sum = 0.0f;
        float length;
        float factor;
        for (int32_t c = 0; c < p->depth; ++c) {
            sum += in[c] * in[c];
        }
        length = glowmcu_sqrtf(sum);
        factor = 1.0f / (length > p->epsilon ? length : p->epsilon);
        for (int32_t c = 0; c < p->depth; ++c) {
            out[c] = in[c] * factor;
        }
    }
}

#endif /* GLOWMCU_L2_NORMALIZATION_F32_H */
