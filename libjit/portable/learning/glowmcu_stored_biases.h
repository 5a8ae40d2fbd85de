/*
 * glowmcu_stored_biases.h: what a layer reads of biases that are kept with more bits.
 */
#ifndef GLOWMCU_STORED_BIASES_H
#define GLOWMCU_STORED_BIASES_H

#include "glowmcu_stored_parameter.h"

/* Biases, which are within 2^30; parameters that were loaded may be anything. */
GLOWMCU_CODE
static void glowmcu_stored_biases(const glowmcu_stored_parameter *p, const int32_t *kept,
    int32_t *out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        int32_t value = kept[i];
        value = (value > 0x3FFFFFFF) ? 0x3FFFFFFF : value;
        value = (value < -0x3FFFFFFF) ? -0x3FFFFFFF : value;
        out[i] = (value + ((int32_t)1 << (p->shift - 1))) >> p->shift;
    }
    for (int32_t i = 0; i < p->others; ++i) {
        out[p->count + i] = p->other_biases[i];
    }
}

#endif /* GLOWMCU_STORED_BIASES_H */
