/*
 * glowmcu_batch_matmul_dsp.h: int8 matrix products, either operand transposed, batch axes
 * broadcast, two products an instruction.
 *
 * Both matrices are widened less their zero points, y once and x row by row, so that pairs of
 * elements are words of int16. Four columns of y lie side by side, word by word.
 */
#ifndef GLOWMCU_BATCH_MATMUL_DSP_H
#define GLOWMCU_BATCH_MATMUL_DSP_H

#include "glowmcu_dsp.h"
#include "glowmcu_matrices.h"

typedef struct {
    glowmcu_matrices matrices;
    uint32_t minus_zero_x; /* in both halves */
    uint32_t minus_zero_y;
    int32_t multiplier;
    int32_t step;  /* output zero point * 2^shift, and half a step */
    int32_t shift; /* to the right, at least 1 */
} glowmcu_batch_matmul_dsp;

/*
 * `count` elements, `step` apart, as two words of each four: {x0, x2}, {x1, x3}, with zeros behind
 * the last one. The words are `apart`.
 */
GLOWMCU_CODE
static inline void glowmcu_batch_matmul_widen(const int8_t *in, int32_t step, int32_t count,
    uint32_t minus_zero, uint32_t *words, int32_t apart)
{
    const int32_t offset = glowmcu_low_half(minus_zero);

    for (; count >= 4; count -= 4) {
        if (step == 1) {
            const uint32_t four = glowmcu_load_word(in);
            words[0] = glowmcu_sxtab16(minus_zero, four);
            words[apart] = glowmcu_sxtab16_ror8(minus_zero, four);
        } else {
            words[0] = glowmcu_halves(in[0] + offset, in[2 * step] + offset);
            words[apart] = glowmcu_halves(in[step] + offset, in[3 * step] + offset);
        }
        in += 4 * step;
        words += 2 * apart;
    }
    if (count > 0) {
        words[0] = glowmcu_halves(in[0] + offset, (count > 2) ? (in[2 * step] + offset) : 0);
        words[apart] = glowmcu_halves((count > 1) ? (in[step] + offset) : 0, 0);
    }
}

/* Both of TensorFlow Lite's roundings, where |sum| < 2^30. */
static GLOWMCU_ALWAYS_INLINE int8_t glowmcu_batch_matmul_dsp_result(
    const glowmcu_batch_matmul_dsp *p, int32_t sum)
{
    const int32_t scaled = glowmcu_smmlar(2 * sum, p->multiplier, p->step + glowmcu_sign(sum));

    return (int8_t)glowmcu_saturate_s8(scaled >> p->shift);
}

/*
 * A row of x, which ends at `end`, with four columns of y; depth * 255^2 < 2^30. A function of its
 * own, so that all of it stays in registers.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_batch_matmul_dsp_four(const glowmcu_batch_matmul_dsp *p, const uint32_t *row,
    const uint32_t *end, const uint32_t *columns, int8_t *out)
{
    int32_t sum_0 = 0;
    int32_t sum_1 = 0;
    int32_t sum_2 = 0;
    int32_t sum_3 = 0;

    for (; row != end; row += 2, columns += 8) {
        sum_0 = glowmcu_smlad(row[0], columns[0], sum_0);
        sum_1 = glowmcu_smlad(row[0], columns[1], sum_1);
        sum_2 = glowmcu_smlad(row[0], columns[2], sum_2);
        sum_3 = glowmcu_smlad(row[0], columns[3], sum_3);
        sum_0 = glowmcu_smlad(row[1], columns[4], sum_0);
        sum_1 = glowmcu_smlad(row[1], columns[5], sum_1);
        sum_2 = glowmcu_smlad(row[1], columns[6], sum_2);
        sum_3 = glowmcu_smlad(row[1], columns[7], sum_3);
    }
    out[0] = glowmcu_batch_matmul_dsp_result(p, sum_0);
    out[1] = glowmcu_batch_matmul_dsp_result(p, sum_1);
    out[2] = glowmcu_batch_matmul_dsp_result(p, sum_2);
    out[3] = glowmcu_batch_matmul_dsp_result(p, sum_3);
}

/* One matrix product; returns where the next result goes. */
GLOWMCU_CODE
static inline int8_t *glowmcu_batch_matmul_dsp_matrix(const glowmcu_batch_matmul_dsp *p,
    const int8_t *x, const int8_t *y, int8_t *out, uint32_t *row)
{
    const glowmcu_matrices *m = &p->matrices;
    const int32_t words = (m->depth + 3) / 4 * 2;
    uint32_t *const end = &row[words];

    /* The last column again where there are not four. */
    for (int32_t column = 0; column < (m->columns + 3) / 4 * 4; ++column) {
        uint32_t *four = end + (column / 4) * 4 * words;
        glowmcu_batch_matmul_widen(y, m->y_step, m->depth, p->minus_zero_y, four + column % 4, 4);
        y += (column + 1 < m->columns) ? m->y_column : 0;
    }
    for (int32_t i = 0; i < m->rows; ++i) {
        const uint32_t *columns = end;

        glowmcu_batch_matmul_widen(x, m->x_step, m->depth, p->minus_zero_x, row, 1);
        for (int32_t left = m->columns; left > 0; left -= 4) {
            const int32_t some = (left < 4) ? left : 4;
            int8_t last[4];

            glowmcu_batch_matmul_dsp_four(p, row, end, columns, (some < 4) ? last : out);
            if (some < 4) {
                (void)memcpy(out, last, (size_t)some);
            }
            columns += 4 * words;
            out += some;
        }
        x += m->x_row;
    }
    return out;
}

/*
 * `out` is [batch_0][batch_1][batch_2][rows][columns]; it may overlap neither operand. `scratch`:
 * a row of x and the columns of y, in fours, as words of two elements; 4-byte aligned.
 */
GLOWMCU_CODE
static void glowmcu_batch_matmul_dsp_s8(const glowmcu_batch_matmul_dsp *p, const int8_t *x,
    const int8_t *y, int8_t *out, int8_t *scratch)
{
    uint32_t *const row = (uint32_t *)(void *)scratch;

    for (int32_t b0 = 0; b0 < p->matrices.batch_0; ++b0) {
        for (int32_t b1 = 0; b1 < p->matrices.batch_1; ++b1) {
            for (int32_t b2 = 0; b2 < p->matrices.batch_2; ++b2) {
                out = glowmcu_batch_matmul_dsp_matrix(p,
                    x + glowmcu_matrix_of_x(&p->matrices, b0, b1, b2),
                    y + glowmcu_matrix_of_y(&p->matrices, b0, b1, b2), out, row);
            }
        }
    }
}

#endif /* GLOWMCU_BATCH_MATMUL_DSP_H */
