/*
 * glowmcu_squared_distances_f32.h: squared distances of vectors, in float32.
 */
#ifndef GLOWMCU_SQUARED_DISTANCES_F32_H
#define GLOWMCU_SQUARED_DISTANCES_F32_H

#include "glowmcu_base.h"

typedef struct {
    int32_t rows;   /* vectors of the first list */
    int32_t others; /* vectors of the second list */
    int32_t depth;  /* of each vector */
} glowmcu_squared_distances;

/* `x` [rows][depth], `y` [others][depth], `out` [rows][others] overlaps neither. */
GLOWMCU_CODE
static void glowmcu_squared_distances_f32(const glowmcu_squared_distances *p, const float *x,
    const float *y, float *out)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        const float *other = y;
        for (int32_t k = 0; k < p->others; ++k) {
            float sum = 0.0f;
            for (int32_t i = 0; i < p->depth; ++i) {
                const float difference = x[i] - other[i];
                const float square = difference * difference;
                sum += square;
            }
            *out = sum;
            ++out;
            other += p->depth;
        }
        x += p->depth;
    }
}

#endif /* GLOWMCU_SQUARED_DISTANCES_F32_H */
