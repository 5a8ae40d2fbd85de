/*
 * glowmcu_windows.h: float products of windows with all channels' weights, one pixel or two.
 *
 * Every sum starts at 0 and takes its products one after the other, each rounded by itself, in the
 * order of rows, columns, channels; the bias comes last. The assembly multiplies and adds apart, as
 * a Cortex-M4 does both in two cycles where a fused one takes three, so that its sums are those of
 * the C, bit for bit, unless a compiler fuses that (-ffp-contract=off says it must not).
 */
#ifndef GLOWMCU_WINDOWS_H
#define GLOWMCU_WINDOWS_H

#include <string.h>

#include "glowmcu_fpu.h"

/*
 * One or two pixels of a result and the windows under them, which look alike. `weights` are blocks
 * of 8 or 4 channels: [products][channels], floats or int8, then [channels] scales of int8, and
 * [channels] biases; of a block's products some may lie outside the image. Results may overwrite
 * inputs that nothing reads any more.
 */
typedef struct {
    const float *in[2]; /* the windows' first products */
    float *out[2];
    const void *weights; /* the first block */
    int32_t blocks;      /* at least 1 */
    int32_t rows;        /* of a window inside the image, at least 1 */
    int32_t fours;       /* products of a row: 4 * fours + ones */
    int32_t ones;
    int32_t in_gap;   /* floats from the end of a row to the next one */
    int32_t before;   /* products of a block above and to the left of the image */
    int32_t between;  /* products outside the image from row to row */
    int32_t after;    /* products below and to the right of the image */
    int32_t clamping; /* as glowmcu_clamps_now says */
    float clamp_min;
    float clamp_max;
} glowmcu_window_f32;

/* Computes blocks of `width` channels, 8 or 4, of `pixels` pixels, 1 or 2. */
typedef void (*glowmcu_window_blocks)(const glowmcu_window_f32 *p, int32_t pixels, int32_t width);

/*
 * Computes all channels of `count` pixels side by side whose windows look alike and begin `step`
 * floats apart. `block_bytes` are what a block's channels take of the weights.
 */
typedef void (*glowmcu_window_row)(glowmcu_window_f32 *p, const void *weights, int32_t block_bytes,
    int32_t channels, const float *x, int32_t step, float *out, int32_t count);

#if GLOWMCU_HAS_FPU
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_window_f32, clamp_max) == 60, window_is_as_assembly_reads);

#if GLOWMCU_HAS_FLOAT_VECTORS
/*
 * The next input of a pixel times four weights in q4 or eight in q4 and q5, added to as many sums;
 * inputs come one by one to general registers, so that `x` and the loads in front are left out.
 */
#define GLOWMCU_STEP_4(input, pixel, sums) \
    "ldr %[" input "], [%[" pixel "]], #4\n" \
    "vmul.f32 q6, q4, %[" input "]\n" \
    "vadd.f32 " sums ", " sums ", q6\n"
#define GLOWMCU_STEP_8(input, pixel, first, second) \
    "ldr %[" input "], [%[" pixel "]], #4\n" \
    "vmul.f32 q6, q4, %[" input "]\n" \
    "vmul.f32 q7, q5, %[" input "]\n" \
    "vadd.f32 " first ", " first ", q6\n" \
    "vadd.f32 " second ", " second ", q7\n"
#define GLOWMCU_STEP_A4(x) GLOWMCU_STEP_4("t", "a", "q0")
#define GLOWMCU_STEP_A8(x) GLOWMCU_STEP_8("t", "a", "q0", "q1")
#define GLOWMCU_STEP_B4(x) GLOWMCU_STEP_4("u", "b", "q2")
#define GLOWMCU_STEP_B8(x) GLOWMCU_STEP_8("u", "b", "q2", "q3")
#define GLOWMCU_LOAD_1(registers_a, registers_b)
#define GLOWMCU_LOAD_2(registers_a, registers_b)
#else
/* Products of `x` with four weights, added to four sums; all are names of registers. */
#define GLOWMCU_PRODUCTS(x, w0, w1, w2, w3, a0, a1, a2, a3) \
    "vmul.f32 s28, " x ", " w0 "\n" \
    "vmul.f32 s29, " x ", " w1 "\n" \
    "vmul.f32 s30, " x ", " w2 "\n" \
    "vmul.f32 s31, " x ", " w3 "\n" \
    GLOWMCU_ADD_4(a0, a1, a2, a3, "s28", "s29", "s30", "s31")
#define GLOWMCU_STEP_A4(x) \
    GLOWMCU_PRODUCTS(x, "s16", "s17", "s18", "s19", "s0", "s1", "s2", "s3")
#define GLOWMCU_STEP_A8(x) GLOWMCU_STEP_A4(x) \
    GLOWMCU_PRODUCTS(x, "s20", "s21", "s22", "s23", "s4", "s5", "s6", "s7")
#define GLOWMCU_STEP_B4(x) \
    GLOWMCU_PRODUCTS(x, "s16", "s17", "s18", "s19", "s8", "s9", "s10", "s11")
#define GLOWMCU_STEP_B8(x) GLOWMCU_STEP_B4(x) \
    GLOWMCU_PRODUCTS(x, "s20", "s21", "s22", "s23", "s12", "s13", "s14", "s15")

/* Inputs of two products or of one. */
#define GLOWMCU_LOAD_1(registers_a, registers_b) "vldmia %[a]!, {" registers_a "}\n"
#define GLOWMCU_LOAD_2(registers_a, registers_b) \
    "vldmia %[a]!, {" registers_a "}\nvldmia %[b]!, {" registers_b "}\n"
