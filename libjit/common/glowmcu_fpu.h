/*
 * glowmcu_fpu.h: whether kernels may use single-precision registers by name, and what all of these
 * loops end with.
 */
#ifndef GLOWMCU_FPU_H
#define GLOWMCU_FPU_H

#include <string.h>

#include "glowmcu_base.h"
#include "glowmcu_clamping.h"

/*
 * Arm's M profile with an FPU, as gcc and clang know it; define it as 0 to have the C. At -O0 gcc
 * 15 has seven registers for assembly, and loops need more.
 */
#ifndef GLOWMCU_HAS_FPU
#if defined(__GNUC__) && defined(__OPTIMIZE__) && defined(__thumb2__) && defined(__ARM_FP) \
    && defined(__ARM_ARCH_PROFILE)
#define GLOWMCU_HAS_FPU ((__ARM_FP & 4) != 0 && __ARM_ARCH_PROFILE == 'M')
#else
#define GLOWMCU_HAS_FPU 0
#endif
#endif

/*
 * Helium computes four floats at once: each of them as a scalar instruction does, bit for bit, but
 * numbers nearer to 0 than 2^-126 count as 0, and what is not a number is always the same one.
 */
#if GLOWMCU_HAS_FPU && defined(__ARM_FEATURE_MVE)
#define GLOWMCU_HAS_FLOAT_VECTORS ((__ARM_FEATURE_MVE & 2) != 0)
#else
#define GLOWMCU_HAS_FLOAT_VECTORS 0
#endif

/* C99 asks for strings of 4,095 characters, and the assembly of a loop is one of more. */
#if GLOWMCU_HAS_FPU && defined(__clang__)
#pragma clang diagnostic ignored "-Woverlength-strings"
#endif

#if GLOWMCU_HAS_FPU
/* Every float register: what a loop that uses all of them says. */
#define GLOWMCU_ALL_FLOATS "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", \
    "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", \
    "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31"

/* Two registers more for a loop, and one that weights are loaded from. */
#define GLOWMCU_TWO_MORE , [t] "=&r"(t), [u] "=&r"(u)
#define GLOWMCU_TWO_VARIABLES \
    int32_t t; \
    int32_t u;
#if GLOWMCU_HAS_FLOAT_VECTORS
/* Loads that widen bytes take their address from one of r0 to r7. */
#define GLOWMCU_AT_WEIGHTS(w) "+l"(w)
#else
#define GLOWMCU_AT_WEIGHTS(w) "+r"(w)
#endif

/* Adds b to a, names of registers. */
#define GLOWMCU_ADD(a, b) "vadd.f32 " a ", " a ", " b "\n"
#define GLOWMCU_ADD_4(a0, a1, a2, a3, b0, b1, b2, b3) \
    GLOWMCU_ADD(a0, b0) GLOWMCU_ADD(a1, b1) GLOWMCU_ADD(a2, b2) GLOWMCU_ADD(a3, b3)

/* Sums of one pixel and of a second one: all zero (%[n] is 0), and plus s16.. */
#define GLOWMCU_ZERO_A4 "vmov s0, s1, %[n], %[n]\nvmov s2, s3, %[n], %[n]\n"
#define GLOWMCU_ZERO_A8 GLOWMCU_ZERO_A4 "vmov s4, s5, %[n], %[n]\nvmov s6, s7, %[n], %[n]\n"
#define GLOWMCU_ZERO_B4 "vmov s8, s9, %[n], %[n]\nvmov s10, s11, %[n], %[n]\n"
#define GLOWMCU_ZERO_B8 GLOWMCU_ZERO_B4 "vmov s12, s13, %[n], %[n]\nvmov s14, s15, %[n], %[n]\n"
#define GLOWMCU_BIAS_A4 GLOWMCU_ADD_4("s0", "s1", "s2", "s3", "s16", "s17", "s18", "s19")
#define GLOWMCU_BIAS_A8 GLOWMCU_BIAS_A4 \
    GLOWMCU_ADD_4("s4", "s5", "s6", "s7", "s20", "s21", "s22", "s23")
