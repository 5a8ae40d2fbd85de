/*
 * glowmcu_gather_nd.h: slices of a tensor by their coordinates along its first axes.
 */
#ifndef GLOWMCU_GATHER_ND_H
#define GLOWMCU_GATHER_ND_H

#include <string.h>

#include "glowmcu_base.h"

typedef struct {
    int32_t count;        /* slices to take */
    int32_t coordinates;  /* to each */
    int32_t slice_bytes;
    const int32_t *sizes; /* [coordinates]: lengths of the tensor's first axes, each at least 1 */
} glowmcu_gather_nd;

/*
 * `indices` is [count][coordinates], `out` [count] slices and overlaps neither operand. A
 * coordinate outside its axis is taken as the nearest end.
 */
GLOWMCU_CODE
static void glowmcu_gather_nd_slices(const glowmcu_gather_nd *p, const void *in,
    const int32_t *indices, void *out)
{
    const uint8_t *from = (const uint8_t *)in;
    uint8_t *to = (uint8_t *)out;

    for (int32_t i = 0; i < p->count; ++i, to += p->slice_bytes) {
        int32_t slice = 0;
        for (int32_t axis = 0; axis < p->coordinates; ++axis, ++indices) {
            const int32_t last = p->sizes[axis] - 1;
            const int32_t at = (*indices < 0) ? 0 : ((*indices < last) ? *indices : last);
            slice = slice * p->sizes[axis] + at;
        }
        (void)memcpy(to, from + slice * p->slice_bytes, (size_t)p->slice_bytes);
    }
}

#endif /* GLOWMCU_GATHER_ND_H */