#endif
#define GLOWMCU_TWO_STEPS(load, step) \
    load("s24-s25", "s26-s27") step("s24", "s26") step("s25", "s27")

/*
 * Labels: 1 block, 2 row, 3 four products, 4 and 5 the rest of a row, 6 the row's end. Weights of
 * a block's product take 2 to the power of `shift` bytes; `more` are registers that `step` needs.
 */
#define GLOWMCU_WINDOW_LOOPS(shift, zero, load, step, finish, more) \
    __asm__ volatile( \
        "1:\n" \
        "ldr %[n], [%[p], #40]\n" \
        "ldr %[a], [%[p], #0]\n" \
        "ldr %[b], [%[p], #4]\n" \
        "ldr %[m], [%[p], #24]\n" \
        "add %[w], %[w], %[n], lsl #" shift "\n" \
        "movs %[n], #0\n" \
        zero \
        "2:\n" \
        "ldr %[n], [%[p], #28]\n" \
        "subs %[n], %[n], #1\n" \
        "bmi 4f\n" \
        "3:\n" \
        GLOWMCU_TWO_STEPS(load, step) \
        GLOWMCU_TWO_STEPS(load, step) \
        "subs %[n], %[n], #1\n" \
        "bpl 3b\n" \
        "4:\n" \
        "ldr %[n], [%[p], #32]\n" \
        "subs %[n], %[n], #1\n" \
        "bmi 6f\n" \
        "5:\n" \
        load("s24", "s26") step("s24", "s26") \
        "subs %[n], %[n], #1\n" \
        "bpl 5b\n" \
        "6:\n" \
        "subs %[m], %[m], #1\n" \
        "beq 6f\n" \
        "ldr %[n], [%[p], #36]\n" \
        "add %[a], %[a], %[n], lsl #2\n" \
        "add %[b], %[b], %[n], lsl #2\n" \
        "ldr %[n], [%[p], #44]\n" \
        "add %[w], %[w], %[n], lsl #" shift "\n" \
        "b 2b\n" \
        "6:\n" \
        "ldr %[n], [%[p], #48]\n" \
        "add %[w], %[w], %[n], lsl #" shift "\n" \
        finish \
        "subs %[blocks], %[blocks], #1\n" \
        "bne 1b\n" \
        : [a] "=&r"(a), [b] "=&r"(b), [n] "=&r"(n), [m] "=&r"(m), [w] GLOWMCU_AT_WEIGHTS(w), \
          [y] "+r"(y), [z] "+r"(z), [blocks] "+r"(blocks) more \
        : [p] "r"(p) \
        : "cc", "memory", GLOWMCU_ALL_FLOATS)
#define GLOWMCU_WINDOW_VARIABLES \
    const float *a; \
    const float *b; \
    const void *w = p->weights; \
    float *y = p->out[0]; \
    float *z = p->out[1]; \
    int32_t n; \
    int32_t m; \
    int32_t blocks = p->blocks
#else
/* Products of one block, those outside the image included. */
GLOWMCU_CODE
static inline int32_t glowmcu_window_products(const glowmcu_window_f32 *p)
{
    return p->before + p->after + (p->rows - 1) * p->between
        + p->rows * (4 * p->fours + p->ones);
}

/* Results of a block, when all of them are computed, to the place of its first channel. */
GLOWMCU_CODE
static inline void glowmcu_window_store(const glowmcu_window_f32 *p, int32_t channel,
    int32_t pixels, int32_t width, float results[2][8])
{
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        (void)memcpy(p->out[pixel] + channel, results[pixel],
            (size_t)width * sizeof results[0][0]);
    }
}
#endif

/* All channels of one pixel or two. What does not fill eight is a block of four if that will do. */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_window_channels(glowmcu_window_f32 *p,
    glowmcu_window_blocks compute, const void *weights, int32_t block_bytes, int32_t channels,
    int32_t pixels)
{
    const int32_t eights = channels >> 3;
    const int32_t left = channels & 7;
    const int32_t blocks = (left > 0) ? eights + 1 : eights;
    float *out[2] = { p->out[0], p->out[1] };
    float last[2][8];

    for (int32_t block = 0; block < blocks; block += p->blocks) {
        const int32_t is_last = (block == eights) ? 1 : 0;

        p->weights = (const uint8_t *)weights + block * block_bytes;
        p->blocks = (is_last != 0) ? 1 : eights;
        if (is_last != 0) {
            p->out[0] = last[0];
            p->out[1] = last[1];
        }
        compute(p, pixels, (is_last != 0 && left <= 4) ? 4 : 8);
        for (int32_t pixel = 0; is_last != 0 && pixel < pixels; ++pixel) {
            (void)memcpy(out[pixel] + 8 * eights, last[pixel], (size_t)left * sizeof last[0][0]);
        }
    }
}

/* As glowmcu_window_row, in pairs, with blocks of eight that `compute` knows how to read. */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_window_pixels(glowmcu_window_f32 *p,
    glowmcu_window_blocks compute, const void *weights, int32_t block_bytes, int32_t channels,
    const float *x, int32_t step, float *out, int32_t count)
{
    while (count > 0) {
        const int32_t pixels = (count > 1) ? 2 : 1;
        p->in[0] = x;
        p->in[1] = x + (pixels - 1) * step;
        p->out[0] = out;
        p->out[1] = out + (pixels - 1) * channels;
        glowmcu_window_channels(p, compute, weights, block_bytes, channels, pixels);
        x += pixels * step;
        out += pixels * channels;
        count -= pixels;
    }
}

#endif /* GLOWMCU_WINDOWS_H */
