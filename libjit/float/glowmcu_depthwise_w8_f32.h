/*
 * glowmcu_depthwise_w8_f32.h: float depthwise convolution, NHWC, int8 weights in the order of the
 * loops; see glowmcu_depthwise_windows.h.
 *
 * A block is [taps][width / 4] words of four int8, then [width] scales and [width] biases as the
 * bits of floats. The scale multiplies a sum once, before the bias.
 */
#ifndef GLOWMCU_DEPTHWISE_W8_F32_H
#define GLOWMCU_DEPTHWISE_W8_F32_H

#include "glowmcu_depthwise_windows.h"
#include "glowmcu_int8_floats.h"

#if GLOWMCU_HAS_FPU
GLOWMCU_CODE
static inline void glowmcu_depthwise_w8_f32_2x8(glowmcu_depthwise_window_f32 *p)
{
    GLOWMCU_DEPTHWISE_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_DEPTHWISE_LOOPS("3", "32", GLOWMCU_ZERO_A8 GLOWMCU_ZERO_B8,
        GLOWMCU_W8_8 GLOWMCU_TAP_A8 GLOWMCU_TAP_B8,
        GLOWMCU_SCALES_8 GLOWMCU_SCALE_A8 GLOWMCU_SCALE_B8
        GLOWMCU_FINISH_2X8(GLOWMCU_CHECK_A8 GLOWMCU_CHECK_B8),
        GLOWMCU_TWO_MORE);
}

GLOWMCU_CODE
static inline void glowmcu_depthwise_w8_f32_1x8(glowmcu_depthwise_window_f32 *p)
{
    GLOWMCU_DEPTHWISE_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_DEPTHWISE_LOOPS("3", "32", GLOWMCU_ZERO_A8,
        GLOWMCU_W8_8 GLOWMCU_TAP_A8, GLOWMCU_SCALES_8 GLOWMCU_SCALE_A8
        GLOWMCU_FINISH_1X8(GLOWMCU_CHECK_A8),
        GLOWMCU_TWO_MORE);
}

GLOWMCU_CODE
static inline void glowmcu_depthwise_w8_f32_2x4(glowmcu_depthwise_window_f32 *p)
{
    GLOWMCU_DEPTHWISE_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_DEPTHWISE_LOOPS("2", "16", GLOWMCU_ZERO_A4 GLOWMCU_ZERO_B4,
        GLOWMCU_W8_4 GLOWMCU_TAP_A4 GLOWMCU_TAP_B4,
        GLOWMCU_SCALES_4 GLOWMCU_SCALE_A4 GLOWMCU_SCALE_B4
        GLOWMCU_FINISH_2X4(GLOWMCU_CHECK_A4 GLOWMCU_CHECK_B4),
        GLOWMCU_TWO_MORE);
}

GLOWMCU_CODE
static inline void glowmcu_depthwise_w8_f32_1x4(glowmcu_depthwise_window_f32 *p)
{
    GLOWMCU_DEPTHWISE_VARIABLES;
    GLOWMCU_TWO_VARIABLES

    GLOWMCU_DEPTHWISE_LOOPS("2", "16", GLOWMCU_ZERO_A4,
        GLOWMCU_W8_4 GLOWMCU_TAP_A4, GLOWMCU_SCALES_4 GLOWMCU_SCALE_A4
        GLOWMCU_FINISH_1X4(GLOWMCU_CHECK_A4),
        GLOWMCU_TWO_MORE);
}

/* Blocks of `width` channels of `pixels` pixels, 1 or 2; inputs move on with the blocks. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_w8_f32_blocks(glowmcu_depthwise_window_f32 *p, int32_t pixels,
    int32_t width)
{
    if (width == 8) {
        if (pixels == 2) {
            glowmcu_depthwise_w8_f32_2x8(p);
        } else {
            glowmcu_depthwise_w8_f32_1x8(p);
        }
    } else if (pixels == 2) {
        glowmcu_depthwise_w8_f32_2x4(p);
    } else {
        glowmcu_depthwise_w8_f32_1x4(p);
    }
}
#else
/* Sums of a block's products of one pixel; returns what follows the weights, the block's scales. */
GLOWMCU_CODE
static inline const int32_t *glowmcu_depthwise_w8_f32_sums(const glowmcu_depthwise_window_f32 *p,
    const float *x, const int32_t *w, int32_t width, float sums[8])
{
    const int32_t words = width >> 2;

    for (int32_t c = 0; c < width; ++c) {
        sums[c] = 0.0f;
    }
    w += p->before * words;
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t column = 0; column < p->columns; ++column, w += words) {
            for (int32_t c = 0; c < width; ++c) {
                sums[c] += x[column * p->step + c] * glowmcu_w8_weight(w[c >> 2], c & 3);
            }
        }
        if (row + 1 < p->rows) {
            x += p->columns * p->step + p->in_gap;
            w += p->between * words;
        }
    }
    return w + p->after * words;
}

/* Blocks of `width` channels of `pixels` pixels, 1 or 2; inputs move on with the blocks. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_w8_f32_blocks(glowmcu_depthwise_window_f32 *p, int32_t pixels,
    int32_t width)
{
    const int32_t *w = p->weights;
    const int32_t words = glowmcu_depthwise_taps(p) * (width >> 2);
    float results[2][8];

    for (int32_t block = 0; block < p->blocks; ++block, w += words + 2 * width) {
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            const int32_t *end = glowmcu_depthwise_w8_f32_sums(p, p->in[pixel], w, width,
                results[pixel]);

            for (int32_t c = 0; c < width; ++c) {
                float scale;
                float bias;
                (void)memcpy(&scale, end + c, sizeof scale);
                (void)memcpy(&bias, end + width + c, sizeof bias);
                results[pixel][c] = glowmcu_clamped_f32(results[pixel][c] * scale + bias,
                    p->clamping, p->clamp_min, p->clamp_max);
            }
        }
        glowmcu_depthwise_store(p, block * width, pixels, width, results);
    }
}
#endif

/* As glowmcu_depthwise_windows. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_depthwise_w8_f32(const glowmcu_depthwise_packed_real *p, const float *in,
    float *out, int32_t first_row, int32_t end_row)
{
    glowmcu_depthwise_windows(p, glowmcu_depthwise_w8_f32_blocks, 1, 8, in, out, first_row,
        end_row);
}

#endif /* GLOWMCU_DEPTHWISE_W8_F32_H */
