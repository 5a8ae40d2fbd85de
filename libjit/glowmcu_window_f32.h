/*
 * glowmcu_window_f32.h: float products of windows with all channels' weights, one pixel or two.
 *
 * Every sum starts at 0 and takes its products one after the other, each rounded by itself, in the
 * order of rows, columns, channels; the bias comes last. The assembly multiplies and adds apart, as
 * a Cortex-M4 does both in two cycles where a fused one takes three, so that its sums are those of
 * the C below, bit for bit, unless a compiler fuses that (-ffp-contract=off says it must not).
 */
#ifndef GLOWMCU_WINDOW_F32_H
#define GLOWMCU_WINDOW_F32_H

#include <string.h>

#include "glowmcu_fpu.h"

/*
 * One or two pixels of a result and the windows under them, which look alike. `weights` are blocks
 * of 8 or 4 channels: [products][channels], then [channels] biases; of a block's products some may
 * lie outside the image. Results may overwrite inputs that nothing reads any more.
 */
typedef struct {
    const float *in[2]; /* the windows' first products */
    float *out[2];
    const float *weights; /* the first block */
    int32_t blocks;       /* at least 1 */
    int32_t rows;         /* of a window inside the image, at least 1 */
    int32_t fours;        /* products of a row: 4 * fours + ones */
    int32_t ones;
    int32_t in_gap;   /* floats from the end of a row to the next one */
    int32_t before;   /* products of a block above and to the left of the image */
    int32_t between;  /* products outside the image from row to row */
    int32_t after;    /* products below and to the right of the image */
    int32_t clamping; /* GLOWMCU_KEEP, GLOWMCU_RELU or GLOWMCU_CLAMP */
    float clamp_min;
    float clamp_max;
} glowmcu_window_f32;

#if GLOWMCU_HAS_FPU
GLOWMCU_STATIC_ASSERT(offsetof(glowmcu_window_f32, clamp_max) == 60, window_is_as_assembly_reads);

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

/* Weights of one product, then what it adds to all sums; `a` and `b` hold the inputs. */
#define GLOWMCU_STEP_2X8(a, b) \
    "vldmia %[w]!, {s16-s23}\n" GLOWMCU_STEP_A8(a) GLOWMCU_STEP_B8(b)
#define GLOWMCU_STEP_1X8(a, b) "vldmia %[w]!, {s16-s23}\n" GLOWMCU_STEP_A8(a)
#define GLOWMCU_STEP_2X4(a, b) \
    "vldmia %[w]!, {s16-s19}\n" GLOWMCU_STEP_A4(a) GLOWMCU_STEP_B4(b)
#define GLOWMCU_STEP_1X4(a, b) "vldmia %[w]!, {s16-s19}\n" GLOWMCU_STEP_A4(a)

/* Inputs of two products or of one. */
#define GLOWMCU_LOAD_1(registers_a, registers_b) "vldmia %[a]!, {" registers_a "}\n"
#define GLOWMCU_LOAD_2(registers_a, registers_b) \
    "vldmia %[a]!, {" registers_a "}\nvldmia %[b]!, {" registers_b "}\n"
#define GLOWMCU_TWO_STEPS(load, step) \
    load("s24-s25", "s26-s27") step("s24", "s26") step("s25", "s27")

/* Labels: 1 block, 2 row, 3 four products, 4 and 5 the rest of a row, 6 the row's end. */
#define GLOWMCU_WINDOW_LOOPS(shift, zero, load, step, finish) \
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
        : [a] "=&r"(a), [b] "=&r"(b), [n] "=&r"(n), [m] "=&r"(m), [w] "+r"(w), [y] "+r"(y), \
          [z] "+r"(z), [blocks] "+r"(blocks) \
        : [p] "r"(p) \
        : "cc", "memory", GLOWMCU_ALL_FLOATS)
#define GLOWMCU_WINDOW_VARIABLES \
    const float *a; \
    const float *b; \
    const float *w = p->weights; \
    float *y = p->out[0]; \
    float *z = p->out[1]; \
    int32_t n; \
    int32_t m; \
    int32_t blocks = p->blocks

