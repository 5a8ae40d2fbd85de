/*
 * glowmcu_nibble_pairs_thumb.h: glowmcu_nibble_pairs for all Thumb cores, by instructions of
 * Armv6-M.
 *
 * 55.5 cycles on a Cortex-M0+ for the 32 products of two taps, with half of a loop's end. All low
 * registers are in use; sums of outputs 0 and 1 are in r0 and r1, others in r8 to r12 and lr.
 */
#ifndef GLOWMCU_NIBBLE_PAIRS_THUMB_H
#define GLOWMCU_NIBBLE_PAIRS_THUMB_H

#include "glowmcu_saved_registers_nodsp.h"

struct glowmcu_nibble_job;

#if GLOWMCU_THUMB != 0
/* Eight outputs' products with the pair `x`; weights at r6. */
#define GLOWMCU_NIBBLE_TAP(x)      \
    "ldmia r6!, {r3}\n\t"          \
    "lsrs r4, r3, #28\n\t"         \
    "muls r4, " x ", r4\n\t"       \
    "adds r0, r0, r4\n\t"          \
    "lsrs r4, r3, #24\n\t"         \
    "muls r4, " x ", r4\n\t"       \
    "adds r1, r1, r4\n\t"          \
    "lsrs r4, r3, #20\n\t"         \
    "muls r4, " x ", r4\n\t"       \
    "add r8, r4\n\t"               \
    "lsrs r4, r3, #16\n\t"         \
    "muls r4, " x ", r4\n\t"       \
    "add r9, r4\n\t"               \
    "lsrs r4, r3, #12\n\t"         \
    "muls r4, " x ", r4\n\t"       \
    "add r10, r4\n\t"              \
    "lsrs r4, r3, #8\n\t"          \
    "muls r4, " x ", r4\n\t"       \
    "add r11, r4\n\t"              \
    "lsrs r4, r3, #4\n\t"          \
    "muls r4, " x ", r4\n\t"       \
    "add r12, r4\n\t"              \
    "muls r3, " x ", r3\n\t"       \
    "add lr, r3\n\t"

#define GLOWMCU_NIBBLE_TAPS        \
    "ldmia r5!, {r2, r7}\n\t"      \
    GLOWMCU_NIBBLE_TAP("r2")       \
    GLOWMCU_NIBBLE_TAP("r7")

/* To `to` the four bits' sum of the next output: its sum `of`, less 16 times the one before. */
#define GLOWMCU_NIBBLE_PART(to, of, before, times_16) \
    "mov " to ", " of "\n\t"                          \
    "lsls " times_16 ", " to ", #4\n\t"               \
    "subs " to ", " to ", " before "\n\t"             \
    "adds " to ", " to ", r7\n\t"

/* A word at r6 as the sums of both pixels, r1 and r2. */
#define GLOWMCU_NIBBLE_HALVES      \
    "ldmia r6!, {r0}\n\t"          \
    "sxth r1, r0\n\t"              \
    "subs r0, r0, r1\n\t"          \
    "asrs r2, r0, #16\n\t"

