/*
 * glowmcu_softmax_row.h: what the softmax kernels do with a row.
 */
#ifndef GLOWMCU_SOFTMAX_ROW_H
#define GLOWMCU_SOFTMAX_ROW_H

#include "glowmcu_reciprocal.h"

/* Largest of `count` elements. */
GLOWMCU_CODE
static inline int32_t glowmcu_row_max(const int8_t *x, int32_t count)
{
    int32_t largest = -128;

    for (int32_t c = 0; c < count; ++c) {
        largest = (x[c] > largest) ? x[c] : largest;
    }
    return largest;
}

/* An exponential in Q0.31 becomes divide_by_pot(exponential * scale, exponent). */
typedef struct {
    int32_t scale;
    int32_t exponent;
} glowmcu_softmax_scale;

/* `sum` of a row's exponentials, Q12.19, at least 1. */
GLOWMCU_CODE
static inline glowmcu_softmax_scale glowmcu_softmax_scale_of(int32_t sum, int32_t out_bits)
{
    const int32_t zeros = glowmcu_leading_zeros((uint32_t)sum);
    const uint32_t fraction = ((uint32_t)sum << zeros) - 0x80000000u;
    glowmcu_softmax_scale result;

    result.scale = glowmcu_one_over_one_plus_x((int32_t)fraction);
    result.exponent = 12 - zeros + 31 - out_bits;
    if (result.exponent > 31) { /* every quotient is below half a step */
        result.scale = 0;
        result.exponent = 31;
    }
    return result;
}

/* Element `index` of an int8 or int16 result. */
GLOWMCU_CODE
static inline void glowmcu_softmax_store(void *out, int32_t index, int32_t out_bits,
    glowmcu_softmax_scale scale, int32_t exponential)
{
    const int32_t ratio = glowmcu_divide_by_pot(
        glowmcu_doubling_high_mul(scale.scale, exponential), scale.exponent);

    if (out_bits == 8) {
        ((int8_t *)out)[index] = (int8_t)((ratio > 255 ? 255 : ratio) - 128);
    } else {
        ((int16_t *)out)[index] = (int16_t)((ratio > 65535 ? 65535 : ratio) - 32768);
    }
}

#endif /* GLOWMCU_SOFTMAX_ROW_H */
