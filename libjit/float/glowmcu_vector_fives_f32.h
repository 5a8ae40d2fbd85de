/*
 * glowmcu_vector_fives_f32.h: float vectors of a multiple of four inputs, eight at least, times a
 * constant matrix, five vectors by four channels at a time. As glowmcu_fives_f32.h, without what
 * windows and other numbers of inputs need: 2 % of the time of a layer of sixteen inputs.
 */
#ifndef GLOWMCU_VECTOR_FIVES_F32_H
#define GLOWMCU_VECTOR_FIVES_F32_H

#include "glowmcu_fives_f32.h"

#if GLOWMCU_HAS_FPU
/* `rows` are the inputs but for the first four. Labels: 3 four products. */
GLOWMCU_CODE
static inline void glowmcu_vector_fives_f32_blocks(const glowmcu_fives_f32 *p, const float *w,
    float *y, int32_t blocks)
{
    GLOWMCU_FIVES_VARIABLES;

    __asm__ volatile(
        GLOWMCU_FIVES_START(4, "")
        GLOWMCU_FIVES_PAIR_4
        "3:\n"
        GLOWMCU_FIVES_PAIR_4
        GLOWMCU_FIVES_PAIR_4
        "subs.w %[rows], %[rows], #4\n"
        "bne.w 3b\n"
        "ldr.w %[rows], [%[p], #52]\n"
        "ldr.w %[e], [%[p], #40]\n"
        "vldmia %[w]!, {s20-s23}\n"
        GLOWMCU_FIVES_FINISH(4, "")
        GLOWMCU_FIVES_OPERANDS);
}

/* As glowmcu_fives_f32_compute. */
GLOWMCU_CODE
static inline void glowmcu_vector_fives_f32_compute(glowmcu_fives_f32 *fives,
    const float *weights, int32_t blocks, const float *x, int32_t step, float *out)
{
    for (int32_t pixel = 0; pixel < 5; ++pixel) {
        fives->in[pixel] = x + pixel * step;
    }
    fives->rows = fives->row - 4;
    glowmcu_vector_fives_f32_blocks(fives, weights, out, blocks);
    fives->rows = 1;
}
#else
#define glowmcu_vector_fives_f32_compute glowmcu_fives_f32_compute
#endif

#endif /* GLOWMCU_VECTOR_FIVES_F32_H */
