/*
 * glowmcu_matrix_nibbles_mve.h: rows of int8 times a packed matrix of weights of four bits.
 *
 * A byte w has weights of two channels for one input, 16 * odd + even + 8: VSHR.S8 #4 makes the
 * odd one, and w itself gives sums from which 16 times the odd channel's and 8 times the sum of all
 * inputs are taken off. That one is found once a row, so that a vector is parted by one
 * instruction.
 */
#ifndef GLOWMCU_MATRIX_NIBBLES_MVE_H
#define GLOWMCU_MATRIX_NIBBLES_MVE_H

#include "glowmcu_matrix_mve.h"

#if GLOWMCU_HAS_MVE
/*
 * One row, eight channels at a time, as glowmcu_matrix_mve_single has them. A group of the stream
 * has weights [depth / 16][2][16]; channels beyond the last have weights 0 and constants 0.
 *
 * r1 row; r5, r3 the groups; r7 out; r9 blocks of 16 inputs left; r11 channels left; sums in r0 r2
 * r4 r6 of the first group, r8 r10 r12 lr of the second. On the stack: depth, bytes of a group,
 * preshift, blocks, the struct, and what the sums begin with, for LDM.
 */
/* stack: 88 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_matrix_nibbles_mve_row(
    const glowmcu_matrix_mve *p GLOWMCU_UNUSED, const int8_t *x GLOWMCU_UNUSED,
    int8_t *out GLOWMCU_UNUSED)
{
    __asm__ volatile(
        "   push        {r4-r11, lr}\n"
        "   ldrd        r4, r11, [r0, #0]\n"
        "   ldr         r8, [r0, #8]\n"
        "   ldr         r5, [r0, #20]\n"
        "   mov         r7, r2\n"
        "   lsr         r9, r4, #4\n"
        "   mov         r2, #0\n"
        "   mov         r3, #0\n"
        "   dls         lr, r9\n"
        "8: vldrb.8     q0, [r1], #16\n"        /* the sum of all inputs */
        "   vaddva.s8   r2, q0\n"
        "   le          lr, 8b\n"
        "   sub         r1, r1, r4\n"
        "   rsb         r2, r2, #0\n"
        "   lsl         r2, r2, #3\n"
        "   strd        r2, r3, [sp, #-8]!\n"
        "   strd        r2, r3, [sp, #-8]!\n"
        "   strd        r2, r3, [sp, #-8]!\n"
        "   strd        r2, r3, [sp, #-8]!\n"
        "   lsl         r6, r4, #1\n"
        "   add         r6, r6, #32\n"          /* two vectors of constants, or four */
        "   cmp         r8, #0\n"
        "   it          lt\n"
        "   addlt       r6, r6, #32\n"
        "   push        {r0}\n"
        "   push        {r4, r6, r8, r9}\n"
        "1: ldr         r3, [sp, #4]\n"         /* eight channels */
        "   cmp         r11, #4\n"
        "   ite         gt\n"
        "   addgt       r3, r5, r3\n"
        "   movle       r3, r5\n"
        "   ldr         r9, [sp, #12]\n"
        "   add         lr, sp, #20\n"
        "   ldm         lr, {r0, r2, r4, r6, r8, r10, r12, lr}\n"
        "2: vldrb.8     q1, [r5], #16\n"        /* 16 inputs */
        "   vldrb.8     q0, [r1], #16\n"
        "   vmladava.s8 r0, q0, q1\n"
        "   vldrb.8     q2, [r3], #16\n"
        "   vmladava.s8 r8, q0, q2\n"
        "   vldrb.8     q3, [r5], #16\n"
        "   vshr.s8     q1, q1, #4\n"
        "   vmladava.s8 r4, q0, q3\n"
        "   vshr.s8     q3, q3, #4\n"
        "   vmladava.s8 r2, q0, q1\n"
        "   vshr.s8     q2, q2, #4\n"
        "   vmladava.s8 r6, q0, q3\n"
        "   vldrb.8     q1, [r3], #16\n"
        "   vmladava.s8 r12, q0, q1\n"
        "   vshr.s8     q1, q1, #4\n"
        "   vmladava.s8 r10, q0, q2\n"
        "   subs        r9, r9, #1\n"
        "   vmladava.s8 lr, q0, q1\n"
        "   beq         3f\n"
        "   le          2b\n"
        "3:\n"
        "   sub         r0, r0, r2, lsl #4\n"
        "   sub         r4, r4, r6, lsl #4\n"
        "   sub         r8, r8, r10, lsl #4\n"
        "   sub         r12, r12, lr, lsl #4\n"
        GLOWMCU_MATRIX_MVE_EIGHT("52"));
}
#else
GLOWMCU_CODE
static inline void glowmcu_matrix_nibbles_mve_row(const glowmcu_matrix_mve *p, const int8_t *x,
    int8_t *out)
{
    const int32_t *stream = p->stream;

    for (int32_t oc = 0; oc < p->channels; ++oc) {
        const int32_t lane = oc & 3;
        const int8_t *w = (const int8_t *)stream + 16 * (lane / 2);
        int32_t sum = 0; /* within int32: the layer's comment has the bound */

        for (int32_t i = 0; i < p->depth; ++i) {
            const int32_t both = w[(i / 16) * 32 + i % 16];
            const int32_t low = both & 15;
            const int32_t weight = (lane % 2 == 0) ? low - 8 : (both - low) / 16;
            sum += (weight != 0) ? x[i] * weight : 0; /* beyond a window nobody wrote x */
        }
        out[oc] = glowmcu_scale_mve_one(&p->scale, sum, stream + p->depth / 2 + lane, 4);
        if (lane == 3) {
            stream += p->depth / 2 + 4 * GLOWMCU_SCALE_MVE_VECTORS(&p->scale);
        }
    }
}
#endif

#endif /* GLOWMCU_MATRIX_NIBBLES_MVE_H */
