/*
 * glowmcu_batch_matmul_dsp.h: int8 matrix products x . y, y transposed or not, batch axes
 * broadcast, two products an instruction.
 *
 * A result is the sum of (x - zero_x) * y, less zero_y times the sum of x - zero_x, which a row
 * of x has once. Four elements of it become {x0, x2} and {x1, x3} and go with four columns of y:
 * where these lie side by side, words of two rows become a pair for each column; where a column
 * lies in one piece, its words become pairs as those of x do.
 */
#ifndef GLOWMCU_BATCH_MATMUL_DSP_H
#define GLOWMCU_BATCH_MATMUL_DSP_H

#include "glowmcu_dsp.h"
#include "glowmcu_matrices.h"

typedef struct {
    glowmcu_matrices matrices;
    uint32_t minus_zero_x; /* in both halves */
    int32_t zero_y;
    int32_t multiplier;
    int32_t step;  /* output zero point * 2^shift, and half a step */
    int32_t shift; /* to the right, at least 1 */
} glowmcu_batch_matmul_dsp;

/* The sum of a row of x less its zero points. */
GLOWMCU_CODE
static int32_t glowmcu_batch_matmul_row(const glowmcu_batch_matmul_dsp *p, const int8_t *x)
{
    const int32_t minus_zero = glowmcu_low_half(p->minus_zero_x);
    int32_t sum = 0;

    for (int32_t i = 0; i < p->matrices.depth; ++i) {
        sum += x[i] + minus_zero;
    }
    return sum;
}

#if GLOWMCU_HAS_DSP
/* Products of `x` with the pairs of bytes in `words` and those between them, which are lost. */
#define GLOWMCU_BATCH_MATMUL_PAIRS(x, words, sum, next) \
    "sxtb16 r11, " words "\n\t"                         \
    "smlad " sum ", " x ", r11, " sum "\n\t"            \
    "sxtb16 " words ", " words ", ror #8\n\t"           \
    "smlad " next ", " x ", " words ", " next "\n\t"

/*
 * Four columns of y side by side, rows `row` apart: `fours`, at least 1, times four products to
 * each sum. r4 to r7 are the sums, r8 the first or second row's word, r9 the third or fourth's,
 * r10 the left columns, r12 and r8 x, lr minus_zero.
 */
/* stack: 36 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_batch_matmul_across(const int8_t *x GLOWMCU_UNUSED,
    const int8_t *y GLOWMCU_UNUSED, int32_t row GLOWMCU_UNUSED, int32_t fours GLOWMCU_UNUSED,
    uint32_t minus_zero GLOWMCU_UNUSED, int32_t *results GLOWMCU_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n\t"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n\t"
        "ldr lr, [sp, #36]\n\t"
        "movs r4, #0\n\t"
        "movs r5, #0\n\t"
        "movs r6, #0\n\t"
        "movs r7, #0\n"
        "1:\n\t"
        "ldr r8, [r1]\n\t"
        "ldr r9, [r1, r2, lsl #1]\n\t"
        "ldr r12, [r0], #4\n\t"
        "pkhbt r10, r8, r9, lsl #16\n\t"
        "pkhtb r9, r9, r8, asr #16\n\t"
        "sxtab16 r8, lr, r12\n\t"
        "sxtab16 r12, lr, r12, ror #8\n\t"
        GLOWMCU_BATCH_MATMUL_PAIRS("r8", "r10", "r4", "r5")
        GLOWMCU_BATCH_MATMUL_PAIRS("r8", "r9", "r6", "r7")
        "add r1, r1, r2\n\t"
        "ldr r8, [r1]\n\t"
        "ldr r9, [r1, r2, lsl #1]\n\t"
        "add r1, r1, r2\n\t"
        "pkhbt r10, r8, r9, lsl #16\n\t"
        "pkhtb r9, r9, r8, asr #16\n\t"
        "add r1, r1, r2, lsl #1\n\t"
        GLOWMCU_BATCH_MATMUL_PAIRS("r12", "r10", "r4", "r5")
        GLOWMCU_BATCH_MATMUL_PAIRS("r12", "r9", "r6", "r7")
        "subs r3, r3, #1\n\t"
        "bne 1b\n\t"
        "ldr r0, [sp, #40]\n\t"
        "stm r0, {r4, r5, r6, r7}\n\t"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
#else
/* `x` times the elements of two rows, in words of four columns: a pair for each column. */
GLOWMCU_CODE
static inline void glowmcu_batch_matmul_pairs(uint32_t x, uint32_t upper, uint32_t lower,
    int32_t *sums)
{
    const uint32_t left = glowmcu_pack_low(upper, lower);
    const uint32_t right = glowmcu_pack_high(upper, lower);

    sums[0] = glowmcu_smlad(x, glowmcu_sxtb16(left), sums[0]);
    sums[1] = glowmcu_smlad(x, glowmcu_sxtb16_ror8(left), sums[1]);
    sums[2] = glowmcu_smlad(x, glowmcu_sxtb16(right), sums[2]);
    sums[3] = glowmcu_smlad(x, glowmcu_sxtb16_ror8(right), sums[3]);
}

GLOWMCU_CODE
static void glowmcu_batch_matmul_across(const int8_t *x, const int8_t *y, int32_t row,
    int32_t fours, uint32_t minus_zero, int32_t *results)
{
    int32_t sums[4] = {0, 0, 0, 0};

    for (; fours > 0; --fours) {
        const uint32_t word = glowmcu_load_word(x);

        glowmcu_batch_matmul_pairs(glowmcu_sxtab16(minus_zero, word), glowmcu_load_word(y),
            glowmcu_load_word(y + 2 * row), sums);
        glowmcu_batch_matmul_pairs(glowmcu_sxtab16_ror8(minus_zero, word),
            glowmcu_load_word(y + row), glowmcu_load_word(y + 3 * row), sums);
        x += 4;
        y += 4 * row;
    }
    (void)memcpy(results, sums, sizeof sums);
}
#endif

