/*
 * glowmcu_eight_inputs_f32.h: float vectors of eight times a constant matrix, three vectors at a
 * time.
 *
 * The inputs of three vectors stay in registers while all outputs are computed from them: of the
 * other eight registers three have sums, one a product and four the weights of an output, which
 * become products of the third vector. Nine loads an output are two VLDM. Products are added in
 * their order, the bias comes last. A sum begins as its first product instead of 0 and that
 * product, which may be -0: a bias is no -0, so that results are the same bits.
 */
#ifndef GLOWMCU_EIGHT_INPUTS_F32_H
#define GLOWMCU_EIGHT_INPUTS_F32_H

#include <string.h>

#include "glowmcu_fpu.h"

typedef struct {
    int32_t vectors;   /* of a row of the image */
    int32_t depth_out; /* even */
    int32_t clamping;  /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
    const float *weights; /* [depth_out][9]: eight weights and a bias */
} glowmcu_eight_inputs_real;

#if GLOWMCU_HAS_FPU
/* Products of a weight, which becomes the third vector's; `held` adds an earlier one of these. */
#define GLOWMCU_EIGHT_NEXT(a, b, c, w, held) \
    "vmul.f32 s26, " a ", " w "\n" \
    held \
    "vadd.f32 s24, s24, s26\n" \
    "vmul.f32 s26, " b ", " w "\n" \
    "vmul.f32 " w ", " c ", " w "\n" \
    "vadd.f32 s25, s25, s26\n"
#define GLOWMCU_EIGHT_HELD(w) "vadd.f32 s27, s27, " w "\n"

/*
 * One output of the vectors in s0-s7, s8-s15 and s16-s23. `other` is what the sixth product is
 * waited for with.
 */
#define GLOWMCU_EIGHT_OUTPUT(relu, other) \
    "vldmia %[w]!, {s27-s31}\n" \
    "vmul.f32 s24, s0, s27\n" \
    "vmul.f32 s25, s8, s27\n" \
    GLOWMCU_EIGHT_NEXT("s1", "s9", "s17", "s28", "vmul.f32 s27, s16, s27\n") \
    GLOWMCU_EIGHT_NEXT("s2", "s10", "s18", "s29", GLOWMCU_EIGHT_HELD("s28")) \
    GLOWMCU_EIGHT_NEXT("s3", "s11", "s19", "s30", GLOWMCU_EIGHT_HELD("s29")) \
    GLOWMCU_EIGHT_NEXT("s4", "s12", "s20", "s31", GLOWMCU_EIGHT_HELD("s30")) \
    GLOWMCU_EIGHT_HELD("s31") \
    "vldmia %[w]!, {s28-s31}\n" \
    GLOWMCU_EIGHT_NEXT("s5", "s13", "s21", "s28", other) \
    GLOWMCU_EIGHT_NEXT("s6", "s14", "s22", "s29", GLOWMCU_EIGHT_HELD("s28")) \
    GLOWMCU_EIGHT_NEXT("s7", "s15", "s23", "s30", GLOWMCU_EIGHT_HELD("s29")) \
    GLOWMCU_EIGHT_HELD("s30") \
    "vadd.f32 s24, s24, s31\n" \
    "vadd.f32 s25, s25, s31\n" \
    "vadd.f32 s27, s27, s31\n" \
    "vmov %[a], %[b], s24, s25\n" \
    "vmov %[c], s27\n" \
    relu \
    "str %[a], [%[y]], #4\n" \
    "str %[b], [%[z]], #4\n"
#define GLOWMCU_EIGHT_STORE "str %[c], [%[v]], #4\n"

/* Threes of vectors still to compute, and inputs of the first if it is to be computed anew. */
typedef struct {
    int32_t threes;
    float inputs[24];
} glowmcu_eight_inputs_left;
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_eight_inputs_left, inputs) == 4, left_is_as_assembly_reads);

/*
 * Three vectors at %[x], as often as %[left] says. `limit` is what three results in %[a], %[b] and
 * %[c] are limited with, `first` and `last` count outputs, `check` ends at 3 if what was stored is
 * to be computed anew. Labels: 1 three vectors, 2 two outputs, 4 the end.
 */
