/*
 * glowmcu_depthwise_planes_step_armv6m.h: glowmcu_depthwise_plane_step for Cortex-M0, M0+ and M23.
 *
 * 144 cycles for the 18 products of two columns and two results. Sums that get their last two
 * columns are in r8 and r9, the next ones in r10 and r11: both together, modulo 2^32, then the
 * second. r6 is the column, r12 a pixel, lr the end of a line, r7 where the job is read.
 */
#ifndef GLOWMCU_DEPTHWISE_PLANES_STEP_ARMV6M_H
#define GLOWMCU_DEPTHWISE_PLANES_STEP_ARMV6M_H

#include "glowmcu_thumb.h"

struct glowmcu_plane_step_nodsp;

#if GLOWMCU_THUMB == 1
/* A column's inputs to r3 to r5: lines two apart. */
#define GLOWMCU_PLANE_STEP_INPUTS            \
    "ldmia r7!, {r0, r1, r2, r3, r4}\n\t"    \
    "ldrsb r0, [r0, r6]\n\t"                 \
    "ldrsb r1, [r1, r6]\n\t"                 \
    "ldrsb r2, [r2, r6]\n\t"                 \
    "ldrsb r3, [r3, r6]\n\t"                 \
    "ldrsb r4, [r4, r6]\n\t"                 \
    "lsls r5, r4, #16\n\t"                   \
    "adds r5, r5, r2\n\t"                    \
    "lsls r4, r3, #16\n\t"                   \
    "adds r4, r4, r1\n\t"                    \
    "lsls r3, r2, #16\n\t"                   \
    "adds r3, r3, r0\n\t"

/* stack: 36 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_depthwise_plane_step(
    struct glowmcu_plane_step_nodsp *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_ALL
        "movs r7, r0\n\t"
        "ldr r0, [r7, #80]\n\t" /* channels */
        "mov r12, r0\n\t"
        "ldr r0, [r7, #84]\n\t" /* end */
        "mov lr, r0\n"
        "1:\n\t" /* two rows */
        "ldr r0, [r7, #16]\n\t"
        "ldr r4, [r7, #100]\n\t" /* pitch */
        "ldr r5, [r7, #104]\n\t" /* bottom */
        "adds r1, r0, r4\n\t"
        "adds r2, r1, r4\n\t"
        "adds r3, r2, r4\n\t"
        "adds r6, r3, r4\n\t"
        "ldr r4, [r7, #108]\n\t" /* padding */
        "cmp r6, r5\n\t"
        "blo 2f\n\t"
        "movs r6, r4\n\t"
        "cmp r3, r5\n\t"
        "blo 2f\n\t"
        "movs r3, r4\n\t"
        "cmp r2, r5\n\t"
        "blo 2f\n\t"
        "movs r2, r4\n"
        "2:\n\t"
        "stmia r7!, {r0, r1, r2, r3}\n\t"
        "str r6, [r7, #0]\n\t"
        "subs r7, #16\n\t"
        "ldr r0, [r7, #112]\n\t" /* next */
        "ldr r3, [r7, #116]\n\t" /* rows */
        "ldr r4, [r7, #120]\n\t" /* pitch of results */
        "adds r1, r0, r4\n\t"
        "adds r2, r1, r4\n\t"
        "subs r3, #2\n\t"
        "str r2, [r7, #112]\n\t"
        "str r3, [r7, #116]\n\t"
        "bpl 2f\n\t"
        "movs r1, r0\n" /* a last row is written over what is below it */
        "2:\n\t"
        "str r0, [r7, #72]\n\t"
        "str r1, [r7, #76]\n\t"
        "movs r6, #0\n\t"
        GLOWMCU_PLANE_STEP_INPUTS
        "adds r7, #24\n\t"
        GLOWMCU_PLANE_TAPS("mov", "r8", "r9")
        "subs r7, #56\n"
        "3:\n\t" /* two columns */
        "add r6, r12\n\t"
        GLOWMCU_PLANE_STEP_INPUTS
        GLOWMCU_PLANE_TAPS("add", "r8", "r9")
        "add r6, r12\n\t"
        "cmp r6, lr\n\t"
        "beq 9f\n\t"
        "subs r7, #32\n\t"
        GLOWMCU_PLANE_STEP_INPUTS
        "adds r7, #12\n\t"
        GLOWMCU_PLANE_TAPS("add", "r8", "r9")
        GLOWMCU_PLANE_TAPS("mov", "r10", "r11")
        "\n4:\n\t"
        "mov r1, r9\n\t"
        "lsls r2, r1, #16\n\t"
        "mov r0, r8\n\t"
        "subs r0, r0, r2\n\t"
        "mov r8, r10\n\t"
        "mov r9, r11\n\t"
        "ldmia r7!, {r2, r3, r4, r5}\n\t" /* low, span, high, addend */
        "subs r1, r1, r2\n\t"
        "subs r0, r0, r2\n\t"
        GLOWMCU_PLANE_SCALE("r0", "10", "5", "6")
        "cmp r1, #0\n\t"
        GLOWMCU_PLANE_SCALE("r1", "11", "5", "7")
        "ldmia r7!, {r2, r3}\n\t" /* out */
        "lsrs r4, r6, #1\n\t"
        "strb r1, [r3, r4]\n\t"
        "strb r0, [r2, r4]\n\t"
        "subs r7, #80\n\t"
        "cmp r6, lr\n\t"
        "bne 3b\n\t"
        "ldr r0, [r7, #116]\n\t"
        "cmp r0, #0\n\t"
        "ble 8f\n\t"
        "b 1b\n"
        "9:\n\t" /* the last column is padding */
        "ldr r0, [r7, #60]\n\t"
        "add r8, r0\n\t"
        "ldr r0, [r7, #64]\n\t"
        "add r9, r0\n\t"
        "adds r7, #24\n\t"
        "b 4b\n"
        "10:\n\t"
        "movs r0, #0\n\t"
        "b 6b\n"
        "11:\n\t"
        "movs r1, #0\n\t"
        "b 7b\n"
        "8:\n\t"
        GLOWMCU_RESTORE_ALL);
}

#endif

#endif /* GLOWMCU_DEPTHWISE_PLANES_STEP_ARMV6M_H */
