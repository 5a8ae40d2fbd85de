/*
 * glowmcu_svdf_f32.h: rank-1 filters over time, real numbers.
 */
#ifndef GLOWMCU_SVDF_F32_H
#define GLOWMCU_SVDF_F32_H

#include "glowmcu_base.h"
#include "glowmcu_clamping.h"

/* The state of a filter is [memory], oldest first; filters of a unit follow each other. */
typedef struct {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t rank;
    int32_t memory;
    int32_t clamping; /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
    const float *biases;   /* [units] */
    const float *features; /* [units][rank][depth] */
    const float *times;    /* [units][rank][memory] */
} glowmcu_svdf_real;

/*
 * x is [batches][depth], out [batches][units], states [batches][units][rank][memory]; the new state
 * may be where the old one is: each filter's queue moves up by one while it is read.
 */
GLOWMCU_CODE
static void glowmcu_svdf_f32(const glowmcu_svdf_real *p, const float *x, const float *state,
    float *out, float *after)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, x += p->depth) {
        const float *features = p->features;
        const float *times = p->times;

        for (int32_t unit = 0; unit < p->units; ++unit) {
            float sum = p->biases[unit];
            for (int32_t filter = 0; filter < p->rank; ++filter) {
                const int32_t last = p->memory - 1;
                float newest = 0.0f;
                for (int32_t i = 0; i < p->depth; ++i) {
                    newest += x[i] * features[i];
                }
                for (int32_t i = 0; i < last; ++i) {
                    after[i] = state[i + 1];
                    sum += after[i] * times[i];
                }
                after[last] = newest;
                sum += newest * times[last];
                features += p->depth;
                times += p->memory;
                state += p->memory;
                after += p->memory;
            }
            *out = glowmcu_clamped_f32(sum, p->clamping, p->clamp_min, p->clamp_max);
            ++out;
        }
    }
}

#endif /* GLOWMCU_SVDF_F32_H */
