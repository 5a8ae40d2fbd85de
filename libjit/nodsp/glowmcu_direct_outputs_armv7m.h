/*
 * glowmcu_direct_outputs_armv7m.h: glowmcu_direct_outputs for Cortex-M3 and everything above.
 *
 * 40 instructions for the 16 products of a group and four outputs; all registers are in use.
 */
#ifndef GLOWMCU_DIRECT_OUTPUTS_ARMV7M_H
#define GLOWMCU_DIRECT_OUTPUTS_ARMV7M_H

#include "glowmcu_thumb.h"

struct glowmcu_direct_job;

#if GLOWMCU_THUMB == 2
/* One more element r2 of the group: mask r7, four outputs' weights `w`, sum of elements r3. */
#define GLOWMCU_DIRECT_TAP(w)             \
    "and r6, r7, " w ", lsr #8\n\t"       \
    "mla r1, r2, r6, r1\n\t"              \
    "and r6, r7, " w "\n\t"               \
    "mla r0, r2, r6, r0\n\t"              \
    "add r3, r3, r2\n\t"

/* stack: 56 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_direct_outputs(
    const struct glowmcu_direct_job *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n\t"
        "ldmia r0, {r1, r2, r3, r4, r5, r6}\n\t" /* all of the job, in its order */
        "add r3, r3, r1\n\t" /* where the last group begins */
        "push {r1, r3, r4, r5, r6}\n\t" /* in, that, start, output fours, sums */
        "mov lr, r2\n\t"
        "mov r7, #0x00FF00FF\n"
        "1:\n\t" /* four outputs */
        "ldr r12, [sp, #0]\n\t"
        "ldr r8, [sp, #8]\n\t"
        "mov r9, #0\n\t"
        "mov r10, r8\n\t"
        "mov r11, #0\n"
        "2:\n\t"
        "ldrsb r3, [r12]\n\t"
        "ldrsb r2, [r12, #1]\n\t"
        "ldr r4, [lr]\n\t"
        "ldr r5, [lr, #4]\n\t"
        "and r6, r7, r4, lsr #8\n\t"
        "mul r1, r3, r6\n\t"
        "and r6, r7, r4\n\t"
        "mul r0, r3, r6\n\t"
        GLOWMCU_DIRECT_TAP("r5")
        "ldrsb r2, [r12, #2]\n\t"
        "ldr r4, [lr, #8]\n\t"
        "ldr r5, [lr, #12]\n\t"
        GLOWMCU_DIRECT_TAP("r4")
        "ldrsb r2, [r12, #3]\n\t"
        "ldr r4, [sp, #4]\n\t"
        GLOWMCU_DIRECT_TAP("r5")
        "add lr, lr, #16\n\t"
        "add r12, r12, #4\n\t"
        "add r3, r3, r3, lsl #16\n\t" /* what 128 a weight made too much, less 2^15 - 128 */
        "sub r3, r3, #255\n\t"
        "sub r0, r0, r3, lsl #7\n\t"
        "sub r1, r1, r3, lsl #7\n\t"
        "add r8, r8, r0\n\t"
        "add r9, r9, r0, asr #16\n\t"
        "add r10, r10, r1\n\t"
        "add r11, r11, r1, asr #16\n\t"
        "cmp r12, r4\n\t"
        "bls 2b\n\t"
        "sub r6, r12, r4\n\t"
        "mov r12, r4\n\t"
        "cmp r6, #4\n\t" /* less: one to three elements are left */
        "bne 2b\n\t"
        "ldr r6, [sp, #16]\n\t"
        "sub r0, r8, r9, lsl #16\n\t"
        "sub r1, r10, r11, lsl #16\n\t"
        "mov r2, r9\n\t"
        "mov r3, r11\n\t"
        "stmia r6!, {r0, r1, r2, r3}\n\t"
        "str r6, [sp, #16]\n\t"
        "ldr r6, [sp, #12]\n\t"
        "subs r6, r6, #1\n\t"
        "str r6, [sp, #12]\n\t"
        "bne 1b\n\t"
        "add sp, sp, #20\n\t"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#endif

#endif /* GLOWMCU_DIRECT_OUTPUTS_ARMV7M_H */