#define GLOWMCU_EIGHT_LOOPS(limit, first, last, check) \
    __asm__ volatile( \
        "1:\n" \
        "vldmia %[x]!, {s0-s23}\n" \
        "mov %[n], %[count]\n" \
        ".balign 4\n" \
        "2:\n" \
        GLOWMCU_EIGHT_OUTPUT(limit, first) \
        GLOWMCU_EIGHT_OUTPUT(limit, GLOWMCU_EIGHT_STORE) \
        GLOWMCU_EIGHT_STORE \
        last \
        "bne 2b\n" \
        check \
        "ldr %[n], [%[left]]\n" \
        "mov %[y], %[v]\n" \
        "add %[z], %[v], %[count], lsl #2\n" \
        "add %[v], %[v], %[count], lsl #3\n" \
        "sub %[w], %[w], %[count], lsl #5\n" \
        "sub %[w], %[w], %[count], lsl #2\n" \
        "subs %[n], %[n], #1\n" \
        "str %[n], [%[left]]\n" \
        "bne 1b\n" \
        "b 4f\n" \
        "3:\n" \
        "add %[n], %[left], #4\n" \
        "vstmia %[n], {s0-s23}\n" \
        "4:\n" \
        : [x] "+r"(x), [w] "+r"(w), [y] "+r"(y), [z] "+r"(z), [v] "+r"(v), [n] "=&r"(n), \
          [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c) \
        : [count] "r"(p->depth_out), [left] "r"(left), [most] "r"(most) \
        : "cc", "memory", GLOWMCU_ALL_FLOATS)
#define GLOWMCU_EIGHT_RELU \
    "bic %[a], %[a], %[a], asr #31\n" \
    "bic %[b], %[b], %[b], asr #31\n" \
    "bic %[c], %[c], %[c], asr #31\n"
#define GLOWMCU_EIGHT_CLAMP \
    GLOWMCU_CLAMPED("a", "most") GLOWMCU_CLAMPED("b", "most") GLOWMCU_CLAMPED("c", "most")
/* What is not a number as an input is in all of a vector's sums, the last ones, too. */
#define GLOWMCU_EIGHT_CHECK \
    GLOWMCU_CHECK("s24", "s25") GLOWMCU_CHECK("s27", "s27") GLOWMCU_INVALID("n") "bne 3f\n"
#define GLOWMCU_EIGHT_VARIABLES \
    const float *w = p->weights; \
    int32_t most = 0; \
    int32_t n; \
    int32_t a; \
    int32_t b; \
    int32_t c

/* All outputs of three vectors at `x` and from there on, to `y`, `z` and `v`. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_eight_inputs_as_they_are(const glowmcu_eight_inputs_real *p, const float *x,
    float *y, float *z, float *v, glowmcu_eight_inputs_left *left)
{
    GLOWMCU_EIGHT_VARIABLES;

    GLOWMCU_EIGHT_LOOPS("", "subs.w %[n], %[n], #2\n", "", "");
}

/* The same of ReLU. */
GLOWMCU_CODE
static inline void glowmcu_eight_inputs_relu(const glowmcu_eight_inputs_real *p, const float *x,
    float *y, float *z, float *v, glowmcu_eight_inputs_left *left)
{
    GLOWMCU_EIGHT_VARIABLES;

    GLOWMCU_EIGHT_LOOPS(GLOWMCU_EIGHT_RELU, "subs.w %[n], %[n], #2\n", "", "");
}

/* The same within 0 and `clamp_max`, up to vectors of which some result may be no number. */
GLOWMCU_CODE
static inline void glowmcu_eight_inputs_clamped(const glowmcu_eight_inputs_real *p, const float *x,
    float *y, float *z, float *v, glowmcu_eight_inputs_left *left)
{
    GLOWMCU_EIGHT_VARIABLES;

    (void)memcpy(&most, &p->clamp_max, sizeof most);
    GLOWMCU_EIGHT_LOOPS(GLOWMCU_EIGHT_CLAMP, "sub.w %[n], %[n], #2\n", "cmp %[n], #0\n",
        GLOWMCU_EIGHT_CHECK);
}

