/*
 * glowmcu_recurrence_f32.h: products of a recurrent layer's gates on real numbers.
 */
#ifndef GLOWMCU_RECURRENCE_F32_H
#define GLOWMCU_RECURRENCE_F32_H

#include <string.h>

#include "glowmcu_base.h"

/* sum and x . weights; four products at a time, so that loads and loops are few beside them. */
GLOWMCU_CODE
static float glowmcu_recurrence_dot(const float *x, const float *weights, int32_t count, float sum)
{
    int32_t i = 0;

    for (; i + 4 <= count; i += 4) {
        sum += x[i] * weights[i];
        sum += x[i + 1] * weights[i + 1];
        sum += x[i + 2] * weights[i + 2];
        sum += x[i + 3] * weights[i + 3];
    }
    for (; i < count; ++i) {
        sum += x[i] * weights[i];
    }
    return sum;
}

#endif /* GLOWMCU_RECURRENCE_F32_H */
