/*
 * glowmcu_resample_f32.h: weighted sums of neighbours along one axis, by tables.
 */
#ifndef GLOWMCU_RESAMPLE_F32_H
#define GLOWMCU_RESAMPLE_F32_H

#include "glowmcu_base.h"

typedef struct {
    int32_t outer;
    int32_t in_size;
    int32_t out_size;
    int32_t inner;
    int32_t taps;
    const int16_t *starts; /* [out_size] first neighbour of every result */
    const float *weights;  /* [out_size][taps] */
    const float *offsets;  /* [out_size], or NULL for zeros */
} glowmcu_resample;

/* `in` is [outer][in_size][inner], `out` [outer][out_size][inner]; they may not overlap. */
GLOWMCU_CODE
static void glowmcu_resample_f32(const glowmcu_resample *p, const float *in, float *out)
{
    for (int32_t o = 0; o < p->outer; ++o, in += p->in_size * p->inner) {
        const float *weights = p->weights;
        for (int32_t place = 0; place < p->out_size; ++place, weights += p->taps) {
            const float *first = in + p->starts[place] * p->inner;
            const float offset = (p->offsets == NULL) ? 0.0f : p->offsets[place];
            for (int32_t i = 0; i < p->inner; ++i) {
                float sum = offset;
                for (int32_t tap = 0; tap < p->taps; ++tap) {
                    sum += first[tap * p->inner + i] * weights[tap];
                }
                *out = sum;
                ++out;
            }
        }
    }
}

#endif /* GLOWMCU_RESAMPLE_F32_H */
