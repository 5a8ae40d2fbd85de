/*
 * glowmcu_fully_connected_few_dsp.h: rows times few rows of weights, four products in two SMLAD.
 *
 * Both are widened as they come, {0, 2} and {1, 3} of a word, so that weights stay as they are. The
 * input's zero point is in the bias.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_FEW_DSP_H
#define GLOWMCU_FULLY_CONNECTED_FEW_DSP_H

#include "glowmcu_dsp.h"
#include "glowmcu_requantize.h"

typedef struct {
    int32_t rows;
    int32_t depth_in;
    int32_t depth_out;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t per_channel;        /* 1: multipliers and shifts are [depth_out], 0: [1] */
    const int8_t *weights;      /* [depth_out][depth_in] */
    const int32_t *bias;        /* [depth_out] */
    const int32_t *multipliers;
    const int8_t *shifts;
} glowmcu_fully_connected_few;

/* Adds the products of `x` with one or two rows of weights, `depth` bytes apart. */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_fully_connected_few_sums(const int8_t *x,
    const int8_t *w, int32_t depth, int32_t outputs, int32_t sums[2])
{
    const int8_t *const end = x + depth / 4 * 4;
    const int8_t *const last = x + depth;
    int32_t first = sums[0];
    int32_t second = sums[1];

    while (x < end) {
        const uint32_t word = glowmcu_load_word(x);
        const uint32_t even = glowmcu_sxtb16(word);
        const uint32_t odd = glowmcu_sxtb16_ror8(word);
        const uint32_t a = glowmcu_load_word(w);

        first = glowmcu_smlad(even, glowmcu_sxtb16(a), first);
        first = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(a), first);
        if (outputs == 2) {
            const uint32_t b = glowmcu_load_word(w + depth);

            second = glowmcu_smlad(even, glowmcu_sxtb16(b), second);
            second = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(b), second);
        }
        x += 4;
        w += 4;
    }
    for (; x < last; ++x, ++w) {
        first += *x * *w;
        second += (outputs == 2) ? *x * w[depth] : 0;
    }
    sums[0] = first;
    sums[1] = second;
}

GLOWMCU_CODE
static inline int8_t glowmcu_fully_connected_few_result(const glowmcu_fully_connected_few *p,
    int32_t sum, int32_t output)
{
    const int32_t channel = (p->per_channel != 0) ? output : 0;
    const int32_t value = glowmcu_requantize(sum, p->multipliers[channel], p->shifts[channel]);

    return (int8_t)glowmcu_clamp(value + p->out_zero_point, p->clamp_min, p->clamp_max);
}

/* `in` is [rows][depth_in], `out` [rows][depth_out]; they may not overlap. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_fully_connected_few_dsp(const glowmcu_fully_connected_few *p,
    const int8_t *in, int8_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        const int8_t *w = p->weights;
        int32_t output = 0;

        for (; output + 1 < p->depth_out; output += 2) {
            int32_t sums[2] = {p->bias[output], p->bias[output + 1]};

            glowmcu_fully_connected_few_sums(in, w, p->depth_in, 2, sums);
            out[output] = glowmcu_fully_connected_few_result(p, sums[0], output);
            out[output + 1] = glowmcu_fully_connected_few_result(p, sums[1], output + 1);
            w += 2 * p->depth_in;
        }
        if (output < p->depth_out) {
            int32_t sums[2] = {p->bias[output], 0};

            glowmcu_fully_connected_few_sums(in, w, p->depth_in, 1, sums);
            out[output] = glowmcu_fully_connected_few_result(p, sums[0], output);
        }
        in += p->depth_in;
        out += p->depth_out;
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_FEW_DSP_H */