/* All outputs of `threes` times three vectors at `x`, to `y`, `z` and `v` and from there on. */
GLOWMCU_CODE
static inline void glowmcu_eight_inputs_threes(const glowmcu_eight_inputs_real *p, const float *x,
    float *y, float *z, float *v, int32_t threes)
{
    const int32_t clamping = glowmcu_clamps_now(p->clamping, p->clamp_min, p->clamp_max);
    glowmcu_eight_inputs_left left;

    left.threes = threes;
    if (clamping == GLOWMCU_RELU) {
        glowmcu_eight_inputs_relu(p, x, y, z, v, &left);
        return;
    }
    if (clamping == GLOWMCU_CLAMP_NOW) {
        int32_t done;

        glowmcu_eight_inputs_clamped(p, x, y, z, v, &left);
        if (left.threes == 0) {
            return;
        }
        done = threes - left.threes;
        for (int32_t at = 3 * done * p->depth_out; done < threes; ++done) {
            left.threes = 1;
            glowmcu_eight_inputs_as_they_are(p, left.inputs, y + at, z + at, v + at, &left);
            at += 3 * p->depth_out;
            if (done + 1 < threes) {
                (void)memcpy(left.inputs, x + 24 * (done + 1), sizeof left.inputs);
            }
        }
    } else {
        glowmcu_eight_inputs_as_they_are(p, x, y, z, v, &left);
    }
}
#else
/* All outputs of `threes` times three vectors at `x`, to `y`, `z` and `v` and from there on. */
GLOWMCU_CODE
static inline void glowmcu_eight_inputs_threes(const glowmcu_eight_inputs_real *p, const float *x,
    float *y, float *z, float *v, int32_t threes)
{
    const int32_t count = p->depth_out;
    float *out[3] = { y, z, v };

    for (int32_t three = 0; three < threes; ++three) {
        float inputs[24];
        const float *w = p->weights;

        (void)memcpy(inputs, x + 24 * three, sizeof inputs);
        for (int32_t output = 0; output < count; ++output, w += 9) {
            for (int32_t vector = 0; vector < 3; ++vector) {
                float sum = 0.0f;

                for (int32_t i = 0; i < 8; ++i) {
                    sum += inputs[8 * vector + i] * w[i];
                }
                out[vector][3 * count * three + output] = glowmcu_clamped_f32(sum + w[8],
                    p->clamping, p->clamp_min, p->clamp_max);
            }
        }
    }
}
#endif

/*
 * Rows [first_row, end_row), where `in` and `out` begin. Results may overwrite vectors that nothing
 * reads any more. The last three vectors may be one or two, which then are computed twice or more.
 */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_eight_inputs_f32(const glowmcu_eight_inputs_real *p, const float *in,
    float *out, int32_t first_row, int32_t end_row)
{
    const int32_t vectors = (end_row - first_row) * p->vectors;
    const int32_t count = p->depth_out;
    const uint32_t mode = glowmcu_floats_begin();
    int32_t threes = vectors / 3;
    float *y = out;
    int32_t z = count;
    int32_t v = 2 * count;
    float last[24];

    for (int32_t left = vectors; left > 0; left -= 3 * threes) {
        if (left < 3) {
            for (int32_t i = 0; i < 3; ++i) {
                const int32_t vector = (i < left) ? i : left - 1;
                (void)memcpy(last + 8 * i, in + 8 * vector, 8u * sizeof last[0]);
            }
            in = last;
            z = (left - 1) * count;
            v = z;
            threes = 1;
        }
        glowmcu_eight_inputs_threes(p, in, y, y + z, y + v, threes);
        in += 24 * threes;
        y += 3 * threes * count;
    }
    glowmcu_floats_end(mode, p->clamping, p->clamp_min, p->clamp_max, out, vectors * count);
}

#endif /* GLOWMCU_EIGHT_INPUTS_F32_H */
