/*
 * glowmcu_nibble_rows_thumb.h: glowmcu_nibble_rows for all Thumb cores, by instructions of Armv6-M.
 *
 * 20.5 cycles on a Cortex-M0+ for the 8 products of an input, with a quarter of a loop's end.
 */
#ifndef GLOWMCU_NIBBLE_ROWS_THUMB_H
#define GLOWMCU_NIBBLE_ROWS_THUMB_H

#include "glowmcu_saved_registers_nodsp.h"

struct glowmcu_nibble_row;

#if GLOWMCU_THUMB != 0
/*
 * The next input, at r5 + r4, to r0 and to the sum lr; its weights, at r6, to r2. Mask r3. Products
 * with the whole word need no mask: what other weights add to r11 is 16 times what r10 has, 256
 * times what r9 has and 4096 times what r8 has, modulo 2^32. The last flags are those of r4.
 */
#define GLOWMCU_NIBBLE_INPUT       \
    "ldrsb r0, [r5, r4]\n\t"       \
    "ldmia r6!, {r2}\n\t"          \
    "add lr, r0\n\t"               \
    "lsrs r1, r2, #12\n\t"         \
    "ands r1, r3\n\t"              \
    "muls r1, r0, r1\n\t"          \
    "add r8, r1\n\t"               \
    "lsrs r1, r2, #8\n\t"          \
    "ands r1, r3\n\t"              \
    "muls r1, r0, r1\n\t"          \
    "add r9, r1\n\t"               \
    "lsrs r1, r2, #4\n\t"          \
    "ands r1, r3\n\t"              \
    "muls r1, r0, r1\n\t"          \
    "add r10, r1\n\t"              \
    "muls r2, r0, r2\n\t"          \
    "adds r4, #1\n\t"              \
    "add r11, r2\n\t"

/* Both halves of a sum, less r4, to the sums at r7, of which the upper half's is `upper`. */
#define GLOWMCU_NIBBLE_ADD(sum, upper, lower) \
    "mov r0, " sum "\n\t"                     \
    "subs r0, r0, r4\n\t"                     \
    "sxth r1, r0\n\t"                         \
    "subs r0, r0, r1\n\t"                     \
    "asrs r0, r0, #16\n\t"                    \
    "ldr r2, [r7, #" upper "]\n\t"            \
    "adds r2, r2, r0\n\t"                     \
    "str r2, [r7, #" upper "]\n\t"            \
    "ldr r2, [r7, #" lower "]\n\t"            \
    "adds r2, r2, r1\n\t"                     \
    "str r2, [r7, #" lower "]\n\t"

/* stack: 56 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_nibble_rows(const struct glowmcu_nibble_row *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_REGISTERS
        "ldmia r0!, {r1, r2, r3, r4, r5, r6}\n\t" /* all of the job, in its order */
        "adds r2, r2, r1\n\t"
        "push {r1, r2, r3, r5, r6}\n\t" /* in, its end, group, eights, sums */
        "movs r6, r4\n\t"
        "movs r3, #15\n\t"
        "lsls r0, r3, #16\n\t"
        "orrs r3, r0\n"
        "1:\n\t" /* eight outputs */
        "ldr r7, [sp, #16]\n\t"
        "movs r0, #0\n\t"
        "movs r1, #0\n\t"
        "movs r2, #0\n\t"
        "movs r4, #0\n\t"
        "stmia r7!, {r0, r1, r2, r4}\n\t"
        "stmia r7!, {r0, r1, r2, r4}\n\t"
        "ldr r5, [sp, #0]\n"
        "2:\n\t" /* a group: from r5, which is where it ends, less r4 */
        "movs r4, r5\n\t"
        "ldr r0, [sp, #8]\n\t"
        "adds r5, r5, r0\n\t"
        "ldr r1, [sp, #4]\n\t"
        "cmp r5, r1\n\t"
        "bls 3f\n\t"
        "movs r5, r1\n"
        "3:\n\t"
        "subs r4, r4, r5\n\t"
        "movs r0, #0\n\t"
        "mov r8, r0\n\t"
        "mov r9, r0\n\t"
        "mov r10, r0\n\t"
        "mov r11, r0\n\t"
        "mov lr, r0\n\t"
        "movs r1, #3\n\t"
        "ands r1, r4\n\t"
        "beq 4f\n\t" /* a multiple of four */
        "cmp r1, #2\n\t"
        "beq 6f\n\t"
        "bhi 7f\n\t"
        "b 5f\n"
        "4:\n\t"
        GLOWMCU_NIBBLE_INPUT
        "\n5:\n\t"
        GLOWMCU_NIBBLE_INPUT
        "\n6:\n\t"
        GLOWMCU_NIBBLE_INPUT
        "\n7:\n\t"
        GLOWMCU_NIBBLE_INPUT
        "bne 4b\n\t"
        "ldr r7, [sp, #16]\n\t"
        "mov r0, r8\n\t"
        "lsls r4, r0, #4\n\t"
        "add r4, r9\n\t"
        "lsls r4, r4, #4\n\t"
        "add r4, r10\n\t"
        "lsls r4, r4, #4\n\t"
        "mov r1, r11\n\t"
        "subs r1, r1, r4\n\t"
        "mov r11, r1\n\t"
        "mov r1, lr\n\t" /* what 8 a weight made too much */
        "lsls r4, r1, #16\n\t"
        "adds r4, r4, r1\n\t"
        "lsls r4, r4, #3\n\t"
        GLOWMCU_NIBBLE_ADD("r8", "0", "16")
        GLOWMCU_NIBBLE_ADD("r9", "4", "20")
        GLOWMCU_NIBBLE_ADD("r10", "8", "24")
        GLOWMCU_NIBBLE_ADD("r11", "12", "28")
        "ldr r1, [sp, #4]\n\t"
        "cmp r5, r1\n\t"
        "beq 8f\n\t"
        "b 2b\n"
        "8:\n\t"
        "adds r7, #32\n\t"
        "str r7, [sp, #16]\n\t"
        "ldr r0, [sp, #12]\n\t"
        "subs r0, #1\n\t"
        "str r0, [sp, #12]\n\t"
        "beq 9f\n\t"
        "b 1b\n"
        "9:\n\t"
        "add sp, #20\n\t"
        GLOWMCU_RESTORE_REGISTERS);
}

#endif

#endif /* GLOWMCU_NIBBLE_ROWS_THUMB_H */
