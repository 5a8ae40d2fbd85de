/*
 * glowmcu_direct_outputs_armv6m.h: glowmcu_direct_outputs for Cortex-M0, M0+ and M23.
 *
 * 55 instructions for the 16 products of a group and four outputs; 32-bit sums are in r8 to r11.
 * Of a word of weights the lower bytes' pair is not masked: what the other one adds, 256 times its
 * own products, is taken from the group's sum.
 */
#ifndef GLOWMCU_DIRECT_OUTPUTS_ARMV6M_H
#define GLOWMCU_DIRECT_OUTPUTS_ARMV6M_H

#include "glowmcu_thumb.h"

struct glowmcu_direct_job;

#if GLOWMCU_THUMB == 1
/* Element `tap` of four, at r6, to r2; four outputs' weights at r7 to r3. */
#define GLOWMCU_DIRECT_LOAD(tap)     \
    "movs r2, #" tap "\n\t"          \
    "ldrsb r2, [r6, r2]\n\t"         \
    "ldmia r7!, {r3}\n\t"

/* One more of them: mask r5, sums r0 and r1, of elements lr. */
#define GLOWMCU_DIRECT_TAP(tap)      \
    GLOWMCU_DIRECT_LOAD(tap)         \
    "add lr, r2\n\t"                 \
    "lsrs r4, r3, #8\n\t"            \
    "ands r4, r5\n\t"                \
    "muls r3, r2, r3\n\t"            \
    "adds r0, r0, r3\n\t"            \
    "muls r4, r2, r4\n\t"            \
    "adds r1, r1, r4\n\t"

/* stack: 52 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_direct_outputs(
    const struct glowmcu_direct_job *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_ALL
        "ldmia r0!, {r1, r2, r3, r4, r5, r6}\n\t" /* all of the job, in its order */
        "push {r1, r4, r5, r6}\n\t" /* in, start, output fours, sums */
        "movs r7, r2\n\t"
        "adds r1, r1, r3\n\t"
        "mov r12, r1\n\t" /* where the last group begins */
        "movs r5, #255\n\t"
        "lsls r4, r5, #16\n\t"
        "orrs r5, r4\n"
        "1:\n\t" /* four outputs */
        "ldr r6, [sp, #0]\n\t"
        "ldr r3, [sp, #4]\n\t"
        "mov r8, r3\n\t"
        "mov r10, r3\n\t"
        "movs r3, #0\n\t"
        "mov r9, r3\n\t"
        "mov r11, r3\n"
        "2:\n\t"
        GLOWMCU_DIRECT_LOAD("0")
        "mov lr, r2\n\t"
        "lsrs r1, r3, #8\n\t"
        "ands r1, r5\n\t"
        "movs r0, r3\n\t"
        "muls r0, r2, r0\n\t"
        "muls r1, r2, r1\n\t"
        GLOWMCU_DIRECT_TAP("1")
        GLOWMCU_DIRECT_TAP("2")
        GLOWMCU_DIRECT_TAP("3")
        "lsls r3, r1, #8\n\t"
        "subs r0, r0, r3\n\t"
        "mov r3, lr\n\t" /* what 128 a weight made too much, less 2^15 - 128 */
        "lsls r4, r3, #16\n\t"
        "adds r3, r3, r4\n\t"
        "subs r3, #255\n\t"
        "lsls r3, r3, #7\n\t"
        "subs r0, r0, r3\n\t"
        "subs r1, r1, r3\n\t"
        "asrs r3, r0, #16\n\t"
        "add r9, r3\n\t"
        "add r8, r0\n\t"
        "asrs r3, r1, #16\n\t"
        "add r11, r3\n\t"
        "add r10, r1\n\t"
        "adds r6, #4\n\t"
        "cmp r6, r12\n\t"
        "bls 2b\n\t"
        "mov r3, r12\n\t"
        "subs r4, r6, r3\n\t"
        "movs r6, r3\n\t"
        "cmp r4, #4\n\t" /* less: one to three elements are left */
        "bne 2b\n\t"
        "mov r0, r8\n\t"
        "mov r1, r10\n\t"
        "mov r2, r9\n\t"
        "mov r3, r11\n\t"
        "lsls r4, r2, #16\n\t"
        "subs r0, r0, r4\n\t"
        "lsls r4, r3, #16\n\t"
        "subs r1, r1, r4\n\t"
        "ldr r4, [sp, #12]\n\t"
        "stmia r4!, {r0, r1, r2, r3}\n\t"
        "str r4, [sp, #12]\n\t"
        "ldr r4, [sp, #8]\n\t"
        "subs r4, #1\n\t"
        "str r4, [sp, #8]\n\t"
        "bne 1b\n\t"
        "add sp, #16\n\t"
        GLOWMCU_RESTORE_ALL);
}

#endif

#endif /* GLOWMCU_DIRECT_OUTPUTS_ARMV6M_H */
