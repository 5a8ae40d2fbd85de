/*
 * glowmcu_mean_variance_normalization_f32.h: float32 rows with mean 0 and variance 1.
 */
#ifndef GLOWMCU_MEAN_VARIANCE_NORMALIZATION_F32_H
#define GLOWMCU_MEAN_VARIANCE_NORMALIZATION_F32_H

#include "glowmcu_sqrtf.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    int32_t center; /* 0: the mean counts as 0 */
    float per_element; /* 1 / depth */
    float epsilon;
} glowmcu_mean_variance_real;

/*
 * (x - mean) / sqrt(mean((x - mean)^2) + epsilon). `in` and `out` are [rows][depth] and may be the
 * same. What rounding leaves of the mean is taken off in a second step.
 */
GLOWMCU_CODE
static void glowmcu_mean_variance_normalization_f32(
    const glowmcu_mean_variance_real *p, const float *in, float *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        float mean = 0.0f;
        float rest = 0.0f;
        float variance = 0.0f;
        float factor;
        if (p->center != 0) {
            for (int32_t c = 0; c < p->depth; ++c) {
                mean += in[c];
            }
            mean *= p->per_element;
            for (int32_t c = 0; c < p->depth; ++c) {
                rest += in[c] - mean;
            }
            rest *= p->per_element;
        }
        for (int32_t c = 0; c < p->depth; ++c) {
            const float offset = (in[c] - mean) - rest;
            out[c] = offset;
            variance += offset * offset;
        }
        factor = 1.0f / glowmcu_sqrtf(variance * p->per_element + p->epsilon);
        for (int32_t c = 0; c < p->depth; ++c) {
            out[c] *= factor;
        }
    }
}

#endif /* GLOWMCU_MEAN_VARIANCE_NORMALIZATION_F32_H */