#define GLOWMCU_BIAS_B4 GLOWMCU_ADD_4("s8", "s9", "s10", "s11", "s16", "s17", "s18", "s19")
#define GLOWMCU_BIAS_B8 GLOWMCU_BIAS_B4 \
    GLOWMCU_ADD_4("s12", "s13", "s14", "s15", "s20", "s21", "s22", "s23")

/* Two results whose sign is set become 0 on their way to [out, #at]. */
#define GLOWMCU_STORE_RELU(a, b, out, at, next) \
    "vmov %[n], %[m], " a ", " b "\n" \
    "bic %[n], %[n], %[n], asr #31\n" \
    "bic %[m], %[m], %[m], asr #31\n" \
    "str %[n], [%[" out "], #" at "]\n" \
    "str %[m], [%[" out "], #" next "]\n"
#define GLOWMCU_RELU_A4 \
    GLOWMCU_STORE_RELU("s0", "s1", "y", "0", "4") GLOWMCU_STORE_RELU("s2", "s3", "y", "8", "12")
#define GLOWMCU_RELU_A8 GLOWMCU_RELU_A4 \
    GLOWMCU_STORE_RELU("s4", "s5", "y", "16", "20") \
    GLOWMCU_STORE_RELU("s6", "s7", "y", "24", "28")
#define GLOWMCU_RELU_B4 \
    GLOWMCU_STORE_RELU("s8", "s9", "z", "0", "4") \
    GLOWMCU_STORE_RELU("s10", "s11", "z", "8", "12")
#define GLOWMCU_RELU_B8 GLOWMCU_RELU_B4 \
    GLOWMCU_STORE_RELU("s12", "s13", "z", "16", "20") \
    GLOWMCU_STORE_RELU("s14", "s15", "z", "24", "28")

/* How loops limit results to what lies within 0 and a positive number; see glowmcu_clamps_now. */
#define GLOWMCU_CLAMP_NOW 3

/* Two results that are less than 0 become 0, greater ones than the number in %[a] that. */
#define GLOWMCU_CLAMPED(result, most) \
    "cmp %[" result "], %[" most "]\n" \
    "it hi\n" \
    "bichi %[" result "], %[" most "], %[" result "], asr #31\n"
#define GLOWMCU_STORE_CLAMPED(x, y, out, at, next) \
    "vmov %[n], %[m], " x ", " y "\n" \
    GLOWMCU_CLAMPED("n", "a") \
    GLOWMCU_CLAMPED("m", "a") \
    "str %[n], [%[" out "], #" at "]\n" \
    "str %[m], [%[" out "], #" next "]\n"
#define GLOWMCU_CLAMP_A4 \
    GLOWMCU_STORE_CLAMPED("s0", "s1", "y", "0", "4") \
    GLOWMCU_STORE_CLAMPED("s2", "s3", "y", "8", "12")
#define GLOWMCU_CLAMP_A8 GLOWMCU_CLAMP_A4 \
    GLOWMCU_STORE_CLAMPED("s4", "s5", "y", "16", "20") \
    GLOWMCU_STORE_CLAMPED("s6", "s7", "y", "24", "28")
#define GLOWMCU_CLAMP_B4 \
    GLOWMCU_STORE_CLAMPED("s8", "s9", "z", "0", "4") \
    GLOWMCU_STORE_CLAMPED("s10", "s11", "z", "8", "12")
#define GLOWMCU_CLAMP_B8 GLOWMCU_CLAMP_B4 \
    GLOWMCU_STORE_CLAMPED("s12", "s13", "z", "16", "20") \
    GLOWMCU_STORE_CLAMPED("s14", "s15", "z", "24", "28")
/* Sets the flag of an invalid operation if one of both is no number, which raises it itself. */
#define GLOWMCU_CHECK(a, b) "vcmpe.f32 " a ", " b "\n"
/* Sets Z unless an operation was invalid. */
#define GLOWMCU_INVALID(at) "vmrs %[" at "], fpscr\nlsls %[" at "], %[" at "], #31\n"

/* Of GLOWMCU_FINISH: %[a] is free, and `clamp_max` stands at 60. */
#if GLOWMCU_HAS_FLOAT_VECTORS
#define GLOWMCU_FINISH_CLAMPED(check, clamp, past)
#else
#define GLOWMCU_FINISH_CLAMPED(check, clamp, past) \
    "cmp %[n], #3\n" \
    "bne 8f\n" \
    check \
    "ldr %[a], [%[p], #60]\n" \
    GLOWMCU_INVALID("n") \
    "bne 8f\n" \
    clamp \
    past \
    "b 9f\n"
