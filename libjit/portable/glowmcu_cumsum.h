/*
 * glowmcu_cumsum.h: running sums of int8 along an axis, with TFLM's fixed-point sum.
 */
#ifndef GLOWMCU_CUMSUM_H
#define GLOWMCU_CUMSUM_H

#include "glowmcu_requantize.h"

#define GLOWMCU_CUMSUM_FRACTION_BITS 19

typedef struct {
    int32_t outer;     /* product of the axes in front of the axis */
    int32_t length;    /* of the axis */
    int32_t inner;     /* product of the axes behind it */
    int32_t exclusive; /* 1: without the element itself */
    int32_t reverse;   /* 1: from the end */
    int32_t in_zero_point;
    int32_t out_zero_point;
    int32_t multiplier;
    int32_t shift;
} glowmcu_cumsum;

/* `in` and `out` are [outer][length][inner]; they may be the same. The sum wraps modulo 2^32. */
GLOWMCU_CODE
static void glowmcu_cumsum_s8(const glowmcu_cumsum *p, const int8_t *in, int8_t *out)
{
    const int32_t step = p->reverse ? -p->inner : p->inner;
    const int32_t first = p->reverse ? (p->length - 1) * p->inner : 0;

    for (int32_t outer = 0; outer < p->outer; ++outer) {
        for (int32_t inner = 0; inner < p->inner; ++inner) {
            int32_t at = outer * p->length * p->inner + first + inner;
            uint32_t sum = (uint32_t)-p->in_zero_point; /* TFLM's zero */
            for (int32_t i = 0; i < p->length; ++i, at += step) {
                const uint32_t before = sum;
                int32_t value;
                sum += (uint32_t)(in[at] - p->in_zero_point);
                value = (int32_t)((p->exclusive ? before : sum) << GLOWMCU_CUMSUM_FRACTION_BITS);
                value = glowmcu_requantize(value, p->multiplier, p->shift) + p->out_zero_point;
                out[at] = (int8_t)glowmcu_clamp(value, -128, 127);
            }
        }
    }
}

#endif /* GLOWMCU_CUMSUM_H */
