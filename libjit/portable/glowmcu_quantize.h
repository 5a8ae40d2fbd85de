/*
 * glowmcu_quantize.h: real numbers to what a quantized tensor stores, and back.
 */
#ifndef GLOWMCU_QUANTIZE_H
#define GLOWMCU_QUANTIZE_H

#include "glowmcu_base.h"

#ifndef GLOWMCU_NO_FLOAT /* defined where -mgeneral-regs-only forbids arguments of that type */
/*
 * round(real / scale) + zero_point in [least, most], halves away from zero: what QUANTIZE of
 * TensorFlow Lite Micro gives. Infinities saturate; NaN gives `least`.
 */
static inline int32_t glowmcu_quantize(float real, float scale, int32_t zero_point, int32_t least,
    int32_t most)
{
    const float scaled = real / scale;
    int32_t whole;
    float rest;

    if (!(scaled > (float)(least - zero_point))) {
        return least;
    }
    if (scaled >= (float)(most - zero_point)) {
        return most;
    }
    whole = (int32_t)scaled; /* fits: between the limits, which are at most 2^17 */
    rest = scaled - (float)whole;
    if (rest >= 0.5f) {
        ++whole;
    } else if (rest <= -0.5f) {
        --whole;
    } else {
        /* the nearest already */
    }
    return whole + zero_point;
}
#endif

#endif /* GLOWMCU_QUANTIZE_H */
