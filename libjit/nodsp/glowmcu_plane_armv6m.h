/*
 * glowmcu_plane_armv6m.h: what loops of depthwise planes share on Cortex-M0, M0+ and M23.
 *
 * r3 to r5 hold pairs of inputs, r7 is where the job is read.
 */
#ifndef GLOWMCU_PLANE_ARMV6M_H
#define GLOWMCU_PLANE_ARMV6M_H

#include "glowmcu_thumb.h"

#if GLOWMCU_THUMB == 1
/*
 * Three products for two results, to be added to, or to become, `all` and `second`. What a lower
 * half below zero borrowed is the bit that a shift carries out.
 */
#define GLOWMCU_PLANE_TAPS(first, all, second) \
    "ldmia r7!, {r0, r1, r2}\n\t"            \
    "muls r0, r3, r0\n\t"                    \
    "muls r1, r4, r1\n\t"                    \
    "muls r2, r5, r2\n\t"                    \
    "adds r0, r0, r1\n\t"                    \
    "asrs r1, r2, #16\n\t"                   \
    first " " all ", r2\n\t"                 \
    "movs r2, #0\n\t"                        \
    "adcs r1, r2\n\t"                        \
    "asrs r2, r0, #16\n\t"                   \
    "adcs r1, r2\n\t"                        \
    "add " all ", r0\n\t"                    \
    first " " second ", r1\n\t"

/* u in `sum` to the result, with r2 to r5; at `zero` it is set to 0. */
#define GLOWMCU_PLANE_SCALE(sum, zero, whole, ready) \
    "ble " zero "f\n\t"                      \
    "cmp " sum ", r3\n\t"                    \
    "bls " whole "f\n\t"                     \
    "movs " sum ", r3\n"                     \
    whole ":\n\t"                            \
    "ldr r2, [r7, #16]\n\t"                  \
    "muls r2, " sum ", r2\n\t"               \
    "lsrs r2, r2, #13\n\t"                   \
    "muls " sum ", r4, " sum "\n\t"          \
    "adds " sum ", " sum ", r2\n"            \
    ready ":\n\t"                            \
    "adds " sum ", " sum ", r5\n\t"          \
    "lsrs " sum ", " sum ", #24\n\t"
#endif

#endif /* GLOWMCU_PLANE_ARMV6M_H */
