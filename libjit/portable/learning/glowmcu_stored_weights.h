/*
 * glowmcu_stored_weights.h: what a layer reads of weights that are kept with more bits.
 */
#ifndef GLOWMCU_STORED_WEIGHTS_H
#define GLOWMCU_STORED_WEIGHTS_H

#include "glowmcu_stored_parameter.h"

/* Weights, 8 bits behind those of the result. */
GLOWMCU_CODE
static void glowmcu_stored_weights(const glowmcu_stored_parameter *p, const int16_t *kept,
    int8_t *out)
{
    const int8_t *others = p->other_weights;

    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t i = 0; i < p->count; ++i) {
            const int32_t value = (kept[i] + ((int32_t)1 << (p->shift - 1))) >> p->shift;
            out[i] = (int8_t)((value > 127) ? 127 : value);
        }
        kept += p->count;
        out += p->count;
        for (int32_t i = 0; i < p->others; ++i) {
            *out = *others;
            ++out;
            ++others;
        }
    }
}

#endif /* GLOWMCU_STORED_WEIGHTS_H */
