/*
 * glowmcu_mul_dsp.h: int8 mul of whole tensors, four elements a word, saturated to int8.
 */
#ifndef GLOWMCU_MUL_DSP_H
#define GLOWMCU_MUL_DSP_H

#include "glowmcu_broadcast.h"
#include "glowmcu_dsp.h"

/*
 * TensorFlow Lite's product and both of its roundings, folded: with
 * v = (a - zero_a) * (b - zero_b),
 * out = saturate((hi32(2 * v * multiplier + 2^31) + addend + (v >> 31)) >> shift).
 */
typedef struct {
    uint32_t minus_zero_a; /* in both halves */
    uint32_t minus_zero_b;
    int32_t multiplier;
    int32_t addend; /* output zero point * 2^shift, and half a step */
    int32_t shift;  /* at least 1 */
    glowmcu_walk walk;
} glowmcu_mul_dsp;

static GLOWMCU_ALWAYS_INLINE int32_t glowmcu_mul_dsp_scaled(const glowmcu_mul_dsp *p, int32_t v)
{
    return glowmcu_saturate_s8(
        glowmcu_smmlar(2 * v, p->multiplier, p->addend + glowmcu_sign(v)) >> p->shift);
}

static GLOWMCU_ALWAYS_INLINE uint32_t glowmcu_mul_dsp_word(const glowmcu_mul_dsp *p, uint32_t a,
    uint32_t b)
{
    const uint32_t even_a = glowmcu_sxtab16(p->minus_zero_a, a);
    const uint32_t even_b = glowmcu_sxtab16(p->minus_zero_b, b);
    const uint32_t odd_a = glowmcu_sxtab16_ror8(p->minus_zero_a, a);
    const uint32_t odd_b = glowmcu_sxtab16_ror8(p->minus_zero_b, b);

    return glowmcu_pack_bytes(
        glowmcu_mul_dsp_scaled(p, glowmcu_low_half(even_a) * glowmcu_low_half(even_b)),
        glowmcu_mul_dsp_scaled(p, glowmcu_low_half(odd_a) * glowmcu_low_half(odd_b)),
        glowmcu_mul_dsp_scaled(p, glowmcu_high_half(even_a) * glowmcu_high_half(even_b)),
        glowmcu_mul_dsp_scaled(p, glowmcu_high_half(odd_a) * glowmcu_high_half(odd_b)));
}

GLOWMCU_CODE
static inline void glowmcu_mul_dsp_run(const void *parameters, const glowmcu_walk *walk,
    const int8_t *a, const int8_t *b, int8_t *out)
{
    const glowmcu_mul_dsp p = *(const glowmcu_mul_dsp *)parameters; /* stays in registers */
    const int32_t step_a = walk->step_a;
    const int32_t step_b = walk->step_b;
    int32_t left = walk->run;

    if (step_a == 1 && step_b == 1) {
        for (; left >= 4; left -= 4) {
            const uint32_t word_a = glowmcu_load_word(a);
            const uint32_t word_b = glowmcu_load_word(b);
            glowmcu_store_word(out, glowmcu_mul_dsp_word(&p, word_a, word_b));
            a += 4;
            b += 4;
            out += 4;
        }
    }
    for (; left > 0; --left) {
        const int32_t offset_a = *a + glowmcu_low_half(p.minus_zero_a);
        const int32_t offset_b = *b + glowmcu_low_half(p.minus_zero_b);
        *out = (int8_t)glowmcu_mul_dsp_scaled(&p, offset_a * offset_b);
        a += step_a;
        b += step_b;
        ++out;
    }
}

/* Shapes as `p->walk` says. `out` may be the same memory as an operand with as many elements. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_mul_dsp_s8(const glowmcu_mul_dsp *p, const int8_t *a, const int8_t *b,
    int8_t *out)
{
    glowmcu_broadcast_runs_s8(glowmcu_mul_dsp_run, p, &p->walk, a, b, out);
}

#endif /* GLOWMCU_MUL_DSP_H */
