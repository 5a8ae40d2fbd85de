/*
 * glowmcu_eights_outputs_armv6m.h: glowmcu_eights_outputs for Cortex-M0, M0+ and M23.
 *
 * 97 instructions and 107 cycles for the 32 products of a group and four outputs. Of a word of
 * weights the lower bytes' pair is not masked: what the other one adds, 256 times its own products,
 * is taken from the group's sum. 32-bit sums are in r8 to r11, the group's in r12 and lr.
 */
#ifndef GLOWMCU_EIGHTS_OUTPUTS_ARMV6M_H
#define GLOWMCU_EIGHTS_OUTPUTS_ARMV6M_H

#include "glowmcu_thumb.h"

struct glowmcu_direct_job;

#if GLOWMCU_THUMB == 1
/* Products of an element `x` with four outputs' weights at r7, to r3 and r4: mask r5. */
#define GLOWMCU_EIGHTS_PRODUCTS(x) \
    "ldmia r7!, {r3}\n\t"          \
    "lsrs r4, r3, #8\n\t"          \
    "ands r4, r5\n\t"              \
    "muls r3, " x ", r3\n\t"       \
    "muls r4, " x ", r4\n\t"

/* One more of them: elements' sum r0. */
#define GLOWMCU_EIGHTS_TAP(x)      \
    "adds r0, r0, " x "\n\t"       \
    GLOWMCU_EIGHTS_PRODUCTS(x)     \
    "add r12, r3\n\t"              \
    "add lr, r4\n\t"

/* The next of a word's elements but the last, to r2. */
#define GLOWMCU_EIGHTS_NEXT        \
    "asrs r1, r1, #8\n\t"          \
    "sxtb r2, r1\n\t"              \
    GLOWMCU_EIGHTS_TAP("r2")

/* stack: 56 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_eights_outputs(
    const struct glowmcu_direct_job *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_ALL
        "ldmia r0!, {r1, r2, r3, r4, r5, r6}\n\t" /* all of the job, in its order */
        "adds r3, r3, r1\n\t" /* where the last group begins */
        "push {r1, r3, r4, r5, r6}\n\t" /* in, that, start, output fours, sums */
        "movs r7, r2\n\t"
        "movs r5, #255\n\t"
        "lsls r4, r5, #16\n\t"
        "orrs r5, r4\n"
        "1:\n\t" /* four outputs */
        "ldr r6, [sp, #0]\n\t"
        "ldr r3, [sp, #8]\n\t"
        "mov r8, r3\n\t"
        "mov r10, r3\n\t"
        "movs r3, #0\n\t"
        "mov r9, r3\n\t"
        "mov r11, r3\n"
        "2:\n\t"
        "ldmia r6!, {r1}\n\t"
        "sxtb r0, r1\n\t"
        GLOWMCU_EIGHTS_PRODUCTS("r0")
        "mov r12, r3\n\t"
        "mov lr, r4\n\t"
        GLOWMCU_EIGHTS_NEXT
        GLOWMCU_EIGHTS_NEXT
        "asrs r1, r1, #8\n\t"
        GLOWMCU_EIGHTS_TAP("r1")
        "ldmia r6!, {r1}\n\t"
        "sxtb r2, r1\n\t"
        GLOWMCU_EIGHTS_TAP("r2")
        GLOWMCU_EIGHTS_NEXT
        GLOWMCU_EIGHTS_NEXT
        "asrs r1, r1, #8\n\t"
        "adds r0, r0, r1\n\t"
        GLOWMCU_EIGHTS_PRODUCTS("r1")
        "add r3, r12\n\t"
        "add r4, lr\n\t"
        "lsls r1, r4, #8\n\t"
        "subs r3, r3, r1\n\t"
        "lsls r1, r0, #16\n\t" /* what 128 a weight made too much, less 2^15 - 128 */
        "adds r0, r0, r1\n\t"
        "subs r0, #255\n\t"
        "lsls r0, r0, #7\n\t"
        "subs r3, r3, r0\n\t"
        "subs r4, r4, r0\n\t"
        "asrs r1, r3, #16\n\t"
        "add r9, r1\n\t"
        "add r8, r3\n\t"
        "asrs r1, r4, #16\n\t"
        "add r11, r1\n\t"
        "add r10, r4\n\t"
        "ldr r1, [sp, #4]\n\t"
        "cmp r6, r1\n\t"
        "bls 2b\n\t"
        "mov r0, r8\n\t"
        "mov r1, r10\n\t"
        "mov r2, r9\n\t"
        "mov r3, r11\n\t"
        "lsls r4, r2, #16\n\t"
        "subs r0, r0, r4\n\t"
        "lsls r4, r3, #16\n\t"
        "subs r1, r1, r4\n\t"
        "ldr r4, [sp, #16]\n\t"
        "stmia r4!, {r0, r1, r2, r3}\n\t"
        "str r4, [sp, #16]\n\t"
        "ldr r4, [sp, #12]\n\t"
        "subs r4, #1\n\t"
        "str r4, [sp, #12]\n\t"
        "bne 1b\n\t"
        "add sp, #20\n\t"
        GLOWMCU_RESTORE_ALL);
}

#endif

#endif /* GLOWMCU_EIGHTS_OUTPUTS_ARMV6M_H */
