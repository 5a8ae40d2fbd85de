/*
 * glowmcu_scale_pixels_armv6m.h: two pixels in the narrow form for Cortex-M0, M0+ and M23.
 *
 * 58 cycles for both results of a channel, 29 where both are the least: constants are loaded once.
 */
#ifndef GLOWMCU_SCALE_PIXELS_ARMV6M_H
#define GLOWMCU_SCALE_PIXELS_ARMV6M_H

#include <stdint.h>

#include "glowmcu_thumb.h"

struct glowmcu_scale;

#if GLOWMCU_THUMB == 1
/* u in `r`, at most r4; what is below zero becomes zero, of which the line gives the least. */
#define GLOWMCU_PIXEL_SPAN(r, label)   \
    "cmp " r ", r4\n\t"                \
    "bls " label "f\n\t"               \
    "asrs " r ", " r ", #31\n\t"       \
    "mvns " r ", " r "\n\t"            \
    "ands " r ", r4\n"                 \
    label ":\n\t"

/* stack: 44 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_scale_narrow_pixels(
    const struct glowmcu_scale *p GLOWMCU_UNUSED,
    const int32_t *sums GLOWMCU_UNUSED, int8_t *out GLOWMCU_UNUSED, int32_t next GLOWMCU_UNUSED,
    int32_t count GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_ALL
        "ldr r4, [sp, #36]\n\t" /* count */
        "adds r4, r4, r2\n\t"
        "mov r12, r4\n\t"
        "ldr r5, [r0, #16]\n\t"
        "push {r3, r5}\n\t" /* from pixel to pixel; postshift */
        "ldmia r0!, {r3, r6, r7}\n\t" /* starts, factors, words from factors to factors */
        "mov r8, r3\n\t"
        "lsls r7, r7, #2\n\t"
        "mov r11, r7\n\t"
        "ldr r4, [r0, #0]\n\t" /* fine shift */
        "mov lr, r4\n\t"
        "ldr r4, [r0, #8]\n\t" /* span shift */
        "mov r9, r4\n\t"
        "ldr r4, [r0, #16]\n\t" /* least result */
        "mov r10, r4\n\t"
        "cmp r2, r12\n\t"
        "beq 4f\n"
        "1:\n\t"
        "mov r0, r8\n\t"
        "ldmia r0!, {r4}\n\t"
        "mov r8, r0\n\t"
        "ldmia r1!, {r3, r5}\n\t"
        "subs r3, r3, r4\n\t"
        "subs r5, r5, r4\n\t"
        "movs r4, r3\n\t"
        "ands r4, r5\n\t"
        "bmi 5f\n\t"
        "ldrh r4, [r6, #4]\n\t"
        "mov r7, r9\n\t"
        "lsls r4, r7\n\t"
        GLOWMCU_PIXEL_SPAN("r3", "2")
        GLOWMCU_PIXEL_SPAN("r5", "3")
        "ldrh r4, [r6, #0]\n\t"
        "movs r0, r3\n\t"
        "muls r0, r4, r0\n\t"
        "muls r4, r5, r4\n\t"
        "mov r7, lr\n\t"
        "lsrs r0, r7\n\t"
        "lsrs r4, r7\n\t"
        "ldrh r7, [r6, #2]\n\t"
        "muls r3, r7, r3\n\t"
        "muls r5, r7, r5\n\t"
        "adds r3, r3, r0\n\t"
        "adds r5, r5, r4\n\t"
        "ldrh r4, [r6, #6]\n\t"
        "adds r3, r3, r4\n\t"
        "adds r5, r5, r4\n\t"
        "ldr r4, [sp, #4]\n\t"
        "lsrs r3, r4\n\t"
        "lsrs r5, r4\n\t"
        "add r3, r10\n\t"
        "add r5, r10\n"
        "6:\n\t"
        "strb r3, [r2, #0]\n\t"
        "ldr r4, [sp, #0]\n\t"
        "strb r5, [r2, r4]\n\t"
        "add r6, r11\n\t"
        "adds r2, #1\n\t"
        "cmp r2, r12\n\t"
        "bne 1b\n"
        "4:\n\t"
        "add sp, #8\n\t"
        GLOWMCU_RESTORE_ALL
        "5:\n\t"
        "mov r3, r10\n\t"
        "mov r5, r10\n\t"
        "b 6b\n");
}

#endif

#endif /* GLOWMCU_SCALE_PIXELS_ARMV6M_H */
