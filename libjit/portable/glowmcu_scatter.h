/*
 * glowmcu_scatter.h: puts elements into a copy of a tensor, at positions that never leave it.
 */
#ifndef GLOWMCU_SCATTER_H
#define GLOWMCU_SCATTER_H

#include <string.h>

#include "glowmcu_reduce.h"

/* `out` becomes `in`, unless it is. */
GLOWMCU_CODE
static inline void glowmcu_scatter_begin(const void *in, void *out, int32_t bytes)
{
    if (in != out) {
        (void)memcpy(out, in, (size_t)bytes);
    }
}

/* The position on an axis of `length` that is nearest to `index`. */
GLOWMCU_CODE
static inline int32_t glowmcu_scatter_at(int32_t index, int32_t length)
{
    return (index < 0) ? 0 : ((index < length) ? index : length - 1);
}

#endif /* GLOWMCU_SCATTER_H */
