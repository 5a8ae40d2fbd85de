/*
 * glowmcu_gather_back.h: the gradient by what slices were taken of.
 */
#ifndef GLOWMCU_GATHER_BACK_H
#define GLOWMCU_GATHER_BACK_H

#include <string.h>

#include "glowmcu_block_gradient.h"

typedef struct {
    int32_t batches;     /* product of the axes that tensor and indices share */
    int32_t outer;       /* product of the axes between those and the axis */
    int32_t length;      /* of the axis, at least 1 */
    int32_t slice;       /* elements of what lies behind the axis */
    int32_t index_count; /* indices a batch, at most 2^12 */
    int32_t bits;        /* magnitudes of the result are at most 2^bits */
} glowmcu_gather_gradient;

/* Ends what was added up within what the result may have, and gives the peak. */
GLOWMCU_CODE
static inline int32_t glowmcu_gathered_peak(int16_t *out, int32_t count, int32_t most)
{
    int32_t peak = 0;

    for (int32_t i = 0; i < count; ++i) {
        const int32_t value = (out[i] < -most) ? -most : ((out[i] > most) ? most : out[i]);
        out[i] = (int16_t)value;
        peak = glowmcu_peak(peak, value);
    }
    return peak;
}

/*
 * `gradient` is [batches][outer][index_count] slices with `common`, exponent and peak, `indices`
 * [batches][index_count], `out` [batches][outer][length] slices. An index outside the axis is taken
 * as its nearest end. Numbers that meet have been shifted before: all of a batch are within 2^14
 * and a half for each, which is less than 2^15.
 */
GLOWMCU_CODE
static void glowmcu_gather_back(const glowmcu_gather_gradient *p, const int16_t *gradient,
    const int32_t *common, const int32_t *indices, int16_t *out, int32_t *out_common)
{
    const int32_t count = p->batches * p->outer * p->length * p->slice;
    const int32_t shift = glowmcu_excess(common[1] * p->index_count, p->bits);
    int16_t *to = out;

    (void)memset(out, 0, (size_t)count * sizeof *out);
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t outer = 0; outer < p->outer; ++outer) {
            for (int32_t i = 0; i < p->index_count; ++i) {
                int32_t index = indices[i];
                int16_t *at;
                index = (index < 0) ? 0 : ((index < p->length) ? index : p->length - 1);
                at = to + index * p->slice;
                for (int32_t k = 0; k < p->slice; ++k) {
                    at[k] = (int16_t)(at[k] + glowmcu_rounded_shift(*gradient, shift));
                    ++gradient;
                }
            }
            to += p->length * p->slice;
        }
        indices += p->index_count;
    }
    out_common[1] = glowmcu_gathered_peak(out, count, (int32_t)1 << p->bits);
    out_common[0] = common[0] + shift;
}

#endif /* GLOWMCU_GATHER_BACK_H */