/* The same of four columns that are `apart`, each in one piece; in registers of its own. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_batch_matmul_along(const int8_t *x, const int8_t *y, int32_t apart,
    int32_t fours, uint32_t minus_zero, int32_t *results)
{
    int32_t sums[4] = {0, 0, 0, 0};

    for (; fours > 0; --fours) {
        const uint32_t word = glowmcu_load_word(x);
        const uint32_t even = glowmcu_sxtab16(minus_zero, word);
        const uint32_t odd = glowmcu_sxtab16_ror8(minus_zero, word);
        const uint32_t first = glowmcu_load_word(y);
        const uint32_t second = glowmcu_load_word(y + apart);
        const uint32_t third = glowmcu_load_word(y + 2 * apart);
        const uint32_t fourth = glowmcu_load_word(y + 3 * apart);

        sums[0] = glowmcu_smlad(even, glowmcu_sxtb16(first), sums[0]);
        sums[0] = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(first), sums[0]);
        sums[1] = glowmcu_smlad(even, glowmcu_sxtb16(second), sums[1]);
        sums[1] = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(second), sums[1]);
        sums[2] = glowmcu_smlad(even, glowmcu_sxtb16(third), sums[2]);
        sums[2] = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(third), sums[2]);
        sums[3] = glowmcu_smlad(even, glowmcu_sxtb16(fourth), sums[3]);
        sums[3] = glowmcu_smlad(odd, glowmcu_sxtb16_ror8(fourth), sums[3]);
        x += 4;
        y += 4;
    }
    (void)memcpy(results, sums, sizeof sums);
}

/* What is left of a depth that is no multiple of four. */
GLOWMCU_CODE
static void glowmcu_batch_matmul_rest(const glowmcu_batch_matmul_dsp *p, const int8_t *x,
    const int8_t *y, int32_t *sums)
{
    const int32_t minus_zero = glowmcu_low_half(p->minus_zero_x);

    for (int32_t k = p->matrices.depth & ~3; k < p->matrices.depth; ++k) {
        const int32_t element = x[k] + minus_zero;
        const int8_t *at = y + k * p->matrices.y_step;

        for (int32_t i = 0; i < 4; ++i) {
            sums[i] += element * *at;
            at += p->matrices.y_column;
        }
    }
}

/* Four sums to int8, each less `offset`: both of TensorFlow Lite's roundings, |sum| < 2^30. */
GLOWMCU_CODE
static inline void glowmcu_batch_matmul_results(const glowmcu_batch_matmul_dsp *p,
    const int32_t *sums, int32_t offset, int8_t *out)
{
    const int32_t multiplier = p->multiplier;
    const int32_t step = p->step;
    const int32_t shift = p->shift;
    int32_t results[4];

    for (int32_t i = 0; i < 4; ++i) {
        const int32_t sum = sums[i] - offset;
        const int32_t scaled = glowmcu_smmlar(2 * sum, multiplier, step + glowmcu_sign(sum));

        results[i] = glowmcu_saturate_s8(scaled >> shift);
    }
    glowmcu_store_word(
        out, glowmcu_pack_bytes(results[0], results[1], results[2], results[3]));
}

/* One matrix product, of four columns or more; returns where the next result goes. */
GLOWMCU_CODE
static inline int8_t *glowmcu_batch_matmul_dsp_matrix(const glowmcu_batch_matmul_dsp *p,
    const int8_t *x, const int8_t *y, int8_t *out)
{
    const glowmcu_matrices *m = &p->matrices;
    const int32_t fours = m->depth >> 2;
    const int32_t last = m->columns - 4;
    int32_t sums[4];

    for (int32_t i = 0; i < m->rows; ++i) {
        const int32_t offset = (p->zero_y != 0) ? (p->zero_y * glowmcu_batch_matmul_row(p, x)) : 0;

        for (int32_t column = 0; column < m->columns; column += 4) {
            /* The last ones begin earlier where there are no four. */
            const int32_t first = (column < last) ? column : last;
            const int8_t *at = y + first * m->y_column;

            if (m->y_step == 1) {
                glowmcu_batch_matmul_along(x, at, m->y_column, fours, p->minus_zero_x, sums);
            } else {
                glowmcu_batch_matmul_across(x, at, m->y_step, fours, p->minus_zero_x, sums);
            }
            if ((m->depth & 3) != 0) {
                glowmcu_batch_matmul_rest(p, x, at, sums);
            }
            glowmcu_batch_matmul_results(p, sums, offset, out + first);
        }
        x += m->x_row;
        out += m->columns;
    }
    return out;
}

/* `out` is [batch_0][batch_1][batch_2][rows][columns]; it may overlap neither operand. */
GLOWMCU_CODE
static void glowmcu_batch_matmul_dsp_s8(const glowmcu_batch_matmul_dsp *p, const int8_t *x,
    const int8_t *y, int8_t *out)
{
    for (int32_t b0 = 0; b0 < p->matrices.batch_0; ++b0) {
        for (int32_t b1 = 0; b1 < p->matrices.batch_1; ++b1) {
            for (int32_t b2 = 0; b2 < p->matrices.batch_2; ++b2) {
                out = glowmcu_batch_matmul_dsp_matrix(p,
                    x + glowmcu_matrix_of_x(&p->matrices, b0, b1, b2),
                    y + glowmcu_matrix_of_y(&p->matrices, b0, b1, b2), out);
            }
        }
    }
}

#endif /* GLOWMCU_BATCH_MATMUL_DSP_H */
