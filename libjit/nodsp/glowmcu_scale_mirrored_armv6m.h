/*
 * glowmcu_scale_mirrored_armv6m.h: glowmcu_scale_mirrored for Cortex-M0, M0+ and M23.
 *
 * 39 cycles a result. The sign is in r7 as 0 or -1.
 */
#ifndef GLOWMCU_SCALE_MIRRORED_ARMV6M_H
#define GLOWMCU_SCALE_MIRRORED_ARMV6M_H

#include <stdint.h>

#include "glowmcu_thumb.h"

struct glowmcu_scale;

#if GLOWMCU_THUMB == 1
/* stack: 40 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_scale_mirrored(
    const struct glowmcu_scale *p GLOWMCU_UNUSED,
    const int32_t *sums GLOWMCU_UNUSED, int32_t step GLOWMCU_UNUSED,
    int8_t *out GLOWMCU_UNUSED, int32_t count GLOWMCU_UNUSED)
{
    __asm__(
        ".syntax unified\n\t"
        GLOWMCU_SAVE_ALL
        "ldr r4, [sp, #36]\n\t" /* count */
        "adds r4, r4, r3\n\t"
        "mov r12, r4\n\t"
        "lsls r2, r2, #2\n\t"
        "mov r8, r2\n\t"
        "movs r2, r3\n\t"
        "ldr r6, [r0, #4]\n\t" /* factors */
        "ldr r4, [r0, #8]\n\t"
        "lsls r4, r4, #2\n\t"
        "mov r11, r4\n\t" /* bytes from factors to factors */
        "ldr r4, [r0, #12]\n\t"
        "rsbs r4, r4, #0\n\t"
        "mov lr, r4\n\t" /* fine shift */
        "ldr r4, [r0, #16]\n\t"
        "push {r4}\n\t" /* postshift */
        "ldr r4, [r0, #20]\n\t"
        "mov r9, r4\n\t" /* reach */
        "ldr r4, [r0, #24]\n\t"
        "mov r10, r4\n\t" /* zero point */
        "ldr r0, [r0, #0]\n\t" /* starts */
        "cmp r2, r12\n\t"
        "beq 4f\n"
        "1:\n\t"
        "ldmia r0!, {r4}\n\t"
        "ldr r3, [r1, #0]\n\t"
        "adds r3, r3, r4\n\t"
        "asrs r7, r3, #31\n\t"
        "eors r3, r7\n\t"
        "subs r3, r3, r7\n\t"
        "cmp r3, r9\n\t"
        "bgt 5f\n"
        "2:\n\t"
        "ldrh r4, [r6, #0]\n\t"
        "muls r4, r3, r4\n\t"
        "mov r5, lr\n\t"
        "lsrs r4, r5\n\t"
        "ldrh r5, [r6, #2]\n\t"
        "muls r5, r3, r5\n\t"
        "adds r4, r4, r5\n\t"
        "ldr r5, [r6, #4]\n\t"
        "adds r4, r4, r5\n\t"
        "ldr r5, [sp, #0]\n\t"
        "lsrs r4, r5\n\t"
        "eors r4, r7\n\t"
        "subs r4, r4, r7\n\t"
        "add r4, r10\n\t"
        "sxtb r5, r4\n\t"
        "cmp r5, r4\n\t"
        "bne 6f\n"
        "3:\n\t"
        "strb r4, [r2, #0]\n\t"
        "add r6, r11\n\t"
        "add r1, r8\n\t"
        "adds r2, #1\n\t"
        "cmp r2, r12\n\t"
        "bne 1b\n"
        "4:\n\t"
        "add sp, #4\n\t"
        GLOWMCU_RESTORE_ALL
        "5:\n\t"
        "mov r3, r9\n\t"
        "b 2b\n"
        "6:\n\t"
        "movs r5, #127\n\t"
        "asrs r4, r4, #31\n\t"
        "eors r4, r5\n\t"
        "b 3b\n");
}

#endif

#endif /* GLOWMCU_SCALE_MIRRORED_ARMV6M_H */
