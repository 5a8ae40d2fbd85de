/*
 * glowmcu_signal_overlap_add_f32.h: float samples from frames that overlap.
 */
#ifndef GLOWMCU_SIGNAL_OVERLAP_ADD_F32_H
#define GLOWMCU_SIGNAL_OVERLAP_ADD_F32_H

#include "glowmcu_base.h"

typedef struct {
    int32_t outer;
    int32_t frames;
    int32_t size;
    int32_t step; /* at most `size` */
} glowmcu_signal_overlap_add_f32_frames;

/*
 * `in` is [outer][frames][size], `sums` and `sums_out` [outer][size - step], which may be the same;
 * `out` is [outer][frames * step].
 */
GLOWMCU_CODE
static void glowmcu_signal_overlap_add_f32(const glowmcu_signal_overlap_add_f32_frames *p,
    const float *in, const float *sums, float *out, float *sums_out)
{
    const int32_t kept = p->size - p->step;

    for (int32_t outer = 0; outer < p->outer; ++outer) {
        const float *before = sums;

        for (int32_t frame = 0; frame < p->frames; ++frame) {
            for (int32_t i = 0; i < p->size; ++i) {
                const float sum = ((i < kept) ? before[i] : 0.0f) + in[i];

                if (i < p->step) {
                    out[i] = sum;
                } else {
                    sums_out[i - p->step] = sum;
                }
            }
            before = sums_out;
            in += p->size;
            out += p->step;
        }
        sums += kept;
        sums_out += kept;
    }
}

#endif /* GLOWMCU_SIGNAL_OVERLAP_ADD_F32_H */
