/*
 * glowmcu_depthwise_planes_armv6m.h: glowmcu_depthwise_plane for Cortex-M0, M0+ and M23.
 *
 * 119 cycles for the 18 products of a column and two results. Three pairs of sums are in r8 to lr,
 * the oldest first: both together, modulo 2^32, then the second. r3 to r5 hold pairs of inputs, r6
 * the column, r7 where the job is read.
 */
#ifndef GLOWMCU_DEPTHWISE_PLANES_ARMV6M_H
#define GLOWMCU_DEPTHWISE_PLANES_ARMV6M_H

#include "glowmcu_thumb.h"

struct glowmcu_plane_nodsp;

#if GLOWMCU_THUMB == 1
/* A column's inputs to r3 to r5. The first of them comes from r0 where `place` is entered. */
#define GLOWMCU_PLANE_INPUTS(place)          \
    "ldmia r7!, {r0, r1, r2, r3}\n\t"       \
    "ldrsb r0, [r0, r6]\n"                   \
    place                                    \
    "ldrsb r1, [r1, r6]\n\t"                \
    "ldrsb r2, [r2, r6]\n\t"                \
    "ldrsb r3, [r3, r6]\n\t"                \
    "lsls r5, r3, #16\n\t"                  \
    "adds r5, r5, r2\n\t"                   \
    "lsls r4, r2, #16\n\t"                  \
    "adds r4, r4, r1\n\t"                   \
    "lsls r3, r1, #16\n\t"                  \
    "adds r3, r3, r0\n\t"

/* The oldest sums go. */
#define GLOWMCU_PLANE_NEXT                   \
    "mov r8, r10\n\t"                        \
    "mov r9, r11\n\t"                        \
    "mov r10, r12\n\t"                       \
    "mov r11, lr\n\t"

/* stack: 40 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_depthwise_plane(struct glowmcu_plane_nodsp *job GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_ALL
        "sub sp, #4\n\t"
        "movs r7, r0\n"
        "1:\n\t" /* two rows */
        "ldr r0, [r7, #8]\n\t"
        "ldr r1, [r7, #12]\n\t"
        "ldr r4, [r7, #108]\n\t" /* pitch */
        "ldr r5, [r7, #112]\n\t" /* bottom */
        "adds r2, r1, r4\n\t"
        "adds r3, r2, r4\n\t"
        "cmp r3, r5\n\t"
        "blo 2f\n\t"
        "ldr r3, [r7, #116]\n\t" /* padding */
        "cmp r2, r5\n\t"
        "blo 2f\n\t"
        "movs r2, r3\n"
        "2:\n\t"
        "stmia r7!, {r0, r1, r2, r3}\n\t"
        "subs r7, #16\n\t"
        "ldr r0, [r7, #120]\n\t" /* next */
        "ldr r3, [r7, #124]\n\t" /* rows */
        "adds r1, r0, r4\n\t"
        "adds r2, r1, r4\n\t"
        "subs r3, #2\n\t"
        "str r2, [r7, #120]\n\t"
        "str r3, [r7, #124]\n\t"
        "bpl 2f\n\t"
        "movs r1, r0\n" /* a last row is written over what is below it */
        "2:\n\t"
        "str r0, [r7, #68]\n\t"
        "str r1, [r7, #72]\n\t"
        "ldr r0, [r7, #88]\n\t" /* left */
        "mov r10, r0\n\t"
        "ldr r0, [r7, #92]\n\t"
        "mov r11, r0\n\t"
        "ldr r6, [r7, #80]\n\t" /* last */
        "ldr r0, [r7, #0]\n\t"
        "ldrsb r0, [r0, r6]\n\t"
        "str r0, [sp, #0]\n\t" /* where the lower row's first result may be written */
        "ldr r6, [r7, #104]\n\t" /* first: this column ends no sum */
        GLOWMCU_PLANE_INPUTS("")
        GLOWMCU_PLANE_TAPS("add", "r10", "r11")
        GLOWMCU_PLANE_TAPS("mov", "r12", "lr")
        GLOWMCU_PLANE_NEXT
        "subs r7, #40\n\t"
        "ldr r0, [r7, #76]\n\t" /* channels */
        "adds r6, r6, r0\n\t"
        "b 3f\n"
        "13:\n\t" /* the last column */
        "ldmia r7!, {r0, r1, r2, r3}\n\t"
        "ldr r0, [sp, #0]\n\t"
        "b 9f\n"
        "3:\n\t" /* a column */
        GLOWMCU_PLANE_INPUTS("9:\n\t")
        GLOWMCU_PLANE_TAPS("add", "r10", "r11")
        GLOWMCU_PLANE_TAPS("mov", "r12", "lr")
        GLOWMCU_PLANE_TAPS("add", "r8", "r9")
        "\n4:\n\t" /* the oldest sums become results */
        "mov r1, r9\n\t"
        "lsls r2, r1, #16\n\t"
        "mov r0, r8\n\t"
        "subs r0, r0, r2\n\t"
        GLOWMCU_PLANE_NEXT
        "ldmia r7!, {r2, r3, r4, r5}\n\t" /* low, span, high, addend */
        "subs r1, r1, r2\n\t"
        "subs r0, r0, r2\n\t"
        GLOWMCU_PLANE_SCALE("r0", "10", "5", "6")
        "cmp r1, #0\n\t"
        GLOWMCU_PLANE_SCALE("r1", "11", "5", "7")
        "ldmia r7!, {r2, r3, r4, r5}\n\t" /* out, channels, last */
        "strb r1, [r3, r6]\n\t"
        "strb r0, [r2, r6]\n\t"
        "subs r7, #84\n\t"
        "adds r6, r6, r4\n\t"
        "cmp r6, r5\n\t"
        "blt 3b\n\t"
        "beq 13b\n\t"
        "adds r5, r5, r4\n\t"
        "cmp r6, r5\n\t"
        "bgt 8f\n\t"
        "ldr r0, [r7, #96]\n\t" /* right */
        "add r8, r0\n\t"
        "ldr r0, [r7, #100]\n\t"
        "add r9, r0\n\t"
        "adds r7, #52\n\t"
        "b 4b\n"
        "10:\n\t"
        "movs r0, #0\n\t"
        "b 6b\n"
        "11:\n\t"
        "movs r1, #0\n\t"
        "b 7b\n"
        "8:\n\t"
        "ldr r0, [r7, #124]\n\t"
        "cmp r0, #0\n\t"
        "ble 12f\n\t"
        "b 1b\n"
        "12:\n\t"
        "add sp, #4\n\t"
        GLOWMCU_RESTORE_ALL);
}

#endif

#endif /* GLOWMCU_DEPTHWISE_PLANES_ARMV6M_H */