/* Two pixels, blocks of eight channels. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_2x8(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;

    GLOWMCU_WINDOW_LOOPS("5", GLOWMCU_ZERO_A8 GLOWMCU_ZERO_B8, GLOWMCU_LOAD_2, GLOWMCU_STEP_2X8,
        GLOWMCU_FINISH_2X8);
}

/* One pixel, blocks of eight channels. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_1x8(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;

    GLOWMCU_WINDOW_LOOPS("5", GLOWMCU_ZERO_A8, GLOWMCU_LOAD_1, GLOWMCU_STEP_1X8,
        GLOWMCU_FINISH_1X8);
}

/* Two pixels, blocks of four channels. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_2x4(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;

    GLOWMCU_WINDOW_LOOPS("4", GLOWMCU_ZERO_A4 GLOWMCU_ZERO_B4, GLOWMCU_LOAD_2, GLOWMCU_STEP_2X4,
        GLOWMCU_FINISH_2X4);
}

/* One pixel, blocks of four channels. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_1x4(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;

    GLOWMCU_WINDOW_LOOPS("4", GLOWMCU_ZERO_A4, GLOWMCU_LOAD_1, GLOWMCU_STEP_1X4,
        GLOWMCU_FINISH_1X4);
}

/* Blocks of `width` channels, 8 or 4, of `pixels` pixels, 1 or 2. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_blocks(const glowmcu_window_f32 *p, int32_t pixels,
    int32_t width)
{
    if (width == 8) {
        if (pixels == 2) {
            glowmcu_window_f32_2x8(p);
        } else {
            glowmcu_window_f32_1x8(p);
        }
    } else if (pixels == 2) {
        glowmcu_window_f32_2x4(p);
    } else {
        glowmcu_window_f32_1x4(p);
    }
}
#else
/* One block of one pixel. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_block(const glowmcu_window_f32 *p, const float *x,
    const float *w, int32_t width, float *out)
{
    const int32_t products = 4 * p->fours + p->ones;
    float sums[8] = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f };

    w += p->before * width;
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t i = 0; i < products; ++i, w += width) {
            for (int32_t c = 0; c < width; ++c) {
                sums[c] += x[i] * w[c];
            }
        }
        if (row + 1 < p->rows) {
            x += products + p->in_gap;
            w += p->between * width;
        }
    }
    w += p->after * width;
    for (int32_t c = 0; c < width; ++c) {
        out[c] = glowmcu_clamped_f32(sums[c] + w[c], p->clamping, p->clamp_min, p->clamp_max);
    }
}

/* Blocks of `width` channels, 8 or 4, of `pixels` pixels, 1 or 2. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_blocks(const glowmcu_window_f32 *p, int32_t pixels,
    int32_t width)
{
    const int32_t products = p->before + p->after + (p->rows - 1) * p->between
        + p->rows * (4 * p->fours + p->ones);
    const float *w = p->weights;
    float results[2][8];

    for (int32_t block = 0; block < p->blocks; ++block, w += (products + 1) * width) {
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            glowmcu_window_f32_block(p, p->in[pixel], w, width, results[pixel]);
        }
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            (void)memcpy(p->out[pixel] + block * width, results[pixel],
                (size_t)width * sizeof results[0][0]);
        }
    }
}
#endif

/* All channels of one pixel or two. What does not fill eight is a block of four if that will do. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_channels(glowmcu_window_f32 *p, const float *weights,
    int32_t block_floats, int32_t channels, int32_t pixels)
{
    const int32_t eights = channels >> 3;
    const int32_t left = channels & 7;

    p->weights = weights;
    p->blocks = eights;
    if (eights > 0) {
        glowmcu_window_f32_blocks(p, pixels, 8);
    }
    if (left > 0) {
        float *out[2] = { p->out[0] + 8 * eights, p->out[1] + 8 * eights };
        float last[2][8];

        p->weights = weights + eights * block_floats;
        p->blocks = 1;
        p->out[0] = last[0];
        p->out[1] = last[1];
        glowmcu_window_f32_blocks(p, pixels, (left > 4) ? 8 : 4);
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            (void)memcpy(out[pixel], last[pixel], (size_t)left * sizeof last[0][0]);
        }
    }
}

/*
 * `count` pixels side by side whose windows look alike and begin `step` floats apart, in pairs.
 * `block_floats` are the weights and biases of eight channels.
 */
GLOWMCU_CODE
static inline void glowmcu_window_f32_pixels(glowmcu_window_f32 *p, const float *weights,
    int32_t block_floats, int32_t channels, const float *x, int32_t step, float *out,
    int32_t count)
{
    while (count > 0) {
        const int32_t pixels = (count > 1) ? 2 : 1;
        p->in[0] = x;
        p->in[1] = x + (pixels - 1) * step;
        p->out[0] = out;
        p->out[1] = out + (pixels - 1) * channels;
        glowmcu_window_f32_channels(p, weights, block_floats, channels, pixels);
        x += pixels * step;
        out += pixels * channels;
        count -= pixels;
    }
}

#endif /* GLOWMCU_WINDOW_F32_H */
