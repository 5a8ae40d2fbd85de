/*
 * glowmcu_depthwise_packed_f32.h: float depthwise convolution, NHWC, weights in the order of the
 * loops; see glowmcu_depthwise_windows.h.
 */
#ifndef GLOWMCU_DEPTHWISE_PACKED_F32_H
#define GLOWMCU_DEPTHWISE_PACKED_F32_H

#include "glowmcu_depthwise_windows.h"

#if GLOWMCU_HAS_FPU
#if GLOWMCU_HAS_FLOAT_VECTORS
#define GLOWMCU_TAP_WEIGHTS_8 "vldrw.32 q4, [%[w]], #16\nvldrw.32 q5, [%[w]], #16\n"
#define GLOWMCU_TAP_WEIGHTS_4 "vldrw.32 q4, [%[w]], #16\n"
#else
#define GLOWMCU_TAP_WEIGHTS_8 "vldmia %[w]!, {s16-s23}\n"
#define GLOWMCU_TAP_WEIGHTS_4 "vldmia %[w]!, {s16-s19}\n"
#endif

GLOWMCU_CODE
static inline void glowmcu_depthwise_f32_2x8(glowmcu_depthwise_window_f32 *p)
{
    GLOWMCU_DEPTHWISE_VARIABLES;

    GLOWMCU_DEPTHWISE_LOOPS("5", "32", GLOWMCU_ZERO_A8 GLOWMCU_ZERO_B8,
        GLOWMCU_TAP_WEIGHTS_8 GLOWMCU_TAP_A8 GLOWMCU_TAP_B8,
        GLOWMCU_FINISH_2X8(GLOWMCU_CHECK_A8 GLOWMCU_CHECK_B8), );
}

GLOWMCU_CODE
static inline void glowmcu_depthwise_f32_1x8(glowmcu_depthwise_window_f32 *p)
{
    GLOWMCU_DEPTHWISE_VARIABLES;

    GLOWMCU_DEPTHWISE_LOOPS("5", "32", GLOWMCU_ZERO_A8,
        GLOWMCU_TAP_WEIGHTS_8 GLOWMCU_TAP_A8, GLOWMCU_FINISH_1X8(GLOWMCU_CHECK_A8), );
}

GLOWMCU_CODE
static inline void glowmcu_depthwise_f32_2x4(glowmcu_depthwise_window_f32 *p)
{
    GLOWMCU_DEPTHWISE_VARIABLES;

    GLOWMCU_DEPTHWISE_LOOPS("4", "16", GLOWMCU_ZERO_A4 GLOWMCU_ZERO_B4,
        GLOWMCU_TAP_WEIGHTS_4 GLOWMCU_TAP_A4 GLOWMCU_TAP_B4,
        GLOWMCU_FINISH_2X4(GLOWMCU_CHECK_A4 GLOWMCU_CHECK_B4), );
}

GLOWMCU_CODE
static inline void glowmcu_depthwise_f32_1x4(glowmcu_depthwise_window_f32 *p)
{
    GLOWMCU_DEPTHWISE_VARIABLES;

    GLOWMCU_DEPTHWISE_LOOPS("4", "16", GLOWMCU_ZERO_A4,
        GLOWMCU_TAP_WEIGHTS_4 GLOWMCU_TAP_A4, GLOWMCU_FINISH_1X4(GLOWMCU_CHECK_A4), );
}

/* Blocks of `width` channels of `pixels` pixels, 1 or 2; inputs move on with the blocks. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_f32_blocks(glowmcu_depthwise_window_f32 *p, int32_t pixels,
    int32_t width)
{
    if (width == 8) {
        if (pixels == 2) {
            glowmcu_depthwise_f32_2x8(p);
        } else {
            glowmcu_depthwise_f32_1x8(p);
        }
    } else if (pixels == 2) {
        glowmcu_depthwise_f32_2x4(p);
    } else {
        glowmcu_depthwise_f32_1x4(p);
    }
}
#else
/* One channel of one pixel; `w` and the bias behind the taps are `width` apart. */
GLOWMCU_CODE
static inline float glowmcu_depthwise_f32_one(const glowmcu_depthwise_window_f32 *p,
    const float *x, const float *w, int32_t width)
{
    float sum = 0.0f;

    w += p->before * width;
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t column = 0; column < p->columns; ++column, w += width) {
            sum += x[column * p->step] * *w;
        }
        if (row + 1 < p->rows) {
            x += p->columns * p->step + p->in_gap;
            w += p->between * width;
        }
    }
    return glowmcu_clamped_f32(sum + w[p->after * width], p->clamping, p->clamp_min,
        p->clamp_max);
}

/* Blocks of `width` channels of `pixels` pixels, 1 or 2; inputs move on with the blocks. */
GLOWMCU_CODE
static inline void glowmcu_depthwise_f32_blocks(glowmcu_depthwise_window_f32 *p, int32_t pixels,
    int32_t width)
{
    const int32_t floats = (glowmcu_depthwise_taps(p) + 1) * width;
    const float *w = p->weights;
    float results[2][8];

    for (int32_t block = 0; block < p->blocks; ++block, w += floats) {
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            for (int32_t c = 0; c < width; ++c) {
                results[pixel][c] = glowmcu_depthwise_f32_one(p, p->in[pixel] + c, w + c, width);
            }
        }
        glowmcu_depthwise_store(p, block * width, pixels, width, results);
    }
}
#endif

/* As glowmcu_depthwise_windows. */
GLOWMCU_CODE GLOWMCU_NEVER_INLINE
static void glowmcu_depthwise_packed_f32(const glowmcu_depthwise_packed_real *p, const float *in,
    float *out, int32_t first_row, int32_t end_row)
{
    glowmcu_depthwise_windows(p, glowmcu_depthwise_f32_blocks, 4, 4, in, out, first_row, end_row);
}

#endif /* GLOWMCU_DEPTHWISE_PACKED_F32_H */
