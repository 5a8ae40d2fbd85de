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
/* Products with the pairs of bytes in `words` and those between them; `words`, `spare` are lost. */
#define GLOWMCU_BATCH_MATMUL_PAIRS(x, words, spare, sum, next) \
    "   sxtb16  " spare ", " words "\n"                        \
    "   smlad   " sum ", " x ", " spare ", " sum "\n"          \
    "   sxtb16  " words ", " words ", ror #8\n"                \
    "   smlad   " next ", " x ", " words ", " next "\n"

/* Four rows of y, `row` apart: the first and the third, then the second and the fourth. */
#define GLOWMCU_BATCH_MATMUL_ACROSS                            \
    "1: ldr     %[a], [%[y]]\n"                                \
    "   ldr     %[b], [%[y], %[row], lsl #1]\n"                \
    "   ldr     %[w], [%[x]], #4\n"                            \
    "   pkhbt   %[c], %[a], %[b], lsl #16\n"                   \
    "   pkhtb   %[b], %[b], %[a], asr #16\n"                   \
    "   sxtab16 %[a], %[zero], %[w]\n"                         \
    "   sxtab16 %[w], %[zero], %[w], ror #8\n"                 \
    GLOWMCU_BATCH_MATMUL_PAIRS("%[a]", "%[c]", "%[d]", "%[s0]", "%[s1]") \
    GLOWMCU_BATCH_MATMUL_PAIRS("%[a]", "%[b]", "%[d]", "%[s2]", "%[s3]") \
    "   add     %[y], %[row]\n"                                \
    "   ldr     %[a], [%[y]]\n"                                \
    "   ldr     %[b], [%[y], %[row], lsl #1]\n"                \
    "   add     %[y], %[row]\n"                                \
    "   pkhbt   %[c], %[a], %[b], lsl #16\n"                   \
    "   pkhtb   %[b], %[b], %[a], asr #16\n"                   \
    "   add     %[y], %[y], %[row], lsl #1\n"                  \
    GLOWMCU_BATCH_MATMUL_PAIRS("%[w]", "%[c]", "%[d]", "%[s0]", "%[s1]") \
    GLOWMCU_BATCH_MATMUL_PAIRS("%[w]", "%[b]", "%[d]", "%[s2]", "%[s3]") \
    "   subs    %[count], #1\n"                                \
    "   bne     1b\n"
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
#endif

/*
 * Four columns of y side by side, rows `row` apart: `fours`, at least 1, times four products to
 * each sum. A function of its own, so that all of it stays in registers.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_batch_matmul_across(const int8_t *x, const int8_t *y, int32_t row,
    int32_t fours, uint32_t minus_zero, int32_t *results)
{
    int32_t sums[4] = {0, 0, 0, 0};

#if GLOWMCU_HAS_DSP
    uint32_t a;
    uint32_t b;
    uint32_t c;
    uint32_t d;
    uint32_t w;

    __asm__ volatile(GLOWMCU_BATCH_MATMUL_ACROSS
        : [s0] "+r"(sums[0]), [s1] "+r"(sums[1]), [s2] "+r"(sums[2]), [s3] "+r"(sums[3]),
        [x] "+r"(x), [y] "+r"(y), [count] "+r"(fours), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c),
        [d] "=&r"(d), [w] "=&r"(w)
        : [row] "r"(row), [zero] "r"(minus_zero)
        : "cc", "memory");
#else
    for (; fours > 0; --fours) {
        const uint32_t word = glowmcu_load_word(x);

        glowmcu_batch_matmul_pairs(glowmcu_sxtab16(minus_zero, word), glowmcu_load_word(y),
            glowmcu_load_word(y + 2 * row), sums);
        glowmcu_batch_matmul_pairs(glowmcu_sxtab16_ror8(minus_zero, word),
            glowmcu_load_word(y + row), glowmcu_load_word(y + 3 * row), sums);
        x += 4;
        y += 4 * row;
    }
#endif
    (void)memcpy(results, sums, sizeof sums);
}

/* The same of four columns that are `apart`, each in one piece. */
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
