/*
 * glowmcu_squared_error_back.h: how a squared error changes with what is stored.
 */
#ifndef GLOWMCU_SQUARED_ERROR_BACK_H
#define GLOWMCU_SQUARED_ERROR_BACK_H

#include "glowmcu_block_gradient.h"

typedef struct {
    int32_t count;
    int32_t bits;
} glowmcu_squared_error;

/* in - target, and the sum of the squares of that. */
GLOWMCU_CODE
static void glowmcu_squared_error_back(const glowmcu_squared_error *p, const int8_t *in,
    const int8_t *target, int16_t *out, int32_t *out_common, int32_t *loss)
{
    const int32_t unit = (int32_t)1 << (p->bits - 9);
    int32_t peak = 0;
    int32_t total = 0;

    for (int32_t i = 0; i < p->count; ++i) {
        const int32_t difference = in[i] - target[i];
        const int32_t square = difference * difference;
        out[i] = (int16_t)(difference * unit);
        peak = glowmcu_peak(peak, difference * unit);
        total = (square > INT32_MAX - total) ? INT32_MAX : total + square;
    }
    out_common[0] = 9 - p->bits;
    out_common[1] = peak;
    *loss = total;
}

#endif /* GLOWMCU_SQUARED_ERROR_BACK_H */
