/*
 * glowmcu_vector_fives_f32.h: float vectors of a multiple of four inputs, eight at least, times a
 * constant matrix, five vectors by four channels at a time. As glowmcu_fives_f32.h, without what
 * windows and other numbers of inputs need: 2 % of the time of a layer of sixteen inputs.
 */
#ifndef GLOWMCU_VECTOR_FIVES_F32_H
#define GLOWMCU_VECTOR_FIVES_F32_H

#include "glowmcu_matrix_windows.h"
#include "glowmcu_fives_f32.h"

#if GLOWMCU_HAS_FPU
/* `rows` are the inputs but for the first four. Labels: 3 four products. */
GLOWMCU_CODE
static inline void glowmcu_vector_fives_f32_blocks(const glowmcu_fives_f32 *p, const float *w,
    float *y, int32_t blocks)
{
    GLOWMCU_FIVES_VARIABLES;

    __asm__ volatile(
        GLOWMCU_FIVES_START("")
        GLOWMCU_FIVES_PAIR
        "3:\n"
        GLOWMCU_FIVES_PAIR
        GLOWMCU_FIVES_PAIR
        "subs.w %[rows], %[rows], #4\n"
        "bne.w 3b\n"
        "ldr.w %[rows], [%[p], #52]\n"
        "ldr.w %[e], [%[p], #40]\n"
        "vldmia %[w]!, {s20-s23}\n"
        GLOWMCU_FIVES_FINISH("")
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
}
#else
#define glowmcu_vector_fives_f32_compute glowmcu_fives_f32_compute
#endif

/* As glowmcu_window_row. */
GLOWMCU_CODE
static inline void glowmcu_vector_fives_f32_pixels(glowmcu_window_f32 *p, const void *weights,
    int32_t block_bytes, int32_t channels, const float *x, int32_t step, float *out, int32_t count)
{
    glowmcu_fives_pixels(p, glowmcu_vector_fives_f32_compute, weights, block_bytes, channels, x,
        step, out, count);
}

/* As glowmcu_matrix_windows. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_vector_fives_f32(const glowmcu_matrix_real *p, const float *in, float *out,
    int32_t first_row, int32_t end_row)
{
    glowmcu_matrix_windows(p, glowmcu_vector_fives_f32_pixels, 16 * (p->depth_in + 1), in, out,
        first_row, end_row);
}

#endif /* GLOWMCU_VECTOR_FIVES_F32_H */
