/*
 * glowmcu_int8_floats.h: int8 weights of float layers, four channels a word, the first one in
 * the low byte; they become floats in registers, which is exact.
 */
#ifndef GLOWMCU_INT8_FLOATS_H
#define GLOWMCU_INT8_FLOATS_H

#include "glowmcu_fpu.h"

#if GLOWMCU_HAS_FPU
/* Four int8 become floats. */
#if GLOWMCU_HAS_FLOAT_VECTORS
#define GLOWMCU_W8_4 "vldrb.s32 q4, [%[w]], #4\nvcvt.f32.s32 q4, q4\n"
#define GLOWMCU_W8_8 GLOWMCU_W8_4 "vldrb.s32 q5, [%[w]], #4\nvcvt.f32.s32 q5, q5\n"
#else
#define GLOWMCU_FLOATS_OF_4(w0, w1, w2, w3) \
    "ldr %[t], [%[w]], #4\n" \
    "sxtb %[u], %[t]\n" \
    "vmov " w0 ", %[u]\n" \
    "sxtb %[u], %[t], ror #8\n" \
    "vmov " w1 ", %[u]\n" \
    "sxtb %[u], %[t], ror #16\n" \
    "vmov " w2 ", %[u]\n" \
    "asr %[t], %[t], #24\n" \
    "vmov " w3 ", %[t]\n" \
    "vcvt.f32.s32 " w0 ", " w0 "\n" \
    "vcvt.f32.s32 " w1 ", " w1 "\n" \
    "vcvt.f32.s32 " w2 ", " w2 "\n" \
    "vcvt.f32.s32 " w3 ", " w3 "\n"
#define GLOWMCU_W8_4 GLOWMCU_FLOATS_OF_4("s16", "s17", "s18", "s19")
#define GLOWMCU_W8_8 GLOWMCU_W8_4 GLOWMCU_FLOATS_OF_4("s20", "s21", "s22", "s23")
#endif

/* Sums times their channels' scales. */
#define GLOWMCU_SCALE(sum, scale) "vmul.f32 " sum ", " sum ", " scale "\n"
#define GLOWMCU_SCALE_4(a0, a1, a2, a3, b0, b1, b2, b3) \
    GLOWMCU_SCALE(a0, b0) GLOWMCU_SCALE(a1, b1) GLOWMCU_SCALE(a2, b2) GLOWMCU_SCALE(a3, b3)
#define GLOWMCU_SCALE_A4 GLOWMCU_SCALE_4("s0", "s1", "s2", "s3", "s16", "s17", "s18", "s19")
#define GLOWMCU_SCALE_A8 GLOWMCU_SCALE_A4 \
    GLOWMCU_SCALE_4("s4", "s5", "s6", "s7", "s20", "s21", "s22", "s23")
#define GLOWMCU_SCALE_B4 GLOWMCU_SCALE_4("s8", "s9", "s10", "s11", "s16", "s17", "s18", "s19")
#define GLOWMCU_SCALE_B8 GLOWMCU_SCALE_B4 \
    GLOWMCU_SCALE_4("s12", "s13", "s14", "s15", "s20", "s21", "s22", "s23")
#define GLOWMCU_SCALES_4 "vldmia %[w]!, {s16-s19}\n"
#define GLOWMCU_SCALES_8 "vldmia %[w]!, {s16-s23}\n"
#else
/* Weight `channel`, 0 to 3, of a word. */
GLOWMCU_CODE
static inline float glowmcu_w8_weight(int32_t word, int32_t channel)
{
    const int32_t byte = (int32_t)(((uint32_t)word >> (8 * channel)) & 0xFFu);

    return (float)((byte ^ 0x80) - 0x80);
}
#endif

#endif /* GLOWMCU_INT8_FLOATS_H */
