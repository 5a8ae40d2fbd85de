/*
 * glowmcu_depthwise_pairs_mve.h: int8 depthwise convolution with windows three pixels wide,
 * without strides along a row: two pixels by eight channels at a time read four columns together.
 */
#ifndef GLOWMCU_DEPTHWISE_PAIRS_MVE_H
#define GLOWMCU_DEPTHWISE_PAIRS_MVE_H

#include "glowmcu_depthwise_pair_mve.h"

#if GLOWMCU_HAS_MVE
/*
 * Two pixels: `rows[ky] + offset` is the first one's left column. The loop is in an order
 * that keeps a Cortex-M55's units for loads, products and sums busy together.
 *
 * q0 q1 sums of the first pixel, q2 q3 of the second; q4 weights, q6 a column, q5 q7 products.
 */
/* stack: 100 bytes */
GLOWMCU_CODE
GLOWMCU_NAKED static void glowmcu_depthwise_pairs_mve_pair(
    const glowmcu_depthwise_pairs_mve *p GLOWMCU_UNUSED,
    const int8_t *const *rows GLOWMCU_UNUSED, int32_t offset GLOWMCU_UNUSED,
    int8_t *out GLOWMCU_UNUSED)
{
    __asm__ volatile(
        GLOWMCU_DEPTHWISE_PAIR_MVE_BEGIN("")
        "   dls         lr, r6\n"
        "2: ldr         r0, [r7], #4\n"         /* a row of the windows */
        "   vldrb.s16   q4, [r5], #8\n"         /* left weights */
        "   add         r0, r2\n"
        "   vldrb.s16   q6, [r0]\n"             /* column 0 */
        "   vmullb.s16  q7, q6, q4\n"
        "   add         r0, r4\n"
        "   vadd.i32    q0, q0, q7\n"
        "   vmullt.s16  q5, q6, q4\n"
        "   vldrb.s16   q6, [r0]\n"             /* column 1 */
        "   add         r0, r4\n"
        "   vmullb.s16  q7, q6, q4\n"
        "   vadd.i32    q1, q1, q5\n"
        "   vmullt.s16  q5, q6, q4\n"
        "   vldrb.s16   q4, [r5], #8\n"         /* middle weights */
        "   vadd.i32    q2, q2, q7\n"
        "   vmullb.s16  q7, q6, q4\n"
        "   vadd.i32    q3, q3, q5\n"
        "   vmullt.s16  q5, q6, q4\n"
        "   vadd.i32    q0, q0, q7\n"
        "   vldrb.s16   q6, [r0]\n"             /* column 2 */
        "   vmullb.s16  q7, q6, q4\n"
        "   vadd.i32    q1, q1, q5\n"
        "   add         r0, r4\n"
        "   vmullt.s16  q5, q6, q4\n"
        "   vadd.i32    q2, q2, q7\n"
        "   vldrb.s16   q4, [r5], #8\n"         /* right weights */
        "   vmullb.s16  q7, q6, q4\n"
        "   vadd.i32    q3, q3, q5\n"
        "   vmullt.s16  q5, q6, q4\n"
        "   vadd.i32    q0, q0, q7\n"
        "   vldrb.s16   q6, [r0]\n"             /* column 3 */
        "   vmullb.s16  q7, q6, q4\n"
        "   vadd.i32    q1, q1, q5\n"
        "   vmullt.s16  q5, q6, q4\n"
        "   vadd.i32    q2, q2, q7\n"
        "   vadd.i32    q3, q3, q5\n"
        "   le          lr, 2b\n"
        GLOWMCU_DEPTHWISE_PAIR_MVE_END(""));
}
#else
GLOWMCU_CODE
static inline void glowmcu_depthwise_pairs_mve_pair(const glowmcu_depthwise_pairs_mve *p,
    const int8_t *const *rows, int32_t offset, int8_t *out)
{
    glowmcu_depthwise_pair_mve_one(p, rows, offset, out);
}
#endif

/* As glowmcu_depthwise_pair_mve_walk says. */
GLOWMCU_CODE
static void glowmcu_depthwise_pairs_mve_s8(const glowmcu_depthwise_pairs_mve *p, const int8_t *in,
    int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)
{
    glowmcu_depthwise_pair_mve_walk(
        p, in, out, scratch, first_row, end_row, glowmcu_depthwise_pairs_mve_pair);
}

#endif /* GLOWMCU_DEPTHWISE_PAIRS_MVE_H */
