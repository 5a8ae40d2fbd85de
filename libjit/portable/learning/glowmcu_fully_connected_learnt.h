/*
 * glowmcu_fully_connected_learnt.h: rows times a matrix, weights and biases from the arena.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_LEARNT_H
#define GLOWMCU_FULLY_CONNECTED_LEARNT_H

#include "glowmcu_dot.h"
#include "glowmcu_learnt_scale.h"

typedef struct {
    int32_t rows;
    int32_t depth_in;
    int32_t depth_out;
    int32_t in_zero_point;
    int32_t out_zero_point;
    int32_t clamp_min;
    int32_t clamp_max;
    int32_t channel_step;       /* 1: multipliers and shifts are [depth_out], 0: [1] */
    const int32_t *multipliers;
    const int8_t *shifts;
} glowmcu_learnt_matrix;

/*
 * What two rows give with two of weights, in acc[2 * row + output]. A function of its own: beside
 * others, compilers would keep sums on the stack.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_dot2_twice(const int8_t *x, const int8_t *w, int32_t depth, int32_t offset,
    int32_t acc[4])
{
    int32_t left = depth;
    int32_t acc0 = 0;
    int32_t acc1 = 0;
    int32_t acc2 = 0;
    int32_t acc3 = 0;

#if GLOWMCU_HAS_DSP
    const uint32_t points = glowmcu_pack_low((uint32_t)offset, (uint32_t)offset);
    for (; left >= 4; left -= 4) {
        const uint32_t word = glowmcu_load_word(x);
        const uint32_t other = glowmcu_load_word(x + depth);
        const uint32_t even = glowmcu_sxtab16(points, word);
        const uint32_t odd = glowmcu_sxtab16_ror8(points, word);
        const uint32_t next_even = glowmcu_sxtab16(points, other);
        const uint32_t next_odd = glowmcu_sxtab16_ror8(points, other);
        uint32_t weights = glowmcu_load_word(w);
        uint32_t half = glowmcu_sxtb16(weights);
        acc0 = glowmcu_smlad(even, half, acc0);
        acc2 = glowmcu_smlad(next_even, half, acc2);
        half = glowmcu_sxtb16_ror8(weights);
        acc0 = glowmcu_smlad(odd, half, acc0);
        acc2 = glowmcu_smlad(next_odd, half, acc2);
        weights = glowmcu_load_word(w + depth);
        half = glowmcu_sxtb16(weights);
        acc1 = glowmcu_smlad(even, half, acc1);
        acc3 = glowmcu_smlad(next_even, half, acc3);
        half = glowmcu_sxtb16_ror8(weights);
        acc1 = glowmcu_smlad(odd, half, acc1);
        acc3 = glowmcu_smlad(next_odd, half, acc3);
        x += 4;
        w += 4;
    }
#endif
    for (; left > 0; --left) {
        const int32_t a = *x + offset;
        const int32_t b = x[depth] + offset;
        acc0 += a * w[0];
        acc1 += a * w[depth];
        acc2 += b * w[0];
        acc3 += b * w[depth];
        ++x;
        ++w;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
}

/* What `rows` (1 or 2) of `in` give with the matrix; results may begin where the rows do not. */
GLOWMCU_CODE
static void glowmcu_learnt_pair(const glowmcu_learnt_matrix *p, const int8_t *in,
    const int8_t *weights, const int32_t *bias, int32_t rows, int8_t *out)
{
    const int32_t depth = p->depth_in;
    int32_t oc = 0;

    while (oc < p->depth_out) {
        const int32_t count = (p->depth_out - oc >= 2) ? 2 : 1;
        int32_t acc[4];
        if (rows == 2 && count == 2) {
            glowmcu_dot2_twice(in, weights, depth, -p->in_zero_point, acc);
        } else {
            for (int32_t r = 0; r < rows; ++r) {
                const int8_t *x = in + r * depth;
                acc[2 * r] = glowmcu_dot(x, weights, depth, -p->in_zero_point, 0);
                acc[2 * r + 1] = glowmcu_dot(x, weights + (count - 1) * depth, depth,
                    -p->in_zero_point, 0);
            }
        }
        for (int32_t r = 0; r < rows; ++r) {
            int8_t *result = out + r * p->depth_out + oc;
            for (int32_t i = 0; i < count; ++i) {
                const int32_t channel = (oc + i) * p->channel_step;
                const int32_t value = glowmcu_learnt_scale(acc[2 * r + i] + bias[oc + i],
                    p->multipliers[channel], p->shifts[channel]) + p->out_zero_point;
                result[i] = (int8_t)glowmcu_clamp(value, p->clamp_min, p->clamp_max);
            }
        }
        weights += count * depth;
        oc += count;
    }
}

/*
 * `in` is [rows][depth_in], `out` [rows][depth_out]. Two outputs of two rows at a time, so that
 * weights are loaded less. Results may overwrite pairs of rows that were read.
 */
GLOWMCU_CODE
static void glowmcu_fully_connected_learnt(const glowmcu_learnt_matrix *p, const int8_t *in,
    const int8_t *weights, const int32_t *bias, int8_t *out)
{
    int32_t left = p->rows;

    while (left > 0) {
        const int32_t rows = (left >= 2) ? 2 : 1;
        glowmcu_learnt_pair(p, in, weights, bias, rows, out);
        in += rows * p->depth_in;
        out += rows * p->depth_out;
        left -= rows;
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_LEARNT_H */
