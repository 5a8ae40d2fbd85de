/*
 * glowmcu_window_f32.h: blocks of channels whose weights are floats; see glowmcu_windows.h.
 */
#ifndef GLOWMCU_WINDOW_F32_H
#define GLOWMCU_WINDOW_F32_H

#include "glowmcu_windows.h"

#if GLOWMCU_HAS_FPU
#if GLOWMCU_HAS_FLOAT_VECTORS
#define GLOWMCU_WEIGHTS_4 "vldrw.32 q4, [%[w]], #16\n"
#define GLOWMCU_WEIGHTS_8 GLOWMCU_WEIGHTS_4 "vldrw.32 q5, [%[w]], #16\n"
#define GLOWMCU_MORE GLOWMCU_TWO_MORE
#define GLOWMCU_MORE_VARIABLES GLOWMCU_TWO_VARIABLES
#else
#define GLOWMCU_WEIGHTS_4 "vldmia %[w]!, {s16-s19}\n"
#define GLOWMCU_WEIGHTS_8 "vldmia %[w]!, {s16-s23}\n"
#define GLOWMCU_MORE
#define GLOWMCU_MORE_VARIABLES
#endif

/* Weights of one product, then what it adds to all sums; `a` and `b` hold the inputs. */
#define GLOWMCU_STEP_2X8(a, b) GLOWMCU_WEIGHTS_8 GLOWMCU_STEP_A8(a) GLOWMCU_STEP_B8(b)
#define GLOWMCU_STEP_1X8(a, b) GLOWMCU_WEIGHTS_8 GLOWMCU_STEP_A8(a)
#define GLOWMCU_STEP_2X4(a, b) GLOWMCU_WEIGHTS_4 GLOWMCU_STEP_A4(a) GLOWMCU_STEP_B4(b)
#define GLOWMCU_STEP_1X4(a, b) GLOWMCU_WEIGHTS_4 GLOWMCU_STEP_A4(a)

/* Two pixels, blocks of eight channels. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_2x8(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_MORE_VARIABLES

    GLOWMCU_WINDOW_LOOPS("5", GLOWMCU_ZERO_A8 GLOWMCU_ZERO_B8, GLOWMCU_LOAD_2, GLOWMCU_STEP_2X8,
        GLOWMCU_FINISH_2X8(GLOWMCU_CHECK("s0", "s8")), GLOWMCU_MORE);
}

/* One pixel, blocks of eight channels. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_1x8(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_MORE_VARIABLES

    GLOWMCU_WINDOW_LOOPS("5", GLOWMCU_ZERO_A8, GLOWMCU_LOAD_1, GLOWMCU_STEP_1X8,
        GLOWMCU_FINISH_1X8(GLOWMCU_CHECK("s0", "s0")), GLOWMCU_MORE);
}

/* Two pixels, blocks of four channels. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_2x4(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_MORE_VARIABLES

    GLOWMCU_WINDOW_LOOPS("4", GLOWMCU_ZERO_A4 GLOWMCU_ZERO_B4, GLOWMCU_LOAD_2, GLOWMCU_STEP_2X4,
        GLOWMCU_FINISH_2X4(GLOWMCU_CHECK("s0", "s8")), GLOWMCU_MORE);
}

/* One pixel, blocks of four channels. */
GLOWMCU_CODE
static inline void glowmcu_window_f32_1x4(const glowmcu_window_f32 *p)
{
    GLOWMCU_WINDOW_VARIABLES;
    GLOWMCU_MORE_VARIABLES

    GLOWMCU_WINDOW_LOOPS("4", GLOWMCU_ZERO_A4, GLOWMCU_LOAD_1, GLOWMCU_STEP_1X4,
        GLOWMCU_FINISH_1X4(GLOWMCU_CHECK("s0", "s0")), GLOWMCU_MORE);
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
    const int32_t floats = (glowmcu_window_products(p) + 1) * width;
    const float *w = p->weights;
    float results[2][8];

    for (int32_t block = 0; block < p->blocks; ++block, w += floats) {
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            glowmcu_window_f32_block(p, p->in[pixel], w, width, results[pixel]);
        }
        glowmcu_window_store(p, block * width, pixels, width, results);
    }
}
#endif

/* As glowmcu_window_row. */
GLOWMCU_CODE
static GLOWMCU_ALWAYS_INLINE void glowmcu_window_f32_pixels(glowmcu_window_f32 *p,
    const void *weights, int32_t block_bytes, int32_t channels, const float *x, int32_t step,
    float *out, int32_t count)
{
    glowmcu_window_pixels(p, glowmcu_window_f32_blocks, weights, block_bytes, channels, x, step,
        out, count);
}

#endif /* GLOWMCU_WINDOW_F32_H */
