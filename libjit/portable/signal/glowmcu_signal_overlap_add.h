/*
 * glowmcu_signal_overlap_add.h: int16 samples from frames that overlap.
 */
#ifndef GLOWMCU_SIGNAL_OVERLAP_ADD_H
#define GLOWMCU_SIGNAL_OVERLAP_ADD_H

#include "glowmcu_signal_samples.h"

typedef struct {
    int32_t outer;
    int32_t frames;
    int32_t size;
    int32_t step; /* at most `size` */
} glowmcu_signal_overlap_add;

/*
 * `in` is [outer][frames][size], `sums` and `sums_out` [outer][size - step], which may be the same;
 * `out` is [outer][frames * step]. Sums saturate one by one.
 */
GLOWMCU_CODE
static void glowmcu_signal_overlap_add_s16(const glowmcu_signal_overlap_add *p, const int16_t *in,
    const int16_t *sums, int16_t *out, int16_t *sums_out)
{
    const int32_t kept = p->size - p->step;

    for (int32_t outer = 0; outer < p->outer; ++outer) {
        const int16_t *before = sums;

        for (int32_t frame = 0; frame < p->frames; ++frame) {
            for (int32_t i = 0; i < p->size; ++i) {
                const int32_t sum =
                    (i < kept) ? glowmcu_saturate_s16((int32_t)before[i] + in[i]) : in[i];

                if (i < p->step) {
                    out[i] = (int16_t)sum;
                } else {
                    sums_out[i - p->step] = (int16_t)sum;
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

#endif /* GLOWMCU_SIGNAL_OVERLAP_ADD_H */
