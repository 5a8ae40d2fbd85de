/*
 * glowmcu_last_fives_f32.h: one to three channels of five pixels, what fills no four: their weights
 * lie as if there were four. As glowmcu_fives_f32.h, with fewer sums.
 */
#ifndef GLOWMCU_LAST_FIVES_F32_H
#define GLOWMCU_LAST_FIVES_F32_H

#include "glowmcu_fives_f32.h"

#if GLOWMCU_HAS_FPU
/* Products of x with some weights added to as many sums. */
#define GLOWMCU_FIVES_ADD_3(x, w0, w1, w2, a0, a1, a2) \
    GLOWMCU_MUL("s30", x, w0) GLOWMCU_MUL("s31", x, w1) \
    GLOWMCU_ADD(a0, "s30") GLOWMCU_MUL("s30", x, w2) \
    GLOWMCU_ADD(a1, "s31") GLOWMCU_ADD(a2, "s30")
#define GLOWMCU_FIVES_ADD_2(x, w0, w1, a0, a1) \
    GLOWMCU_MUL("s30", x, w0) GLOWMCU_MUL("s31", x, w1) \
    GLOWMCU_ADD(a0, "s30") GLOWMCU_ADD(a1, "s31")

/* Of one pixel: the first two products, two, one; see GLOWMCU_FIVES_FIRST_4. */
#define GLOWMCU_FIVES_FIRST_3(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28-s29}\n" \
    GLOWMCU_MUL(a0, "s28", "s20") GLOWMCU_MUL(a1, "s28", "s21") GLOWMCU_MUL(a2, "s28", "s22") \
    GLOWMCU_FIVES_ADD_3("s29", "s24", "s25", "s26", a0, a1, a2)
#define GLOWMCU_FIVES_FIRST_2(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28-s29}\n" \
    GLOWMCU_MUL(a0, "s28", "s20") GLOWMCU_MUL(a1, "s28", "s21") \
    GLOWMCU_FIVES_ADD_2("s29", "s24", "s25", a0, a1)
#define GLOWMCU_FIVES_FIRST_1(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28-s29}\n" \
    GLOWMCU_MUL(a1, "s29", "s24") GLOWMCU_MUL(a0, "s28", "s20") GLOWMCU_ADD(a0, a1)
#define GLOWMCU_FIVES_TWO_3(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28-s29}\n" \
    GLOWMCU_FIVES_ADD_3("s28", "s20", "s21", "s22", a0, a1, a2) \
    GLOWMCU_FIVES_ADD_3("s29", "s24", "s25", "s26", a0, a1, a2)
#define GLOWMCU_FIVES_TWO_2(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28-s29}\n" \
    GLOWMCU_FIVES_ADD_2("s28", "s20", "s21", a0, a1) \
    GLOWMCU_FIVES_ADD_2("s29", "s24", "s25", a0, a1)
#define GLOWMCU_FIVES_TWO_1(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28-s29}\n" \
    GLOWMCU_MUL(a1, "s28", "s20") GLOWMCU_MUL(a2, "s29", "s24")
#define GLOWMCU_FIVES_ADD_FIRST(in, a0, a1, a2, a3) GLOWMCU_ADD(a0, a1)
#define GLOWMCU_FIVES_ADD_SECOND(in, a0, a1, a2, a3) GLOWMCU_ADD(a0, a2)
#define GLOWMCU_FIVES_ONE_3(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28}\n" \
    GLOWMCU_FIVES_ADD_3("s28", "s20", "s21", "s22", a0, a1, a2)
#define GLOWMCU_FIVES_ONE_2(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28}\n" \
    GLOWMCU_FIVES_ADD_2("s28", "s20", "s21", a0, a1)
#define GLOWMCU_FIVES_ONE_1(in, a0, a1, a2, a3) \
    "vldmia %[" in "]!, {s28}\n" \
    GLOWMCU_MUL("s30", "s28", "s20") GLOWMCU_ADD(a0, "s30")
#define GLOWMCU_FIVES_PAIR_3 "vldmia %[w]!, {s20-s27}\n" GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_TWO_3)
#define GLOWMCU_FIVES_PAIR_2 "vldmia %[w]!, {s20-s27}\n" GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_TWO_2)
#define GLOWMCU_FIVES_PAIR_1 \
    "vldr s20, [%[w]]\n" \
    "vldr s24, [%[w], #16]\n" \
    "add.w %[w], %[w], #32\n" \
    GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_TWO_1) \
    GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_ADD_FIRST) GLOWMCU_FIVES_ALL(GLOWMCU_FIVES_ADD_SECOND)