#endif

/*
 * Ends a block: adds the biases at %[w] and stores at %[y] and %[z], behind which both then are.
 * %[p] is a struct with `clamping` at 52. Other limits are what glowmcu_floats_end sees to.
 */
#define GLOWMCU_FINISH(biases, add, relu, check, clamp, store, past) \
    "vldmia %[w]!, {" biases "}\n" \
    add \
    "ldr %[n], [%[p], #52]\n" \
    "cmp %[n], #1\n" \
    "bne 7f\n" \
    relu \
    past \
    "b 9f\n" \
    "7:\n" \
    GLOWMCU_FINISH_CLAMPED(check, clamp, past) \
    "8:\n" \
    store \
    "9:\n"
#define GLOWMCU_FINISH_2X8(check) GLOWMCU_FINISH("s16-s23", GLOWMCU_BIAS_A8 GLOWMCU_BIAS_B8, \
    GLOWMCU_RELU_A8 GLOWMCU_RELU_B8, check, GLOWMCU_CLAMP_A8 GLOWMCU_CLAMP_B8, \
    "vstmia %[y]!, {s0-s7}\nvstmia %[z]!, {s8-s15}\n", \
    "adds %[y], %[y], #32\nadds %[z], %[z], #32\n")
#define GLOWMCU_FINISH_1X8(check) GLOWMCU_FINISH("s16-s23", GLOWMCU_BIAS_A8, GLOWMCU_RELU_A8, \
    check, GLOWMCU_CLAMP_A8, "vstmia %[y]!, {s0-s7}\n", "adds %[y], %[y], #32\n")
#define GLOWMCU_FINISH_2X4(check) GLOWMCU_FINISH("s16-s19", GLOWMCU_BIAS_A4 GLOWMCU_BIAS_B4, \
    GLOWMCU_RELU_A4 GLOWMCU_RELU_B4, check, GLOWMCU_CLAMP_A4 GLOWMCU_CLAMP_B4, \
    "vstmia %[y]!, {s0-s3}\nvstmia %[z]!, {s8-s11}\n", \
    "adds %[y], %[y], #16\nadds %[z], %[z], #16\n")
#define GLOWMCU_FINISH_1X4(check) GLOWMCU_FINISH("s16-s19", GLOWMCU_BIAS_A4, GLOWMCU_RELU_A4, \
    check, GLOWMCU_CLAMP_A4, "vstmia %[y]!, {s0-s3}\n", "adds %[y], %[y], #16\n")

/* Bits of FPSCR: what is not a number is always the same one; what operations report. */
#define GLOWMCU_DEFAULT_NAN 0x02000000u
#define GLOWMCU_FLOAT_FLAGS 0x9Fu
#define GLOWMCU_INVALID_FLAG 1u

/*
 * An even number of results, two at least, within 0 and a positive float with the bits `most`: of
 * such the order is that of their bits. Above infinity is what is not a number, and stays.
 */
GLOWMCU_CODE
static inline void glowmcu_clamp_from_0_f32(uint32_t most, float *results, int32_t count)
{
    const uint32_t range = 0x7F800000u - most;
    uint32_t a;
    uint32_t b;
    uint32_t above;

    __asm__ volatile(
        "1:\n"
        "ldr %[a], [%[at], #0]\n"
        "ldr %[b], [%[at], #4]\n"
        "bic %[a], %[a], %[a], asr #31\n"
        "bic %[b], %[b], %[b], asr #31\n"
        "subs %[above], %[a], %[most]\n"
        "cmp %[above], %[range]\n"
        "it ls\n"
        "movls %[a], %[most]\n"
        "subs %[above], %[b], %[most]\n"
        "cmp %[above], %[range]\n"
        "it ls\n"
        "movls %[b], %[most]\n"
        "str %[a], [%[at]], #4\n"
        "str %[b], [%[at]], #4\n"
        "subs %[count], %[count], #2\n"
        "bne 1b\n"
        : [at] "+r"(results), [count] "+r"(count), [a] "=&r"(a), [b] "=&r"(b),
          [above] "=&r"(above)
        : [most] "r"(most), [range] "r"(range)
        : "cc", "memory");
}

