/*
 * glowmcu_update_slice.h: where a part goes in a tensor that has room for it.
 */
#ifndef GLOWMCU_UPDATE_SLICE_H
#define GLOWMCU_UPDATE_SLICE_H

#include "glowmcu_scatter.h"
#include "glowmcu_strided_copy.h"

/* The start that is nearest to `start`, from 0 to `last`. */
GLOWMCU_CODE
static inline int32_t glowmcu_update_at(int64_t start, int32_t last)
{
    return (start < 0) ? 0 : ((start < last) ? (int32_t)start : last);
}

#endif /* GLOWMCU_UPDATE_SLICE_H */
