/*
 * glowmcu_scale_literal_armv6m.h: requantization by multiplier and shift, Cortex-M0, M0+ and M23.
 *
 * 66 cycles a result, of which the doubled high product takes 25; with a function for it the
 * compiler needs 104. Halves of a division go away from zero: of a negative number one is taken off
 * first, then the bit that is shifted out last is added.
 */
#ifndef GLOWMCU_SCALE_LITERAL_ARMV6M_H
#define GLOWMCU_SCALE_LITERAL_ARMV6M_H

#include <stdint.h>

#include "glowmcu_thumb.h"

struct glowmcu_scale;

#if GLOWMCU_THUMB == 1
/* stack: 52 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_scale_literal_armv6m(
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
        "ldr r4, [r0, #24]\n\t" /* zero point, least and greatest result */
        "ldr r5, [r0, #28]\n\t"
        "ldr r6, [r0, #32]\n\t"
        "mov lr, r5\n\t"
        "subs r4, r4, r5\n\t"
        "subs r5, r6, r5\n\t"
        "push {r3, r4, r5, r6}\n\t" /* results are looked at less the least one */
        "lsls r2, r2, #2\n\t"
        "mov r10, r2\n\t" /* bytes from sum to sum */
        "ldr r4, [r0, #8]\n\t"
        "lsls r4, r4, #2\n\t"
        "subs r4, #8\n\t"
        "mov r11, r4\n\t" /* bytes from behind factors to the next ones */
        "ldr r7, [r0, #4]\n\t" /* factors */
        "ldr r4, [r0, #0]\n\t" /* starts */
        "mov r8, r4\n\t"
        "movs r6, r1\n\t"
        "cmp r3, r12\n\t"
        "beq 6f\n"
        "1:\n\t"
        "mov r4, r8\n\t"
        "ldmia r4!, {r2}\n\t"
        "mov r8, r4\n\t"
        "ldr r0, [r6, #0]\n\t"
        "add r6, r10\n\t"
        "adds r0, r0, r2\n\t"
        "ldmia r7!, {r1, r5}\n\t"
        "add r7, r11\n\t"
        "cmp r5, #0\n\t"
        "ble 2f\n\t"
        "lsls r0, r5\n"
        "2:\n\t"
        "mov r9, r5\n\t"
        "uxth r2, r0\n\t"
        "asrs r0, r0, #16\n\t"
        "uxth r3, r1\n\t"
        "asrs r1, r1, #16\n\t"
        "movs r4, r2\n\t"
        "muls r4, r3, r4\n\t" /* both low halves */
        "muls r3, r0, r3\n\t"
        "muls r2, r1, r2\n\t"
        "muls r0, r1, r0\n\t" /* both high halves */
        "lsls r0, r0, #1\n\t"
        "lsrs r4, r4, #16\n\t"
        "lsls r5, r3, #17\n\t"
        "lsrs r5, r5, #17\n\t"
        "adds r4, r4, r5\n\t"
        "asrs r3, r3, #15\n\t"
        "adds r0, r0, r3\n\t"
        "lsls r5, r2, #17\n\t"
        "lsrs r5, r5, #17\n\t"
        "adds r4, r4, r5\n\t"
        "asrs r2, r2, #15\n\t"
        "adds r0, r0, r2\n\t"
        "lsrs r4, r4, #15\n\t"
        "adcs r0, r4\n\t" /* rounded by the bit that was shifted out */
        "mov r5, r9\n\t"
        "rsbs r5, r5, #0\n\t"
        "ble 3f\n\t"
        "movs r4, #0\n\t"
        "asrs r2, r0, #31\n\t"
        "adds r0, r0, r2\n\t"
        "asrs r0, r5\n\t"
        "adcs r0, r4\n"
        "3:\n\t"
        "ldr r2, [sp, #4]\n\t"
        "adds r0, r0, r2\n\t"
        "ldr r2, [sp, #8]\n\t"
        "cmp r0, r2\n\t"
        "bhi 7f\n"
        "4:\n\t"
        "add r0, lr\n\t"
        "ldr r2, [sp, #0]\n\t"
        "strb r0, [r2, #0]\n\t"
        "adds r2, #1\n\t"
        "str r2, [sp, #0]\n\t"
        "cmp r2, r12\n\t"
        "bne 1b\n"
        "6:\n\t"
        "add sp, #16\n\t"
        GLOWMCU_RESTORE_ALL
        "7:\n\t" /* as it was before that sum, which may have wrapped */
        "ldr r3, [sp, #4]\n\t"
        "subs r0, r0, r3\n\t"
        "rsbs r3, r3, #0\n\t"
        "cmp r0, r3\n\t"
        "bge 5f\n\t"
        "movs r2, #0\n"
        "5:\n\t"
        "movs r0, r2\n\t"
        "b 4b\n");
}

#endif

#endif /* GLOWMCU_SCALE_LITERAL_ARMV6M_H */