/* All results within [low, high]; what is not a number stays it. */
GLOWMCU_CODE
static inline void glowmcu_clamp_all_f32(float low, float high, float *results, int32_t count)
{
    uint32_t least;
    uint32_t most;
    int32_t done = 0;

    (void)memcpy(&least, &low, sizeof least);
    (void)memcpy(&most, &high, sizeof most);
    if (least == 0u && most <= 0x7F800000u && count > 1) {
        done = count & ~1;
        glowmcu_clamp_from_0_f32(most, results, done);
    }
    for (int32_t i = done; i < count; ++i) {
        const float value = results[i];
        results[i] = (value < low) ? low : ((value > high) ? high : value);
    }
}

/*
 * What loops do about results: those of GLOWMCU_CLAMP within 0 and a positive number they limit
 * themselves (GLOWMCU_CLAMP_NOW), as the order of such floats is that of their bits. That takes
 * what is not a number for a large one: from an operation that was invalid on, which inputs that
 * are no numbers count as, results are stored as they are, and glowmcu_floats_end limits all.
 */
GLOWMCU_CODE
static inline int32_t glowmcu_clamps_now(int32_t clamping, float low, float high)
{
#if GLOWMCU_HAS_FLOAT_VECTORS
    (void)low;
    (void)high;
#else
    uint32_t least;
    uint32_t most;

    (void)memcpy(&least, &low, sizeof least);
    (void)memcpy(&most, &high, sizeof most);
    if (clamping == GLOWMCU_CLAMP && least == 0u && most - 1u < 0x7F800000u) {
        return GLOWMCU_CLAMP_NOW;
    }
#endif
    return clamping;
}

/*
 * From here to glowmcu_floats_end what is not a number is always 0x7FC00000 as a result, which no
 * ReLU on the bits takes for negative, and flags are of the operations in between. Returns what
 * that function is to put back.
 */
GLOWMCU_CODE
static inline uint32_t glowmcu_floats_begin(void)
{
    uint32_t mode;
    uint32_t here;

    __asm__ volatile("vmrs %0, fpscr\n" : "=r"(mode));
    here = (mode | GLOWMCU_DEFAULT_NAN) & ~GLOWMCU_FLOAT_FLAGS;
    __asm__ volatile("vmsr fpscr, %0\n" : : "r"(here));
    return mode;
}

/*
 * Puts the mode back, and limits all `count` results if that is still to do: those of GLOWMCU_CLAMP
 * that loops stored as they are.
 */
GLOWMCU_CODE
static inline void glowmcu_floats_end(uint32_t mode, int32_t clamping, float low, float high,
    float *results, int32_t count)
{
    const int32_t now = glowmcu_clamps_now(clamping, low, high);
    uint32_t flags;

    __asm__ volatile("vmrs %0, fpscr\n" : "=r"(flags));
    flags &= GLOWMCU_FLOAT_FLAGS;
    __asm__ volatile("vmsr fpscr, %0\n" : : "r"(mode | flags));
    if (now == GLOWMCU_CLAMP || (now == GLOWMCU_CLAMP_NOW && (flags & GLOWMCU_INVALID_FLAG))) {
        glowmcu_clamp_all_f32(low, high, results, count);
    }
}
#else
/* Where results are computed all limits are known. */
GLOWMCU_CODE
static inline int32_t glowmcu_clamps_now(int32_t clamping, float low, float high)
{
    (void)low;
    (void)high;
    return clamping;
}

/* C needs no mode. */
GLOWMCU_CODE
static inline uint32_t glowmcu_floats_begin(void)
{
    return 0u;
}

/* All is done where results were computed. */
GLOWMCU_CODE
static inline void glowmcu_floats_end(uint32_t mode, int32_t clamping, float low, float high,
    float *results, int32_t count)
{
    (void)mode;
    (void)clamping;
    (void)low;
    (void)high;
    (void)results;
    (void)count;
}
#endif

#endif /* GLOWMCU_FPU_H */