/* stack: 104 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_nibble_pairs(
    const struct glowmcu_nibble_job *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_REGISTERS
        "sub sp, #68\n\t"
        "ldmia r0!, {r1, r2, r3, r4, r5, r6, r7}\n\t" /* all of the job, in its order */
        "str r1, [sp, #4]\n\t"
        "str r2, [sp, #8]\n\t"
        "str r3, [sp, #12]\n\t"
        "str r4, [sp, #16]\n\t"
        "str r6, [sp, #32]\n\t"
        "str r7, [sp, #28]\n\t"
        "movs r6, r5\n"
        "1:\n\t" /* eight outputs */
        "ldr r5, [sp, #4]\n\t"
        "ldr r3, [sp, #12]\n\t"
        "str r3, [sp, #20]\n"
        "2:\n\t" /* a group: where it ends */
        "ldr r2, [sp, #16]\n\t"
        "adds r2, r2, r5\n\t"
        "ldr r3, [sp, #8]\n\t"
        "cmp r2, r3\n\t"
        "bls 3f\n\t"
        "movs r2, r3\n"
        "3:\n\t"
        "str r2, [sp, #0]\n\t"
        "movs r0, #0\n\t"
        "movs r1, #0\n\t"
        "mov r8, r0\n\t"
        "mov r9, r0\n\t"
        "mov r10, r0\n\t"
        "mov r11, r0\n\t"
        "mov r12, r0\n\t"
        "mov lr, r0\n\t"
        "subs r2, r2, r5\n\t"
        "lsrs r2, r2, #4\n\t"
        "bcs 5f\n" /* two taps more than a multiple of four */
        "4:\n\t"
        GLOWMCU_NIBBLE_TAPS
        "\n5:\n\t"
        GLOWMCU_NIBBLE_TAPS
        "ldr r4, [sp, #0]\n\t"
        "cmp r5, r4\n\t"
        "bne 4b\n\t"
        "ldr r4, [sp, #20]\n\t"
        "ldmia r4!, {r7}\n\t" /* correction */
        "str r4, [sp, #20]\n\t"
        "str r6, [sp, #24]\n\t"
        "add r6, sp, #36\n\t"
        "lsls r4, r0, #4\n\t"
        "adds r2, r0, r7\n\t"
        GLOWMCU_NIBBLE_PART("r3", "r1", "r4", "r0")
        "stmia r6!, {r2, r3}\n\t"
        GLOWMCU_NIBBLE_PART("r2", "r8", "r0", "r4")
        GLOWMCU_NIBBLE_PART("r3", "r9", "r4", "r0")
        "stmia r6!, {r2, r3}\n\t"
        GLOWMCU_NIBBLE_PART("r2", "r10", "r0", "r4")
        GLOWMCU_NIBBLE_PART("r3", "r11", "r4", "r0")
        "stmia r6!, {r2, r3}\n\t"
        GLOWMCU_NIBBLE_PART("r2", "r12", "r0", "r4")
        GLOWMCU_NIBBLE_PART("r3", "lr", "r4", "r0")
        "stmia r6!, {r2, r3}\n\t"
        "movs r4, r6\n\t"
        "add r6, sp, #36\n\t"
        "ldr r7, [sp, #28]\n\t"
        "ldr r0, [sp, #12]\n\t"
        "ldr r1, [sp, #20]\n\t"
        "subs r1, r1, r0\n\t"
        "cmp r1, #4\n\t"
        "bne 7f\n"
        "6:\n\t" /* the first group */
        GLOWMCU_NIBBLE_HALVES
        "stmia r7!, {r1, r2}\n\t"
        "cmp r6, r4\n\t"
        "bne 6b\n\t"
        "b 8f\n"
        "7:\n\t" /* one more */
        GLOWMCU_NIBBLE_HALVES
        "ldr r3, [r7, #0]\n\t"
        "adds r1, r1, r3\n\t"
        "ldr r3, [r7, #4]\n\t"
        "adds r2, r2, r3\n\t"
        "stmia r7!, {r1, r2}\n\t"
        "cmp r6, r4\n\t"
        "bne 7b\n"
        "8:\n\t"
        "ldr r6, [sp, #24]\n\t"
        "ldr r2, [sp, #8]\n\t"
        "cmp r5, r2\n\t"
        "beq 9f\n\t"
        "b 2b\n"
        "9:\n\t"
        "str r7, [sp, #28]\n\t"
        "ldr r0, [sp, #32]\n\t"
        "subs r0, #1\n\t"
        "str r0, [sp, #32]\n\t"
        "beq 10f\n\t"
        "b 1b\n"
        "10:\n\t"
        "add sp, #68\n\t"
        GLOWMCU_RESTORE_REGISTERS);
}

#endif

#endif /* GLOWMCU_NIBBLE_PAIRS_THUMB_H */
