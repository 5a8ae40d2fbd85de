/*
 * glowmcu_softmax_s16.h: int16 softmax along the last axis, as TensorFlow Lite
 * computes it.
 */
#ifndef GLOWMCU_SOFTMAX_S16_H
#define GLOWMCU_SOFTMAX_S16_H

#include "glowmcu_look_up_s16.h"
#include "glowmcu_requantize.h"

typedef struct {
    int32_t rows;
    int32_t depth;      /* 1 to 65535 */
    int32_t multiplier; /* of a difference, to steps of 10 / 65535 */
    int32_t shift;
    const int16_t *exps;        /* [513]: exp on [-10, 0], Q0.15 */
    const int16_t *reciprocals; /* [513]: 1 / (1 + x) on [0, 1], Q0.15 */
} glowmcu_softmax_wide;

/* Exponentials of a row, Q0.15; returns their sum: at most depth * 32767 < 2^31. */
GLOWMCU_CODE
static inline int32_t glowmcu_softmax_s16_exps(const glowmcu_softmax_wide *p, const int16_t *in,
    int16_t *out)
{
    int32_t largest = in[0];
    int32_t sum = 0;

    for (int32_t i = 1; i < p->depth; ++i) {
        largest = (in[i] > largest) ? in[i] : largest;
    }
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t scaled = glowmcu_requantize(in[i] - largest, p->multiplier, p->shift);
        out[i] = (int16_t)glowmcu_look_up(p->exps, scaled + 32767);
        sum += out[i];
    }
    return sum;
}

/* `in` and `out` are [rows][depth]; they may be the same. */
GLOWMCU_CODE
static void glowmcu_softmax_s16(const glowmcu_softmax_wide *p, const int16_t *in, int16_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        const int32_t sum = glowmcu_softmax_s16_exps(p, in, out);
        int32_t mantissa = sum; /* in [2^30, 2^31) in the end */
        int32_t bits = 30;
        int32_t factor;
        while (mantissa < ((int32_t)1 << 30)) {
            mantissa <<= 1;
            --bits;
        }
        mantissa = (int32_t)(((uint32_t)mantissa + (1u << 13)) >> 14);
        factor = glowmcu_look_up(p->reciprocals, mantissa - 3 * 32768);
        for (int32_t i = 0; i < p->depth; ++i) {
            /* Both are at most 2^15: the product and half a step stay below 2^31. */
            const int32_t quotient = (int32_t)(((int64_t)out[i] * factor
                + ((int64_t)1 << (bits - 1))) >> bits);
            out[i] = (int16_t)glowmcu_clamp(quotient, 0, 32767);
        }
    }
}

#endif /* GLOWMCU_SOFTMAX_S16_H */
