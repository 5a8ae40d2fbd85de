/*
 * glowmcu_pair_sums_armv6m.h: glowmcu_pair_sums for Cortex-M0, M0+ and M23.
 *
 * 66 instructions and 89 cycles for the 32 products of two groups and two outputs, 4 to go on. The
 * compiler would spill: all eight low registers are in use, the 32-bit sums are in r8 to r11.
 */
#ifndef GLOWMCU_PAIR_SUMS_ARMV6M_H
#define GLOWMCU_PAIR_SUMS_ARMV6M_H

#include "glowmcu_thumb.h"

struct glowmcu_pair_job;

#if GLOWMCU_THUMB == 1
/* A group's first tap: element pair `x`, both outputs' sums begin with `correction`. */
#define GLOWMCU_PAIR_FIRST(correction, x, first, second) \
    "ldrb r3, [r4, #" second "]\n\t"                     \
    "muls r3, " x ", r3\n\t"                             \
    "adds r1, " correction ", r3\n\t"                    \
    "ldrb r3, [r4, #" first "]\n\t"                      \
    "muls r3, " x ", r3\n\t"                             \
    "adds r0, " correction ", r3\n\t"

/* One more: weights of two outputs. */
#define GLOWMCU_PAIR_TAP(x, first, second) \
    "ldrb r3, [r4, #" first "]\n\t"        \
    "muls r3, " x ", r3\n\t"               \
    "adds r0, r0, r3\n\t"                  \
    "ldrb r3, [r4, #" second "]\n\t"       \
    "muls r3, " x ", r3\n\t"               \
    "adds r1, r1, r3\n\t"

/* Halves part. */
#define GLOWMCU_PAIR_END   \
    "asrs r3, r0, #16\n\t" \
    "add r9, r3\n\t"       \
    "add r8, r0\n\t"       \
    "asrs r3, r1, #16\n\t" \
    "add r11, r3\n\t"      \
    "add r10, r1\n\t"

/* stack: 52 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_pair_sums(
    const struct glowmcu_pair_job *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_ALL
        "ldmia r0!, {r3, r4, r5, r6, r7}\n\t" /* stream, weights, groups, output pairs, sums */
        "movs r1, #20\n\t"
        "muls r1, r5, r1\n\t"
        "adds r1, r1, r3\n\t"
        "mov r12, r1\n\t" /* end of the stream */
        "lsls r1, r5, #15\n\t"
        "rsbs r1, r1, #0\n\t"
        "mov lr, r1\n\t" /* what the groups' 2^15 sum up to, negative */
        "lsls r6, r6, #4\n\t"
        "adds r6, r6, r7\n\t" /* end of the sums */
        "push {r3, r5, r6, r7}\n"
        "1:\n\t" /* two outputs */
        "ldr r5, [sp, #0]\n\t"
        "mov r8, lr\n\t"
        "mov r10, lr\n\t"
        "movs r3, #0\n\t"
        "mov r9, r3\n\t"
        "mov r11, r3\n\t"
        "ldr r3, [sp, #4]\n\t"
        "lsrs r3, r3, #1\n\t"
        "bcc 2f\n\t"
        "subs r4, #8\n\t" /* an odd count enters at the second group */
        "ldmia r5!, {r6, r7}\n\t"
        "b 3f\n"
        "2:\n\t"
        "ldmia r5!, {r0, r2, r6, r7}\n\t" /* correction, X0, X1, X2 */
        GLOWMCU_PAIR_FIRST("r0", "r2", "0", "1")
        GLOWMCU_PAIR_TAP("r6", "2", "3")
        GLOWMCU_PAIR_TAP("r7", "4", "5")
        "ldmia r5!, {r2, r6, r7}\n\t" /* X3; of the second group: correction, X0 */
        GLOWMCU_PAIR_TAP("r2", "6", "7")
        GLOWMCU_PAIR_END
        "\n3:\n\t"
        GLOWMCU_PAIR_FIRST("r6", "r7", "8", "9")
        "ldmia r5!, {r2, r6, r7}\n\t" /* X1, X2, X3 */
        GLOWMCU_PAIR_TAP("r2", "10", "11")
        GLOWMCU_PAIR_TAP("r6", "12", "13")
        GLOWMCU_PAIR_TAP("r7", "14", "15")
        GLOWMCU_PAIR_END
        "adds r4, #16\n\t"
        "cmp r5, r12\n\t"
        "bne 2b\n\t"
        "mov r0, r8\n\t"
        "mov r1, r9\n\t"
        "lsls r2, r1, #16\n\t"
        "subs r0, r0, r2\n\t"
        "mov r2, r10\n\t"
        "mov r3, r11\n\t"
        "lsls r6, r3, #16\n\t"
        "subs r2, r2, r6\n\t"
        "ldr r6, [sp, #12]\n\t"
        "stmia r6!, {r0, r1, r2, r3}\n\t"
        "str r6, [sp, #12]\n\t"
        "ldr r7, [sp, #8]\n\t"
        "cmp r6, r7\n\t"
        "bne 1b\n\t"
        "add sp, #16\n\t"
        GLOWMCU_RESTORE_ALL);
}

#endif

#endif /* GLOWMCU_PAIR_SUMS_ARMV6M_H */
