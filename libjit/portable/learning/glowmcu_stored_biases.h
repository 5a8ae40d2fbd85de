/*
 * glowmcu_stored_biases.h: what a layer reads of biases that are kept with more bits.
 */
#ifndef GLOWMCU_STORED_BIASES_H
#define GLOWMCU_STORED_BIASES_H

#include "glowmcu_stored_parameter.h"

/* Biases: |kept| < 2^30. */
GLOWMCU_CODE
static void glowmcu_stored_biases(const glowmcu_stored_parameter *p, const int32_t *kept,
    int32_t *out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        out[i] = (kept[i] + ((int32_t)1 << (p->shift - 1))) >> p->shift;
    }
}

#endif /* GLOWMCU_STORED_BIASES_H */
