/*
 * glowmcu_window_w8_f32.h: blocks of channels whose weights are int8, times a scale a channel; see
 * glowmcu_windows.h.
 *
 * A block is [products][channels / 4] words of four int8, the first channel in the low byte, then
 * [channels] scales and [channels] biases as the bits of floats. Products are of the input and the
 * int8 as a float, which is exact; the scale multiplies their sum once, before the bias.
 */
#ifndef GLOWMCU_WINDOW_W8_F32_H
#define GLOWMCU_WINDOW_W8_F32_H

#include "glowmcu_windows.h"

#if GLOWMCU_HAS_FPU
/* Four int8 become floats. */
#if GLOWMCU_HAS_FLOAT_VECTORS
#define GLOWMCU_W8_4 "vldrb.s32 q4, [%[w]], #4\nvcvt.f32.s32 q4, q4\n"
#define GLOWMCU_W8_8 GLOWMCU_W8_4 "vldrb.s32 q5, [%[w]], #4\nvcvt.f32.s32 q5, q5\n"
#else
#define GLOWMCU_FLOATS_OF_4(w0, w1, w2, w3) \
    "ldr %[t], [%[w]], #4\n" \
    "sxtb %[u], %[t]\n" \
    "vmov " w0 ", %[u]\n" \
    "sxtb %[u], %[t], ror #8\n" \
    "vmov " w1 ", %[u]\n" \
    "sxtb %[u], %[t], ror #16\n" \
    "vmov " w2 ", %[u]\n" \
    "asr %[t], %[t], #24\n" \
    "vmov " w3 ", %[t]\n" \
    "vcvt.f32.s32 " w0 ", " w0 "\n" \
    "vcvt.f32.s32 " w1 ", " w1 "\n" \
    "vcvt.f32.s32 " w2 ", " w2 "\n" \
    "vcvt.f32.s32 " w3 ", " w3 "\n"
#define GLOWMCU_W8_4 GLOWMCU_FLOATS_OF_4("s16", "s17", "s18", "s19")
#define GLOWMCU_W8_8 GLOWMCU_W8_4 GLOWMCU_FLOATS_OF_4("s20", "s21", "s22", "s23")
#endif

/* Weights of one product, then what it adds to all sums; `a` and `b` hold the inputs. */
#define GLOWMCU_STEP_W8_2X8(a, b) GLOWMCU_W8_8 GLOWMCU_STEP_A8(a) GLOWMCU_STEP_B8(b)
#define GLOWMCU_STEP_W8_1X8(a, b) GLOWMCU_W8_8 GLOWMCU_STEP_A8(a)
#define GLOWMCU_STEP_W8_2X4(a, b) GLOWMCU_W8_4 GLOWMCU_STEP_A4(a) GLOWMCU_STEP_B4(b)
#define GLOWMCU_STEP_W8_1X4(a, b) GLOWMCU_W8_4 GLOWMCU_STEP_A4(a)

/* Sums times their channels' scales. */
#define GLOWMCU_SCALE(sum, scale) "vmul.f32 " sum ", " sum ", " scale "\n"
#define GLOWMCU_SCALE_4(a0, a1, a2, a3, b0, b1, b2, b3) \
    GLOWMCU_SCALE(a0, b0) GLOWMCU_SCALE(a1, b1) GLOWMCU_SCALE(a2, b2) GLOWMCU_SCALE(a3, b3)
#define GLOWMCU_SCALE_A4 GLOWMCU_SCALE_4("s0", "s1", "s2", "s3", "s16", "s17", "s18", "s19")
#define GLOWMCU_SCALE_A8 GLOWMCU_SCALE_A4 \
    GLOWMCU_SCALE_4("s4", "s5", "s6", "s7", "s20", "s21", "s22", "s23")
#define GLOWMCU_SCALE_B4 GLOWMCU_SCALE_4("s8", "s9", "s10", "s11", "s16", "s17", "s18", "s19")
#define GLOWMCU_SCALE_B8 GLOWMCU_SCALE_B4 \
    GLOWMCU_SCALE_4("s12", "s13", "s14", "s15", "s20", "s21", "s22", "s23")
#define GLOWMCU_SCALES_4 "vldmia %[w]!, {s16-s19}\n"
#define GLOWMCU_SCALES_8 "vldmia %[w]!, {s16-s23}\n"

/* Two pixels, blocks of eight channels. */
GLOWMCU_CODE
static inline void glowmcu_window_w8_f32_2x8(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_WINDOW_LOOPS("3", GLOWMCU_ZERO_A8 GLOWMCU_ZERO_B8, GLOWMCU_LOAD_2,
        GLOWMCU_STEP_W8_2X8, GLOWMCU_SCALES_8 GLOWMCU_SCALE_A8 GLOWMCU_SCALE_B8
        GLOWMCU_FINISH_2X8, GLOWMCU_TWO_MORE);
}

