/*
 * glowmcu_sqrt_s16.h: square root of one int16 element, in float32 as TensorFlow Lite computes it.
 */
#ifndef GLOWMCU_SQRT_S16_H
#define GLOWMCU_SQRT_S16_H

#include "glowmcu_sqrtf.h"

typedef struct {
    float in_scale;
    float out_scale;
    float half; /* what is added before the fraction is dropped: 1/2, or 0 */
} glowmcu_sqrt_scale;

/* The nearest float to the root of a normal x > 0: `glowmcu_sqrtf` may be the next one. */
GLOWMCU_CODE
static inline float glowmcu_nearest_sqrtf(float x)
{
    const uint32_t bits = glowmcu_float_bits(x);
    const uint32_t places = 24u - ((bits >> 23) & 1u); /* one more where the exponent is odd */
    const uint32_t mantissa = (bits & 0x7FFFFFu) | 0x800000u;
    const uint64_t square = (uint64_t)mantissa << places;
    const uint32_t estimate = glowmcu_float_bits(glowmcu_sqrtf(x));
    const uint32_t first = (estimate & 0x7FFFFFu) | 0x800000u;
    uint64_t root = first;

    while (root * root > square) {
        --root;
    }
    while (square - root * root > 2u * root) {
        ++root;
    }
    if (square - root * root > root) {
        ++root;
    }
    return glowmcu_float_of_bits((estimate & 0xFF800000u) | ((uint32_t)root & 0x7FFFFFu));
}

/* The zero points are 0; 0 for what is negative. */
GLOWMCU_CODE
static inline int32_t glowmcu_sqrt_s16_one(const glowmcu_sqrt_scale *p, int32_t x)
{
    float steps;

    if (x <= 0) {
        return 0;
    }
    steps = glowmcu_nearest_sqrtf(p->in_scale * (float)x) / p->out_scale + p->half;
    return (steps >= 32767.0f) ? 32767 : (int32_t)steps;
}

#endif /* GLOWMCU_SQRT_S16_H */
