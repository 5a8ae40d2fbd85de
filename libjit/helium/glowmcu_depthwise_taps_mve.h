/*
 * glowmcu_depthwise_taps_mve.h: int8 depthwise convolution with windows of any width and any step:
 * two pixels by eight channels at a time read each weight once.
 */
#ifndef GLOWMCU_DEPTHWISE_TAPS_MVE_H
#define GLOWMCU_DEPTHWISE_TAPS_MVE_H

#include "glowmcu_depthwise_pair_mve.h"

#if GLOWMCU_HAS_MVE
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_pairs_mve, stride_x) == 40, stride_x_at_40);
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_depthwise_pairs_mve, kernel_width) == 64, width_at_64);

/*
 * Two pixels: `rows[ky] + offset` is the first one's left column.
 *
 * q0 q1 sums of the first pixel, q2 q3 of the second; q4 weights, q6 a column, q5 q7 products; r8
 * rows left; r0, r6 columns of both pixels. On the stack: kernel_height, bytes from pixel to pixel,
 * kernel_width.
 */
/* stack: 112 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_depthwise_taps_mve_pair(
    const glowmcu_depthwise_pairs_mve *p GLOWMCU_UNUSED,
    const int8_t *const *rows GLOWMCU_UNUSED, int32_t offset GLOWMCU_UNUSED,
    int8_t *out GLOWMCU_UNUSED)
{
    __asm__ volatile(
        GLOWMCU_DEPTHWISE_PAIR_MVE_BEGIN(
        "   ldr         r7, [r0, #40]\n"        /* stride_x */
        "   ldr         r8, [r0, #64]\n"        /* kernel_width */
        "   mul         r7, r7, r4\n"
        "   push        {r6, r7, r8}\n")
        "   ldr         r8, [sp]\n"
        "2: ldr         r0, [r7], #4\n"         /* a row of the windows */
        "   ldrd        r6, lr, [sp, #4]\n"
        "   add         r0, r2\n"
        "   add         r6, r0\n"
        "   dls         lr, lr\n"
        "6: vldrb.s16   q6, [r0]\n"             /* a tap */
        "   vldrb.s16   q4, [r5], #8\n"
        "   vmullb.s16  q5, q6, q4\n"
        "   add         r0, r4\n"
        "   vadd.i32    q0, q0, q5\n"
        "   vmullt.s16  q7, q6, q4\n"
        "   vldrb.s16   q6, [r6]\n"
        "   vmullb.s16  q5, q6, q4\n"
        "   vadd.i32    q1, q1, q7\n"
        "   vmullt.s16  q7, q6, q4\n"
        "   vadd.i32    q2, q2, q5\n"
        "   add         r6, r4\n"
        "   vadd.i32    q3, q3, q7\n"
        "   le          lr, 6b\n"
        "   subs        r8, r8, #1\n"
        "   bne         2b\n"
        GLOWMCU_DEPTHWISE_PAIR_MVE_END("   add         sp, sp, #12\n"));
}
#else
GLOWMCU_CODE
static inline void glowmcu_depthwise_taps_mve_pair(const glowmcu_depthwise_pairs_mve *p,
    const int8_t *const *rows, int32_t offset, int8_t *out)
{
    glowmcu_depthwise_pair_mve_one(p, rows, offset, out);
}
#endif

/* As glowmcu_depthwise_pair_mve_walk says. */
GLOWMCU_CODE
static void glowmcu_depthwise_taps_mve_s8(const glowmcu_depthwise_pairs_mve *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    glowmcu_depthwise_pair_mve_walk(
        p, in, out, scratch, first_row, end_row, glowmcu_depthwise_taps_mve_pair);
}

#endif /* GLOWMCU_DEPTHWISE_TAPS_MVE_H */
