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
 * What two rows give with two of weights, in acc[4 * row + output]. A function of its own: beside
 * others, compilers would keep sums on the stack.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_dot2_twice(const int8_t *x, const int8_t *w, int32_t depth, int32_t offset,
    int32_t acc[6])
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
    acc[4] = acc2;
    acc[5] = acc3;
}

/* Sums of `rows` (1 or 2) of `in` with `count` (1 to 4) rows of weights: acc[4 * row + output]. */
GLOWMCU_CODE
static inline void glowmcu_learnt_sums(const glowmcu_learnt_matrix *p, const int8_t *in,
    const int8_t *weights, int32_t rows, int32_t count, int32_t acc[8])
{
    const int32_t depth = p->depth_in;
    int32_t o = 0;

    for (; rows == 2 && o + 2 <= count; o += 2) {
        glowmcu_dot2_twice(in, weights + o * depth, depth, -p->in_zero_point, acc + o);
    }
    for (; o < count; ++o) {
        for (int32_t r = 0; r < rows; ++r) {
            acc[4 * r + o] = glowmcu_dot(in + r * depth, weights + o * depth, depth,
                -p->in_zero_point, 0);
        }
    }
}

/* What `rows` (1 or 2) of `in` give with the matrix; results may begin where the rows do not. */
GLOWMCU_CODE
static void glowmcu_learnt_pair(const glowmcu_learnt_matrix *p, const glowmcu_learnt_end *end,
    const int8_t *in, const int8_t *weights, const int32_t *bias, int32_t rows, int8_t *out)
{
    for (int32_t oc = 0; oc < p->depth_out; oc += 4) {
        const int32_t left = p->depth_out - oc;
        const int32_t count = (left < 4) ? left : 4;
        int32_t acc[8];
        glowmcu_learnt_sums(p, in, weights, rows, count, acc);
        for (int32_t r = 0; r < rows; ++r) {
            glowmcu_learnt_results(end, oc, acc + 4 * r, bias + oc, count,
                out + r * p->depth_out + oc);
        }
        weights += count * p->depth_in;
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
    glowmcu_learnt_end end = {p->out_zero_point, p->clamp_min, p->clamp_max, p->channel_step,
        p->multipliers, p->shifts, 0};
    int32_t left = p->rows;

    glowmcu_find_short(&end, p->depth_out);
    while (left > 0) {
        const int32_t rows = (left >= 2) ? 2 : 1;
        glowmcu_learnt_pair(p, &end, in, weights, bias, rows, out);
        in += rows * p->depth_in;
        out += rows * p->depth_out;
        left -= rows;
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_LEARNT_H */