#define GLOWMCU_FIVES_BIAS_1(in, a0, a1, a2, a3) GLOWMCU_ADD(a0, "s20")
#define GLOWMCU_FIVES_BIAS_2(in, a0, a1, a2, a3) \
    GLOWMCU_FIVES_BIAS_1(in, a0, a1, a2, a3) GLOWMCU_ADD(a1, "s21")
#define GLOWMCU_FIVES_BIAS_3(in, a0, a1, a2, a3) \
    GLOWMCU_FIVES_BIAS_2(in, a0, a1, a2, a3) GLOWMCU_ADD(a2, "s22")

/* Stores at %[m], which goes on to the next pixel. */
#define GLOWMCU_FIVES_ONE_RELU(sum, at) \
    "vmov %[a], " sum "\n" \
    "bic.w %[a], %[a], %[a], asr #31\n" \
    "str.w %[a], [%[m], #" at "]\n"
#define GLOWMCU_FIVES_ONE_CLAMP(sum, at) \
    "vmov %[a], " sum "\n" \
    GLOWMCU_CLAMPED("a", "rows") \
    "str.w %[a], [%[m], #" at "]\n"
#define GLOWMCU_FIVES_NEXT "add.w %[m], %[m], %[e]\n"
#define GLOWMCU_FIVES_RELU_1(in, a0, a1, a2, a3) GLOWMCU_FIVES_ONE_RELU(a0, "0") GLOWMCU_FIVES_NEXT
#define GLOWMCU_FIVES_RELU_2(in, a0, a1, a2, a3) \
    GLOWMCU_FIVES_ONE_RELU(a1, "4") GLOWMCU_FIVES_RELU_1(in, a0, a1, a2, a3)
#define GLOWMCU_FIVES_RELU_3(in, a0, a1, a2, a3) \
    GLOWMCU_FIVES_ONE_RELU(a2, "8") GLOWMCU_FIVES_RELU_2(in, a0, a1, a2, a3)
#define GLOWMCU_FIVES_CLAMP_1(in, a0, a1, a2, a3) \
    GLOWMCU_FIVES_ONE_CLAMP(a0, "0") GLOWMCU_FIVES_NEXT
#define GLOWMCU_FIVES_CLAMP_2(in, a0, a1, a2, a3) \
    GLOWMCU_FIVES_ONE_CLAMP(a1, "4") GLOWMCU_FIVES_CLAMP_1(in, a0, a1, a2, a3)
#define GLOWMCU_FIVES_CLAMP_3(in, a0, a1, a2, a3) \
    GLOWMCU_FIVES_ONE_CLAMP(a2, "8") GLOWMCU_FIVES_CLAMP_2(in, a0, a1, a2, a3)
#define GLOWMCU_FIVES_KEEP_1(in, a0, a1, a2, a3) "vstmia %[m], {" a0 "}\n" GLOWMCU_FIVES_NEXT
#define GLOWMCU_FIVES_KEEP_2(in, a0, a1, a2, a3) "vstmia %[m], {" a0 "-" a1 "}\n" GLOWMCU_FIVES_NEXT
#define GLOWMCU_FIVES_KEEP_3(in, a0, a1, a2, a3) "vstmia %[m], {" a0 "-" a2 "}\n" GLOWMCU_FIVES_NEXT

/*
 * glowmcu_last_fives_f32_1 to 3: as glowmcu_fives_f32_compute, behind which they run, so that the
 * windows are known. One block of so many channels.
 */
#define GLOWMCU_LAST_FIVES(width) \
    GLOWMCU_CODE \
    static inline void glowmcu_last_fives_f32_##width(glowmcu_fives_f32 *p, const float *weights, \
        int32_t blocks, const float *x, int32_t step, float *y) \
    { \
        const float *w = weights + (p->before >> 2); \
        GLOWMCU_FIVES_VARIABLES; \
 \
        (void)x; \
        (void)step; \
        GLOWMCU_FIVES_LOOPS(width); \
    }
GLOWMCU_LAST_FIVES(1)
GLOWMCU_LAST_FIVES(2)
GLOWMCU_LAST_FIVES(3)
#else
/* Pairs compute these. */
#define glowmcu_last_fives_f32_1 NULL
#define glowmcu_last_fives_f32_2 NULL
#define glowmcu_last_fives_f32_3 NULL
#endif

#endif /* GLOWMCU_LAST_FIVES_F32_H */
