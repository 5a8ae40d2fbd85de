/*
 * glowmcu_output_pairs_armv6m.h: glowmcu_output_pairs for Cortex-M0, M0+ and M23.
 *
 * 45 instructions for the 16 products of a group and four outputs; 32-bit sums are in r8 to r11.
 */
#ifndef GLOWMCU_OUTPUT_PAIRS_ARMV6M_H
#define GLOWMCU_OUTPUT_PAIRS_ARMV6M_H

#include "glowmcu_thumb.h"

struct glowmcu_output_job;

#if GLOWMCU_THUMB == 1
/* One tap: element r2, mask r5, four outputs' weights at r7. */
#define GLOWMCU_OUTPUT_TAP   \
    "ldmia r7!, {r3}\n\t"    \
    "lsrs r4, r3, #8\n\t"    \
    "ands r3, r5\n\t"        \
    "ands r4, r5\n\t"        \
    "muls r3, r2, r3\n\t"    \
    "adds r0, r0, r3\n\t"    \
    "muls r4, r2, r4\n\t"    \
    "adds r1, r1, r4\n\t"

/* stack: 48 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_output_pairs(
    const struct glowmcu_output_job *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_ALL
        "ldmia r0!, {r3, r4, r5, r6, r7}\n\t" /* stream, weights, groups, output fours, sums */
        "movs r1, #20\n\t"
        "muls r1, r5, r1\n\t"
        "adds r1, r1, r3\n\t"
        "mov r12, r1\n\t" /* end of the stream */
        "lsls r1, r5, #15\n\t"
        "rsbs r1, r1, #0\n\t"
        "mov lr, r1\n\t" /* what the groups' 2^15 sum up to, negative */
        "push {r3, r6, r7}\n\t"
        "mov r7, r4\n\t"
        "movs r5, #255\n\t"
        "lsls r4, r5, #16\n\t"
        "orrs r5, r4\n"
        "1:\n\t" /* four outputs */
        "ldr r6, [sp, #0]\n\t"
        "mov r8, lr\n\t"
        "mov r10, lr\n\t"
        "movs r3, #0\n\t"
        "mov r9, r3\n\t"
        "mov r11, r3\n"
        "2:\n\t"
        "ldmia r6!, {r0, r2}\n\t" /* correction, x0 */
        "mov r1, r0\n\t"
        GLOWMCU_OUTPUT_TAP
        "ldmia r6!, {r2}\n\t"
        GLOWMCU_OUTPUT_TAP
        "ldmia r6!, {r2}\n\t"
        GLOWMCU_OUTPUT_TAP
        "ldmia r6!, {r2}\n\t"
        GLOWMCU_OUTPUT_TAP
        "asrs r3, r0, #16\n\t"
        "add r9, r3\n\t"
        "add r8, r0\n\t"
        "asrs r3, r1, #16\n\t"
        "add r11, r3\n\t"
        "add r10, r1\n\t"
        "cmp r6, r12\n\t"
        "bne 2b\n\t"
        "mov r0, r8\n\t"
        "mov r1, r10\n\t"
        "mov r2, r9\n\t"
        "mov r3, r11\n\t"
        "lsls r4, r2, #16\n\t"
        "subs r0, r0, r4\n\t"
        "lsls r4, r3, #16\n\t"
        "subs r1, r1, r4\n\t"
        "ldr r4, [sp, #8]\n\t"
        "stmia r4!, {r0, r1, r2, r3}\n\t"
        "str r4, [sp, #8]\n\t"
        "ldr r4, [sp, #4]\n\t"
        "subs r4, #1\n\t"
        "str r4, [sp, #4]\n\t"
        "bne 1b\n\t"
        "add sp, #12\n\t"
        GLOWMCU_RESTORE_ALL);
}

#endif

#endif /* GLOWMCU_OUTPUT_PAIRS_ARMV6M_H */
