/*
 * glowmcu_gather.h: slices of a tensor by their positions along an axis.
 */
#ifndef GLOWMCU_GATHER_H
#define GLOWMCU_GATHER_H

#include <string.h>

#include "glowmcu_base.h"

typedef struct {
    int32_t batches;     /* product of the axes that tensor and indices share */
    int32_t outer;       /* product of the axes between those and the axis */
    int32_t length;      /* of the axis, at least 1 */
    int32_t slice_bytes; /* of what lies behind the axis */
    int32_t index_count; /* indices a batch */
} glowmcu_gather;

/*
 * `in` is [batches][outer][length] slices, `indices` [batches][index_count], `out` [batches][outer]
 * [index_count] slices and overlaps neither. An index outside the axis is taken as its nearest end.
 */
GLOWMCU_CODE
static void glowmcu_gather_slices(const glowmcu_gather *p, const void *in, const int32_t *indices,
    void *out)
{
    const uint8_t *from = (const uint8_t *)in;
    uint8_t *to = (uint8_t *)out;

    for (int32_t batch = 0; batch < p->batches; ++batch, indices += p->index_count) {
        for (int32_t outer = 0; outer < p->outer; ++outer) {
            for (int32_t i = 0; i < p->index_count; ++i) {
                int32_t index = indices[i];
                index = (index < 0) ? 0 : ((index < p->length) ? index : p->length - 1);
                (void)memcpy(to, from + index * p->slice_bytes, (size_t)p->slice_bytes);
                to += p->slice_bytes;
            }
            from += p->length * p->slice_bytes;
        }
    }
}

#endif /* GLOWMCU_GATHER_H */
