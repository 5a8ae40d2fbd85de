/*
 * glowmcu_fully_connected_learnt.h: rows times a matrix, weights and biases from the arena.
 */
#ifndef GLOWMCU_FULLY_CONNECTED_LEARNT_H
#define GLOWMCU_FULLY_CONNECTED_LEARNT_H

#include "glowmcu_dot.h"
#include "glowmcu_requantize.h"

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

/* Adds to acc[0..3] what a row gives with four of weights, to acc[4..7] what the next row does. */
GLOWMCU_CODE
static inline void glowmcu_dot4_twice(const int8_t *x, const int8_t *next, const int8_t *w,
    int32_t row, int32_t count, int32_t offset, int32_t acc[8])
{
    const int8_t *w1 = w + row;
    const int8_t *w2 = w1 + row;
    const int8_t *w3 = w2 + row;
    int32_t acc0 = acc[0];
    int32_t acc1 = acc[1];
    int32_t acc2 = acc[2];
    int32_t acc3 = acc[3];
    int32_t acc4 = acc[4];
    int32_t acc5 = acc[5];
    int32_t acc6 = acc[6];
    int32_t acc7 = acc[7];

    for (int32_t i = 0; i < count; ++i) {
        const int32_t a = x[i] + offset;
        const int32_t b = next[i] + offset;
        int32_t weight = w[i];
        acc0 += a * weight;
        acc4 += b * weight;
        weight = w1[i];
        acc1 += a * weight;
        acc5 += b * weight;
        weight = w2[i];
        acc2 += a * weight;
        acc6 += b * weight;
        weight = w3[i];
        acc3 += a * weight;
        acc7 += b * weight;
    }
    acc[0] = acc0;
    acc[1] = acc1;
    acc[2] = acc2;
    acc[3] = acc3;
    acc[4] = acc4;
    acc[5] = acc5;
    acc[6] = acc6;
    acc[7] = acc7;
}

/* Sums of one row or two (acc[4..7]), of `count` outputs (1 or 4). */
GLOWMCU_CODE
static inline void glowmcu_learnt_sums(const glowmcu_learnt_matrix *p, const int8_t *x,
    const int8_t *weights, int32_t count, int32_t rows, int32_t acc[8])
{
    const int32_t depth = p->depth_in;
    const int32_t offset = -p->in_zero_point;

    for (int32_t i = 0; i < 8; ++i) {
        acc[i] = 0;
    }
    if (count == 4 && rows == 2) {
        glowmcu_dot4_twice(x, x + depth, weights, depth, depth, offset, acc);
    } else if (count == 4) {
        glowmcu_dot4(x, weights, depth, depth, offset, acc);
    } else {
        acc[0] = glowmcu_dot(x, weights, depth, offset, 0);
        if (rows == 2) {
            acc[4] = glowmcu_dot(x + depth, weights, depth, offset, 0);
        }
    }
}

/*
 * `in` is [rows][depth_in], `out` [rows][depth_out]; they may not overlap. Four outputs of two rows
 * at a time, so that weights are loaded less.
 */
GLOWMCU_CODE
static void glowmcu_fully_connected_learnt(const glowmcu_learnt_matrix *p, const int8_t *in,
    const int8_t *weights, const int32_t *bias, int8_t *out)
{
    int32_t oc = 0;

    while (oc < p->depth_out) {
        const int32_t count = (p->depth_out - oc >= 4) ? 4 : 1;
        int32_t row = 0;
        while (row < p->rows) {
            const int32_t rows = (p->rows - row >= 2) ? 2 : 1;
            int32_t acc[8];
            glowmcu_learnt_sums(p, in + row * p->depth_in, weights, count, rows, acc);
            for (int32_t r = 0; r < rows; ++r, ++row) {
                int8_t *result = out + row * p->depth_out + oc;
                for (int32_t i = 0; i < count; ++i) {
                    const int32_t channel = (oc + i) * p->channel_step;
                    const int32_t value = glowmcu_requantize(acc[4 * r + i] + bias[oc + i],
                        p->multipliers[channel], p->shifts[channel]) + p->out_zero_point;
                    result[i] = (int8_t)glowmcu_clamp(value, p->clamp_min, p->clamp_max);
                }
            }
        }
        weights += count * p->depth_in;
        oc += count;
    }
}

#endif /* GLOWMCU_FULLY_CONNECTED_LEARNT_H */
