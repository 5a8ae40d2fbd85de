/*
 * glowmcu_row_max_f32.h: the largest of a row of float32.
 */
#ifndef GLOWMCU_ROW_MAX_F32_H
#define GLOWMCU_ROW_MAX_F32_H

#include "glowmcu_expf.h"

/* For at least one element. */
GLOWMCU_CODE
static inline float glowmcu_row_max_f32(const float *in, int32_t depth)
{
    float largest = in[0];

    for (int32_t c = 1; c < depth; ++c) {
        largest = in[c] > largest ? in[c] : largest;
    }
    return largest;
}

#endif /* GLOWMCU_ROW_MAX_F32_H */
