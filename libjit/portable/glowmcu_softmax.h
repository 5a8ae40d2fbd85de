/*
 * glowmcu_softmax.h: softmax of int8 rows, every exponential computed twice.
 */
#ifndef GLOWMCU_SOFTMAX_H
#define GLOWMCU_SOFTMAX_H

#include "glowmcu_exp.h"
#include "glowmcu_softmax_row.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    int32_t out_bits;    /* 8 or 16 */
    int32_t multiplier;  /* from a difference of elements to Q5.26 */
    int32_t shift;
    int32_t differences; /* those from this one on count as exp = 0 */
} glowmcu_softmax;

/* exp in Q0.31 of an element that is `below` under its row's largest. */
GLOWMCU_CODE
static inline int32_t glowmcu_softmax_exp(const glowmcu_softmax *p, int32_t below)
{
    if (below >= p->differences) {
        return 0;
    }
    return glowmcu_exp_q5(glowmcu_requantize(-below, p->multiplier, p->shift));
}

/* `in` is int8 [rows][depth], `out` the same of out_bits; with 8 bits it may be `in` itself. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_softmax_s8(const glowmcu_softmax *p, const int8_t *in, void *out)
{
    int32_t index = 0;

    for (int32_t row = 0; row < p->rows; ++row, in += p->depth) {
        const int32_t largest = glowmcu_row_max(in, p->depth);
        glowmcu_softmax_scale scale;
        int32_t sum = 0; /* Q12.19, depth < 4096 */
        for (int32_t c = 0; c < p->depth; ++c) {
            sum += glowmcu_divide_by_pot(glowmcu_softmax_exp(p, largest - in[c]), 12);
        }
        scale = glowmcu_softmax_scale_of(sum, p->out_bits);
        for (int32_t c = 0; c < p->depth; ++c, ++index) {
            glowmcu_softmax_store(out, index, p->out_bits, scale,
                glowmcu_softmax_exp(p, largest - in[c]));
        }
    }
}

#endif /* GLOWMCU_SOFTMAX_H */
