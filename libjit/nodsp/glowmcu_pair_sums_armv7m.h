/*
 * glowmcu_pair_sums_armv7m.h: glowmcu_pair_sums for Cortex-M3 and everything above.
 *
 * 21 instructions for the 16 products of a group and two outputs; all registers are in use.
 */
#ifndef GLOWMCU_PAIR_SUMS_ARMV7M_H
#define GLOWMCU_PAIR_SUMS_ARMV7M_H

#include "glowmcu_thumb.h"

struct glowmcu_pair_job;

#if GLOWMCU_THUMB == 2
#define GLOWMCU_PAIR_GROUP(w0, w1, w2, w3, w4, w5, w6, w7)                       \
    "ldmia r12!, {r0, r2, r3, r4, r5}\n\t" /* correction, X0, X1, X2, X3 */      \
    "ldrb r6, [lr, #" w0 "]\n\t"                                                 \
    "ldrb r7, [lr, #" w1 "]\n\t"                                                 \
    "mla r1, r2, r7, r0\n\t"                                                     \
    "mla r0, r2, r6, r0\n\t"                                                     \
    "ldrb r6, [lr, #" w2 "]\n\t"                                                 \
    "ldrb r7, [lr, #" w3 "]\n\t"                                                 \
    "mla r0, r3, r6, r0\n\t"                                                     \
    "mla r1, r3, r7, r1\n\t"                                                     \
    "ldrb r6, [lr, #" w4 "]\n\t"                                                 \
    "ldrb r7, [lr, #" w5 "]\n\t"                                                 \
    "mla r0, r4, r6, r0\n\t"                                                     \
    "mla r1, r4, r7, r1\n\t"                                                     \
    "ldrb r6, [lr, #" w6 "]\n\t"                                                 \
    "ldrb r7, [lr, #" w7 "]\n\t"                                                 \
    "mla r0, r5, r6, r0\n\t"                                                     \
    "mla r1, r5, r7, r1\n\t"                                                     \
    "add r8, r8, r0\n\t"                                                         \
    "add r9, r9, r0, asr #16\n\t"                                                \
    "add r10, r10, r1\n\t"                                                       \
    "add r11, r11, r1, asr #16\n\t"

/* stack: 60 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_pair_sums(
    const struct glowmcu_pair_job *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n\t"
        "ldmia r0, {r1, r2, r3, r4, r5}\n\t" /* stream, weights, groups, output pairs, sums */
        "mov lr, r2\n\t"
        "add r6, r3, r3, lsl #2\n\t"
        "add r6, r1, r6, lsl #2\n\t" /* end of the stream */
        "lsl r7, r3, #15\n\t"
        "rsb r7, r7, #0\n\t" /* what the groups' 2^15 sum up to, negative */
        "and r3, r3, #1\n\t"
        "push {r1, r3, r4, r5, r6, r7}\n"
        "1:\n\t" /* two outputs */
        "ldr r12, [sp, #0]\n\t"
        "ldr r6, [sp, #4]\n\t"
        "ldr r8, [sp, #20]\n\t"
        "mov r9, #0\n\t"
        "mov r10, r8\n\t"
        "mov r11, #0\n\t"
        "cbz r6, 2f\n\t"
        "sub lr, lr, #8\n\t" /* an odd count enters at the second group */
        "b 3f\n"
        "2:\n\t"
        GLOWMCU_PAIR_GROUP("0", "1", "2", "3", "4", "5", "6", "7")
        "\n3:\n\t"
        GLOWMCU_PAIR_GROUP("8", "9", "10", "11", "12", "13", "14", "15")
        "ldr r6, [sp, #16]\n\t"
        "add lr, lr, #16\n\t"
        "cmp r12, r6\n\t"
        "bne 2b\n\t"
        "ldr r6, [sp, #12]\n\t"
        "sub r8, r8, r9, lsl #16\n\t"
        "sub r10, r10, r11, lsl #16\n\t"
        "stmia r6!, {r8, r9, r10, r11}\n\t"
        "str r6, [sp, #12]\n\t"
        "ldr r6, [sp, #8]\n\t"
        "subs r6, r6, #1\n\t"
        "str r6, [sp, #8]\n\t"
        "bne 1b\n\t"
        "add sp, sp, #24\n\t"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#endif

#endif /* GLOWMCU_PAIR_SUMS_ARMV7M_H */
