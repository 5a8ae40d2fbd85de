/*
 * glowmcu_output_pairs_armv7m.h: glowmcu_output_pairs for Cortex-M3 and everything above.
 *
 * 27 instructions for the 16 products of a group and four outputs; all registers are in use.
 */
#ifndef GLOWMCU_OUTPUT_PAIRS_ARMV7M_H
#define GLOWMCU_OUTPUT_PAIRS_ARMV7M_H

#include "glowmcu_thumb.h"

struct glowmcu_output_job;

#if GLOWMCU_THUMB == 2
/* One tap: element `x`, mask r7, four outputs' weights `w`; r1 grows from `start`. */
#define GLOWMCU_OUTPUT_TAP(x, w, start)      \
    "and r6, r7, " w ", lsr #8\n\t"          \
    "mla r1, " x ", r6, " start "\n\t"       \
    "and r6, r7, " w "\n\t"                  \
    "mla r0, " x ", r6, r0\n\t"

/* stack: 56 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_output_pairs(
    const struct glowmcu_output_job *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n\t"
        "ldmia r0, {r1, r2, r3, r4, r5}\n\t" /* stream, weights, groups, output fours, sums */
        "mov lr, r2\n\t"
        "add r6, r3, r3, lsl #2\n\t"
        "add r6, r1, r6, lsl #2\n\t" /* end of the stream */
        "lsl r7, r3, #15\n\t"
        "rsb r7, r7, #0\n\t" /* what the groups' 2^15 sum up to, negative */
        "push {r1, r4, r5, r6, r7}\n\t"
        "mov r7, #0x00FF00FF\n"
        "1:\n\t" /* four outputs */
        "ldr r12, [sp, #0]\n\t"
        "ldr r8, [sp, #16]\n\t"
        "mov r9, #0\n\t"
        "mov r10, r8\n\t"
        "mov r11, #0\n"
        "2:\n\t"
        "ldmia r12!, {r0, r2, r3}\n\t" /* correction, x0, x1 */
        "ldmia lr!, {r4, r5}\n\t"
        GLOWMCU_OUTPUT_TAP("r2", "r4", "r0")
        GLOWMCU_OUTPUT_TAP("r3", "r5", "r1")
        "ldmia r12!, {r2, r3}\n\t"
        "ldmia lr!, {r4, r5}\n\t"
        GLOWMCU_OUTPUT_TAP("r2", "r4", "r1")
        GLOWMCU_OUTPUT_TAP("r3", "r5", "r1")
        "add r8, r8, r0\n\t"
        "add r9, r9, r0, asr #16\n\t"
        "ldr r6, [sp, #12]\n\t"
        "add r10, r10, r1\n\t"
        "add r11, r11, r1, asr #16\n\t"
        "cmp r12, r6\n\t"
        "bne 2b\n\t"
        "ldr r6, [sp, #8]\n\t"
        "sub r0, r8, r9, lsl #16\n\t"
        "sub r1, r10, r11, lsl #16\n\t"
        "mov r2, r9\n\t"
        "mov r3, r11\n\t"
        "stmia r6!, {r0, r1, r2, r3}\n\t"
        "str r6, [sp, #8]\n\t"
        "ldr r6, [sp, #4]\n\t"
        "subs r6, r6, #1\n\t"
        "str r6, [sp, #4]\n\t"
        "bne 1b\n\t"
        "add sp, sp, #20\n\t"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#endif

#endif /* GLOWMCU_OUTPUT_PAIRS_ARMV7M_H */