/* One pixel, blocks of eight channels. */
GLOWMCU_CODE
static inline void glowmcu_window_w8_f32_1x8(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_WINDOW_LOOPS("3", GLOWMCU_ZERO_A8, GLOWMCU_LOAD_1, GLOWMCU_STEP_W8_1X8,
        GLOWMCU_SCALES_8 GLOWMCU_SCALE_A8 GLOWMCU_FINISH_1X8,
        GLOWMCU_TWO_MORE);
}

/* Two pixels, blocks of four channels. */
GLOWMCU_CODE
static inline void glowmcu_window_w8_f32_2x4(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_WINDOW_LOOPS("2", GLOWMCU_ZERO_A4 GLOWMCU_ZERO_B4, GLOWMCU_LOAD_2,
        GLOWMCU_STEP_W8_2X4, GLOWMCU_SCALES_4 GLOWMCU_SCALE_A4 GLOWMCU_SCALE_B4
        GLOWMCU_FINISH_2X4, GLOWMCU_TWO_MORE);
}

/* One pixel, blocks of four channels. */
GLOWMCU_CODE
static inline void glowmcu_window_w8_f32_1x4(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_WINDOW_LOOPS("2", GLOWMCU_ZERO_A4, GLOWMCU_LOAD_1, GLOWMCU_STEP_W8_1X4,
        GLOWMCU_SCALES_4 GLOWMCU_SCALE_A4 GLOWMCU_FINISH_1X4,
        GLOWMCU_TWO_MORE);
}

/* Blocks of `width` channels, 8 or 4, of `pixels` pixels, 1 or 2. */
GLOWMCU_CODE
static inline void glowmcu_window_w8_f32_blocks(const glowmcu_window_f32 *p, int32_t pixels,
    int32_t width)
{
    if (width == 8) {
        if (pixels == 2) {
            glowmcu_window_w8_f32_2x8(p);
        } else {
            glowmcu_window_w8_f32_1x8(p);
        }
    } else if (pixels == 2) {
        glowmcu_window_w8_f32_2x4(p);
    } else {
        glowmcu_window_w8_f32_1x4(p);
    }
}
#else
/* Adds the products of all pixels' inputs `at` with four int8 of a word to their sums. */
GLOWMCU_CODE
static inline void glowmcu_w8_products(const glowmcu_window_f32 *p, int32_t pixels, int32_t at,
    int32_t word, int32_t channel, float sums[2][8])
{
    for (int32_t c = 0; c < 4; ++c) {
        const int32_t byte = (int32_t)(((uint32_t)word >> (8 * c)) & 0xFFu);
        const float weight = (float)((byte ^ 0x80) - 0x80);
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            sums[pixel][channel + c] += p->in[pixel][at] * weight;
        }
    }
}

/* Sums of a block's products; returns what follows them, the block's scales. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_window_w8_f32_sums(const glowmcu_window_f32 *p,
    int32_t pixels, const int32_t *w, int32_t width, float sums[2][8])
{
    const int32_t products = 4 * p->fours + p->ones;
    const int32_t words = width >> 2;
    int32_t at = 0;

    w += p->before * words;
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t i = 0; i < products; ++i, ++at) {
            for (int32_t word = 0; word < words; ++word, ++w) {
                glowmcu_w8_products(p, pixels, at, *w, 4 * word, sums);
            }
        }
        if (row + 1 < p->rows) {
            at += p->in_gap;
            w += p->between * words;
        }
    }
    return w + p->after * words;
}

/* Blocks of `width` channels, 8 or 4, of `pixels` pixels, 1 or 2. */
GLOWMCU_CODE
static inline void glowmcu_window_w8_f32_blocks(const glowmcu_window_f32 *p, int32_t pixels,
    int32_t width)
{
    const int32_t *w = p->weights;

    for (int32_t block = 0; block < p->blocks; ++block) {
        float sums[2][8] = {
            { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f },
            { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f }
        };

        w = glowmcu_window_w8_f32_sums(p, pixels, w, width, sums);
        for (int32_t c = 0; c < width; ++c, ++w) {
            float scale;
            float bias;
            (void)memcpy(&scale, w, sizeof scale);
            (void)memcpy(&bias, w + width, sizeof bias);
            for (int32_t pixel = 0; pixel < pixels; ++pixel) {
                sums[pixel][c] = glowmcu_clamped_f32(sums[pixel][c] * scale + bias, p->clamping,
                    p->clamp_min, p->clamp_max);
            }
        }
        w += width;
        glowmcu_window_store(p, block * width, pixels, width, sums);
    }
}
#endif

/* As glowmcu_window_row. */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_window_w8_f32_pixels(glowmcu_window_f32 *p,
    const void *weights, int32_t block_bytes, int32_t channels, const float *x, int32_t step,
    float *out, int32_t count)
{
    glowmcu_window_pixels(p, glowmcu_window_w8_f32_blocks, weights, block_bytes, channels, x, step,
        out, count);
}

#endif /* GLOWMCU_WINDOW_W8_F32_H */
