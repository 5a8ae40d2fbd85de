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

#include "glowmcu_int8_floats.h"
#include "glowmcu_windows.h"

#if GLOWMCU_HAS_FPU
/* Weights of one product, then what it adds to all sums; `a` and `b` hold the inputs. */
#define GLOWMCU_STEP_W8_2X8(a, b) GLOWMCU_W8_8 GLOWMCU_STEP_A8(a) GLOWMCU_STEP_B8(b)
#define GLOWMCU_STEP_W8_1X8(a, b) GLOWMCU_W8_8 GLOWMCU_STEP_A8(a)
#define GLOWMCU_STEP_W8_2X4(a, b) GLOWMCU_W8_4 GLOWMCU_STEP_A4(a) GLOWMCU_STEP_B4(b)
#define GLOWMCU_STEP_W8_1X4(a, b) GLOWMCU_W8_4 GLOWMCU_STEP_A4(a)

/* Two pixels, blocks of eight channels. */
GLOWMCU_CODE
static inline void glowmcu_window_w8_f32_2x8(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_WINDOW_LOOPS("3", GLOWMCU_ZERO_A8 GLOWMCU_ZERO_B8, GLOWMCU_LOAD_2,
        GLOWMCU_STEP_W8_2X8, GLOWMCU_SCALES_8 GLOWMCU_SCALE_A8 GLOWMCU_SCALE_B8
        GLOWMCU_FINISH_2X8(GLOWMCU_CHECK("s0", "s8")), GLOWMCU_TWO_MORE);
}

/* One pixel, blocks of eight channels. */
GLOWMCU_CODE
static inline void glowmcu_window_w8_f32_1x8(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_WINDOW_LOOPS("3", GLOWMCU_ZERO_A8, GLOWMCU_LOAD_1, GLOWMCU_STEP_W8_1X8,
        GLOWMCU_SCALES_8 GLOWMCU_SCALE_A8 GLOWMCU_FINISH_1X8(GLOWMCU_CHECK("s0", "s0")),
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
        GLOWMCU_FINISH_2X4(GLOWMCU_CHECK("s0", "s8")), GLOWMCU_TWO_MORE);
}

/* One pixel, blocks of four channels. */
GLOWMCU_CODE
static inline void glowmcu_window_w8_f32_1x4(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_WINDOW_LOOPS("2", GLOWMCU_ZERO_A4, GLOWMCU_LOAD_1, GLOWMCU_STEP_W8_1X4,
        GLOWMCU_SCALES_4 GLOWMCU_SCALE_A4 GLOWMCU_FINISH_1X4(GLOWMCU_CHECK("s0", "s0")),
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
        const float weight = glowmcu_w8_weight(word, c);
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
