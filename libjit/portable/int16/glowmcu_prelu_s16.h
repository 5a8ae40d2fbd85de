/*
 * glowmcu_prelu_s16.h: prelu of one int16 element, x >= 0 ? x : x * alpha.
 */
#ifndef GLOWMCU_PRELU_S16_H
#define GLOWMCU_PRELU_S16_H

#include "glowmcu_requantize.h"

typedef struct {
    int32_t positive_multiplier; /* of x >= 0 */
    int32_t positive_shift;
    int32_t negative_multiplier; /* of x * alpha */
    int32_t negative_shift;
} glowmcu_slopes_s16;

/* Zero points are 0; products are at most 2^30. */
GLOWMCU_CODE
static inline int32_t glowmcu_prelu_s16_one(const glowmcu_slopes_s16 *p, int32_t x, int32_t alpha)
{
    int32_t value;

    if (x >= 0) {
        value = glowmcu_requantize(x, p->positive_multiplier, p->positive_shift);
    } else {
        value = glowmcu_requantize(x * alpha, p->negative_multiplier, p->negative_shift);
    }
    return glowmcu_clamp(value, -32768, 32767);
}

#endif /* GLOWMCU_PRELU_S16_H */
